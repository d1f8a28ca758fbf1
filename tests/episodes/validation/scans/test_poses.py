from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotrain.episodes.validation.findings import Finding
from robotrain.episodes.validation.scans.poses import scan_poses
from robotrain.geometry.poses import pose_from_transform, transform_from_pose, transform_points
from robotrain.geometry.rotations import matrix_from_ypr, quaternion_from_matrix
from tests.episodes.validation.scans.planting import InMemory, told
from tests.factories import smooth, smooth_poses

POSE, COMMAND, HEAD, POINTS, JOINTS = (
    "left.obs_ee_pose",
    "left.cmd_ee_pose",
    "obs_head_pose",
    "left.obs_keypoints",
    "left.obs_joints",
)


def scan(fps: float | None = 30, /, **arrays: np.ndarray) -> Iterable[Finding]:
    episode = InMemory({name.replace("__", "."): rows for name, rows in arrays.items()}, fps=fps)
    return scan_poses(episode, episode.tracks)


def poses(num: int = 40, seed: int = 0) -> np.ndarray:
    return smooth_poses(np.random.default_rng(seed), num, centre=(0.3, 0.0, 0.4))


def turning(angles: np.ndarray) -> np.ndarray:
    """Return poses that move a little and turn about z by the angles (T,), rad."""
    rotations = matrix_from_ypr(np.stack([angles, 0.1 + 0 * angles, 0 * angles], axis=-1))
    places = np.linspace(0, 0.01, len(angles))[:, None] * np.ones(3)
    return np.concatenate([places, quaternion_from_matrix(rotations)], axis=-1)


def one_way(rows: np.ndarray) -> np.ndarray:
    """Return poses whose quaternions keep their sign from row to row."""
    flips = np.cumsum(np.sum(rows[1:, 3:] * rows[:-1, 3:], axis=-1) < 0) % 2 == 1
    rows = rows.copy()
    rows[1:][flips, 3:] *= -1
    return rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_smooth_poses_of_either_precision_are_sound(dtype: type) -> None:
    assert told(scan(**{POSE: poses().astype(dtype), COMMAND: poses(seed=1).astype(dtype)})) == []


class TestNorms:
    def test_a_quaternion_that_is_no_rotation_is_an_error_with_its_frame_and_its_norm(self) -> None:
        rows = poses()
        rows[7:9, 3:] *= [[1.5], [1.01]]
        (finding,) = scan(**{POSE: rows})
        assert (finding.severity, finding.code, finding.array, finding.frame) == ("error", "quaternion-norm", POSE, 7)
        assert "2 of 40 quaternions" in finding.message
        assert "1.5" in finding.message

    @pytest.mark.parametrize("scale", [1 - 9e-4, 1 + 9e-4])
    def test_rounding_is_none(self, scale: float) -> None:
        rows = poses()
        rows[:, 3:] *= scale
        assert told(scan(**{POSE: rows})) == []

    @pytest.mark.parametrize("scale", [0.0, 1 - 1.1e-3, 1 + 1.1e-3, 1e3])
    def test_more_than_a_thousandth_is(self, scale: float) -> None:
        rows = poses()
        rows[3, 3:] *= scale
        assert told(scan(**{POSE: rows})) == [("quaternion-norm", POSE, 3)]

    def test_missing_rows_have_no_norm(self) -> None:
        rows = poses()
        rows[3:6], rows[9], rows[12, 4] = 0.0, 1e9, np.nan
        assert told(scan(**{POSE: rows})) == []


class TestSigns:
    @settings(max_examples=40, deadline=None)
    @given(st.integers(0, 99), st.lists(st.booleans(), min_size=40, max_size=40))
    def test_signs_are_counted_and_are_never_jumps(self, seed: int, signs: list[bool]) -> None:
        rows = one_way(poses(seed=seed))
        rows[:, 3:] *= np.where(signs, -1.0, 1.0)[:, None]
        flips = np.flatnonzero(np.diff(signs)) + 1
        found = list(scan(**{POSE: rows}))
        assert told(found) == [("quaternion-flip", POSE, int(flip)) for flip in flips[:1]]
        assert all(f"flips {len(flips)} times" in finding.message for finding in found)

    def test_a_flip_over_a_gap_is_none(self) -> None:
        rows = one_way(poses())
        rows[20], rows[21:, 3:] = 0.0, -rows[21:, 3:]
        assert told(scan(**{POSE: rows})) == []


