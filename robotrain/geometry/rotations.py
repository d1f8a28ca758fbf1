"""Rotations in their four spellings, and what can be computed between them.

Knows quaternions (scalar first), matrices, yaw-pitch-roll (intrinsic ZYX) and rot6d (the first two columns of the
matrix, one after the other); refuses to know whose rotation it is. Everything is vectorised over leading dims and
computed in float64.
"""

import numpy as np

from robotrain.errors import GeometryError

__all__ = [
    "geodesic_angle",
    "is_identity",
    "is_unit",
    "matrix_from_quaternion",
    "matrix_from_rot6d",
    "matrix_from_ypr",
    "mean_rotation",
    "quaternion_from_matrix",
    "rot6d_from_matrix",
    "slerp",
    "slerp_unit",
    "unit_quaternion",
    "ypr_from_matrix",
]

_SMALL_ANGLE = 1e-6  # below it sin(t a) / sin(a) equals t to 1e-13
_SMALLEST_NORM = 1e-12
_NORM_TOLERANCE = 1e-3  # what float32 and a decimal file leave of a norm of 1


def unit_quaternion(quaternion: np.ndarray) -> np.ndarray:
    """Return quaternions (..., 4) scaled to norm 1, signs kept.

    Raises:
        GeometryError: when one has no length or is not finite: such a row is missing data, and no rotation.
    """
    quaternion = np.asarray(quaternion, dtype=np.float64)
    norm = _norm(quaternion)
    bad = ~(np.isfinite(norm) & (norm > _SMALLEST_NORM))
    if bad.any():
        row = tuple(int(i) for i in np.argwhere(bad)[0][:-1])
        where = f" at row {row}" if row else ""
        raise GeometryError(f"The quaternion{where} is no rotation: {np.array2string(quaternion[row], precision=3)}.")
    return quaternion / norm


def is_unit(quaternion: np.ndarray) -> np.ndarray:
    """Tell which quaternions (..., 4) have norm 1, within a thousandth: (...) bool."""
    with np.errstate(invalid="ignore", over="ignore"):
        norm = np.linalg.norm(np.asarray(quaternion, dtype=np.float64), axis=-1)
        return np.abs(norm - 1.0) <= _NORM_TOLERANCE


def is_identity(quaternion: np.ndarray) -> np.ndarray:
    """Tell which quaternions (..., 4) w x y z are exactly the identity, of either sign: (...) bool."""
    quaternion = np.asarray(quaternion)
    return (np.abs(quaternion[..., 0]) == 1.0) & ~np.any(quaternion[..., 1:], axis=-1)


def matrix_from_quaternion(quaternion: np.ndarray) -> np.ndarray:
    """Return rotation matrices (..., 3, 3) from quaternions (..., 4) w x y z of any positive norm.

    Raises:
        GeometryError: when a quaternion has no length or is not finite.
    """
    w, x, y, z = np.moveaxis(unit_quaternion(quaternion), -1, 0)
    matrix = np.empty((*w.shape, 3, 3))
    matrix[..., 0, 0], matrix[..., 0, 1], matrix[..., 0, 2] = (
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)
    )  # fmt: skip
    matrix[..., 1, 0], matrix[..., 1, 1], matrix[..., 1, 2] = (
        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)
    )  # fmt: skip
    matrix[..., 2, 0], matrix[..., 2, 1], matrix[..., 2, 2] = (
        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)
    )  # fmt: skip
    return matrix


