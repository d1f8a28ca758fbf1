import pytest

from robotrain.errors import MissingPathError, PinError, RobotrainError, UnknownNameError, listing, nearest


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
    error = PinError("flagship", ["a: not there", "b: of another embodiment"], num_pins=5)
    assert str(error).splitlines() == [
        "2 of 5 pinned episodes of 'flagship' cannot be used:",
        "  - a: not there",
        "  - b: of another embodiment",
    ]
