"""The scripts of examples/, run as a user runs them."""

import json
import os
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from robotrain.episodes.folder import find_episodes
from robotrain.episodes.reader import open_episode
from robotrain.viz.video import probe_video, read_video

ROOT = Path(__file__).parent.parent


def bash(script: str, *arguments: object, cwd: Path) -> str:
    """Run an example and return what it printed to stdout."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = ["bash", str(ROOT / "examples" / script), *map(str, arguments)]
    result = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, check=False, env={**os.environ, "PATH": path}
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def printed(label: str, stdout: str, cwd: Path) -> list[Path]:
    """Return the paths that were printed with a label, in a folder."""
    return [cwd / path for path in re.findall(rf"^{label} +(\S.*)$", stdout, flags=re.MULTILINE)]


@pytest.mark.slow
def test_quickstart_ends_with_a_model_that_beats_every_baseline(tmp_path: Path) -> None:
    stdout = bash("quickstart.sh", "demo", cwd=tmp_path)
    (metrics,), (run,) = printed("metrics", stdout, tmp_path), printed("run", stdout, tmp_path)
    told = json.loads(metrics.read_text())
    for name in ("xyz_error", "xyz_error_final", "paired_mse"):
        assert told["metrics"][name]["ratio"] < 1, told["metrics"][name]
    assert (run / "checkpoints" / "last.ckpt").exists()
    assert run.is_relative_to(tmp_path / "demo")
    videos = printed("video", stdout, tmp_path)
    assert len(videos) == told["coverage"]["episodes"]
    for video in videos:
        drawn = open_episode(tmp_path / "demo" / "held-out" / f"{video.stem}.zarr")
        facts = probe_video(video)
        assert (facts.fps, facts.num_frames) == (drawn.fps, drawn.num_frames)
    assert "of the best baseline's" in stdout


def _first_and_last(video: Path) -> tuple[np.ndarray, np.ndarray]:
    frames = list(read_video(video))
    return frames[0].astype(int), frames[-1].astype(int)


@pytest.mark.slow
def test_a_real_robot_goes_the_whole_way(real_data: Path, tmp_path: Path) -> None:
    source = real_data / "g1-inspire-pick"
    stdout = bash("real_robot.sh", source, "out", "28-31,59", "trainer.max_steps=20", "data.batch_size=8", cwd=tmp_path)
    episodes = [open_episode(path) for path in find_episodes(tmp_path / "out" / "episodes")]
    assert len(episodes) == 5
    assert all(len(episode.numbers("cmd_joints")[0]) == 26 for episode in episodes)
    assert "joint_error" in stdout
    (video,) = printed("video", stdout, tmp_path)
    facts = probe_video(video)
    (drawn,) = [episode for episode in episodes if episode.hash == video.stem]
    width, height = drawn.image_size("front_1")
    assert (facts.fps, facts.num_frames, facts.height) == (Fraction(30), drawn.num_frames, height)
    assert facts.width > width  # the joints' charts stand beside the picture, which keeps its size
    for frame, picture in zip((0, drawn.num_frames - 1), _first_and_last(video), strict=True):
        stored = drawn.image("front_1", frame).astype(int)
        middle = slice(height // 4, 3 * height // 4)  # between legend and caption
        assert np.abs(picture[middle, :width] - stored[middle]).mean() < 4


def test_examples_say_how_they_are_called(tmp_path: Path) -> None:
    result = subprocess.run(
        ["bash", str(ROOT / "examples" / "real_robot.sh")], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert "bash examples/real_robot.sh PATH_TO_LEROBOT_DATASET OUT" in result.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.sh")), ids=lambda path: path.name)
def test_examples_are_whole_and_stop_at_the_first_error(script: Path) -> None:
    assert "set -euo pipefail" in script.read_text()
    subprocess.run(["bash", "-n", str(script)], check=True)
