"""The bench of statistics that other tools get wrong: every row of tables 2.4 and A of the field reports, cited.

Each test gives the exact value, or the right one where there is no exact one.
"""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotrain.data.exact_stats import compute_stats
from robotrain.data.stats import (
    Columns,
    Stats,
    StatsConfig,
    StatsMode,
    affine,
    degenerate_columns,
    invert_normalise,
    normalise,
    remarks,
    sparse_columns,
)
from robotrain.episodes.reader import Episode, open_episode
from robotrain.episodes.schema import HEAD_POSE, OBS_JOINTS, SIDES, obs_ee_pose, obs_keypoints, obs_wrist_pose
from robotrain.errors import StatsError
from robotrain.geometry.rotations import matrix_from_ypr, quaternion_from_matrix
from robotrain.stages.stats import StatsRequest, run
from tests.data.numpys import MODES, assert_columns, describe, joints, pipeline_of, published, stats_of_joints
from tests.factories import make_eva_episode, make_human_episode, make_joint_episode, write_numbers

# Table 2.4 of the field reports.


def test_row_1_and_a8_a_small_deviation_at_a_large_offset_is_seen(tmp_path: Path) -> None:
    """1000 + 0.01 N(0, 1): openpi and lerobot say 0, or 0.35; 0.01 is right."""
    values = (1000 + 0.01 * np.random.default_rng(0).normal(size=(20_000, 1))).astype(np.float32)
    stats = stats_of_joints(tmp_path, [values])
    np.testing.assert_allclose(stats.actions.std, 0.01, rtol=0.02)
    assert_columns(stats.state, values)


def test_row_2_one_outlier_does_not_move_the_quantiles(tmp_path: Path) -> None:
    """N(0, 1) with one value of 1e6 in the middle: openpi and lerobot say q01 = q99 = -4.5."""
    values = np.random.default_rng(0).normal(size=(100_000, 1)).astype(np.float32)
    values[50_000] = 1e6
    stats = stats_of_joints(tmp_path, [values])
    np.testing.assert_allclose((stats.state.q01[0], stats.state.q99[0]), (-2.33, 2.33), atol=0.02)
    assert stats.state.max[0] == 1e6
    assert_columns(stats.state, values)


def test_row_3_and_a6_quantiles_of_two_episodes_are_those_of_all_their_frames(tmp_path: Path) -> None:
    """lerobot says 13.6 by a weighted mean, 47.9 by an envelope; 41.3 is true."""
    rng = np.random.default_rng(0)
    episodes = [rng.uniform(-10, 10, size=(900, 1)), rng.uniform(-10, 50, size=(100, 1))]
    stats = stats_of_joints(tmp_path, [values.astype(np.float32) for values in episodes])
    assert 38 < stats.state.q99[0] < 44
    assert_columns(stats.state, np.concatenate(episodes).astype(np.float32))


def test_row_4_one_wild_episode_among_200_does_not_take_over() -> None:
    """lerobot says q01, q99 = -232, 231."""
    rng = np.random.default_rng(0)
    episodes = [rng.normal(rng.normal(scale=0.1), 1, size=(100, 1)) for _ in range(200)]
    episodes[57] *= 100
    values = np.concatenate(episodes).astype(np.float32)
    columns = describe(values)
    assert -3.5 < columns.q01[0] < -2
    assert 2 < columns.q99[0] < 3.5
    assert_columns(columns, values)


@pytest.mark.parametrize("mode", MODES)
def test_row_5_and_a2_a_nearly_constant_joint_normalises_to_zero(mode: StatsMode) -> None:
    """openpi#814: q01 1.568642, q99 1.569622, and a value of 0 became -3200."""
    columns = published(mean=1.569132, std=2.83e-4, min=1.568642, max=1.569622, q01=1.568642, q99=1.569622)
    assert degenerate_columns(columns, mode).all()
    centre, scale = affine(columns, joints(1), mode)
    assert normalise(np.zeros(1), centre, scale) == 0
    np.testing.assert_allclose(invert_normalise(np.zeros(1), centre, scale), 1.569132)


