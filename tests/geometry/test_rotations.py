import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation, Slerp

from robotrain.errors import GeometryError
from robotrain.geometry.rotations import (
    geodesic_angle,
    matrix_from_quaternion,
    matrix_from_rot6d,
    matrix_from_ypr,
    mean_rotation,
    quaternion_from_matrix,
    rot6d_from_matrix,
    slerp,
    ypr_from_matrix,
)

YPR = np.array([0.1, 0.2, 0.3])

quaternions = arrays(np.float64, 4, elements=st.floats(-1, 1)).filter(lambda q: np.linalg.norm(q) > 1e-3)
angles = st.floats(-np.pi, np.pi)


def same(first: np.ndarray, second: np.ndarray, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(first, second, rtol=0, atol=tolerance)


def test_the_golden_rotation_reads_the_same_in_all_four_spellings() -> None:
    matrix = matrix_from_ypr(YPR)
    same(quaternion_from_matrix(matrix), np.array([0.983347443, 0.143572175, 0.106020511, 0.034270799]), 1e-9)
    same(matrix[0], np.array([0.975170327, -0.036957014, 0.218350663]), 1e-9)
    golden = [0.975170327, 0.097843395, -0.198669331, -0.036957014, 0.956425086, 0.289629478]
    same(rot6d_from_matrix(matrix), np.array(golden), 1e-9)


def test_ypr_is_scipys_intrinsic_zyx() -> None:
    ypr = np.random.default_rng(0).uniform(-1.5, 1.5, size=(50, 3))
    same(matrix_from_ypr(ypr), Rotation.from_euler("ZYX", ypr).as_matrix())


@given(quaternions)
def test_a_quaternion_comes_back_from_its_matrix_with_w_not_negative(quaternion: np.ndarray) -> None:
    unit = quaternion / np.linalg.norm(quaternion)
    back = quaternion_from_matrix(matrix_from_quaternion(quaternion))
    assert back[0] >= 0
    assert abs(abs(back @ unit) - 1) < 1e-12
    same(matrix_from_quaternion(back), matrix_from_quaternion(quaternion))


@given(quaternions)
def test_a_quaternion_and_its_negative_are_one_rotation(quaternion: np.ndarray) -> None:
    same(matrix_from_quaternion(quaternion), matrix_from_quaternion(-quaternion))


@given(arrays(np.float64, 3, elements=st.floats(-1, 1)).filter(lambda v: np.linalg.norm(v) > 1e-2), st.floats(0, 1e-6))
def test_angles_near_pi_keep_their_axis(axis: np.ndarray, short_of_pi: float) -> None:
    axis = axis / np.linalg.norm(axis)
    matrix = Rotation.from_rotvec(axis * (np.pi - short_of_pi)).as_matrix()
    same(matrix_from_quaternion(quaternion_from_matrix(matrix)), matrix)
    assert abs(geodesic_angle(np.eye(3), matrix) - (np.pi - short_of_pi)) < 1e-12


@given(angles, st.floats(-np.pi / 2, np.pi / 2), angles)
def test_ypr_comes_back_as_the_same_rotation_gimbal_lock_included(yaw: float, pitch: float, roll: float) -> None:
    matrix = matrix_from_ypr(np.array([yaw, pitch, roll]))
    # Within 1e-7 of the lock roll is dropped, and so is what it turned.
    same(matrix_from_ypr(ypr_from_matrix(matrix)), matrix, 4e-7)


@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2])
def test_in_gimbal_lock_roll_is_zero_and_the_rotation_is_kept(pitch: float) -> None:
    matrix = matrix_from_ypr(np.array([0.7, pitch, 0.4]))
    ypr = ypr_from_matrix(matrix)
    assert ypr[2] == 0
    assert abs(ypr[1] - pitch) < 1e-8
    same(matrix_from_ypr(ypr), matrix, 1e-8)


@given(quaternions)
def test_rot6d_comes_back_exactly(quaternion: np.ndarray) -> None:
    matrix = matrix_from_quaternion(quaternion)
    same(matrix_from_rot6d(rot6d_from_matrix(matrix)), matrix)


@given(arrays(np.float64, 6, elements=st.floats(-10, 10)))
@settings(max_examples=300)
def test_any_six_finite_numbers_give_a_rotation(rot6d: np.ndarray) -> None:
    matrix = matrix_from_rot6d(rot6d)
    same(matrix @ matrix.T, np.eye(3), 1e-10)
    assert np.linalg.det(matrix) > 0


