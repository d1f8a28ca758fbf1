import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotrain.data.order import Share, TrainOrder, ValidOrder, compute_pass, entries


def test_a_pass_sees_every_sample_once_and_the_next_pass_in_another_order() -> None:
    first, second = compute_pass(50, 3, 0), compute_pass(50, 3, 1)
    np.testing.assert_array_equal(np.sort(first), np.arange(50))
    assert (first != second).any()
    np.testing.assert_array_equal(first, compute_pass(50, 3, 0))
    assert (first != compute_pass(50, 4, 0)).any()


@given(st.integers(1, 30), st.integers(0, 100), st.integers(0, 50))
def test_any_piece_of_the_endless_order_can_be_named_alone(num: int, start: int, length: int) -> None:
    whole = np.concatenate([compute_pass(num, 0, index) for index in range(200 // num + 2)])
    np.testing.assert_array_equal(entries(num, 0, start, start + length), whole[start : start + length])


@given(st.integers(1, 40), st.integers(1, 5), st.integers(1, 4), st.integers(0, 3))
def test_ranks_share_a_global_batch_without_overlap_or_loss(num: int, batch: int, world: int, epoch: int) -> None:
    orders = [TrainOrder(num, batch, 7, 3, Share(rank, world)) for rank in range(world)]
    for order in orders:
        order.set_epoch(epoch)
    for index, parts in enumerate(zip(*orders, strict=True)):
        assert [len(part) for part in parts] == [batch] * world
        place = (epoch * 3 + index) * world * batch
        together = np.stack(parts, axis=1).ravel()  # rank r holds r::R
        np.testing.assert_array_equal(together, entries(num, 7, place, place + world * batch))
        assert [order.batch(epoch * 3 + index) for order in orders] == list(parts)


def test_an_epoch_goes_on_where_the_last_one_ended() -> None:
    order = TrainOrder(10, 4, 0, 5, Share())
    seen = []
    for epoch in range(4):
        order.set_epoch(epoch)
        seen += [index for batch in order for index in batch]
    np.testing.assert_array_equal(seen, entries(10, 0, 0, 80))
    resumed = TrainOrder(10, 4, 0, 5, Share())
    resumed.set_epoch(2)
    assert [index for batch in resumed for index in batch] == seen[40:60]


def test_eighty_entries_over_ten_samples_see_each_eight_times() -> None:
    assert np.bincount(entries(10, 0, 0, 80)).tolist() == [8] * 10


@given(st.integers(1, 40), st.integers(1, 5), st.integers(1, 4))
def test_validation_sees_every_sample_once_over_all_ranks(num: int, batch: int, world: int) -> None:
    orders = [ValidOrder(num, batch, 0, Share(rank, world)) for rank in range(world)]
    seen = [index for order in orders for part in order for index in part]
    assert sorted(seen) == list(range(num))
    assert [len(list(order)) for order in orders] == [len(order) for order in orders]
    assert max(map(len, orders)) - min(map(len, orders)) <= 1


def test_a_validation_cut_short_is_an_even_sample() -> None:
    """EgoVerse#642: the first batches of a sorted split scored 25 of 70 episodes."""
    order = ValidOrder(70 * 100, 32, 0, Share())
    first = [index // 100 for batch, _ in zip(order, range(20), strict=False) for index in batch]
    assert len(set(first)) >= 69


@pytest.mark.parametrize("order", [TrainOrder(5, 2, 0, 3, Share()), ValidOrder(5, 2, 0, Share())])
def test_iterating_twice_gives_the_same_batches(order: TrainOrder | ValidOrder) -> None:
    assert list(order) == list(order)


@given(st.integers(1, 30), st.integers(1, 4), st.integers(1, 3), st.integers(0, 17))
def test_from_wherever_it_starts_the_rest_of_the_order_follows(num: int, batch: int, world: int, start: int) -> None:
    for rank in range(world):
        share = Share(rank, world)
        through, resumed = TrainOrder(num, batch, 0, 5, share), TrainOrder(num, batch, 0, 5, share, start)
        resumed.set_epoch(99)  # what Lightning counts inside an epoch is wrong
        if start == 0:
            resumed.set_epoch(0)
        found = list(resumed)
        for epoch in range(start // 5 + 1, 4):
            resumed.set_epoch(epoch)
            found += resumed
        assert found == [through.batch(index) for index in range(start, 20)]
        assert len(resumed) == 5