@pytest.mark.parametrize("mode", MODES)
def test_a_small_motion_around_zero_is_no_constant(mode: StatsMode) -> None:
    """The first steps of a chunk in the wrist's frame move by tenths of a millimetre, and mean it."""
    columns = published(mean=0.0, std=2e-4, min=-4e-4, max=4e-4, q01=-3e-4, q99=3e-4)
    assert not degenerate_columns(columns, mode).any()


def test_row_5_a_value_far_outside_in_the_data_is_bounded_too() -> None:
    values = np.random.default_rng(0).uniform(1.568632, 1.569632, size=(1000, 1))
    values[7] = 0
    normal = normalise(values, *affine(describe(values), joints(1), "quantile"))
    assert np.abs(normal).max() < 35  # 1 of 1000 lies sqrt(1000) deviations out


def test_row_6_a_column_of_nothing_normalises_to_zero() -> None:
    """lerobot: q01 = q99 = 0, and a value of 0.01 became 1,999,999."""
    columns = published(mean=0, std=0, min=0, max=0, q01=0, q99=0)
    assert normalise(np.array([0.01]), *affine(columns, joints(1), "quantile")) == 0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_row_7_a_value_that_is_not_finite_is_refused_by_name(tmp_path: Path, bad: float) -> None:
    values = np.zeros((20, 2), np.float32)
    values[13, 1] = bad
    with pytest.raises(StatsError, match=r"Episode 'e001', array 'cmd_joints': 1 rows .* the first at frame 13"):
        stats_of_joints(tmp_path, [np.zeros((20, 2), np.float32), values])


def test_row_8_and_a26_every_frame_counts_so_nearly_all_values_lie_within_the_bounds(tmp_path: Path) -> None:
    """EgoVerse samples 0.5 % of the frames: 15 % of its values fall outside -1 to 1; of all frames it is 1.9 %."""
    values = np.random.default_rng(0).normal(size=(3000, 3)).astype(np.float32)
    stats = stats_of_joints(tmp_path, [values])
    normal = normalise(values, *affine(stats.state, stats.interface.state, "quantile"))
    assert np.mean(np.abs(normal) > 1) < 0.021


# Section A of the field reports.


@pytest.mark.parametrize("mode", MODES)
def test_a1_a5_the_constant_first_step_of_a_wrist_frame_chunk_does_not_explode(mode: StatsMode) -> None:
    """EgoVerse#657: noise on a step of range 0 was scaled by a million."""
    chunks = np.random.default_rng(0).normal(size=(200, 50, 3))
    chunks[:, 0] = 0
    centre, scale = affine(describe(chunks.reshape(200, -1)), joints(150), mode)
    normal = normalise(chunks.reshape(200, -1) + 1e-7, centre, scale)
    assert not normal[:, :3].any()
    assert np.abs(normal).max() < 10
    np.testing.assert_array_equal(invert_normalise(np.ones(150), centre, scale)[:3], 0)


def test_a3_a_rarely_moving_column_falls_back_to_its_deviation() -> None:
    """VLA-Arena#29: q01 = q99 = 0, but 0.5 % of the values are +-0.2."""
    values = np.zeros((1000, 1))
    values[:5, 0] = (0.2, -0.2, 0.2, -0.2, 0.2)
    columns = describe(values)
    assert columns.q01[0] == columns.q99[0] == 0
    assert sparse_columns(columns, "quantile").all()
    centre, scale = affine(columns, joints(1), "quantile")
    normal = normalise(values, centre, scale)
    assert np.abs(normal).max() < 20
    np.testing.assert_allclose(invert_normalise(normal, centre, scale), values, atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 60))
