"""Another number of rows over the same span of time: numbers, poses, masks.

Knows that rows are evenly spaced and that the first and the last are kept; refuses to know seconds.
"""

import math

import numpy as np

from robotrain.errors import GeometryError
from robotrain.geometry.rotations import slerp_unit, unit_quaternion

__all__ = ["resample", "resample_mask", "resample_poses"]

_AT_ONCE = 8
"""Windows, so that what is computed on the way stays in the processor's cache, and takes no fresh memory."""


def resample(values: np.ndarray, num: int) -> np.ndarray:
    """Return values (..., num, D) float64, linear between the rows of (..., n, D), first and last row kept."""
    values = np.asarray(values, dtype=np.float64)
    *leading, n, width = values.shape
    lower, upper, fraction = _source_rows(n, num)
    stored = values.reshape(math.prod(leading), n, width)
    mixed = np.empty((len(stored), num, width))
    hit = np.flatnonzero(fraction == 0)
    scratch = np.empty((min(_AT_ONCE, len(stored)), num, width))
    for begin in range(0, len(stored), _AT_ONCE):
        part, new = stored[begin : begin + _AT_ONCE], mixed[begin : begin + _AT_ONCE]
        start = np.take(part, lower, axis=-2, out=scratch[: len(part)], mode="clip")  # the mode that needs no copy
        np.take(part, upper, axis=-2, out=new, mode="clip")
        new -= start
        new *= fraction[:, None]
        new += start
        new[:, hit] = start[:, hit]  # so that a not-a-number stays in its own row
    return mixed.reshape(*leading, num, width)


def resample_poses(poses: np.ndarray, num: int) -> np.ndarray:
    """Return poses (..., num, 7) between the rows of (..., n, 7): places linear, rotations by slerp the shorter way.

    Stored quaternions may flip sign from row to row, which is the same rotation; the result never does.

    Raises:
        GeometryError: when a quaternion has no length or is not finite.
    """
    poses = np.asarray(poses, dtype=np.float64)
    lower, upper, fraction = _source_rows(poses.shape[-2], num)
    quaternions = unit_quaternion(poses[..., 3:])
    turns = np.sum(quaternions[..., 1:, :] * quaternions[..., :-1, :], axis=-1) < 0
    signs = np.where(np.cumsum(turns, axis=-1) % 2, -1.0, 1.0)
    quaternions = np.concatenate([quaternions[..., :1, :], quaternions[..., 1:, :] * signs[..., None]], axis=-2)
    turned = slerp_unit(np.take(quaternions, lower, axis=-2), np.take(quaternions, upper, axis=-2), fraction)
    return np.concatenate([resample(poses[..., :3], num), turned], axis=-1)


def resample_mask(mask: np.ndarray, num: int) -> np.ndarray:
    """Return a mask (..., num) bool of (..., n): a new row is real only if every row it is made of is."""
    mask = np.asarray(mask, dtype=bool)
    lower, upper, _ = _source_rows(mask.shape[-1], num)
    return mask[..., lower] & mask[..., upper]


def _source_rows(n: int, num: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows before and after each new row, and the fraction between them; one row twice where it is hit."""
    if n < 1 or num < 1:
        raise GeometryError(f"Cannot resample {n} rows to {num}: both must be at least 1.")
    steps = np.arange(num) * (n - 1)
    lower, rest = np.divmod(steps, max(num - 1, 1))  # in integers, so that a hit is a hit
    return lower, lower + (rest > 0), rest / max(num - 1, 1)
