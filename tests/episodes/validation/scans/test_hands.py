from typing import Any

import numpy as np
import pytest

from robotrain.embodiments.catalog import embodiment_of
from robotrain.episodes.validation.scans.hands import scan_hands
from robotrain.errors import EpisodeError
from robotrain.geometry.cameras import Intrinsics, unproject
from robotrain.geometry.poses import pose_from_transform, transform_from_pose, transform_points
from tests.episodes.validation.scans.planting import InMemory, Told, told
from tests.factories import smooth_poses

SIDES = ("left", "right")
PICTURES = {"front_1": [b""] * 20}
ASIDE = np.zeros((4, 4))
ASIDE[1, 3] = 5.0  # metres, along y


def scan(episode: InMemory, cameras: tuple[str, ...] | None = None) -> Told:
    return told(scan_hands(episode, episode.tracks, episode.cameras if cameras is None else cameras))


def poses(num: int, seed: int = 0) -> np.ndarray:
    return smooth_poses(np.random.default_rng(seed), num, centre=(0.1, 0.1, 0.5))


class TestMissing:
    @pytest.mark.parametrize("array", ["left.obs_wrist_pose", "right.cmd_ee_pose", "left.obs_keypoints"])
    @pytest.mark.parametrize("value", [0.0, 1e9, np.nan])
    @pytest.mark.parametrize(("num", "is_told"), [(10, False), (11, True)])
    def test_more_than_half_is_told(self, array: str, value: float, num: int, is_told: bool) -> None:
        rows = np.full((20, 63 if array.endswith("keypoints") else 7), 0.5)
        rows[-num:] = value
        episode = InMemory({array: rows, "right.obs_ee_pose": poses(20)})
        assert scan(episode) == [("mostly-missing", array, 20 - num)] * is_told

    def test_the_share_is_told(self) -> None:
        rows = poses(20)
        rows[5:] = 0.0
        episode = InMemory({"left.cmd_ee_pose": rows})
        (finding,) = scan_hands(episode, episode.tracks, ())
        assert "15 of 20 rows (75.0%)" in finding.message

    def test_joints_and_grippers_at_zero_are_not_missing(self) -> None:
        arrays = {"left.obs_joints": np.zeros((20, 6)), "left.obs_gripper": np.zeros((20, 1))}
        assert scan(InMemory(arrays | {"left.obs_ee_pose": poses(20)})) == []

    def test_nobody_in_the_whole_episode_is_an_error_and_told_once(self) -> None:
        absent = np.zeros((20, 7))
        arrays = {
            "left.obs_ee_pose": absent,
            "right.obs_ee_pose": np.full((20, 7), 1e9),
            "left.obs_keypoints": np.zeros((20, 63)),
            "obs_head_pose": poses(20),
        }
        (finding,) = scan_hands(episode := InMemory(arrays, embodiment="human_bimanual"), episode.tracks, ())
        assert (finding.severity, finding.code, finding.frame) == ("error", "no-real-rows", 0)
        assert "left.obs_ee_pose, right.obs_ee_pose" in finding.message
        arrays["right.obs_ee_pose"][7] = poses(1)
        expected = {"left.obs_ee_pose", "right.obs_ee_pose", "left.obs_keypoints"}
        found = scan(InMemory(arrays, embodiment="human_bimanual"))
        assert {(code, array) for code, array, _ in found} == {("mostly-missing", array) for array in expected}

    def test_a_robot_of_joints_has_no_pose_to_miss(self) -> None:
        assert scan(InMemory({"obs_joints": np.zeros((20, 6))}, embodiment="toy_arm")) == []


