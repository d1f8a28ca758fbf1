import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from robotrain.data.exact_stats import describe
from robotrain.data.stats import (
    NEARLY_CONSTANT,
    Columns,
    Stats,
    StatsMode,
    affine,
    degenerate_columns,
    invert_normalise,
    normalise,
    remarks,
    sparse_columns,
)
from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.embodiments.layout import Field, Layout
from robotrain.errors import StatsError

MODES: tuple[StatsMode, ...] = ("quantile", "minmax", "zscore")


def joints(width: int) -> Layout:
    return Layout((Field("arm", "joint", width, "", "rad"),))


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
    assert any("moves too rarely" in line and "arm" in line for line in remarks(stats_of(columns), "quantile"))


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
    lines = remarks(stats_of(describe(np.zeros((5, 2)))), "quantile")
    assert "actions: constant, so normalised to 0: arm" in lines