def test_a4_a18_normalising_is_one_map_of_the_whole_set_and_inverts(mode: StatsMode, seed: int, num: int) -> None:
    """wall-x#113, lerobot#1498: guards in training only; bounds by chunk, which nothing can undo."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(num, 4)) * 10.0 ** rng.integers(-2, 4, size=4)
    values[:, 3] = 7
    columns = describe(values)
    centre, scale = affine(columns, joints(4), mode)
    parts = [normalise(part, centre, scale) for part in np.array_split(values, 2)]  # of parts, the same numbers
    whole = np.concatenate(parts)
    np.testing.assert_array_equal(whole, normalise(values, centre, scale))
    assert np.isfinite(whole).all()
    moving = ~degenerate_columns(columns, mode)
    back = invert_normalise(whole, centre, scale)
    np.testing.assert_allclose(back[:, moving], values[:, moving], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(back[:, 3], 7)


def hands_at(places: np.ndarray, yaw: np.ndarray) -> dict[str, np.ndarray]:
    """Return the arrays of two hands that stand at places (T, 3) and turn by yaw (T,), before a head at rest."""
    num = len(places)
    ypr = np.stack([yaw, np.zeros(num), np.zeros(num)], axis=-1)
    poses = np.concatenate([places, quaternion_from_matrix(matrix_from_ypr(ypr))], axis=-1)
    numbers = {HEAD_POSE: np.tile([0.0, 0, 0, 1, 0, 0, 0], (num, 1))}
    for side in SIDES:
        numbers |= {obs_wrist_pose(side): poses, obs_ee_pose(side): poses}
        numbers[obs_keypoints(side)] = np.tile(places, (1, 21)) + 0.01
    return numbers


def test_a9_statistics_are_those_of_the_numbers_after_every_transform(tmp_path: Path) -> None:
    """openpi#454: relative actions normalised by the statistics of absolute ones; a ramp 0..100 by 0.01 tells."""
    ramp = np.arange(0, 100, 0.1)
    places = np.stack([ramp, 0 * ramp, 0 * ramp + 0.5], axis=-1)
    episode = open_episode(write_numbers(tmp_path / "e.zarr", "human_bimanual", hands_at(places, 0 * ramp)))
    stats = compute_stats([episode], pipeline_of(episode, 2, 1 / 30, "keypoints_wristframe_6d"))
    x = stats.interface.actions.slices["left.xyz"].start
    np.testing.assert_allclose(stats.actions.mean[:, x], (0, 0.1), atol=1e-6)  # the step, not the place
    state = stats.interface.state.slices["left.xyz"].start
    np.testing.assert_allclose(stats.state.max[state], 99.9, rtol=1e-6)


def test_a10_there_is_one_spelling_and_another_is_refused(tmp_path: Path) -> None:
    plain = stats_of_joints(tmp_path, [np.zeros((4, 1), np.float32)]).to_plain()
    actions = dict(plain["actions"])
    actions["quantile_01"] = actions.pop("q01")
    with pytest.raises(StatsError, match="q01"):
        Stats.from_plain({**plain, "actions": actions})
    with pytest.raises(StatsError, match="schema 99"):
        Stats.from_plain({**plain, "schema_version": 99})


def test_a13_no_picture_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    episode = open_episode(make_eva_episode(tmp_path / "e.zarr"))
    monkeypatch.setattr(Episode, "jpeg", lambda *_: pytest.fail("a picture was read"))
    monkeypatch.setattr(Episode, "jpegs", lambda *_: pytest.fail("a picture was read"))
    read: list[str] = []
    numbers = Episode.numbers
    monkeypatch.setattr(Episode, "numbers", lambda self, array: read.append(array) or numbers(self, array))
    compute_stats([episode], pipeline_of(episode, 4))
    assert read
    assert not [array for array in read if array.startswith("images.")]


def test_a14_statistics_rest_on_the_training_episodes_and_name_them(tmp_path: Path) -> None:
    """lerobot#2851: the robot does not move when a split is used, for the statistics cover all episodes."""
    for index in range(5):
        make_joint_episode(tmp_path / f"e{index}.zarr", num_frames=20, seed=index)
    stats = run(StatsRequest(data=str(tmp_path), arch="hpt_tiny")).stats
    assert len(stats.episodes) == 4
    values = np.concatenate([open_episode(tmp_path / f"{name}.zarr").numbers(OBS_JOINTS) for name in stats.episodes])
    assert_columns(stats.state, values)


def test_a15_a_missing_number_is_an_error_that_names_it(tmp_path: Path) -> None:
    """lerobot#1078: "mean is infinity" when a checkpoint lacks what normalises."""
    plain = stats_of_joints(tmp_path, [np.zeros((4, 1), np.float32)]).to_plain()
    for name in plain:
        with pytest.raises(StatsError, match=name if name != "schema_version" else "schema None"):
            Stats.from_plain({key: value for key, value in plain.items() if key != name})


