"""Training and validation: apart, complete, the same every time."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotrain.episodes.choice.selection import LeftOut, Selection
from robotrain.episodes.choice.splits import split_groups, split_hashes
from robotrain.episodes.resolver import SelectionConfig, resolve_episodes
from robotrain.errors import ConfigError, NoEpisodesError, SplitError, UnknownNameError
from tests.hollow import make_hollow

HASHES = st.lists(st.text("abc012-", min_size=1, max_size=6), min_size=1, max_size=40, unique=True)
RATIOS = st.floats(0.01, 0.99)
SEEDS = st.integers(0, 2**32)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return twelve episodes of four operators. Read only."""
    root = tmp_path_factory.mktemp("splits")
    for number in range(12):
        make_hollow(root, f"e{number:02d}", operator=f"op{number % 4}", shift=number % 4)
    return root


def resolved(root: Path, **more: object) -> Selection:
    return resolve_episodes(SelectionConfig(root=str(root), **more))  # pyright: ignore[reportArgumentType]


def hashes_of(selection: Selection) -> tuple[list[str], list[str]]:
    return [facts.hash for facts in selection.train], [facts.hash for facts in selection.valid]


@given(HASHES, RATIOS, SEEDS, st.randoms())
def test_a_split_is_apart_complete_and_independent_of_the_order(
    hashes: list[str], ratio: float, seed: int, order: random.Random
) -> None:
    train, valid = split_hashes(hashes, ratio, seed)
    assert sorted([*train, *valid]) == sorted(hashes)
    assert train
    assert len(valid) == (max(1, int(len(hashes) * ratio)) if len(hashes) > 1 else 0)
    order.shuffle(hashes)
    assert split_hashes(hashes, ratio, seed) == (train, valid)


@pytest.mark.parametrize(
    ("num", "ratio", "num_valid"), [(1, 0.2, 0), (2, 0.2, 1), (3, 0.2, 1), (10, 0.35, 3), (10, 0.0, 0), (2, 0.99, 1)]
)
def test_at_least_one_episode_trains_and_one_validates_where_there_are_two(
    num: int, ratio: float, num_valid: int
) -> None:
    train, valid = split_hashes([f"h{number}" for number in range(num)], ratio, 42)
    assert (len(train), len(valid)) == (num - num_valid, num_valid)
    assert not set(train) & set(valid)


@given(st.dictionaries(st.text("abc012-", min_size=1, max_size=6), st.sampled_from("wxyz"), min_size=2), RATIOS, SEEDS)
def test_groups_stay_whole_and_hold_out_the_share_unless_that_takes_all(
    groups: dict[str, str], ratio: float, seed: int
) -> None:
    names = set(groups.values())
    if len(names) < 2:
        with pytest.raises(ConfigError, match="at least two values of 'operator'"):
            split_groups(groups, ratio, seed, name="operator")
        return
    train, valid = split_groups(groups, ratio, seed, name="operator")
    assert sorted([*train, *valid]) == sorted(groups)
    of_train, of_valid = ({groups[each] for each in part} for part in (train, valid))
    assert of_train
    assert of_valid
    assert not of_train & of_valid
    assert len(valid) >= ratio * len(groups) or len(of_train) == 1
    assert split_groups(dict(reversed(groups.items())), ratio, seed, name="operator") == (train, valid)


def test_no_more_groups_are_held_out_than_the_share_needs() -> None:
    groups = {f"e{number}": f"g{number % 10}" for number in range(100)}
    assert len(split_groups(groups, 0.2, 42, name="g")[1]) == 20
    assert len(split_groups(groups, 0.21, 42, name="g")[1]) == 30


def test_whole_operators_are_held_out_and_another_seed_holds_out_others(root: Path) -> None:
    train, valid = hashes_of(resolved(root, split_by="operator"))
    assert len(valid) == 3
    assert len({int(each[1:]) % 4 for each in valid}) == 1
    assert hashes_of(resolved(root, split_by="shift"))[1] == valid, "numbers group as their texts do"
    seeds = {tuple(hashes_of(resolved(root, split_by="operator", split_seed=seed))[1]) for seed in range(20)}
    assert len(seeds) == 4
    assert sorted([*train, *valid]) == sorted(path.name for path in root.iterdir())


def test_a_split_by_what_is_not_said_names_the_episodes(tmp_path: Path) -> None:
    for number in range(4):
        make_hollow(tmp_path, f"e{number}", operator="" if number == 2 else f"op{number}")
    with pytest.raises(ConfigError, match=r"split_by=operator: 1 of 4 episodes have no 'operator': e2\. .*regex=\."):
        resolved(tmp_path, split_by="operator")
    train, valid = hashes_of(resolved(tmp_path, split_by="operator", where={"operator": {"regex": "."}}))
    assert sorted([*train, *valid]) == ["e0", "e1", "e3"]
    with pytest.raises(UnknownNameError, match=r"'operater' in episodes.split_by. Did you mean 'operator'"):
        resolved(tmp_path, split_by="operater")
    with pytest.raises(ConfigError, match=r"only 'op1'"):
        resolved(tmp_path, split_by="operator", where={"operator": "op1"})