def quaternion_from_matrix(matrix: np.ndarray) -> np.ndarray:
    """Return unit quaternions (..., 4) w x y z from rotation matrices (..., 3, 3), with w >= 0.

    Takes, of the four candidates of Shepperd's method, the one with the largest divisor, so it is exact near angle pi.
    """
    m = np.asarray(matrix, dtype=np.float64)
    xx, yy, zz = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    wx, wy, wz = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    xy, xz, yz = m[..., 1, 0] + m[..., 0, 1], m[..., 0, 2] + m[..., 2, 0], m[..., 2, 1] + m[..., 1, 2]
    # Row k is 4 q_k q: the outer product of the quaternion with itself, four times over.
    outer = np.stack(
        [
            np.stack([1 + xx + yy + zz, wx, wy, wz], axis=-1),
            np.stack([wx, 1 + xx - yy - zz, xy, xz], axis=-1),
            np.stack([wy, xy, 1 - xx + yy - zz, yz], axis=-1),
            np.stack([wz, xz, yz, 1 - xx - yy + zz], axis=-1),
        ],
        axis=-2,
    )
    largest = np.argmax(np.diagonal(outer, axis1=-2, axis2=-1), axis=-1)
    quaternion = np.take_along_axis(outer, largest[..., None, None], axis=-2)[..., 0, :]
    quaternion = quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True)
    return np.where(quaternion[..., :1] < 0, -quaternion, quaternion)


