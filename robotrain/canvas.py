"""Drawing on pictures, in place: discs, lines, polygons, text, all anti-aliased and placed between pixels; their JPEGs.

Knows (h, w, 3) uint8 RGB pictures and the pixel coordinates of `geometry.cameras` (a pixel's centre lies at its index +
0.5); refuses to know what is drawn. Shapes reach over the edge as they should, and what is not finite is not drawn.
"""

from collections.abc import Iterable
from itertools import pairwise

import cv2
import numpy as np

from robotrain.errors import ShapeError

__all__ = [
    "Color",
    "blend",
    "draw_disc",
    "draw_line",
    "draw_polygon",
    "draw_polyline",
    "draw_text",
    "encode_jpeg",
    "resize",
    "text_size",
]

Color = tuple[int, int, int]
"""Red, green, blue, each 0 to 255."""

_SHIFT = 4  # cv2 takes coordinates in sixteenths of a pixel
_FINER = 4  # pixels of a polygon's mask across one pixel of the picture
_FAR = float(1 << 20)  # nearer than this cv2's integers hold; no picture is as wide
_FONT = cv2.FONT_HERSHEY_SIMPLEX


def draw_disc(image: np.ndarray, centre: np.ndarray | tuple[float, float], radius: float, color: Color) -> None:
    """Fill a disc; centre (2,) and radius in pixels, at least 1."""
    _check(image)
    point = np.asarray(centre, dtype=np.float64)
    if not np.isfinite(point).all() or not np.isfinite(radius) or np.abs(point).max() > _FAR:
        return
    x, y = _fixed(point).tolist()
    inner = max(radius, 1.0) - 0.5  # cv2 adds a soft rim of half a pixel
    cv2.circle(image, (x, y), round(inner * (1 << _SHIFT)), color, cv2.FILLED, cv2.LINE_AA, _SHIFT)


def draw_line(
    image: np.ndarray,
    start: np.ndarray | tuple[float, float],
    end: np.ndarray | tuple[float, float],
    color: Color,
    thickness: int = 1,
) -> None:
    """Draw a line with round ends; start (2,) and end (2,) in pixels."""
    _check(image)
    ends = np.asarray([start, end], dtype=np.float64)
    if not np.isfinite(ends).all():
        return
    height, width = image.shape[:2]
    clipped = _clip(ends, low=-2.0 * thickness - 1, high=np.array([width, height]) + 2.0 * thickness + 1)
    if clipped is not None:
        first, second = _fixed(clipped).tolist()
        cv2.line(image, first, second, color, thickness, cv2.LINE_AA, _SHIFT)


def draw_polyline(
    image: np.ndarray, points: np.ndarray | Iterable[tuple[float, float]], color: Color, thickness: int = 1
) -> None:
    """Draw lines along points (N, 2) in pixels; a point that is not finite leaves a gap."""
    path = np.asarray(points if isinstance(points, np.ndarray) else list(points), dtype=np.float64).reshape(-1, 2)
    for start, end in pairwise(path):
        draw_line(image, start, end, color, thickness)


def draw_polygon(image: np.ndarray, corners: np.ndarray | Iterable[tuple[float, float]], color: Color) -> None:
    """Fill a polygon; corners (N, 2) in pixels. With a corner that is not finite, nothing is drawn.

    Corners further away than a million pixels are moved to there.
    """
    _check(image)
    path = np.asarray(corners if isinstance(corners, np.ndarray) else list(corners), dtype=np.float64).reshape(-1, 2)
    if len(path) < 3 or not np.isfinite(path).all():
        return
    path = np.clip(path, -_FAR, _FAR)
    low = np.maximum(np.floor(path.min(axis=0)), 0).astype(int)
    high = np.minimum(np.ceil(path.max(axis=0)), image.shape[1::-1]).astype(int)
    width, height = (high - low).tolist()
    if width < 1 or height < 1:
        return
    # cv2's own soft polygons grow by half a pixel to one side, so draw a hard one, finer, and average it.
    fine = np.zeros((height * _FINER, width * _FINER), np.uint8)
    cv2.fillPoly(fine, [_fixed((path - low) * _FINER)], 255, cv2.LINE_8, _SHIFT)
    share = cv2.resize(fine, (width, height), interpolation=cv2.INTER_AREA).astype(np.float32) / 255
    part = image[low[1] : high[1], low[0] : high[0]]
    blend(part, np.broadcast_to(np.asarray(color, np.uint8), part.shape), share)