def test_held_out_episodes_validate_and_the_others_train(root: Path) -> None:
    train, valid = hashes_of(resolved(root, held_out=("e07", "e01.zarr")))
    assert valid == ["e01", "e07"]
    assert len(train) == 10
    assert hashes_of(resolved(root, held_out=("e07",), pins=("e01", "e00"))) == (["e00", "e01"], ["e07"])


def test_an_episode_that_is_pinned_and_held_out_is_named(root: Path) -> None:
    with pytest.raises(SplitError, match=r"2 episodes are both .*: e01, e02\.") as caught:
        resolved(root, pins=("e00", "e01", "e02"), held_out=("e02.zarr", "e01"))
    assert caught.value.hashes == ("e01", "e02")


def test_no_selection_holds_an_episode_on_both_sides(root: Path) -> None:
    selection = resolved(root)
    with pytest.raises(SplitError, match=f"1 episode is both .*: {selection.valid[0].hash}"):
        Selection(train=(*selection.train, selection.valid[0]), valid=selection.valid, root=root)


def test_filters_hold_out_unseen_operators(root: Path) -> None:
    train, valid = hashes_of(resolved(root, held_out_where={"operator": ["op1", "op3"]}))
    assert {int(each[1:]) % 4 for each in valid} == {1, 3}
    assert {int(each[1:]) % 4 for each in train} == {0, 2}
    with pytest.raises(NoEpisodesError, match=r"None passes episodes.held_out_where: operator equals 'opx'\n.*op"):
        resolved(root, held_out_where={"operator": "opx"})
    with pytest.raises(NoEpisodesError, match="None is left to train on"):
        resolved(root, held_out_where={"operator": {"prefix": "op"}})
    with pytest.raises(UnknownNameError, match="held_out_where"):
        resolved(root, held_out_where={"operatr": "op1"})


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"held_out": ("a",), "split_by": "x"}, "split_by and episodes.held_out both say"),
        ({"held_out": ("a",), "held_out_where": {"x": 1}}, "held_out and episodes.held_out_where both say"),
        ({"split_by": "x", "valid_ratio": 0.0}, "split_by would be ignored"),
        ({"held_out": ("a",), "valid_ratio": 0.3}, r"valid_ratio=0.3 would be ignored.*Leave it at 0.2"),
        ({"held_out_where": {"x": 1}, "split_seed": 0}, "split_seed=0 would be ignored"),
        ({"held_out_where": {"x": {"atmost": 1}}}, "held_out_where.x: unknown operator"),
        ({"allow_missing": -1}, "allow_missing is -1"),
    ],
)
def test_what_would_be_ignored_is_refused(more: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        SelectionConfig(**more)  # pyright: ignore[reportArgumentType]


def test_a_ratio_of_none_agrees_with_a_list(root: Path) -> None:
    assert hashes_of(resolved(root, held_out=("e07",), valid_ratio=0.0))[1] == ["e07"]


@given(st.sets(st.integers(0, 11), max_size=8), SEEDS)
def test_leaving_episodes_out_moves_no_other(root: Path, unsound: set[int], seed: int) -> None:
    whole = resolved(root, split_seed=seed, valid_ratio=0.3)
    reasons = {f"e{number:02d}": "bad" for number in unsound}
    if {facts.hash for facts in whole.train} <= set(reasons):
        with pytest.raises(NoEpisodesError, match="None is left to train on"):
            whole.without(reasons)
        return
    rest = whole.without(reasons)
    assert hashes_of(rest) == tuple([each for each in part if each not in reasons] for part in hashes_of(whole))
    assert {each.hash for each in rest.left_out} == set(reasons)
    assert rest.num_missing == len(reasons)


def test_what_is_left_out_is_counted_with_its_reason(root: Path) -> None:
    rest = resolved(root).without({"e00": "missing-shard: x", "e03": "bad-jpeg: y"})
    assert rest.left_out[0] == LeftOut("e00", "unsound", "missing-shard: x")
    assert rest.remarks == ("2 episodes are left out: 2 unsound (e00, e03)",)
    assert rest.without({"e01": "z"}, "gone").remarks == (
        "3 episodes are left out: 2 unsound (e00, e03), 1 gone (e01)",
    )
    with pytest.raises(AssertionError, match="e99"):
        rest.without({"e99": "x"})