def matrix_from_ypr(ypr: np.ndarray) -> np.ndarray:
    """Return rotation matrices (..., 3, 3) = Rz(yaw) Ry(pitch) Rx(roll) from angles (..., 3), rad."""
    yaw, pitch, roll = np.moveaxis(np.asarray(ypr, dtype=np.float64), -1, 0)
    cy, sy, cp, sp, cr, sr = np.cos(yaw), np.sin(yaw), np.cos(pitch), np.sin(pitch), np.cos(roll), np.sin(roll)
    rows = [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def ypr_from_matrix(matrix: np.ndarray) -> np.ndarray:
    """Return yaw, pitch, roll (..., 3), rad, of rotation matrices (..., 3, 3).

    Pitch lies in [-pi/2, pi/2], yaw and roll in [-pi, pi]. In gimbal lock (pitch +-pi/2) only yaw -+ roll is
    determined; roll is then 0.
    """
    m = np.asarray(matrix, dtype=np.float64)
    cos_pitch = np.hypot(m[..., 0, 0], m[..., 1, 0])
    pitch = np.arctan2(-m[..., 2, 0], cos_pitch)
    locked = cos_pitch < 1e-7  # float64 leaves about 1e-8 of noise in a cosine that should be 0
    yaw = np.where(locked, np.arctan2(-m[..., 0, 1], m[..., 1, 1]), np.arctan2(m[..., 1, 0], m[..., 0, 0]))
    roll = np.where(locked, 0.0, np.arctan2(m[..., 2, 1], m[..., 2, 2]))
    return np.stack([yaw, pitch, roll], axis=-1)


def rot6d_from_matrix(matrix: np.ndarray) -> np.ndarray:
    """Return rot6d (..., 6) of rotation matrices (..., 3, 3): column 0, then column 1."""
    m = np.asarray(matrix, dtype=np.float64)
    return np.concatenate([m[..., :, 0], m[..., :, 1]], axis=-1)


def matrix_from_rot6d(rot6d: np.ndarray, eps: float = 1e-8) -> np.ndarray:
    """Return rotation matrices (..., 3, 3) from rot6d (..., 6) by Gram-Schmidt (Zhou et al. 2019, equation 15).

    The result is a rotation for every finite input: a column shorter than ``eps``, or parallel to the first, says
    nothing and is replaced by the nearest coordinate axis that completes a rotation.
    """
    r = np.asarray(rot6d, dtype=np.float64)
    first, second = r[..., :3], r[..., 3:]
    x = _unit_or(first, np.broadcast_to(np.eye(3)[0], first.shape), eps)
    rest = second - np.sum(x * second, axis=-1, keepdims=True) * x
    spare = np.eye(3)[np.argmin(np.abs(x), axis=-1)]  # the axis least parallel to x
    spare = spare - np.sum(x * spare, axis=-1, keepdims=True) * x
    y = _unit_or(rest, spare / np.linalg.norm(spare, axis=-1, keepdims=True), eps)
    y = y - np.sum(x * y, axis=-1, keepdims=True) * x  # once more: what is left of a nearly parallel column is noise
    y = y / np.linalg.norm(y, axis=-1, keepdims=True)
    return np.stack([x, y, np.cross(x, y)], axis=-1)


def _unit_or(vector: np.ndarray, otherwise: np.ndarray, eps: float) -> np.ndarray:
    norm = np.linalg.norm(vector, axis=-1, keepdims=True)
    return np.where(norm < eps, otherwise, vector / np.maximum(norm, eps))


def slerp(start: np.ndarray, end: np.ndarray, fraction: np.ndarray | float) -> np.ndarray:
    """Return quaternions (..., 4) at a fraction (...) of the shorter way from start to end, both (..., 4) w x y z.

    The result has the sign of ``start``: neighbouring pieces join without a jump when their ends do.

    Raises:
        GeometryError: when a quaternion has no length or is not finite.
    """
    return slerp_unit(unit_quaternion(start), unit_quaternion(end), fraction)


def slerp_unit(start: np.ndarray, end: np.ndarray, fraction: np.ndarray | float) -> np.ndarray:
    """Return what `slerp` does, of quaternions that are known to have norm 1: to see to that is a third of its work."""
    cosine = np.einsum("...i,...i->...", start, end)[..., None]
    end = np.where(cosine < 0, -end, end)
    fraction = np.asarray(fraction, dtype=np.float64)[..., None]
    # Kahan's angle between unit vectors: exact for small angles, where the arccos of their product is not.
    angle = 2 * np.arctan2(_norm(start - end), _norm(start + end))
    small = angle < _SMALL_ANGLE
    sine = np.where(small, 1.0, np.sin(angle))
    weight_start = np.where(small, 1 - fraction, np.sin((1 - fraction) * angle) / sine)
    weight_end = np.where(small, fraction, np.sin(fraction * angle) / sine)
    return unit_quaternion(weight_start * start + weight_end * end)


def _norm(vectors: np.ndarray) -> np.ndarray:
    """Return the norms (..., 1) of vectors (..., n): several times as fast as numpy's where n is small."""
    return np.sqrt(np.einsum("...i,...i->...", vectors, vectors))[..., None]


def geodesic_angle(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the angle (...), rad, 0 to pi, of the rotation between matrices (..., 3, 3), exact near both ends."""
    first, second = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    between = np.swapaxes(first, -1, -2) @ second
    cosine = (np.trace(between, axis1=-2, axis2=-1) - 1) / 2
    axis = between - np.swapaxes(between, -1, -2)
    sine = np.linalg.norm(axis, axis=(-2, -1)) / (2 * np.sqrt(2))
    return np.arctan2(sine, cosine)


def mean_rotation(matrices: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """Return the chordal mean (..., 3, 3) of rotation matrices (N, ..., 3, 3) with weights (N, ...).

    It is the rotation nearest to the weighted sum of the matrices (Hartley et al. 2013, section 5.3). Where all
    weights are 0 it is the identity.
    """
    matrices = np.asarray(matrices, dtype=np.float64)
    if weight is None:
        total = matrices.sum(axis=0)
    else:
        weight = np.asarray(weight, dtype=np.float64)
        # A row of weight 0 may hold anything, not-a-numbers included.
        total = np.where(weight[..., None, None] > 0, weight[..., None, None] * matrices, 0.0).sum(axis=0)
    empty = ~np.any(total, axis=(-2, -1), keepdims=True)
    left, _, right = np.linalg.svd(np.where(empty, np.eye(3), total))
    turned = np.ones((*left.shape[:-2], 3))
    turned[..., 2] = np.where(np.linalg.det(left @ right) < 0, -1.0, 1.0)
    return (left * turned[..., None, :]) @ right
