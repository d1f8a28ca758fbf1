"""The bench of statistics that other tools get wrong: every row is exact here."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotrain.data.exact_stats import compute_stats, describe, nearest_filled
from robotrain.data.pipeline import Pipeline, build_pipeline
from robotrain.data.stats import Columns, Stats, affine, normalise
from robotrain.embodiments.catalog import embodiment_of
from robotrain.embodiments.displacement import displacement_from_chunk
from robotrain.episodes.reader import Episode, open_episode
from robotrain.errors import StatsError
from robotrain.geometry.rotations import matrix_from_rot6d, mean_rotation, rot6d_from_matrix
from tests.factories import make_eva_episode, make_human_episode, make_joint_episode, write_joints, write_numbers


def pipeline_of(episode: Episode, horizon: int, seconds: float | None = None, mode: str | None = None) -> Pipeline:
    embodiment = embodiment_of(episode.embodiment, episode.facts.attributes)
    return build_pipeline(embodiment, mode=mode, horizon=horizon, seconds=seconds)


def stats_of_joints(folder: Path, episodes: list[np.ndarray], horizon: int = 1) -> Stats:
    """Return the statistics of joint episodes; a chunk has one row a step."""
    opened = [open_episode(write_joints(folder / f"e{i}.zarr", values)) for i, values in enumerate(episodes)]
    return compute_stats(opened, pipeline_of(opened[0], horizon, max(horizon - 1, 1e-3) / 30))


def expected_columns(values: np.ndarray) -> dict[str, np.ndarray]:
    """Return what numpy says of values (n, D), in float64."""
    values = np.asarray(values, np.float64)
    return {
        "mean": values.mean(axis=0),
        "std": values.std(axis=0),
        "min": values.min(axis=0),
        "max": values.max(axis=0),
        "median": np.median(values, axis=0),
        "q01": np.percentile(values, 1, axis=0),
        "q99": np.percentile(values, 99, axis=0),
        "q0001": np.percentile(values, 0.01, axis=0, method="lower"),
        "q9999": np.percentile(values, 99.99, axis=0, method="higher"),
    }


def assert_columns(columns: Columns, values: np.ndarray) -> None:
    for name, expected in expected_columns(values).items():
        np.testing.assert_allclose(getattr(columns, name), expected, rtol=1e-12, atol=1e-13, err_msg=name)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 400), st.integers(1, 3), st.integers(0, 1000))
def test_the_numbers_are_numpys(num: int, width: int, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=(num, width)).astype(np.float32)
    assert_columns(describe(values), values)


def test_a_small_deviation_at_a_large_offset_is_seen(tmp_path: Path) -> None:
    """openpi and lerobot: std 0, or 35 times too large."""
    values = (1000 + 0.01 * np.random.default_rng(0).normal(size=(5000, 1))).astype(np.float32)
    stats = stats_of_joints(tmp_path, [values])
    np.testing.assert_allclose(stats.actions.std, 0.01, rtol=0.03)
    assert_columns(stats.state, values)


def test_one_outlier_does_not_move_the_quantiles(tmp_path: Path) -> None:
    """openpi and lerobot: q01 = q99 = -4.5."""
    values = np.random.default_rng(0).normal(size=(100_000, 1)).astype(np.float32)
    values[50_000] = 1e6
    stats = stats_of_joints(tmp_path, [values])
    np.testing.assert_allclose((stats.state.q01[0], stats.state.q99[0]), (-2.33, 2.33), atol=0.02)
    assert_columns(stats.state, values)


def test_quantiles_of_two_episodes_are_those_of_all_their_frames(tmp_path: Path) -> None:
    """lerobot: 13.6 by a weighted mean, 47.9 by an envelope; 41.3 is true."""
    rng = np.random.default_rng(0)
    episodes = [rng.uniform(-10, 10, size=(900, 1)), rng.uniform(-10, 50, size=(100, 1))]
    stats = stats_of_joints(tmp_path, [values.astype(np.float32) for values in episodes])
    assert 38 < stats.state.q99[0] < 44
    assert_columns(stats.state, np.concatenate(episodes).astype(np.float32))


def test_one_wild_episode_among_many_does_not_take_over(tmp_path: Path) -> None:
    """lerobot: q01, q99 = -232, 231."""
    rng = np.random.default_rng(0)
    episodes = [rng.normal(rng.normal(scale=0.1), 1, size=(100, 1)).astype(np.float32) for _ in range(199)]
    episodes.append((100 * rng.normal(size=(100, 1))).astype(np.float32))
    stats = stats_of_joints(
        tmp_path, [np.concatenate(episodes[:100]), np.concatenate(episodes[100:199]), episodes[199]]
    )
    assert -3.5 < stats.state.q01[0] < -2
    assert 2 < stats.state.q99[0] < 3.5
    assert_columns(stats.state, np.concatenate(episodes))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_value_that_is_not_finite_is_refused_by_name(tmp_path: Path, bad: float) -> None:
    values = np.zeros((20, 2), np.float32)
    values[13, 1] = bad
    with pytest.raises(StatsError, match=r"Episode 'e1', array 'cmd_joints': 1 rows .* the first at frame 13"):
        stats_of_joints(tmp_path, [np.zeros((20, 2), np.float32), values])


def test_every_frame_counts_so_nearly_all_values_lie_within_the_bounds(tmp_path: Path) -> None:
    """EgoVerse samples 0.5 % of the frames: 15 % of its values fall outside -1 to 1."""
    values = np.random.default_rng(0).normal(size=(3000, 3)).astype(np.float32)
    stats = stats_of_joints(tmp_path, [values])
    normal = normalise(values, *affine(stats.state, stats.interface.state, "quantile"))
    assert np.mean(np.abs(normal) > 1) < 0.021


def test_the_repeated_tail_does_not_count(tmp_path: Path) -> None:
    values = np.arange(20, dtype=np.float32)[:, None]
    stats = stats_of_joints(tmp_path, [values], horizon=5)
    for step in range(5):
        assert stats.action_counts[step] == 20 - step
        columns = Columns(**{f.name: getattr(stats.actions, f.name)[step] for f in fields(Columns)})
        assert_columns(columns, values[step:])
    assert stats.num_samples == 20
    assert stats.num_masked == 0 + 1 + 2 + 3 + 4


def test_missing_hands_do_not_count_and_the_masks_are_per_step(tmp_path: Path) -> None:
    seen = open_episode(make_human_episode(tmp_path / "a.zarr", num_frames=60))
    half = open_episode(make_human_episode(tmp_path / "b.zarr", num_frames=60, seed=1, missing={"left": range(20, 40)}))
    pipeline = pipeline_of(seen, 30)
    stats = compute_stats([half, seen], pipeline)
    encoded = [pipeline.encode(pipeline.gather(episode, np.arange(60))) for episode in (seen, half)]
    for step in (0, 10, 29):
        real = np.concatenate([e.actions[e.action_mask[:, step], step] for e in encoded])
        columns = Columns(**{f.name: getattr(stats.actions, f.name)[step] for f in fields(Columns)})
        assert_columns(columns, real)
        assert stats.action_counts[step] == len(real)
    samples = [e.action_mask.any(axis=1) for e in encoded]
    left = stats.interface.state.slices["left.xyz"].start
    state = np.concatenate([e.state[s & e.state_mask[:, left], left] for e, s in zip(encoded, samples, strict=True)])
    assert stats.state_counts[left] == len(state)
    np.testing.assert_allclose(stats.state.mean[left], state.astype(np.float64).mean(), rtol=1e-12)
    assert stats.num_left_out == sum(int((~s).sum()) for s in samples) == 20
    assert stats.episodes == ("a", "b")


def test_pooled_statistics_are_those_of_all_real_steps(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
    episode = open_episode(write_joints(tmp_path / "e.zarr", values))
    pipeline = pipeline_of(episode, 7, 6 / 30)
    stats = compute_stats([episode], pipeline, pool_horizon=True)
    encoded = pipeline.encode(pipeline.gather(episode, np.arange(50)))
    expected = expected_columns(encoded.actions[encoded.action_mask])
    for name, value in expected.items():
        np.testing.assert_allclose(getattr(stats.actions, name), np.tile(value, (7, 1)), rtol=1e-12, err_msg=name)
    apart = compute_stats([episode], pipeline)
    np.testing.assert_array_equal(stats.mean_chunk, apart.mean_chunk)  # a baseline is never pooled
    assert np.ptp(stats.mean_chunk, axis=0).min() > 0


def test_steps_that_no_episode_reaches_take_the_numbers_of_the_last_one_reached(tmp_path: Path) -> None:
    stats = stats_of_joints(tmp_path, [np.arange(3, dtype=np.float32)[:, None]], horizon=6)
    np.testing.assert_array_equal(stats.action_counts, [3, 2, 1, 0, 0, 0])
    np.testing.assert_array_equal(stats.actions.mean[:, 0], [1, 1.5, 2, 2, 2, 2])
    np.testing.assert_array_equal(stats.mean_chunk[:, 0], [1, 1.5, 2, 2, 2, 2])


def test_the_nearest_filled_step_is_before_or_else_after() -> None:
    np.testing.assert_array_equal(nearest_filled(np.array([False, True, False, True, False])), [1, 1, 1, 3, 3])


def test_the_mean_chunk_and_displacement_are_those_of_the_real_steps(tmp_path: Path) -> None:
    episode = open_episode(make_eva_episode(tmp_path / "e.zarr", num_frames=60))
    pipeline = pipeline_of(episode, 9)
    stats = compute_stats([episode], pipeline)
    encoded = pipeline.encode(pipeline.gather(episode, np.arange(60)))
    moved = displacement_from_chunk(stats.interface, encoded.actions, encoded.state)
    assert stats.mean_displacement is not None
    for found, chunks in ((stats.mean_chunk, encoded.actions), (stats.mean_displacement, moved)):
        for name, columns in stats.interface.actions.slices.items():
            values = chunks[..., columns].astype(np.float64)
            for step in (0, 4, 8):
                real = values[encoded.action_mask[:, step], step]
                if name.endswith("rot6d"):
                    expected = rot6d_from_matrix(mean_rotation(matrix_from_rot6d(real)))
                else:
                    expected = real.mean(axis=0)
                np.testing.assert_allclose(found[step, columns], expected, atol=1e-9, err_msg=name)


def test_joint_robots_have_no_mean_displacement(tmp_path: Path) -> None:
    episode = open_episode(make_joint_episode(tmp_path / "e.zarr"))
    assert compute_stats([episode], pipeline_of(episode, 4)).mean_displacement is None


def test_no_picture_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    episode = open_episode(make_eva_episode(tmp_path / "e.zarr"))
    monkeypatch.setattr(Episode, "jpeg", lambda *_: pytest.fail("a picture was read"))
    compute_stats([episode], pipeline_of(episode, 4))


def test_episodes_without_a_real_step_are_an_error(tmp_path: Path) -> None:
    whole = open_episode(make_human_episode(tmp_path / "whole.zarr"))
    arrays = {name: whole.numbers(name) for name in pipeline_of(whole, 4).arrays(whole.facts)}
    arrays["left.obs_wrist_pose"] = np.zeros((8, 7))
    episode = open_episode(write_numbers(tmp_path / "e.zarr", "human_bimanual", arrays))
    with pytest.raises(StatsError, match="no real step"):
        compute_stats([episode], pipeline_of(episode, 4))


def test_statistics_of_real_hands_are_finite_and_in_range(real_data: Path) -> None:
    names = ("69199812208123403bbdb24f.zarr", "2025-09-20-17-47-54-000000.zarr")
    episodes = [open_episode(real_data / "egoverse-written" / name) for name in names]
    for mode in ("keypoints_wristframe_6d", "cartesian_6d"):
        stats = compute_stats(episodes, pipeline_of(episodes[0], 30, mode=mode))
        for columns in (stats.actions, stats.state):
            for field in fields(Columns):
                assert np.abs(getattr(columns, field.name)).max() < 10
        assert stats.num_masked > 0
