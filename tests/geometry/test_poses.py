import numpy as np
import pytest

from robotrain.errors import GeometryError
from robotrain.geometry.poses import invert, pose_from_transform, transform_from_pose, transform_points
from robotrain.geometry.rotations import matrix_from_ypr, quaternion_from_matrix


def random_poses(shape: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng(0)
    quaternions = quaternion_from_matrix(matrix_from_ypr(rng.uniform(-1.5, 1.5, size=(*shape, 3))))
    return np.concatenate([rng.normal(size=(*shape, 3)), quaternions], axis=-1)


def test_a_pose_comes_back_from_its_transform() -> None:
    poses = random_poses((4, 5))
    np.testing.assert_allclose(pose_from_transform(transform_from_pose(poses)), poses, atol=1e-12)


def test_the_inverse_undoes_a_transform() -> None:
    transforms = transform_from_pose(random_poses((4, 5)))
    np.testing.assert_allclose(invert(transforms) @ transforms, np.broadcast_to(np.eye(4), (4, 5, 4, 4)), atol=1e-12)


def test_points_move_as_homogeneous_coordinates_do_and_leading_dims_broadcast() -> None:
    transforms = transform_from_pose(random_poses((4, 1)))
    points = np.random.default_rng(1).normal(size=(5, 6, 3))
    moved = transform_points(transforms, points)
    assert moved.shape == (4, 5, 6, 3)
    homogeneous = np.append(points[2, 3], 1.0)
    np.testing.assert_allclose(moved[1, 2, 3], (transforms[1, 0] @ homogeneous)[:3], atol=1e-12)


def test_scalar_comes_first_in_a_stored_quaternion() -> None:
    turned = transform_from_pose(np.array([1.0, 2, 3, 0, 0, 0, 1]))  # half a turn around z
    np.testing.assert_allclose(turned[:3, :3], np.diag([-1, -1, 1]), atol=1e-12)
    np.testing.assert_allclose(turned[:3, 3], [1, 2, 3])


def test_a_row_of_zeros_is_no_pose() -> None:
    with pytest.raises(GeometryError, match="no rotation"):
        transform_from_pose(np.zeros((3, 7)))
