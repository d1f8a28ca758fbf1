"""Masks, pooling, means of chunks: what is counted, and what is not."""

import itertools
import pickle
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from robotrain.data import exact_stats
from robotrain.data.chunk_sums import _matrices_of_rounded
from robotrain.data.describe import sort_present
from robotrain.data.exact_stats import compute_stats, nearest_filled
from robotrain.data.shared_columns import share_columns
from robotrain.data.stats import Columns
from robotrain.embodiments.displacement import displacement_from_chunk
from robotrain.episodes.reader import Episode, open_episode
from robotrain.errors import EpisodeError, StatsError
from robotrain.files import canonical_json
from robotrain.geometry.rotations import matrix_from_rot6d, matrix_from_ypr, mean_rotation, rot6d_from_matrix
from tests.conftest import ROOT
from tests.data.numpys import assert_columns, expected_columns, pipeline_of, stats_of_joints
from tests.factories import make_eva_episode, make_human_episode, make_joint_episode, write_joints, write_numbers


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


def hidden_hands(folder: Path) -> list[Episode]:
    """Return three episodes of hands of different lengths, one of which is not always seen."""
    paths = (
        make_human_episode(folder / "e0.zarr", 50),
        make_human_episode(folder / "e1.zarr", 23, seed=1, missing={"left": range(5, 9)}),
        make_human_episode(folder / "e2.zarr", 40, seed=2, missing={"right": range(30)}),
    )
    return [open_episode(path) for path in paths]


@pytest.mark.parametrize("pool", [False, True])
def test_any_number_of_processes_gives_the_same_bytes(tmp_path: Path, pool: bool) -> None:
    episodes = hidden_hands(tmp_path)
    pipeline = pipeline_of(episodes[0], 9, mode="cartesian_6d")
    told = [
        canonical_json(compute_stats(order, pipeline, pool_horizon=pool, num_processes=num).to_plain())
        for order, num in ((episodes, 1), (episodes[::-1], 2), (episodes, 3))
    ]
    assert told[0] == told[1] == told[2]


@pytest.mark.parametrize("pool", [False, True])
def test_little_memory_takes_more_passes_and_gives_the_same_bytes(
    tmp_path: Path, pool: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    episodes = hidden_hands(tmp_path)
    pipeline = pipeline_of(episodes[0], 9, mode="cartesian_6d")
    whole = compute_stats(episodes, pipeline, pool_horizon=pool)
    assert "passes" not in capsys.readouterr().err
    shared: list[int] = []
    share = exact_stats.share_columns
    monkeypatch.setattr(
        exact_stats,
        "share_columns",
        lambda columns, ends: shared.append(4 * columns * ends[-1]) or share(columns, ends),
    )
    for num_columns in (77, 18):  # one channel of 9 steps, and room to sort another
        allowed = 4 * 113 * num_columns / 2**30
        again = compute_stats(episodes, pipeline, pool_horizon=pool, memory_gib=allowed, num_processes=1)
        assert canonical_json(again.to_plain()) == canonical_json(whole.to_plain())
        assert "passes over the episodes" in " ".join(capsys.readouterr().err.split())
        assert shared[-1] <= allowed * 2**30


def test_memory_that_holds_no_column_is_refused_in_a_line(tmp_path: Path) -> None:
    episodes = hidden_hands(tmp_path)
    with pytest.raises(StatsError, match=r"One column of numbers takes .*memory_gib allows 1e-09"):
        compute_stats(episodes, pipeline_of(episodes[0], 9), memory_gib=1e-9)


def test_what_a_process_finds_wrong_is_told_by_name(tmp_path: Path) -> None:
    values = np.zeros((20, 2), np.float32)
    good = open_episode(write_joints(tmp_path / "a.zarr", values))
    short = open_episode(write_joints(tmp_path / "b.zarr", values))
    (short.facts.path / "cmd_joints" / "c" / "0" / "0").unlink()
    with pytest.raises(EpisodeError, match=r"Episode 'b', array 'cmd_joints': the file .* is missing"):
        compute_stats([good, short], pipeline_of(good, 2), num_processes=2)


def test_columns_are_gathered_from_the_blocks_that_were_written() -> None:
    values = np.random.default_rng(0).normal(size=(4, 1000)).astype(np.float32)
    ends = [0, 300, 301, 1000]
    with share_columns(4, ends) as shared:
        for first, last in itertools.pairwise(ends):
            shared.block(first)[...] = values[:, first:last]
        assert pickle.loads(pickle.dumps(shared)) is shared  # noqa: S301 -- our own
        np.testing.assert_array_equal(shared.gather(slice(1, 3)), values[1:3])
        np.testing.assert_array_equal(shared.gather(slice(0, 4)), values)
        np.testing.assert_array_equal(shared.gather(slice(3, 4)), values[3:])


def test_sorting_leaves_out_what_does_not_count() -> None:
    values = np.random.default_rng(0).normal(size=70_001).astype(np.float32)
    values[::3] = np.nan
    expected = np.sort(values[~np.isnan(values)])
    np.testing.assert_array_equal(sort_present(values), expected)
    assert len(sort_present(np.full(3, np.nan, np.float32))) == 0


def test_rotations_that_are_rounded_are_completed_as_any_other_and_what_is_none_is_told() -> None:
    rot6d = rot6d_from_matrix(matrix_from_ypr(np.random.default_rng(0).uniform(-3, 3, size=(7, 50, 3))))
    rounded = rot6d.astype(np.float32)
    found = _matrices_of_rounded(rounded)
    assert found is not None
    np.testing.assert_allclose(found.reshape(7, 50, 3, 3), matrix_from_rot6d(rounded), atol=1e-15)
    for bad in (np.zeros(6), np.array([1.0, 0, 0, 1, 0, 0]), np.full(6, 0.5)):
        rounded[3, 4] = bad
        assert _matrices_of_rounded(rounded) is None


@pytest.mark.slow
def test_four_times_the_episodes_take_no_more_memory(tmp_path: Path) -> None:
    for index in range(60):
        write_joints(tmp_path / f"e{index:02d}.zarr", np.random.default_rng(index).normal(size=(600, 26)))
    code = """
import resource, sys
from pathlib import Path
from robotrain.data.exact_stats import compute_stats
from robotrain.episodes.reader import open_episode
from tests.data.numpys import pipeline_of

episodes = [open_episode(path) for path in sorted(Path(sys.argv[1]).iterdir())[: int(sys.argv[2])]]
compute_stats(episodes, pipeline_of(episodes[0], 100), memory_gib=0.05, num_processes=2)
# ru_maxrss of a process also counts what its parent had before it became this program
own = next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
print(max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024)
"""

    def peak_mib(num: int) -> float:
        command = [sys.executable, "-c", code, str(tmp_path), str(num)]
        return float(subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout)

    few, many = peak_mib(15), peak_mib(60)  # 90 and 360 MiB of samples, in 51
    assert many < 1.15 * few
    assert many < 250  # of which an interpreter with its libraries is 60
