"""Poses: a place and a rotation, as seven numbers or as a 4x4 matrix.

Knows x y z qw qx qy qz (scalar first, metres) and rigid transforms; refuses to know which frame is meant: callers say
it in names, right to left, ``camera_from_world @ world_from_hand``.
"""

import numpy as np

from robotrain.geometry.rotations import matrix_from_quaternion, quaternion_from_matrix

__all__ = ["invert", "pose_from_transform", "transform_from_pose", "transform_points"]


def transform_from_pose(pose: np.ndarray) -> np.ndarray:
    """Return transforms (..., 4, 4) from poses (..., 7) x y z qw qx qy qz, metres.

    Raises:
        GeometryError: when a quaternion has no length or is not finite.
    """
    pose = np.asarray(pose, dtype=np.float64)
    transform = np.zeros((*pose.shape[:-1], 4, 4))
    transform[..., :3, :3] = matrix_from_quaternion(pose[..., 3:])
    transform[..., :3, 3] = pose[..., :3]
    transform[..., 3, 3] = 1.0
    return transform


def pose_from_transform(transform: np.ndarray) -> np.ndarray:
    """Return poses (..., 7) x y z qw qx qy qz, metres, qw >= 0, from transforms (..., 4, 4)."""
    transform = np.asarray(transform, dtype=np.float64)
    return np.concatenate([transform[..., :3, 3], quaternion_from_matrix(transform[..., :3, :3])], axis=-1)


def invert(transform: np.ndarray) -> np.ndarray:
    """Return the inverses (..., 4, 4) of rigid transforms (..., 4, 4)."""
    transform = np.asarray(transform, dtype=np.float64)
    rotation = np.swapaxes(transform[..., :3, :3], -1, -2)
    inverse = np.zeros_like(transform)
    inverse[..., :3, :3] = rotation
    inverse[..., :3, 3] = -(rotation @ transform[..., :3, 3, None])[..., 0]
    inverse[..., 3, 3] = 1.0
    return inverse


def transform_points(transform: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return points (..., P, 3) moved by transforms (..., 4, 4); leading dims broadcast."""
    transform = np.asarray(transform, dtype=np.float64)
    turn = np.ascontiguousarray(np.swapaxes(transform[..., :3, :3], -1, -2))  # numpy multiplies these 4 times faster
    moved = np.asarray(points, dtype=np.float64) @ turn
    moved += transform[..., None, :3, 3]
    return moved