@pytest.mark.parametrize(
    "rot6d", [np.zeros(6), np.array([1.0, 0, 0, 2, 0, 0]), np.array([0, 1.0, 0, 0, 0, 0]), np.full(6, 1e-12)]
)
def test_columns_that_say_nothing_still_give_a_rotation(rot6d: np.ndarray) -> None:
    matrix = matrix_from_rot6d(rot6d)
    same(matrix @ matrix.T, np.eye(3))
    assert np.linalg.det(matrix) > 0


def test_rot6d_ignores_length_and_the_part_of_the_second_column_along_the_first() -> None:
    matrix = matrix_from_ypr(YPR)
    first, second = matrix[:, 0], matrix[:, 1]
    same(matrix_from_rot6d(np.concatenate([3 * first, 0.5 * second + 2 * first])), matrix)


@pytest.mark.parametrize("bad", [[0.0, 0, 0, 0], [np.nan, 0, 0, 1], [np.inf, 0, 0, 1]])
def test_a_quaternion_without_length_is_refused_and_its_row_named(bad: list[float]) -> None:
    rows = np.tile([1.0, 0, 0, 0], (5, 1))
    rows[3] = bad
    with pytest.raises(GeometryError, match=r"row \(3,\)"):
        matrix_from_quaternion(rows)


@given(quaternions, quaternions, st.floats(0, 1))
def test_slerp_agrees_with_scipy(start: np.ndarray, end: np.ndarray, fraction: float) -> None:
    keys = Rotation.from_quat(np.stack([start, end])[:, [1, 2, 3, 0]])
    if keys[0].inv().__mul__(keys[1]).magnitude() > np.pi - 1e-6:
        return  # half a turn has no shorter way
    expected = Slerp([0, 1], keys)(fraction).as_matrix()
    same(matrix_from_quaternion(slerp(start, end, fraction)), expected, 1e-9)


def test_slerp_takes_the_shorter_way_when_signs_flip_and_keeps_the_sign_of_its_start() -> None:
    start = quaternion_from_matrix(matrix_from_ypr(YPR))
    end = quaternion_from_matrix(matrix_from_ypr(YPR + 0.1))
    same(slerp(start, -end, 0.3), slerp(start, end, 0.3))
    assert slerp(-start, end, 0.3) @ start < 0


def test_slerp_over_a_tiny_angle_is_a_straight_line() -> None:
    start = np.array([1.0, 0, 0, 0])
    end = np.array([1.0, 1e-9, 0, 0])
    same(slerp(start, end, 0.25), np.array([1.0, 2.5e-10, 0, 0]), 1e-18)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-6, 0.3, 3.0, np.pi])
def test_the_geodesic_angle_is_exact_at_both_ends(angle: float) -> None:
    turn = Rotation.from_rotvec(np.array([0.6, 0.0, 0.8]) * angle).as_matrix()
    base = matrix_from_ypr(YPR)
    assert abs(geodesic_angle(base, base @ turn) - angle) < 1e-14 + 1e-9 * angle


def test_the_mean_rotation_is_scipys_and_leaves_out_rows_of_no_weight() -> None:
    rng = np.random.default_rng(1)
    rotations = Rotation.from_euler("ZYX", rng.normal(scale=0.4, size=(6, 3)))
    weight = rng.uniform(0.1, 1, size=6)
    same(mean_rotation(rotations.as_matrix(), weight), rotations.mean(weight).as_matrix())
    with_nan = np.concatenate([rotations.as_matrix(), np.full((1, 3, 3), np.nan)])
    same(mean_rotation(with_nan, np.append(weight, 0.0)), rotations.mean(weight).as_matrix())
    same(mean_rotation(rotations.as_matrix()), rotations.mean().as_matrix())


def test_the_mean_of_opposite_turns_is_still_a_rotation_and_of_nothing_the_identity() -> None:
    turns = matrix_from_ypr(np.array([[np.pi, 0, 0], [0.0, 0, 0], [0, np.pi, 0]]))
    mean = mean_rotation(turns)
    same(mean @ mean.T, np.eye(3))
    assert np.linalg.det(mean) > 0
    same(mean_rotation(np.full((2, 4, 3, 3), np.nan), np.zeros((2, 4))), np.broadcast_to(np.eye(3), (4, 3, 3)))
