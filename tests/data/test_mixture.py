from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotrain.batch import Batch
from robotrain.data.bounds import BoundsConfig, bounds_of
from robotrain.data.datamodule import build_loader
from robotrain.data.dataset import WindowDataset
from robotrain.data.exact_stats import compute_stats
from robotrain.data.mixture import Ingredient, Mixture, MixtureOrder, apportion, seed_of, steps_of_pass
from robotrain.data.order import Share, TrainOrder, entries
from robotrain.data.pipeline import build_pipeline
from robotrain.data.replacement import ReplacedSamples
from robotrain.embodiments.catalog import embodiment_of
from robotrain.episodes.reader import Episode
from robotrain.episodes.schema import read_facts
from robotrain.errors import ConfigError, EpisodeError, UnknownNameError
from tests.damage import assign, change_rows, set_pictures
from tests.factories import make_eva_episode, make_human_episode

EVA = build_pipeline(embodiment_of("eva_bimanual", {}), mode="cartesian_6d", horizon=4)
HUMAN = build_pipeline(embodiment_of("human_bimanual", {}), horizon=4)
WEIGHTS = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=6).map(
    lambda values: {f"body_{index}": value for index, value in enumerate(values)}
)


@given(WEIGHTS, st.integers(0, 60))
def test_rows_are_as_many_as_asked_and_in_proportion(weights: dict[str, float], more: int) -> None:
    batch_size = len(weights) + more
    rows = apportion(batch_size, weights)
    exact = {name: batch_size * weight / sum(weights.values()) for name, weight in weights.items()}
    assert list(rows) == list(weights)
    assert sum(rows.values()) == batch_size
    assert min(rows.values()) >= 1
    if min(exact.values()) >= 1:
        assert all(abs(rows[name] - exact[name]) < 1 for name in weights)
    for name, weight in weights.items():
        assert all(rows[name] >= rows[other] for other, lighter in weights.items() if weight > lighter)
        assert rows[name] <= max(1, exact[name] + 1)


@pytest.mark.parametrize(
    ("batch_size", "weights", "rows"),
    [
        (32, {"a": 1, "b": 1}, {"a": 16, "b": 16}),
        (32, {"a": 0.7, "b": 0.3}, {"a": 22, "b": 10}),  # 22.4 and 9.6
        (10, {"a": 1, "b": 100, "c": 1}, {"a": 1, "b": 8, "c": 1}),
        (7, {"a": 1, "b": 1, "c": 1}, {"a": 3, "b": 2, "c": 2}),
        (3, {"a": 1e-3, "b": 1e3, "c": 1}, {"a": 1, "b": 1, "c": 1}),
    ],
)
def test_rows_by_hand(batch_size: int, weights: dict[str, float], rows: dict[str, int]) -> None:
    assert apportion(batch_size, weights) == rows


def test_weights_that_give_no_proportions_are_refused() -> None:
    with pytest.raises(ConfigError, match="A batch of 2 has no row for each of 3 embodiments: a, b, c"):
        apportion(2, {"a": 1, "b": 1, "c": 1})
    with pytest.raises(ConfigError, match="at least one embodiment"):
        apportion(2, {})
    for weight in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ConfigError, match=f"The weight of 'b' must be above 0, found {weight}"):
            apportion(4, {"a": 1, "b": weight})


def test_an_epoch_is_a_pass_over_the_heaviest_however_large_the_others_are() -> None:
    counts, rows = {"small": 40, "large": 1000}, {"small": 6, "large": 2}
    assert steps_of_pass(counts, {"small": 3, "large": 1}, rows, Share()) == 7
    assert steps_of_pass(counts, {"small": 3, "large": 1}, rows, Share(0, 2)) == 4
    assert steps_of_pass(counts, {"small": 1, "large": 1}, {"small": 4, "large": 4}, Share()) == 250


def orders_of(counts: dict[str, int], rows: dict[str, int], steps: int, share: Share, start: int = 0) -> MixtureOrder:
    return MixtureOrder(
        {name: TrainOrder(counts[name], rows[name], seed_of(7, name), steps, share, start) for name in counts}
    )


COUNTS = st.lists(st.integers(1, 30), min_size=1, max_size=4).map(lambda n: {f"b{i}": c for i, c in enumerate(n)})


