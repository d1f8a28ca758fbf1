import gc
import pickle
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest
import torch
from torch import Tensor

from robotrain.batch import Batch
from robotrain.data.datamodule import EpisodesDataModule, build_loader
from robotrain.data.dataset import WindowDataset
from robotrain.data.pipeline import build_pipeline
from robotrain.data.slots import Filling, LendingOrder, Lent, Packed, Slots, take
from robotrain.embodiments.catalog import embodiment_of
from robotrain.embodiments.history import History
from robotrain.episodes.schema import read_facts
from tests.factories import make_eva_episode, make_human_episode

HISTORY = History(steps=3, seconds=0.2, image_seconds=0.1)
ORDER = [[4 * number + row for row in range(4)] for number in range(12)]


@pytest.fixture(scope="module", params=["human_bimanual", "eva_bimanual"])
def dataset(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> WindowDataset:
    make = make_human_episode if request.param == "human_bimanual" else make_eva_episode
    folder = tmp_path_factory.mktemp("episodes")
    facts = [read_facts(make(folder / f"e{i}.zarr", num_frames=26, size=(32, 24), seed=i)) for i in range(2)]
    return WindowDataset(facts, build_pipeline(embodiment_of(request.param, {}), horizon=100, history=HISTORY))


def tensors_of(thing: object) -> Iterator[Tensor]:
    """Yield every tensor of a batch."""
    if isinstance(thing, Tensor):
        yield thing
    elif isinstance(thing, dict):
        for each in thing.values():
            yield from tensors_of(each)
    elif hasattr(thing, "__dataclass_fields__"):
        for field in fields(thing):  # pyright: ignore[reportArgumentType]
            yield from tensors_of(getattr(thing, field.name))


def same(one: Batch, other: Batch) -> bool:
    pairs = zip(tensors_of(one), tensors_of(other), strict=True)
    return one.observation.keys == other.observation.keys and all(torch.equal(*pair) for pair in pairs)


def loader_of(dataset: WindowDataset, num_workers: int, batch_bytes: int | None = None, order: Any = ORDER) -> Any:
    room = 4 * dataset.sample_bytes if batch_bytes is None else batch_bytes
    return build_loader(dataset, order, num_workers=num_workers, seed=0, batch_bytes=room)


def slots_of(loader: Any) -> Slots:
    return loader.batch_sampler.slots


def test_a_sample_takes_as_much_memory_as_the_data_set_says(dataset: WindowDataset) -> None:
    taken = sum(tensor.nbytes for tensor in tensors_of(dataset.__getitems__(ORDER[0])))
    assert taken <= 4 * dataset.sample_bytes < taken + 4 * 3000


@pytest.mark.parametrize("num_workers", [1, 2])
def test_batches_that_are_kept_are_never_written_over(dataset: WindowDataset, num_workers: int) -> None:
    loader = loader_of(dataset, num_workers)
    kept = [*loader, *loader]
    alone = [dataset.__getitems__(wanted) for wanted in ORDER]
    assert len(kept) == 24 > num_workers * 2 + 3  # more than there are slots
    assert all(same(*pair) for pair in zip(kept, alone * 2, strict=True))


def test_batches_lie_in_the_slots_and_a_slot_is_free_when_nothing_of_its_batch_is_left(dataset: WindowDataset) -> None:
    loader = loader_of(dataset, 1)
    slots = slots_of(loader)
    begin = Filling.over(slots, 0).memory.ctypes.data
    places: list[int] = []
    parts: list[Tensor] = []
    for batch in loader:
        (place,) = {(tensor.data_ptr() - begin) // slots.num_bytes for tensor in tensors_of(batch)}
        places.append(place)
        parts = [batch.observation.state[1:]]
        del batch
    assert set(places) < {0, 1, 2, 3, 4}  # of twelve batches
    part, number = parts.pop().numpy(), places[-1]
    values = part.copy()
    assert number not in slots._free
    list(loader)
    assert (part == values).all()
    del part
    gc.collect()
    assert sorted(slots._free) == [0, 1, 2, 3, 4]


def test_an_epoch_that_is_left_early_leaves_no_slot_behind_and_spoils_no_batch(dataset: WindowDataset) -> None:
    loader = loader_of(dataset, 2)
    alone = [dataset.__getitems__(wanted) for wanted in ORDER]
    kept = [next(iter(loader)) for _ in range(4)]
    assert all(same(*pair) for pair in zip(list(loader), alone, strict=True))
    assert all(same(batch, alone[0]) for batch in kept)
    kept.clear()
    gc.collect()
    assert sorted(slots_of(loader)._free) == list(range(7))


@pytest.mark.parametrize("batch_bytes", [1, 3000, 20_000])
def test_a_batch_that_is_larger_than_its_slot_comes_all_the_same(dataset: WindowDataset, batch_bytes: int) -> None:
    for batch, wanted in zip(loader_of(dataset, 1, batch_bytes, ORDER[:3]), ORDER, strict=False):
        assert same(batch, dataset.__getitems__(wanted))


def test_a_tensor_is_no_larger_than_itself(dataset: WindowDataset) -> None:
    """What is saved of a batch is not the whole slot."""
    (batch,) = loader_of(dataset, 1, order=ORDER[:1])
    assert all(tensor.untyped_storage().nbytes() == tensor.nbytes for tensor in tensors_of(batch))


def test_the_data_module_lends_slots_to_workers_only(dataset: WindowDataset) -> None:
    for num_workers, lends in ((0, False), (2, True)):
        module = EpisodesDataModule(dataset, dataset, batch_size=4, num_workers=num_workers, seed=0, steps_per_epoch=3)
        for loader in (module.train_dataloader(), module.val_dataloader()):
            assert isinstance(loader.batch_sampler, LendingOrder) is lends  # pyright: ignore[reportAttributeAccessIssue]


def test_slots_do_not_travel_to_a_process_that_was_not_forked() -> None:
    assert pickle.loads(pickle.dumps(Slots(2, 8))) is None  # noqa: S301  # our own bytes


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_workers_that_were_not_forked_give_the_same_batches(dataset: WindowDataset, method: str) -> None:
    loader = loader_of(dataset, 1, order=ORDER[:3])
    loader.multiprocessing_context = method
    assert all(same(batch, dataset.__getitems__(wanted)) for batch, wanted in zip(loader, ORDER, strict=False))


def test_room_is_taken_once_and_begins_where_a_tensor_may() -> None:
    filling = Filling.over(Slots(2, 200), 1)
    one, other = filling.take(3), filling.take(5)
    assert one is not None
    assert other is not None
    assert (len(one), len(other), other.ctypes.data - one.ctypes.data) == (3, 5, 64)
    assert filling.take(1 << 12) is None
    assert filling.take(8) is not None
    assert take(1) is None  # nothing is being filled


def test_more_than_there_is_is_not_lent_and_what_never_came_is_taken_back() -> None:
    slots = Slots(2, 8)
    first, second, third = (slots.lend([number]) for number in range(3))
    assert [isinstance(each, Lent) for each in (first, second, third)] == [True, True, False]
    assert (first, second, third) == ([0], [1], [2])
    assert isinstance(first, Lent)
    batch = slots.fill(first.number, lambda: torch.arange(5)).unpack()
    slots.take_back()
    assert len(slots._free) == 1
    assert batch.tolist() == [0, 1, 2, 3, 4]
    del batch
    assert len(slots._free) == 2


class Pinned:
    def pin_memory(self) -> str:
        return "pinned"


def test_what_is_packed_is_pinned_unpacked() -> None:
    slots = Slots(1, 8)
    assert isinstance(slots.lend([0]), Lent)
    packed = slots.fill(0, Pinned)
    assert isinstance(packed, Packed)
    assert packed.pin_memory() == "pinned"
    assert slots._free == [0]
