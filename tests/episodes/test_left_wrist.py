from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotrain.episodes.left_wrist import is_mecka, judge_left_wrist, mend_left_wrist
from robotrain.episodes.reader import open_episode
from robotrain.geometry.rotations import matrix_from_quaternion, matrix_from_ypr, quaternion_from_matrix
from tests.damage import change_rows, mirror_left_hand, without
from tests.factories import copy_sound

WRIST, PALM = "left.obs_wrist_pose", "left.obs_ee_pose"
TURN = np.diag([-1.0, -1.0, 1.0])
ANGLES = st.tuples(*[st.floats(-np.pi, np.pi)] * 3)


def mend_in_place(rows: np.ndarray) -> None:
    rows[:] = mend_left_wrist(rows)


@given(angles=ANGLES)
def test_the_rotation_is_turned_by_180_degrees_about_its_own_z_axis_and_the_place_stays(
    angles: tuple[float, float, float],
) -> None:
    rotation = matrix_from_ypr(np.array(angles))
    pose = np.array([0.1, -0.2, 0.3, *quaternion_from_matrix(rotation)])
    mended = mend_left_wrist(pose)
    assert mended.shape == (7,)
    np.testing.assert_array_equal(mended[:3], pose[:3])
    np.testing.assert_allclose(matrix_from_quaternion(mended[3:]), rotation @ TURN, atol=1e-12)
    np.testing.assert_allclose(matrix_from_quaternion(mend_left_wrist(mended)[3:]), rotation, atol=1e-12)


@pytest.mark.parametrize("marker", [0.0, 1e9, np.nan])
def test_missing_rows_are_left_as_they_are(marker: float) -> None:
    poses = np.tile([0.1, 0.2, 0.3, 1.0, 0, 0, 0], (5, 1))
    poses[[1, 4]] = marker
    mended = mend_left_wrist(poses)
    np.testing.assert_array_equal(mended[[1, 4]], poses[[1, 4]])
    np.testing.assert_array_equal(mended[0], [0.1, 0.2, 0.3, 0, 0, 0, 1])
    chunks = mend_left_wrist(np.stack([poses, poses])[:, None])
    np.testing.assert_array_equal(chunks[1, 0], mended)


def test_an_episode_tells_by_its_own_keypoints(tmp_path: Path) -> None:
    path = copy_sound(tmp_path / "e", "mecka")
    mirror_left_hand(path)
    assert judge_left_wrist(open_episode(path), WRIST) == "mirrored"
    change_rows(path, WRIST, mend_in_place)
    assert judge_left_wrist(open_episode(path), WRIST) == "sound"
    change_rows(path, WRIST, mend_in_place)
    assert judge_left_wrist(open_episode(path), WRIST) == "mirrored"


@pytest.mark.parametrize("lost", ["right.obs_wrist_pose", "left.obs_keypoints", "right.obs_keypoints"])
def test_without_both_hands_nothing_is_told(tmp_path: Path, lost: str) -> None:
    path = copy_sound(tmp_path / "e", "mecka")
    mirror_left_hand(path)
    without(path, lost)
    assert judge_left_wrist(open_episode(path), WRIST) == "unknown"


@pytest.mark.parametrize(
    ("stored", "expected"),
    [("mecka_bimanual", True), (" MECKA_LEFT_ARM", True), ("aria_bimanual", False), ("human_bimanual", False)],
)
def test_the_vendor_is_in_the_stored_name(stored: str, *, expected: bool) -> None:
    assert is_mecka(stored) == expected