def draw_text(image: np.ndarray, text: str, origin: tuple[float, float], color: Color, scale: float = 0.5) -> None:
    """Write a line of text; origin is the left end of its baseline, in pixels; scale 1 is about 22 pixels high.

    Characters outside ASCII are written as question marks: the built-in font has no others.
    """
    _check(image)
    if not np.isfinite(origin).all():
        return
    x, y = (round(value - 0.5) for value in origin)
    cv2.putText(image, _plain(text), (x, y), _FONT, scale, color, _stroke(scale), cv2.LINE_AA)


def text_size(text: str, scale: float = 0.5) -> tuple[int, int]:
    """Return width, and height above the baseline, in pixels, of a line of text."""
    (width, height), _ = cv2.getTextSize(_plain(text), _FONT, scale, _stroke(scale))
    return width, height


def resize(image: np.ndarray, width: int, height: int) -> np.ndarray:
    """Return a new picture (height, width, 3) uint8: averaged where it shrinks, interpolated where it grows."""
    _check(image)
    if image.shape[:2] == (height, width):
        return image.copy()
    shrinks = width <= image.shape[1] and height <= image.shape[0]
    return cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR)


def encode_jpeg(image: np.ndarray, quality: int) -> bytes:
    """Return a picture (h, w, 3) uint8 RGB as JPEG; quality 1 to 100."""
    _check(image)
    _, encoded = cv2.imencode(".jpg", np.ascontiguousarray(image[..., ::-1]), [cv2.IMWRITE_JPEG_QUALITY, quality])
    return encoded.tobytes()


def blend(image: np.ndarray, layer: np.ndarray, alpha: float | np.ndarray) -> None:
    """Lay another picture (h, w, 3) over this one, in place; alpha, 0 to 1, is one number or (h, w)."""
    _check(image)
    if layer.shape != image.shape:
        raise ShapeError("layer", f"the picture's shape {image.shape}", layer.shape)
    share = np.asarray(alpha, dtype=np.float32)
    share = share[..., None] if share.ndim == 2 else share
    mixed = image + share * (layer.astype(np.float32) - image)
    image[...] = np.rint(np.clip(mixed, 0, 255)).astype(np.uint8)


def _check(image: np.ndarray) -> None:
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
        raise ShapeError("image", "(h, w, 3) uint8", f"{image.shape} {image.dtype}")


def _fixed(points: np.ndarray) -> np.ndarray:
    """Return points (..., 2) in sixteenths of a pixel, from the picture's corner to cv2's first pixel centre."""
    return np.rint((points - 0.5) * (1 << _SHIFT)).astype(np.int32)


def _clip(ends: np.ndarray, low: float, high: np.ndarray) -> np.ndarray | None:
    """Return the piece of a line (2, 2) within a box, or None (Liang and Barsky 1984)."""
    start, way = ends[0], ends[1] - ends[0]
    first, last = 0.0, 1.0
    for axis in range(2):
        for direction, room in ((way[axis], high[axis] - start[axis]), (-way[axis], start[axis] - low)):
            if direction == 0:
                if room < 0:
                    return None
            elif direction > 0:
                last = min(last, room / direction)
            else:
                first = max(first, room / direction)
    return np.stack([start + first * way, start + last * way]) if first <= last else None


def _plain(text: str) -> str:
    return text.encode("ascii", "replace").decode()


def _stroke(scale: float) -> int:
    return max(1, round(2 * scale - 0.5))
