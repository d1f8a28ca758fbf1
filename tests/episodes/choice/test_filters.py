"""Conditions: what holds, what a config may say, and what is told when it says nonsense."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotrain.episodes.choice.filters import Filter, Scalar, describe_values, parse_filters, read_flag, text_of
from robotrain.errors import ConfigError


def filter_of(told: Any, name: str = "x") -> Filter:
    (only,) = parse_filters({name: told}, "episodes.where")
    return only


@pytest.mark.parametrize(
    ("told", "passing", "failing"),
    [
        ("fold", ["fold"], ["folds", "Fold", "", None, 1]),
        (["op1", "op2"], ["op1", "op2"], ["op3", None]),
        ({"equals": "a"}, ["a"], ["b", None]),
        ({"in": [1, "b"]}, [1, "1", 1.0, "b"], ["a", 2, None]),
        ({"prefix": "op"}, ["op", "op1"], ["xop", "OP1", None]),
        ({"prefix": 2025}, ["2025-01-01", 2025], ["x2025"]),
        ({"regex": "fold|pour"}, ["fold", "unfolding", "to pour"], ["pick", None]),
        ({"regex": "^fold$"}, ["fold"], ["unfold"]),
        ({"regex": "."}, ["a", 0, False], ["", None]),
        ({"at_least": 100}, [100, "100", 1e3, "1e3"], [99, "99", "many", True, None]),
        ({"at_most": 0.5}, [0.5, "0.5", -1, " .5 "], [1, "nan", "inf", False, None]),
        ({"at_least": 2, "at_most": 4}, [2, 3, "4"], [1, 5]),
        ({"not": "a"}, ["b", "", None], ["a"]),
        ({"not": ["a", "b"]}, ["c", None], ["a", "b"]),
        ({"not": {"prefix": "x"}}, ["ax", None], ["x1"]),
        ({"not": {"at_least": 2, "at_most": 4}}, [1, 5, "many", None], [2, 3]),
        ({"prefix": "a", "not": {"regex": "z"}}, ["ab"], ["az", "b", None]),
        ({"not": {"not": "a"}}, ["a"], ["b", None]),
        ({"not": {"regex": "."}}, ["", None], ["a"]),
        (7, [7, "7", 7.0, "007"], ["7a", 8, None]),
        ("7", ["7", 7], ["007"]),
        (0.1, [0.1, "0.1"], ["0.10000001"]),
        (10**20 + 1, [10**20 + 1, str(10**20 + 1)], [10**20, str(10**20)]),
        (True, [True, "true", "True", "t", "yes", "1", 1], [False, "false", "2", 2, "x", None]),
        (False, [False, "false", "f", "no", 0, "0"], [True, "", None]),
        ("true", ["true", True], [False, "True"]),
    ],
)
def test_what_passes_a_condition_and_what_does_not(told: Any, passing: list[Scalar], failing: list[Scalar]) -> None:
    asked = filter_of(told)
    assert [value for value in passing if not asked.holds(value)] == []
    assert [value for value in failing if asked.holds(value)] == []


values = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4)
operands = st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4)


@given(values, st.lists(operands, min_size=1, max_size=3))
def test_not_is_the_opposite_and_in_is_any_of_equals(value: Scalar, asked: list[Any]) -> None:
    one_of = filter_of(asked).holds(value)
    assert filter_of({"not": asked}).holds(value) is not one_of
    assert one_of == any(filter_of(each).holds(value) for each in asked)


@given(values, st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_a_range_holds_where_both_of_its_ends_do(value: Scalar, least: float, most: float) -> None:
    both = filter_of({"at_least": least}).holds(value) and filter_of({"at_most": most}).holds(value)
    assert filter_of({"at_least": least, "at_most": most}).holds(value) == both


def test_bodies_hashes_and_rates_are_compared_as_episodes_know_them() -> None:
    assert filter_of("MECKA_BIMANUAL", "embodiment").holds("human_bimanual")
    assert filter_of({"in": ["aria_left_arm"]}, "embodiment").holds("human_left_arm")
    assert filter_of({"prefix": "yam_"}, "embodiment").holds("eva_bimanual")
    assert filter_of("e1.zarr", "hash").holds("e1")
    assert filter_of(29.97002997, "fps").holds(30000 / 1001)
    assert not filter_of("aria_bimanual").holds("human_bimanual"), "only under the name embodiment"


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"atleast": 3}, r"episodes.where.x: unknown operator 'atleast'. Did you mean 'at_least'\? There are: equals,"),
        ({"not": {"lambda": "x"}}, r"episodes.where.x.not: unknown operator 'lambda'"),
        ({True: 3}, r"unknown operator 'True'"),
        ({}, r"episodes.where.x names no operator"),
        ({"regex": "("}, r"episodes.where.x.regex: '\(' is no regular expression: missing \)"),
        ({"regex": 3}, r"must be a text, found 3"),
        ({"prefix": 2.5}, r"must be a text, found 2.5; put it in quotes"),
        ({"at_least": "2025-01-01"}, r"episodes.where.x.at_least must be a number, found '2025-01-01'"),
        ({"at_most": True}, r"must be a number, found True"),
        ({"at_most": float("nan")}, r"must be a number"),
        ({"at_most": 10**400}, r"must be a number"),
        ({"at_least": "1e999"}, r"must be a number"),
        ({"in": []}, r"a list of at least one value"),
        ([], r"a list of at least one value"),
        ({"in": "a"}, r"episodes.where.x.in must be a list"),
        ({"in": [["a"]]}, r"must be a text, a number, true or false, found \['a'\]"),
        ({"equals": ["a"]}, r"episodes.where.x.equals must be a text"),
        ({"not": None}, r"episodes.where.x.not is null, which equals nothing"),
        ([None], r"is null"),
    ],
)
def test_what_cannot_be_meant_is_refused_at_its_place(told: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        filter_of(told)


@pytest.mark.parametrize("huge", [10**400, "9" * 400, "9" * 9000, "1e999", float("inf")])
def test_a_number_beyond_all_others_is_compared_as_what_it_is_spelled(huge: Any) -> None:
    (condition,) = parse_filters({"fps": huge}, "w")
    assert not condition.holds(30.0)
    assert not filter_of({"at_least": 3}).holds(huge)
    assert filter_of(3).nearest_of([huge, 7]) == "7"


def test_null_takes_a_condition_back() -> None:
    assert [each.name for each in parse_filters({"a": None, "b": 1}, "w")] == ["b"]


def test_filters_are_told_in_the_words_of_a_config() -> None:
    told = {"prefix": "x", "not": {"at_least": 3.0, "regex": "^a"}}
    assert filter_of(told).words == "x prefix 'x' and not (at_least 3 and regex '^a')"
    assert filter_of(["a", 1, True]).words == "x in [a, 1, true]"


def test_the_nearest_value_is_the_one_that_reads_most_alike_or_the_closest_number() -> None:
    assert filter_of("fold_clothe").nearest_of(["pour", "fold_clothes", None]) == "fold_clothes"
    assert filter_of({"at_least": 100}).nearest_of([3, "90", 7.0, "many"]) == "90"
    assert filter_of(["zzz", "poor"]).nearest_of(["pour", "fold"]) == "pour"
    assert filter_of({"not": "a"}).nearest_of(["a"]) is None
    assert filter_of("a").nearest_of([None]) is None


def test_values_are_told_with_counts_the_most_frequent_first() -> None:
    assert describe_values(["b", "a", "b", None, "", 10, 2, True]) == (
        "b (2), '' (1), a (1), no value (1), true (1), 2 (1), 10 (1)"
    )
    assert describe_values([str(number) for number in range(12)]).endswith("7 (1), and 4 more")
    assert (text_of(3.0), text_of(0.5), text_of(False)) == ("3", "0.5", "false")


def test_flags_of_several_tables_are_read_and_others_are_not_guessed() -> None:
    assert [read_flag(each) for each in ("TRUE", "t", 1, 1.0, True)] == [True] * 5
    assert [read_flag(each) for each in ("False", "f", 0, False)] == [False] * 4
    assert [read_flag(each) for each in ("maybe", None, 2, "")] == [None] * 4
