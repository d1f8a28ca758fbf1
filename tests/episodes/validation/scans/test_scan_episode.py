from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robotrain.convert.source import convert_source
from robotrain.convert.synthetic.generate import Body, SyntheticConfig, SyntheticSource
from robotrain.episodes.folder import find_episodes
from robotrain.episodes.reader import open_episode
from robotrain.episodes.validation.findings import Finding
from robotrain.episodes.validation.scans import scan_episode
from tests.episodes.validation.scans.planting import InMemory, told
from tests.factories import make_eva_episode, make_human_episode, make_joint_episode, smooth_poses


def scan(path: Path) -> list[Finding]:
    episode = open_episode(path)
    return list(scan_episode(episode, episode.arrays, episode.cameras))


@pytest.mark.parametrize("num_frames", [1, 2, 60])
@pytest.mark.parametrize("make", [make_eva_episode, make_human_episode, make_joint_episode])
def test_a_sound_episode_of_any_length_has_no_findings(
    tmp_path: Path, make: Callable[..., Path], num_frames: int
) -> None:
    assert scan(make(tmp_path / "e", num_frames=num_frames)) == []


@pytest.mark.parametrize(("body", "missing_rate"), [("eva_bimanual", 0.0), ("human_bimanual", 0.2)])
def test_the_made_up_world_is_sound(tmp_path: Path, body: Body, missing_rate: float) -> None:
    config = SyntheticConfig(embodiment=body, num_episodes=2, missing_rate=missing_rate, width=64, height=48)
    convert_source(SyntheticSource(config), tmp_path)
    assert [scan(path) for path in find_episodes(tmp_path)] == [[], []]


def test_its_grey_control_is_blank(tmp_path: Path) -> None:
    convert_source(SyntheticSource(SyntheticConfig(num_episodes=1, images="blank", seconds=0.5)), tmp_path)
    (path,) = find_episodes(tmp_path)
    assert [(finding.code, finding.array) for finding in scan(path)] == [("blank-picture", "images.front_1")]


def test_egoverses_own_episodes_have_the_warnings_that_are_due_and_no_error(real_data: Path) -> None:
    found = {path.name: scan(path) for path in find_episodes(real_data / "egoverse-written")}
    assert {finding.severity for findings in found.values() for finding in findings} == {"warning"}
    wrists = [
        (code, f"{side}.obs_wrist_pose")
        for code in ("degenerate-rotation", "frozen-track")
        for side in ("left", "right")
    ]
    # The film that the robot's pictures are from was recorded at a lower rate than it is stored.
    film = [("repeated-frames", f"images.{camera}") for camera in ("front_1", "left_wrist", "right_wrist")]
    assert {name: [(each.code, each.array) for each in findings] for name, findings in found.items()} == {
        "2025-09-20-17-47-54-000000.zarr": wrists,
        "2025-12-26-18-07-46-296000": film,
        "69199812208123403bbdb24f.zarr": wrists,
    }


def test_only_what_is_named_is_looked_at(tmp_path: Path) -> None:
    path = make_eva_episode(tmp_path / "e")
    episode = open_episode(path)
    (path / "images.front_1" / "c" / "0").unlink()
    (path / "left.obs_ee_pose" / "c" / "0" / "0").unlink()
    arrays = [array for array in episode.arrays if array != "left.obs_ee_pose"]
    assert list(scan_episode(episode, arrays, ("left_wrist", "right_wrist"))) == []


def test_what_cannot_be_read_is_left_out_and_the_rest_is_scanned(tmp_path: Path) -> None:
    path = make_eva_episode(tmp_path / "e", num_frames=40)
    (path / "left.obs_ee_pose" / "c" / "0" / "0").write_bytes(b"123")
    (path / "images.front_1" / "c" / "0").write_bytes(b"123")
    assert [(finding.code, finding.array) for finding in scan(path)] == [("bad-jpeg", "images.front_1")]


@pytest.mark.parametrize(
    "rows",
    [
        np.zeros((20, 3)),
        np.zeros((20, 0)),
        np.full((20, 7), "x"),
        np.full((20, 7), True),
        np.full((20, 7), 1 + 2j),
        np.zeros((20, 7), dtype=np.int8),
        np.full((20, 7), np.nan),
        np.full((20, 7), -1e300),
    ],
)
@pytest.mark.parametrize(
    "array", ["left.obs_ee_pose", "obs_head_pose", "left.obs_keypoints", "left.gripper", "obs_joints", "obs_eye_gaze"]
)
def test_no_array_of_any_kind_makes_it_fall(array: str, rows: Any) -> None:
    sound = smooth_poses(np.random.default_rng(0), 20, centre=(0.1, 0.1, 0.5))
    arrays = {"left.obs_ee_pose": sound, "right.obs_ee_pose": sound, "obs_head_pose": sound} | {array: rows}
    episode = InMemory(arrays, {"front_1": [b""] * 20}, embodiment="mecka_bimanual")
    told(scan_episode(episode, episode.arrays, episode.cameras))
