"""The pinhole camera: from points in front of it to pixels and back.

Knows one convention: camera axes +x right, +y down, +z forward, and continuous pixel coordinates in which the image
covers [0, width) x [0, height), so that a pixel's centre lies at its index + 0.5. Refuses to know lens distortion.
"""

from dataclasses import dataclass

import numpy as np

from robotrain.errors import GeometryError

__all__ = ["Intrinsics", "project", "unproject"]


@dataclass(frozen=True, slots=True)
class Intrinsics:
    """What a camera does to points: focal lengths and centre in pixels, for images of one size."""

    fx: float
    fy: float
    cx: float
    cy: float
    width: int
    height: int

    def __post_init__(self) -> None:
        """Refuse what no camera has."""
        if not (self.fx > 0 and self.fy > 0 and self.width > 0 and self.height > 0):
            raise GeometryError(f"No camera has a focal length or image size that is not positive: {self}.")

    def scaled_to(self, width: int, height: int) -> "Intrinsics":
        """Return the intrinsics of the same view stored as a picture of another size, in pixels."""
        across, down = width / self.width, height / self.height
        return Intrinsics(self.fx * across, self.fy * down, self.cx * across, self.cy * down, width, height)


def project(points: np.ndarray, intrinsics: Intrinsics) -> tuple[np.ndarray, np.ndarray]:
    """Return pixels (..., 2) float64 and whether each is seen (...) bool, of points (..., 3), metres, camera frame.

    Points at or behind the camera plane, and points that are not finite, have no pixel: theirs is nan. Points in front
    but outside the image keep their pixel, and are not seen.
    """
    points = np.asarray(points, dtype=np.float64)
    depth = points[..., 2]
    ahead = np.isfinite(points).all(axis=-1) & (depth > 0)
    divisor = np.where(ahead, depth, 1.0)
    x = np.where(ahead, points[..., 0] / divisor * intrinsics.fx + intrinsics.cx, np.nan)
    y = np.where(ahead, points[..., 1] / divisor * intrinsics.fy + intrinsics.cy, np.nan)
    seen = ahead & (x >= 0) & (x < intrinsics.width) & (y >= 0) & (y < intrinsics.height)
    return np.stack([x, y], axis=-1), seen


def unproject(pixels: np.ndarray, depth: np.ndarray | float, intrinsics: Intrinsics) -> np.ndarray:
    """Return points (..., 3), metres, camera frame, seen at pixels (..., 2) at a depth (...) along +z, metres."""
    pixels = np.asarray(pixels, dtype=np.float64)
    depth = np.broadcast_to(np.asarray(depth, dtype=np.float64), pixels.shape[:-1])
    x = (pixels[..., 0] - intrinsics.cx) / intrinsics.fx * depth
    y = (pixels[..., 1] - intrinsics.cy) / intrinsics.fy * depth
    return np.stack([x, y, depth], axis=-1)
