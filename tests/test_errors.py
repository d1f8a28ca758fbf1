import difflib
import pickle

import pytest

from robotrain.errors import (
    BrokenEpisodesError,
    EpisodeError,
    ManifestError,
    MissingPathError,
    NoEpisodesError,
    PinError,
    RobotrainError,
    SplitError,
    UnknownNameError,
    listing,
    nearest,
)


@pytest.mark.parametrize(
    ("name", "expected"), [("hpt_tny", "hpt_tiny"), ("HPT_TINY", "hpt_tiny"), ("rdt1b", "rdt_1b"), ("zebra", None)]
)
def test_nearest_finds_what_was_meant_and_nothing_when_nothing_is_close(name: str, expected: str | None) -> None:
    assert nearest(name, ["hpt_tiny", "hpt_base", "rdt_1b"]) == expected


def test_an_unknown_name_tells_the_nearest_and_what_there_is() -> None:
    message = str(UnknownNameError("arch", "hpt_tny", ["hpt_base", "hpt_tiny"], where="recipe 'demo'"))
    assert message == (
        "Unknown arch 'hpt_tny' in recipe 'demo'. Did you mean 'hpt_tiny'? Available: hpt_base, hpt_tiny."
    )


def test_an_unknown_name_says_when_there_is_nothing_to_choose_from() -> None:
    assert str(UnknownNameError("mode", "x", [])) == "Unknown mode 'x'. There is no mode at all."


def test_a_long_listing_counts_what_it_leaves_out() -> None:
    assert listing([str(i) for i in range(10)], most=3) == "0, 1, 2, and 7 more"


def test_storage_errors_are_also_the_built_in_kind() -> None:
    error = MissingPathError("data/eva", "The data folder", hint="Set ROBOTRAIN_DATA_DIR.")
    assert isinstance(error, FileNotFoundError)
    assert isinstance(error, RobotrainError)
    assert str(error) == "The data folder 'data/eva' does not exist. Set ROBOTRAIN_DATA_DIR."


def test_a_pin_error_holds_every_problem() -> None:
    problems = {"absent": ["a: not there"], "of another embodiment": ["b: human"]}
    error = PinError("flagship", problems, num_wrong=2, num_pins=5)
    assert error.problems == ("a: not there", "b: human")
    assert str(error).splitlines() == [
        "2 of 5 pinned episodes of 'flagship' cannot be used: 1 absent, 1 of another embodiment",
        "  - a: not there",
        "  - b: human",
    ]


def test_a_long_list_of_problems_is_cut_kind_by_kind_so_that_a_rare_one_shows() -> None:
    problems = {"absent": [f"a{number}" for number in range(41_000)], "deleted": ["d"]}
    lines = str(PinError("d", problems, num_wrong=41_001, num_pins=41_001, named="held-out")).splitlines()
    assert lines[0].startswith("41001 of 41001 held-out episodes")
    assert lines[-2:] == ["  - and 40990 more absent", "  - d"]
    lines = str(BrokenEpisodesError("d", [f"e{number}" for number in range(30)], 40)).splitlines()
    assert lines[20:22] == ["  - e19", "  - and 10 more like these"]


def test_the_nearest_of_very_many_names_is_looked_for_among_few(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"2025-{number:05d}-17-47-54-{number * 7919 % 1_000_000:06d}" for number in range(41_000)]
    wanted = names[20_123]
    seen: list[int] = []
    look = difflib.get_close_matches

    def count(word: str, possibilities: list[str], n: int, cutoff: float) -> list[str]:
        seen.append(len(possibilities))
        return look(word, possibilities, n=n, cutoff=cutoff)

    monkeypatch.setattr(difflib, "get_close_matches", count)
    for place in (0, 7, len(wanted) - 1):
        assert nearest(wanted[:place] + "x" + wanted[place + 1 :], names) == wanted
    assert max(seen) <= 300


def test_an_overlap_of_a_split_names_the_episodes() -> None:
    message = str(SplitError(["a", "b"]))
    assert "2 episodes are both for training and held out for validation: a, b." in message


@pytest.mark.parametrize(
    "problem",
    [
        EpisodeError("e", "it changed.", array="a", frame=3),
        MissingPathError("nowhere", "The episode"),
        UnknownNameError("arch", "hpt", ("hpt_tiny",)),
        NoEpisodesError("data", reason="None."),
        ManifestError("m.json", "it is none."),
    ],
    ids=lambda problem: type(problem).__name__,
)
def test_an_error_of_another_process_arrives_as_it_was(problem: RobotrainError) -> None:
    arrived = pickle.loads(pickle.dumps(problem))  # noqa: S301 -- our own bytes
    assert (type(arrived), str(arrived), vars(arrived)) == (type(problem), str(problem), vars(problem))
