from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from robotrain.data.bounds import BoundsConfig, bounds_of
from robotrain.data.pipeline import Encoded, build_pipeline
from robotrain.data.stats import Columns, Stats
from robotrain.embodiments.catalog import embodiment_of
from robotrain.errors import ConfigError

INTERFACE = build_pipeline(embodiment_of("eva_bimanual", {}), mode="cartesian_6d", horizon=3).interface()
D, S = INTERFACE.actions.width, INTERFACE.state.width
XYZ = INTERFACE.actions.slices["left.xyz"].start
ROT6D = INTERFACE.actions.slices["left.rot6d"].start
GRIPPER = INTERFACE.actions.slices["left.gripper"].start


def columns(shape: tuple[int, ...]) -> Columns:
    """Every column reaches from -1 to 1, but the last, which stands still."""
    named = dict.fromkeys(Columns.__dataclass_fields__, np.zeros(shape))
    low = np.full(shape, -1.0)
    low[..., -1] = 1.0
    return Columns(**{**named, "q0001": low, "q9999": np.ones(shape)})


def stats() -> Stats:
    blank: dict[str, Any] = dict.fromkeys(Stats.__dataclass_fields__)
    return Stats(**{**blank, "interface": INTERFACE, "actions": columns((3, D)), "state": columns((S,))})


def samples(num: int = 2) -> Encoded:
    blank: dict[str, Any] = {name: np.zeros((num, 0)) for name in Encoded.__dataclass_fields__}
    return Encoded(
        **{
            **blank,
            "actions": np.zeros((num, 3, D), np.float32),
            "action_mask": np.ones((num, 3), bool),
            "state": np.zeros((num, S), np.float32),
            "state_mask": np.ones((num, S), bool),
        }
    )


@pytest.mark.parametrize(
    ("slack", "value", "problem"),
    [
        (0.0, 1.0, ""),
        (0.0, 1.00001, "left.xyz out of bounds"),
        (0.5, 2.0, ""),
        (0.5, 2.00001, "left.xyz out of bounds"),
        (0.5, -2.00001, "left.xyz out of bounds"),
        (0.5, np.nan, "left.xyz not finite"),
        (0.5, -np.inf, "left.xyz not finite"),
    ],
)
def test_a_value_may_lie_beyond_the_outermost_quantiles_by_a_share_of_their_range(
    slack: float, value: float, problem: str
) -> None:
    encoded = samples()
    encoded.actions[1, 2, XYZ + 1] = value
    assert bounds_of(stats(), slack).problems(encoded) == ["", problem]


def test_rotations_and_columns_that_stand_still_have_no_bounds_but_must_be_numbers() -> None:
    encoded, last = samples(4), D - 1
    assert INTERFACE.actions.columns[last] == "right.gripper"
    encoded.actions[0, 0, ROT6D] = 99.0
    encoded.actions[1, 0, last] = 99.0
    encoded.actions[2, 0, ROT6D] = np.nan
    encoded.actions[3, 0, last] = np.nan
    found = bounds_of(stats(), 0.5).problems(encoded)
    assert found == ["", "", "left.rot6d not finite", "right.gripper not finite"]


def test_the_state_is_looked_at_too_and_what_is_not_real_is_not() -> None:
    encoded = samples(4)
    encoded.state[0, 0] = 5.0
    encoded.state[1, 0] = 5.0
    encoded.state_mask[1, 0] = False
    encoded.actions[2, 1:] = np.nan
    encoded.action_mask[2, 1:] = False
    encoded.actions[3, 1, GRIPPER] = -7.0
    found = bounds_of(stats(), 0.5).problems(encoded)
    assert found == [f"{INTERFACE.state.fields[0].name} out of bounds", "", "", "left.gripper out of bounds"]


def test_a_column_that_was_never_recorded_has_no_bounds() -> None:
    unknown = replace(columns((3, D)), q0001=np.full((3, D), np.nan), q9999=np.full((3, D), np.nan))
    encoded = samples()
    encoded.actions[0] = 1e6
    assert bounds_of(replace(stats(), actions=unknown), 0.5).problems(encoded) == ["", ""]


@pytest.mark.parametrize("more", [{"slack": -0.1}, {"slack": float("nan")}, {"attempts": 0}, {"quarantine": 1.1}])
def test_numbers_that_make_no_bounds_are_refused(more: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=rf"data\.bounds\.{next(iter(more))}"):
        BoundsConfig(**more)