def test_a17_a_yaw_that_crosses_pi_neither_jumps_nor_is_normalised(tmp_path: Path) -> None:
    """EgoVerse#616: rotations learnt from normalised angles, which wrap."""
    yaw = np.linspace(np.pi - 0.3, np.pi + 0.3, 200)
    places = np.tile([0.0, 0.1, 0.5], (200, 1))
    episode = open_episode(write_numbers(tmp_path / "e.zarr", "human_bimanual", hands_at(places, yaw)))
    stats = compute_stats([episode], pipeline_of(episode, 2, 1 / 30, "cartesian_6d"))
    rotation = stats.interface.state.slices["left.rot6d"]
    np.testing.assert_allclose(stats.state.max[rotation][:2], (np.cos(np.pi - 0.3), np.sin(0.3)), atol=1e-6)
    np.testing.assert_allclose(stats.state.mean[rotation][0], np.cos(yaw).mean(), atol=1e-6)
    for mode in MODES:
        centre, scale = affine(stats.state, stats.interface.state, mode)
        np.testing.assert_array_equal(centre[rotation], 0)
        np.testing.assert_array_equal(scale[rotation], 1)


def test_a22_columns_of_zeros_are_told(tmp_path: Path) -> None:
    """robosuite#441, robomimic#116: all-zero columns found late."""
    values = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    values[:, 1] = 0
    lines = remarks(stats_of_joints(tmp_path, [values]), StatsConfig())
    assert any(line.startswith("state: constant") and "arm (1 of 3 cells)" in line for line in lines)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("value", [300.0, 0.0, -1e-3])
def test_a27_a_constant_column_is_zero_beside_the_others(mode: StatsMode, value: float) -> None:
    """lerobot#211, starVLA: no division by 0, no 300 mm beside numbers of 1."""
    values = np.random.default_rng(0).normal(size=(100, 2))
    values[:, 1] = value
    centre, scale = affine(describe(values), joints(2), mode)
    normal = normalise(values, centre, scale)
    assert not normal[:, 1].any()
    np.testing.assert_allclose(invert_normalise(normal, centre, scale)[:, 1], value, rtol=1e-12)


# All statistics against numpy over windows that are really made.


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 400), st.integers(1, 3), st.integers(0, 1000))
def test_the_numbers_are_numpys(num: int, width: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = (rng.normal(size=(num, width)) * 10.0 ** rng.integers(-6, 6)).astype(np.float32)
    assert_columns(describe(values), values)


@pytest.mark.parametrize("pool", [False, True])
@pytest.mark.parametrize("kind", ["eva", "human", "joints"])
def test_the_numbers_are_numpys_over_materialised_windows(tmp_path: Path, kind: str, pool: bool) -> None:
    make: Any = {"eva": make_eva_episode, "human": make_human_episode, "joints": make_joint_episode}[kind]
    hidden = {"missing": {"left": range(20, 40)}} if kind == "human" else {}
    paths = [make(tmp_path / "a.zarr", num_frames=70), make(tmp_path / "b.zarr", num_frames=45, seed=1, **hidden)]
    episodes = [open_episode(path) for path in paths]
    pipeline = pipeline_of(episodes[0], 12)
    stats = compute_stats(episodes, pipeline, pool_horizon=pool)
    windows = [pipeline.encode(pipeline.gather(each, np.arange(each.num_frames))) for each in episodes]
    actions = np.concatenate([each.actions for each in windows])
    real = np.concatenate([each.action_mask for each in windows])
    for step in range(12):
        columns = Columns(**{f.name: getattr(stats.actions, f.name)[step] for f in fields(Columns)})
        assert_columns(columns, actions[real] if pool else actions[real[:, step], step])
        assert stats.action_counts[step] == real[:, step].sum()
    state, seen = (np.concatenate([getattr(each, name) for each in windows]) for name in ("state", "state_mask"))
    seen &= real.any(axis=1, keepdims=True)
    for column in range(state.shape[1]):
        found = Columns(**{f.name: getattr(stats.state, f.name)[[column]] for f in fields(Columns)})
        assert_columns(found, state[seen[:, column]][:, [column]])
