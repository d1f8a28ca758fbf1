"""Stored pictures, decoded.

Knows JPEG; refuses to know whose picture it is. A decoder can give a picture at eighths of its size by doing less: of
each block of 8x8 pixels it computes fewer. A header may promise any size, whatever the bytes behind it: what no camera
of ours takes is refused before room is made for it.
"""

from functools import cache

import numpy as np

__all__ = ["decode_picture", "picture_size", "reduced_size", "shrink_picture"]

MAX_PIXELS = 1 << 26
"""Of one picture: 8192x8192, 200 MB of RGB."""


def decode_picture(encoded: bytes, into: np.ndarray | None = None, *, least: tuple[int, int] = (0, 0)) -> np.ndarray:
    """Return a picture (h, w, 3) uint8, RGB.

    Args:
        encoded: a JPEG.
        into: (h, w, 3) uint8 in one piece, to be filled and returned; its size must be the decoded picture's.
        least: height and width in pixels that are enough; 0 asks for the whole picture. The decoder then does less, and
            gives the picture in the size that `reduced_size` tells.

    Raises:
        ValueError: when it cannot be decoded, with the reason as the end of a sentence.
    """
    import simplejpeg

    size = picture_size(encoded)
    width, height = reduced = reduced_size(size, least)
    if reduced == size:
        height = width = 0  # the decoder's word for a whole picture
    if into is None:
        return simplejpeg.decode_jpeg(encoded, colorspace="RGB", min_height=height, min_width=width)
    pixels = simplejpeg.decode_jpeg(encoded, colorspace="RGB", min_height=height, min_width=width, buffer=into)
    if pixels.shape != into.shape:
        raise ValueError(f"it has {pixels.shape[1]}x{pixels.shape[0]} pixels, not {into.shape[1]}x{into.shape[0]}")
    return into


def picture_size(encoded: bytes) -> tuple[int, int]:
    """Return the width and height that a picture's header tells, in pixels.

    Raises:
        ValueError: when it cannot be read or is too large, with the reason as the end of a sentence.
    """
    import simplejpeg

    height, width = map(int, simplejpeg.decode_jpeg_header(encoded)[:2])
    if width * height > MAX_PIXELS:
        raise ValueError(f"it claims {width}x{height} pixels, more than {MAX_PIXELS:,} in all")
    return width, height


BLOCK = 8
"""Pixels that a block of a JPEG is high and wide."""


def reduced_size(size: tuple[int, int], least: tuple[int, int]) -> tuple[int, int]:
    """Return the size in which the decoder gives a picture of which ``least`` is enough.

    It is the smallest of the decoder's sizes, eighths of the picture's, that is at least as high and as wide; the
    picture's own where none is, and where nothing less than the whole is asked for.

    Args:
        size: the picture's width and height, pixels.
        least: height and width, pixels, see `decode_picture`.

    Returns:
        width and height, pixels.
    """
    eighths = _eighths(size, least)
    return _scaled(size[0], eighths), _scaled(size[1], eighths)


def shrink_picture(picture: np.ndarray, least: tuple[int, int]) -> np.ndarray:
    """Return a whole picture (h, w, 3) uint8 as the decoder would have given it, to a few grey levels.

    For pictures that never were JPEGs, such as a robot's own: who learned from reduced pictures must see their like.
    Colours differ more where a JPEG stores them at half the resolution and they change from pixel to pixel.

    Blocks become averages where the decoder computes averages (4, 2 and 1 of 8 pixels), and lose their high
    frequencies where it leaves those out: the first n of 8 cosine terms, transformed back as a block of n.

    Args:
        picture: (h, w, 3) uint8.
        least: height and width, pixels, see `decode_picture`.
    """
    height, width = picture.shape[:2]
    eighths = _eighths((width, height), least)
    if eighths == BLOCK:
        return picture
    down, across = (-size % BLOCK for size in (height, width))
    whole = np.pad(picture, ((0, down), (0, across), (0, 0)), mode="edge").astype(np.float32)
    reduce = _reducing(eighths)
    rows = reduce @ whole.reshape(len(whole) // BLOCK, BLOCK, -1)  # (blocks, n, width * 3)
    rows = rows.reshape(-1, whole.shape[1] // BLOCK, BLOCK, 3)
    pixels = (reduce @ rows).reshape(len(rows), -1, 3)[: _scaled(height, eighths), : _scaled(width, eighths)]
    return np.clip(np.rint(pixels), 0, 255).astype(np.uint8)


def _eighths(size: tuple[int, int], least: tuple[int, int]) -> int:
    """Return the eighths of its size at which a picture (width, height) is decoded, 1 to 8."""
    width, height = size
    if least[0] <= 0 and least[1] <= 0:
        return BLOCK
    enough = (n for n in range(1, BLOCK) if _scaled(height, n) >= least[0] and _scaled(width, n) >= least[1])
    return next(enough, BLOCK)


def _scaled(pixels: int, eighths: int) -> int:
    return -(-pixels * eighths // BLOCK)


@cache
def _reducing(eighths: int) -> np.ndarray:
    """Return the matrix (n, 8) float32 that makes n pixels of the 8 of a block's row or column."""
    if BLOCK % eighths == 0:
        return np.repeat(np.eye(eighths, dtype=np.float32), BLOCK // eighths, axis=1) * (eighths / BLOCK)
    back = _cosines(eighths).T @ _cosines(BLOCK)[:eighths]
    return (back * np.sqrt(eighths / BLOCK)).astype(np.float32)


def _cosines(num: int) -> np.ndarray:
    """Return the orthonormal cosine transform (n, n) float64, DCT-II: a row a frequency."""
    frequency, place = np.arange(num)[:, None], np.arange(num)[None, :]
    waves = np.sqrt(2 / num) * np.cos(np.pi * frequency * (2 * place + 1) / (2 * num))
    waves[0] /= np.sqrt(2)
    return waves