@given(COUNTS, st.integers(1, 4), st.integers(1, 3), st.integers(0, 2))
def test_processes_share_every_embodiments_endless_order_without_overlap_or_loss(
    counts: dict[str, int], most: int, world: int, epoch: int
) -> None:
    rows = {name: 1 + index % most for index, name in enumerate(counts)}
    orders = [orders_of(counts, rows, 5, Share(rank, world)) for rank in range(world)]
    seen: dict[str, list[int]] = {name: [] for name in counts}
    for order in orders:
        order.set_epoch(epoch)
    for step, parts in enumerate(zip(*orders, strict=True)):
        assert [order.batch(epoch * 5 + step) for order in orders] == list(parts)
        for name in counts:
            shares = [[index for each, _, index in part if each == name] for part in parts]
            assert [len(share) for share in shares] == [rows[name]] * world
            seen[name] += np.stack(shares, axis=1).ravel().tolist()
        assert {number for part in parts for _, number, _ in part} == {epoch}
    for name, count in counts.items():
        begin, end = (each * 5 * world * rows[name] for each in (epoch, epoch + 1))
        assert seen[name] == entries(count, seed_of(7, name), begin, end).tolist()


@given(COUNTS, st.integers(1, 9), st.integers(0, 17))
def test_a_run_resumed_goes_on_where_it_stood(counts: dict[str, int], steps: int, start: int) -> None:
    rows = dict.fromkeys(counts, 2)
    through, resumed = (orders_of(counts, rows, steps, Share(), each) for each in (0, start))
    found = list(resumed)
    end = (start // steps + 1) * steps
    assert found == [through.batch(index) for index in range(start, end)]
    resumed.set_epoch(start // steps + 1)
    assert next(iter(resumed)) == through.batch(end)


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, WindowDataset]:
    root = tmp_path_factory.mktemp("episodes")
    humans = [make_human_episode(root / f"h{index}.zarr", num_frames=10, size=(8, 8), seed=index) for index in range(2)]
    robot = make_eva_episode(root / "r.zarr", num_frames=7, size=(8, 8))
    return {
        "human_bimanual": WindowDataset([read_facts(path) for path in humans], HUMAN),
        "eva_bimanual": WindowDataset([read_facts(robot)], EVA),
    }


@pytest.fixture(scope="module")
def mixture(samples: dict[str, WindowDataset]) -> Mixture:
    return Mixture([Ingredient(samples["human_bimanual"], 2), Ingredient(samples["eva_bimanual"], 1)])


def keys_of(batch: dict[str, Batch]) -> dict[str, object]:
    return {name: part.observation.keys for name, part in batch.items()}


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on fewer cores than that
def test_a_mixed_batch_is_one_batch_an_embodiment_and_workers_change_nothing(mixture: Mixture) -> None:
    order = mixture.order(6, seed=3, share=Share(), steps_per_epoch=4)
    assert order.rows == {"human_bimanual": 4, "eva_bimanual": 2}
    room = mixture.batch_bytes(6)
    assert room >= sum(part.actions.nbytes for part in mixture.__getitems__(order.batch(0)).values())
    alone, helped, shared = (
        list(build_loader(mixture, order, num_workers=num, seed=3, batch_bytes=num_bytes))
        for num, num_bytes in ((0, 0), (2, 0), (2, room))
    )
    assert len(alone) == len(helped) == len(shared) == len(order) == 4
    for one, other in zip(alone * 2, helped + shared, strict=True):
        assert {name: len(batch) for name, batch in one.items()} == order.rows
        assert {name: batch.observation.embodiment for name, batch in one.items()} == {name: name for name in one}
        assert keys_of(one) == keys_of(other)
        assert all(bool((one[name].actions == other[name].actions).all()) for name in one)
    assert keys_of(alone[2]) == keys_of(mixture.__getitems__(order.batch(2)))


def test_an_epoch_without_a_length_sees_all_of_the_heaviest(
    mixture: Mixture, samples: dict[str, WindowDataset]
) -> None:
    order = mixture.order(6, seed=3, share=Share())
    seen = Counter((name, index) for batch in order for name, _, index in batch)
    human, robot = len(samples["human_bimanual"]), len(samples["eva_bimanual"])
    assert len(order) == -(-human // 4)
    assert {index for name, index in seen if name == "human_bimanual"} == set(range(human))
    assert {index for name, index in seen if name == "eva_bimanual"} == set(range(robot))  # it goes round


def test_what_else_is_mixed_in_does_not_change_an_embodiments_order(samples: dict[str, WindowDataset]) -> None:
    names = ("human_bimanual", "eva_bimanual")
    alone = Mixture([Ingredient(samples[names[0]])]).order(3, 3, Share(), steps_per_epoch=5)
    beside = Mixture([Ingredient(samples[name]) for name in names]).order(6, 3, Share(), steps_per_epoch=5)
    parts = [[place for place in batch if place[0] == names[0]] for batch in beside]
    assert parts == list(alone)
    assert seed_of(3, names[0]) != seed_of(3, names[1])
    assert seed_of(3, names[0]) != seed_of(4, names[0])


def test_a_mixture_that_makes_no_sense_is_refused(samples: dict[str, WindowDataset], mixture: Mixture) -> None:
    human = Ingredient(samples["human_bimanual"])
    with pytest.raises(ConfigError, match="'human_bimanual' is in the mixture twice"):
        Mixture([human, human])
    with pytest.raises(ConfigError, match="The weight of 'human_bimanual' must be above 0"):
        Mixture([Ingredient(samples["human_bimanual"], 0.0)])
    with pytest.raises(ConfigError, match="at least one embodiment"):
        Mixture([])
    with pytest.raises(ConfigError, match="steps_per_epoch must be at least 1, found 0"):
        mixture.order(6, 0, Share(), steps_per_epoch=0)
    with pytest.raises(
        UnknownNameError, match=r"embodiment 'eva_bimanul' in this mixture. Did you mean 'eva_bimanual'"
    ):
        mixture.__getitems__([("eva_bimanul", 0, 0)])


def test_an_embodiment_without_a_sample_cannot_be_mixed_in(tmp_path: Path) -> None:
    every = range(8)
    path = make_human_episode(tmp_path / "e.zarr", missing={"left": every, "right": every})
    empty = WindowDataset([read_facts(path)], HUMAN)
    with pytest.raises(ConfigError, match="'human_bimanual' has a recorded step: it cannot be mixed in"):
        Mixture([Ingredient(empty)])


def test_bad_samples_are_replaced_in_a_mixture_too(tmp_path: Path, samples: dict[str, WindowDataset]) -> None:
    path = make_eva_episode(tmp_path / "e.zarr", num_frames=12, size=(8, 8))
    bounds = bounds_of(compute_stats([Episode(read_facts(path))], EVA, None), 0.5)
    change_rows(path, "left.cmd_ee_pose", assign((11, 0), 50.0))
    dataset = WindowDataset([read_facts(path)], EVA)
    replaced = ReplacedSamples(dataset, bounds, BoundsConfig(replace=True), seed=7)
    mixture = Mixture([Ingredient(samples["human_bimanual"]), Ingredient(replaced)])
    order = mixture.order(4, 7, Share(), steps_per_epoch=12)
    places = [order.batch(index) for index in range(12)]
    found = [key for part in places for key in mixture.__getitems__(part)["eva_bimanual"].observation.keys]
    wanted = [(epoch, sample) for part in places for name, epoch, sample in part if name == "eva_bimanual"]
    assert found == [replaced.settle(place)[0] for place in wanted]
    assert any(replaced.settle(place)[1] for place in wanted)


def test_an_error_in_a_worker_names_the_episode(tmp_path: Path, samples: dict[str, WindowDataset]) -> None:
    path = make_eva_episode(tmp_path / "broken.zarr", num_frames=8, size=(8, 8))
    set_pictures(path, "front_1", range(1, 8), b"no JPEG")
    robot = WindowDataset([read_facts(path)], EVA)
    mixture = Mixture([Ingredient(samples["human_bimanual"]), Ingredient(robot)])
    order = mixture.order(6, 7, Share(), steps_per_epoch=3)
    with pytest.raises(EpisodeError, match=r"Episode 'broken', array 'images.front_1', frame [1-7]: the picture is no"):
        list(build_loader(mixture, order, num_workers=1, seed=0))
