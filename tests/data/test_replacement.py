import shutil
from pathlib import Path

import numpy as np
import pytest

from robotrain.batch import Batch
from robotrain.data.bounds import BoundsConfig, bounds_of
from robotrain.data.datamodule import EpisodesDataModule
from robotrain.data.dataset import WindowDataset
from robotrain.data.exact_stats import compute_stats
from robotrain.data.order import Share, TrainOrder
from robotrain.data.pipeline import build_pipeline
from robotrain.data.replacement import QUARANTINED, UNREADABLE, ReplacedSamples
from robotrain.embodiments.catalog import embodiment_of
from robotrain.episodes.reader import Episode
from robotrain.episodes.schema import read_facts
from robotrain.errors import EpisodeError
from tests.damage import assign, change_rows, set_pictures
from tests.factories import make_eva_episode

EVA = build_pipeline(embodiment_of("eva_bimanual", {}), mode="cartesian_6d", horizon=3, seconds=0.1)
ON = BoundsConfig(replace=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four sound episodes, from which the bounds come; then one loses its way, one jumps once, one has no picture 3."""
    root = tmp_path_factory.mktemp("episodes")
    for index in range(4):
        make_eva_episode(root / f"e{index}", num_frames=12, seed=index)
    return root


@pytest.fixture(scope="module")
def replaced(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> ReplacedSamples:
    sound = [read_facts(folder / f"e{index}") for index in range(4)]
    bounds = bounds_of(compute_stats([Episode(facts) for facts in sound], EVA, None), ON.slack)
    root = tmp_path_factory.mktemp("damaged")
    paths = [shutil.copytree(folder / f"e{index}", root / f"e{index}") for index in range(4)]
    change_rows(paths[1], "left.cmd_ee_pose", assign((slice(None), 0), 50.0))
    change_rows(paths[2], "right.cmd_ee_pose", assign((5, 1), -50.0))
    set_pictures(paths[3], "front_1", range(3, 4), b"no JPEG")
    dataset = WindowDataset([read_facts(path) for path in paths], EVA)
    return ReplacedSamples(dataset, bounds, ON, seed=7)


def place_of(replaced: ReplacedSamples, episode: str, frame: int, epoch: int = 0) -> tuple[int, int]:
    keys = [replaced.dataset.keys(index) for index in range(len(replaced))]
    return epoch, keys.index((episode, frame))


def test_a_good_sample_is_itself(replaced: ReplacedSamples) -> None:
    assert replaced.settle(place_of(replaced, "e0", 4)) == (("e0", 4), ())


@pytest.mark.parametrize("frame", [3, 4, 5])
def test_a_sample_whose_chunk_jumps_is_replaced_within_its_episode(replaced: ReplacedSamples, frame: int) -> None:
    key, rejected = replaced.settle(place_of(replaced, "e2", frame))
    assert rejected[0].key == ("e2", frame)
    assert rejected[0].reason == "right.xyz out of bounds"
    assert key[0] == "e2"
    assert key[1] not in {2, 3, 4, 5}


def test_a_picture_that_cannot_be_read_is_replaced(replaced: ReplacedSamples) -> None:
    key, rejected = replaced.settle(place_of(replaced, "e3", 3))
    assert rejected[0].reason == UNREADABLE
    assert key[0] == "e3"
    assert key[1] != 3


def test_an_episode_with_too_many_bad_samples_is_left_out_whole(replaced: ReplacedSamples) -> None:
    assert [replaced.is_quarantined(f"e{index}") for index in range(4)] == [False, True, False, False]
    assert replaced.bad_share("e1") == 1.0
    for frame in range(12):
        key, rejected = replaced.settle(place_of(replaced, "e1", frame))
        assert rejected[0].reason == QUARANTINED
        assert key[0] != "e1"


def test_a_replacement_is_another_in_another_epoch_and_never_always_frame_0(replaced: ReplacedSamples) -> None:
    keys = [replaced.settle(place_of(replaced, "e1", 2, epoch))[0] for epoch in range(20)]
    assert len(set(keys)) > 10
    assert keys == [replaced.settle(place_of(replaced, "e1", 2, epoch))[0] for epoch in range(20)]


def test_a_batch_holds_the_replacements_at_their_rows(replaced: ReplacedSamples) -> None:
    places = [place_of(replaced, *key) for key in (("e0", 1), ("e1", 6), ("e3", 3), ("e2", 4), ("e0", 2))]
    batch = replaced.__getitems__(places)
    assert batch.observation.keys == tuple(replaced.settle(place)[0] for place in places)
    assert batch.observation.keys[0] == ("e0", 1)
    assert batch.observation.keys[4] == ("e0", 2)
    assert float(batch.actions.abs().max()) < 10


def test_when_everything_is_bad_the_run_ends_and_says_why(replaced: ReplacedSamples) -> None:
    hopeless = ReplacedSamples(
        replaced.dataset,
        bounds_of(compute_stats([Episode(replaced.dataset.facts["e1"])], EVA, None), 0.0),
        BoundsConfig(replace=True, attempts=9, quarantine=1.0),
        seed=0,
    )
    with pytest.raises(EpisodeError, match=r"Episode 'e0', frame 1: .* and so are 9 that could replace it") as caught:
        hopeless.settle(place_of(hopeless, "e0", 1))
    assert "data.bounds.slack" in str(caught.value)


def test_of_what_could_replace_a_sample_the_last_that_was_tried_is_named(replaced: ReplacedSamples) -> None:
    impatient = ReplacedSamples(replaced.dataset, replaced.bounds, BoundsConfig(replace=True, attempts=1), seed=0)
    said: list[str] = []
    for epoch in range(60):
        try:
            impatient.settle(place_of(impatient, "e1", 1, epoch))
        except EpisodeError as problem:
            said.append(str(problem))
    assert said
    assert all("the last in 'e1': episode in quarantine" in text for text in said if "quarantine." in text)


def keys_of(replaced: ReplacedSamples, num_workers: int) -> list[object]:
    module = EpisodesDataModule(
        replaced.dataset, None, batch_size=8, num_workers=num_workers, seed=7, steps_per_epoch=9, replaced=replaced
    )
    loader = module.train_dataloader()
    found: list[object] = []
    for epoch in range(2):
        loader.batch_sampler.set_epoch(epoch)  # pyright: ignore[reportAttributeAccessIssue, reportOptionalMemberAccess]
        found += [batch.observation.keys for batch in loader if isinstance(batch, Batch)]
    return found


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on fewer cores than that
def test_the_samples_are_the_same_for_any_number_of_workers(replaced: ReplacedSamples) -> None:
    alone = keys_of(replaced, 0)
    order = TrainOrder(len(replaced), 8, 7, 9, Share())
    expected = [
        tuple(replaced.settle((number // 9, index))[0] for index in order.batch(number)) for number in range(18)
    ]
    assert alone == expected
    assert alone == keys_of(replaced, 1) == keys_of(replaced, 4)
    used = {key for keys in expected for key in keys}
    assert not [key for key in used if key[0] == "e1" or key in {("e2", 5), ("e3", 3)}]


def test_without_replacing_what_cannot_be_read_ends_the_run(replaced: ReplacedSamples) -> None:
    with pytest.raises(EpisodeError, match="frame 3: the picture is no sound JPEG"):
        replaced.dataset.batch([("e3", 3)])
    assert np.isfinite(replaced.dataset.batch([("e1", 3)]).actions.numpy()).all()