class TestJumps:
    @pytest.mark.parametrize("fps", [15, 30, 60, 29.97])
    @pytest.mark.parametrize(("share", "expected"), [(0.99, []), (1.01, [("rotation-jump", POSE, 6)])])
    def test_a_turn_is_too_fast_beyond_45_rad_a_second(self, fps: float, share: float, expected: list) -> None:
        angles = np.zeros(12)
        angles[6:] = share * 45 / fps
        assert [each for each in told(scan(fps, **{POSE: turning(angles)})) if each[0] != "quaternion-flip"] == expected

    @pytest.mark.parametrize("fps", [15, 30, 60])
    @pytest.mark.parametrize(("share", "expected"), [(0.99, []), (1.01, [("position-jump", HEAD, 6)])])
    def test_a_way_is_too_fast_beyond_6_metres_a_second(self, fps: int, share: float, expected: list) -> None:
        rows = turning(np.linspace(0, 0.1, 12))
        rows[:, :3] = np.where(np.arange(12)[:, None] < 6, 0.0, share * 6 / fps) * [1.0, 0.0, 0.0]
        found = [each for each in told(scan(fps, **{HEAD: rows})) if each[0] != "repeated-rows"]
        assert found == expected

    def test_there_and_back_is_told_once_with_its_count_and_its_speed(self) -> None:
        rows = poses()
        rows[10, 0] += 1.0
        (finding,) = scan(**{POSE: rows})
        assert (finding.code, finding.frame) == ("position-jump", 10)
        assert "2 of 39 steps are faster than 6 m/s (up to 30" in finding.message

    @settings(max_examples=40, deadline=None)
    @given(st.integers(0, 99), st.sets(st.integers(1, 38), min_size=1, max_size=12), st.booleans())
    def test_what_happened_over_a_gap_is_nobodys_business(self, seed: int, gaps: set[int], zeros: bool) -> None:
        rng, rows = np.random.default_rng(seed), poses(seed=seed)
        for gap in gaps:  # behind every gap the limb is somewhere else
            rows[gap:, :3] += rng.uniform(1, 2, 3)
            rows[gap:, 3:] = one_way(turning(np.full(40 - gap, rng.uniform(2, 3))))[:, 3:]
        rows[sorted(gaps)] = 0.0 if zeros else 1e9
        codes = {code for code, _, _ in told(scan(**{POSE: rows}))}
        assert not codes & {"position-jump", "rotation-jump", "quaternion-flip", "quaternion-norm"}

    def test_without_a_rate_there_is_no_speed(self) -> None:
        rows = poses()
        rows[10, 0] += 100.0
        assert told(scan(None, **{POSE: rows})) == []

    def test_a_quaternion_that_is_no_rotation_is_no_jump_too(self) -> None:
        rows = poses()
        rows[5, 3:] = [0.1, -3.0, 0.0, 7.0]
        assert told(scan(**{POSE: rows})) == [("quaternion-norm", POSE, 5)]


class TestIdentity:
    @pytest.mark.parametrize(("num", "expected"), [(1, []), (2, [("degenerate-rotation", POSE, 50)])])
    def test_more_than_one_in_a_hundred_is_a_placeholder(self, num: int, expected: list) -> None:
        rows = poses(100)
        rows[50 : 50 + num, 3:] = [-1.0, 0.0, 0.0, 0.0]
        found = [each for each in told(scan(**{POSE: rows})) if each[0] != "quaternion-flip"]
        assert found == expected

    def test_nearly_the_identity_is_a_measurement(self) -> None:
        rows = poses(100)
        rows[:, 3:] = [1.0, 1e-9, 0.0, 0.0]
        assert told(scan(**{POSE: rows})) == []

    def test_missing_rows_do_not_dilute_it(self) -> None:
        rows = poses(100)
        rows[2:] = 0.0
        rows[0, 3:] = [1.0, 0.0, 0.0, 0.0]
        (finding,) = scan(**{POSE: rows})
        assert (finding.code, finding.frame) == ("degenerate-rotation", 0)
        assert "1 of 2 rotations (50.0%)" in finding.message