def human(inside: int, *, behind: bool = False, attributes: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return arrays of two hands, 20 frames each, of whose 40 palms so many lie in the picture."""
    intrinsics = Intrinsics(266.5, 266.5, 320.0, 240.0, 640, 480)
    pixels = np.where(np.arange(40)[:, None] < inside, [639.0, 479.0], [641.0, 240.0])
    in_head = unproject(pixels, -0.5 if behind else 0.5, intrinsics).reshape(2, 20, 3)
    head = smooth_poses(np.random.default_rng(1), 20, centre=(3.0, 2.0, 1.0))
    arrays = {"obs_head_pose": head}
    for side, points in zip(SIDES, in_head, strict=True):
        rows = poses(20)
        rows[:, :3] = transform_points(transform_from_pose(head), points[:, None])[:, 0]
        arrays[f"{side}.obs_ee_pose"] = rows
    return arrays


class TestPalmsInThePicture:
    @pytest.mark.parametrize(("inside", "is_told"), [(40, False), (8, False), (7, True), (0, True)])
    def test_less_than_a_fifth_of_both_hands_is_too_few(self, inside: int, is_told: bool) -> None:
        found = scan(InMemory(human(inside), PICTURES, embodiment="human_bimanual"))
        assert found == [("palm-outside", "right.obs_ee_pose" if inside else "left.obs_ee_pose", 0)] * is_told

    def test_the_message_counts(self) -> None:
        episode = InMemory(human(2), PICTURES, embodiment="human_bimanual")
        (finding,) = scan_hands(episode, episode.tracks, ("front_1",))
        assert "38 of 40 places" in finding.message
        assert "640x480 pixels" in finding.message

    def test_what_is_behind_the_camera_is_outside(self) -> None:
        found = scan(InMemory(human(40, behind=True), PICTURES, embodiment="human_bimanual"))
        assert found == [("palm-outside", "left.obs_ee_pose", 0)]

    def test_missing_hands_and_heads_do_not_count(self) -> None:
        arrays = human(7)
        arrays["right.obs_ee_pose"][4:] = 0.0
        arrays["left.obs_ee_pose"][15:] = 1e9
        arrays["obs_head_pose"][10:12] = 0.0
        assert scan(InMemory(arrays, PICTURES, embodiment="human_bimanual")) == [
            ("mostly-missing", "right.obs_ee_pose", 4)
        ]

    def test_the_episodes_own_intrinsics_and_its_pictures_size_are_taken(self) -> None:
        arrays = human(40)
        tele = {"intrinsics": {"fx": 900.0, "fy": 900.0, "cx": 320.0, "cy": 240.0, "width": 640, "height": 480}}
        episode = InMemory(arrays, PICTURES, embodiment="human_bimanual", attributes=tele)
        assert [code for code, _, _ in scan(episode)] == ["palm-outside"]
        assert scan(InMemory(arrays, PICTURES, embodiment="human_bimanual", size=(64, 48))) == []

    @pytest.mark.parametrize("cameras", [(), ("left_wrist",)])
    def test_without_a_sound_front_camera_nothing_is_said(self, cameras: tuple[str, ...]) -> None:
        assert scan(InMemory(human(0), PICTURES, embodiment="human_bimanual"), cameras) == []

    def test_what_cannot_be_read_is_left_to_other_checks(self) -> None:
        broken = {"intrinsics": {"front_1": [1, 2]}}
        assert scan(InMemory(human(0), PICTURES, embodiment="human_bimanual", attributes=broken)) == []
        with pytest.raises(EpisodeError):
            InMemory(human(0), PICTURES, attributes=broken).intrinsics("front_1")

    def test_without_a_head_there_is_no_camera(self) -> None:
        arrays = human(0)
        del arrays["obs_head_pose"]
        assert scan(InMemory(arrays, PICTURES, embodiment="human_bimanual")) == []


class TestToolsInThePicture:
    @staticmethod
    def arrays(base_from_camera: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        arrays = {}
        for side in SIDES:
            seen = np.tile(np.eye(4), (20, 1, 1))
            seen[:, :3, 3] = [0.05, 0.05, 0.6]
            arrays[f"{side}.obs_ee_pose"] = pose_from_transform(base_from_camera[side] @ seen)
        return arrays

    def test_the_rigs_own_calibration_is_the_default(self) -> None:
        rig = dict(embodiment_of("eva_bimanual", {}).camera_poses or {})
        assert scan(InMemory(self.arrays(rig), PICTURES)) == []
        moved = {side: pose + ASIDE for side, pose in rig.items()}
        assert [code for code, _, _ in scan(InMemory(self.arrays(moved), PICTURES))] == ["palm-outside"]

    def test_the_episodes_extrinsics_come_first(self) -> None:
        rig = dict(embodiment_of("eva_bimanual", {}).camera_poses or {})
        moved = {side: pose + ASIDE for side, pose in rig.items()}
        attributes = {"extrinsics": {side: pose.tolist() for side, pose in moved.items()}}
        assert scan(InMemory(self.arrays(moved), PICTURES, attributes=attributes)) == []
        assert [code for code, _, _ in scan(InMemory(self.arrays(rig), PICTURES, attributes=attributes))] == [
            "palm-outside"
        ]

    def test_a_robot_without_poses_is_passed_over(self) -> None:
        arrays = self.arrays({side: np.eye(4) for side in SIDES})
        assert scan(InMemory(arrays, PICTURES, embodiment="toy_arm")) == []
