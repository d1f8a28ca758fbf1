import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from robotrain.config import Layer, compose
from robotrain.data.config import DataConfig
from robotrain.data.stats import (
    NEARLY_CONSTANT,
    Columns,
    Stats,
    StatsConfig,
    StatsMode,
    affine,
    degenerate_columns,
    differences,
    invert_normalise,
    normalise,
    remarks,
    sparse_columns,
)
from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.embodiments.layout import Field, Layout
from robotrain.errors import ConfigError, StatsError, UnknownNameError
from tests.data.numpys import MODES, describe, joints


def roundtrip(values: np.ndarray, mode: StatsMode, layout: Layout | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return values (n, D) normalised by their own statistics, and brought back."""
    centre, scale = affine(describe(values), layout or joints(values.shape[1]), mode)
    normal = normalise(values, centre, scale)
    return normal, invert_normalise(normal, centre, scale)


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=40, deadline=None)
@given(
    values=hnp.arrays(np.float64, st.tuples(st.integers(1, 30), st.integers(1, 4)), elements=st.floats(-1e4, 1e4)),
)
def test_inverting_gives_back_what_moves_and_the_centre_of_what_does_not(values: np.ndarray, mode: StatsMode) -> None:
    normal, back = roundtrip(values, mode)
    assert np.isfinite(normal).all()
    columns = describe(values)
    constant = degenerate_columns(columns, mode)
    np.testing.assert_allclose(back[:, ~constant], values[:, ~constant], atol=1e-8)
    assert not normal[:, constant].any()
    if mode == "minmax":
        np.testing.assert_allclose(back[:, constant], values[:, constant], atol=NEARLY_CONSTANT / 2 + 1e-9)


def test_quantile_bounds_become_minus_one_and_one() -> None:
    values = np.linspace(-3, 5, 1001)[:, None]
    columns = describe(values)
    centre, scale = affine(columns, joints(1), "quantile")
    np.testing.assert_allclose(normalise(np.stack([columns.q01, columns.q99]), centre, scale)[:, 0], (-1, 1))


def test_minmax_bounds_become_minus_one_and_one_and_zscore_has_mean_zero() -> None:
    values = np.random.default_rng(0).normal(3, 2, size=(500, 2))
    normal, _ = roundtrip(values, "minmax")
    np.testing.assert_allclose((normal.min(), normal.max()), (-1, 1))
    normal, _ = roundtrip(values, "zscore")
    np.testing.assert_allclose(normal.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(normal.std(axis=0), 1)


def test_a_rarely_moving_column_falls_back_to_its_deviation_and_says_so() -> None:
    """VLA-Arena#29: q01 = q99 = 0, but 0.5 % of the values are +-0.2."""
    values = np.zeros((1000, 1))
    values[:5, 0] = (0.2, -0.2, 0.2, -0.2, 0.2)
    columns = describe(values)
    assert columns.q01[0] == columns.q99[0] == 0
    assert sparse_columns(columns, "quantile").all()
    assert not degenerate_columns(columns, "quantile").any()
    normal, back = roundtrip(values, "quantile")
    assert np.abs(normal).max() < 20
    np.testing.assert_allclose(back, values, atol=1e-12)
    assert any("moves too rarely" in line and "arm" in line for line in remarks(stats_of(columns), StatsConfig()))


def test_an_outlier_does_not_flatten_a_column_that_moves() -> None:
    values = np.random.default_rng(0).normal(size=(10_000, 1))
    values[5000] = 1e6
    assert not sparse_columns(describe(values), "quantile").any()
    normal, _ = roundtrip(values, "quantile")
    assert 0.3 < np.delete(normal, 5000).std() < 0.6


@pytest.mark.parametrize("mode", MODES)
def test_rotations_pass_untouched(mode: StatsMode) -> None:
    layout = Layout((Field("left.xyz", "xyz", 3, "camera", "m"), Field("left.rot6d", "rot6d", 6, "camera", "")))
    values = np.random.default_rng(0).normal(size=(100, 9))
    values[:, 4] = 0.25
    normal, _ = roundtrip(values, mode, layout)
    np.testing.assert_array_equal(normal[:, 3:], values[:, 3:])
    assert np.abs(normal[:, :3] - values[:, :3]).max() > 0.1


def stats_of(columns: Columns) -> Stats:
    """Stats of a chunk of one step, with these action columns (D,)."""
    layout = joints(len(columns.mean))
    state = describe(np.zeros((1, 1)))
    interface = PolicyInterface(
        embodiment="toy", mode="joints", actions=layout, state=joints(1), horizon=1, seconds=1, cameras=()
    )
    chunk = Columns(**{name: np.asarray(value)[None] for name, value in columns.to_plain().items()})
    return Stats(
        interface=interface,
        actions=chunk,
        state=state,
        mean_chunk=chunk.mean,
        mean_displacement=None,
        action_counts=np.ones(1, np.int64),
        state_counts=np.ones(1, np.int64),
        episodes=("a",),
        num_samples=1,
        num_left_out=0,
        num_masked=0,
        pool_horizon=False,
        recipe={"embodiment": "toy", "horizon": 1},
    )


def test_stats_travel_as_json_to_the_bit() -> None:
    stats = stats_of(describe(np.random.default_rng(0).normal(size=(9, 3))))
    back = Stats.from_plain(json.loads(json.dumps(stats.to_plain())))
    assert back.to_plain() == stats.to_plain()
    assert back.interface == stats.interface
    assert back.actions.q99.dtype == np.float64


def test_stats_of_another_schema_or_shape_are_refused() -> None:
    plain = stats_of(describe(np.zeros((2, 3)))).to_plain()
    with pytest.raises(StatsError, match="schema 0"):
        Stats.from_plain({**plain, "schema_version": 0})
    with pytest.raises(StatsError, match="mean_chunk"):
        Stats.from_plain({**plain, "mean_chunk": [[0.0]]})
    with pytest.raises(StatsError, match="episodes"):
        Stats.from_plain({name: value for name, value in plain.items() if name != "episodes"})
    with pytest.raises(StatsError):
        Stats.from_plain({**plain, "interface": {}})


def test_remarks_name_the_constant_fields() -> None:
    lines = remarks(stats_of(describe(np.zeros((5, 2)))), StatsConfig())
    assert "actions: constant, so normalised to 0: arm" in lines


def arm_and_gripper() -> Layout:
    return Layout(
        (
            Field("left.xyz", "xyz", 3, "camera", "m"),
            Field("left.rot6d", "rot6d", 6, "camera", ""),
            Field("left.gripper", "gripper", 1, "", "1"),
        )
    )


def test_a_mode_of_a_name_goes_before_that_of_a_kind_and_of_a_group() -> None:
    """A12: one user's z-score beside the quantiles of all others."""
    layout = arm_and_gripper()
    config = StatsConfig(modes={"gripper": "minmax", "state": "zscore"})
    assert config.modes_of("actions", layout) == (*["quantile"] * 9, "minmax")
    assert config.modes_of("state", layout) == (*["zscore"] * 9, "minmax")
    config = StatsConfig(mode="zscore", modes={"gripper": "minmax", "left.gripper": "quantile"})
    assert config.modes_of("actions", layout) == (*["zscore"] * 9, "quantile")


@pytest.mark.parametrize("shape", [(10,), (7, 10)])
def test_each_column_is_normalised_by_its_own_mode_and_rotations_by_none(shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(0).normal(size=(500, *shape))
    told = describe(values.reshape(500, -1))
    columns = Columns(**{name: np.reshape(value, shape) for name, value in told.to_plain().items()})
    layout = arm_and_gripper()
    modes = StatsConfig(modes={"gripper": "minmax", "xyz": "zscore"}).modes_of("actions", layout)
    centre, scale = affine(columns, layout, modes)
    parts: tuple[tuple[slice, StatsMode], ...] = ((slice(0, 3), "zscore"), (slice(9, 10), "minmax"))
    for part, mode in parts:
        for found, expected in zip((centre, scale), affine(columns, layout, mode), strict=True):
            np.testing.assert_array_equal(found[..., part], expected[..., part])
    np.testing.assert_array_equal(centre[..., 3:9], 0)
    np.testing.assert_array_equal(scale[..., 3:9], 1)


def test_rare_motion_falls_back_only_where_quantiles_are_asked_for() -> None:
    values = np.zeros((1000, 2))
    values[:5] = 0.2
    columns = describe(values)
    assert sparse_columns(columns, ("quantile", "minmax")).tolist() == [True, False]
    assert degenerate_columns(columns, ("quantile", "zscore")).tolist() == [False, False]


def test_modes_that_mean_nothing_are_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"minmx' in data.stats.modes.gripper. Did you mean 'minmax'"):
        StatsConfig(modes={"gripper": "minmx"})
    with pytest.raises(ConfigError, match=r"modes.left is no mode. A name with dots: data.stats.modes=\{NAME: MODE\}"):
        compose(StatsConfig, (), overrides=("modes.left.gripper=minmax",))
    with pytest.raises(ConfigError, match="never normalised"):
        StatsConfig(modes={"rot6d": "zscore"})
    with pytest.raises(ConfigError, match="memory_gib"):
        StatsConfig(memory_gib=0)
    interface = stats_of(describe(np.zeros((2, 3)))).interface
    StatsConfig(modes={"arm": "minmax", "joint": "minmax", "state": "zscore", "gripper": "minmax"}).check(interface)
    with pytest.raises(UnknownNameError, match="Did you mean 'arm'"):
        StatsConfig(modes={"arn": "minmax"}).check(interface)


def test_modes_come_through_the_door_of_configuration() -> None:
    layer = Layer("mine", {"stats": {"mode": "zscore", "modes": {"left.gripper": "minmax"}}})
    config = compose(DataConfig, (layer,), overrides=("stats.modes.gripper=quantile",))
    assert config.stats == StatsConfig(mode="zscore", modes={"left.gripper": "minmax", "gripper": "quantile"})


def test_differences_name_what_was_made_otherwise() -> None:
    stats = stats_of(describe(np.zeros((2, 3))))
    assert differences(stats, {"embodiment": "toy", "horizon": 1}, pool_horizon=False) == ()
    told = differences(stats, {"embodiment": "toy", "horizon": 2, "mask_rules": ["x"]}, pool_horizon=True)
    assert told == (
        "horizon is 1 there and 2 here",
        "other rules of what counts",
        "pool_horizon is False there and True here",
    )


def test_the_share_of_outliers_is_that_of_values_five_times_as_far_out_as_the_quantiles() -> None:
    values = np.random.default_rng(0).normal(size=(10_000, 2))
    values[:30, 0] = 1e3
    np.testing.assert_allclose(describe(values).outliers, (0.003, 0))