class TestChanges:
    @pytest.mark.parametrize("array", [POSE, HEAD, POINTS, JOINTS, "obs_joints"])
    def test_what_is_measured_and_never_changes_is_frozen(self, array: str) -> None:
        row = np.random.default_rng(0).uniform(0.2, 0.9, 63 if array == POINTS else 7)
        row[-4:] /= np.linalg.norm(row[-4:])
        rows = np.tile(row, (30, 1))
        rows[:4] = 1e9
        rows[11] = np.nan
        (finding,) = scan(**{array: rows})
        assert (finding.code, finding.array, finding.frame) == ("frozen-track", array, 4)
        assert "25 rows" in finding.message

    def test_a_command_a_gripper_and_a_single_row_may_be_still(self) -> None:
        still = np.tile(poses(1), (30, 1))
        lonely = np.zeros((30, 7))
        lonely[3] = still[0]
        arrays = {COMMAND: still, POSE: lonely, "left.obs_gripper": np.full((30, 1), 0.5)}
        assert told(scan(**arrays)) == []

    @pytest.mark.parametrize(("num", "expected"), [(19, []), (20, [("repeated-rows", JOINTS, 1)])])
    def test_one_row_in_five_that_repeats_is_too_many(self, num: int, expected: list) -> None:
        rows = smooth(np.random.default_rng(0), 101, 6, 0.5)
        for row in range(1, 1 + 2 * num, 2):
            rows[row] = rows[row - 1]
        assert told(scan(**{JOINTS: rows})) == expected
        assert told(scan(**{"left.cmd_joints": rows})) == []

    def test_rows_on_both_sides_of_a_gap_repeat_nothing(self) -> None:
        rows = poses(60)
        for gap in range(1, 59, 3):
            rows[gap + 1] = rows[gap - 1]
            rows[gap] = 0.0
        assert told(scan(**{POSE: rows})) == []


class TestHandsSeenFromTheHead:
    """Glasses measure hands in their own frame; the store keeps them in the world."""

    @staticmethod
    def arrays(rate: int, dtype: type = np.float64) -> dict[str, np.ndarray]:
        """Return a moving head, and a hand measured ``rate`` times in 30 rows."""
        num, rng = 90, np.random.default_rng(3)
        head = smooth_poses(rng, num, centre=(12.0, -25.0, 1.6), turn=0.3)  # far into a house
        measured = np.arange(num) * rate // 30 * 30 // rate  # the row that each row's measurement is from
        points = rng.normal(scale=0.05, size=(21, 3)) + smooth(rng, num, 3, 0.1)[:, None] + [0.0, 0.0, 0.4]
        world_from_head = transform_from_pose(head)
        palm_in_head = np.tile(np.eye(4), (num, 1, 1))
        palm_in_head[:, :3, :3] = matrix_from_ypr(smooth(rng, num, 3, 0.5) + 0.2)
        palm_in_head[:, :3, 3] = points[:, 0]
        palm = pose_from_transform(world_from_head @ palm_in_head[measured])
        keypoints = transform_points(world_from_head, points[measured]).reshape(num, 63)
        arrays = {HEAD: head, POSE: palm, "left.obs_wrist_pose": palm, POINTS: keypoints}
        return {name: rows.astype(dtype) for name, rows in arrays.items()}

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("rate", [15, 20])
    def test_a_hand_measured_at_a_lower_rate_is_found_though_no_stored_row_repeats(
        self, rate: int, dtype: type
    ) -> None:
        arrays = self.arrays(rate, dtype)
        assert all(np.all(np.any(np.diff(rows, axis=0), axis=-1)) for rows in arrays.values())
        found = [each for each in scan(**arrays) if each.code != "quaternion-flip"]
        hands = {POSE, "left.obs_wrist_pose", POINTS}
        assert {(finding.code, finding.array) for finding in found} == {("repeated-rows", array) for array in hands}
        num = sum(row * rate // 30 == (row - 1) * rate // 30 for row in range(1, 90))
        assert all(f"{num} of 89 rows, seen from the head, repeat" in finding.message for finding in found)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_a_hand_measured_anew_in_every_row_is_sound(self, dtype: type) -> None:
        assert {code for code, _, _ in told(scan(**self.arrays(30, dtype)))} <= {"quaternion-flip"}

    def test_a_hand_that_hangs_in_the_glasses_is_frozen(self) -> None:
        found = [each for each in scan(**self.arrays(1)) if each.code != "quaternion-flip"]
        assert {finding.code for finding in found} == {"repeated-rows"}
        arrays = {name: rows[:30] for name, rows in self.arrays(1).items()}
        found = [each for each in scan(**arrays) if each.code != "quaternion-flip"]
        assert {(finding.code, finding.array) for finding in found} == {
            ("frozen-track", array) for array in (POSE, "left.obs_wrist_pose", POINTS)
        }
        assert all("seen from the head" in finding.message for finding in found)

    def test_where_the_head_is_unknown_nothing_is_compared(self) -> None:
        arrays = self.arrays(15)
        arrays[HEAD][::2] = 0.0
        assert {code for code, _, _ in told(scan(**arrays))} <= {"quaternion-flip"}
