"""Stored pictures, decoded.

Knows JPEG; refuses to know whose picture it is. A decoder can give a picture at a half, a quarter or an eighth of its
size by doing less: of each block of 8x8 pixels it computes fewer. A header may promise any size, whatever the bytes
behind it: what no camera of ours takes is refused before room is made for it.
"""

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


REDUCTIONS = (8, 4, 2)
"""Pixels of a side that become one, the strongest first. A decoder can do other eighths as well, but takes longer for
most of them than for the whole picture."""


def reduced_size(size: tuple[int, int], least: tuple[int, int]) -> tuple[int, int]:
    """Return the size in which a picture is decoded of which ``least`` is enough.

    It is the smallest of an eighth, a quarter and a half, rounded up, that is at least as high and as wide; the
    picture's own where none is, and where nothing less than the whole is asked for.

    Args:
        size: the picture's width and height, pixels.
        least: height and width, pixels, see `decode_picture`.

    Returns:
        width and height, pixels.
    """
    reduction = _reduction(size, least)
    return -(-size[0] // reduction), -(-size[1] // reduction)


def shrink_picture(picture: np.ndarray, least: tuple[int, int]) -> np.ndarray:
    """Return a whole picture (h, w, 3) uint8 as the decoder would have given it, to a few grey levels.

    For pictures that never were JPEGs, such as a robot's own: who learned from reduced pictures must see their like.
    Pixels become averages, which is what the decoder computes as well (libjpeg's ``jidctred.c``). Colours differ more
    where a JPEG stores them at half the resolution and they change from pixel to pixel.

    Args:
        picture: (h, w, 3) uint8.
        least: height and width, pixels, see `decode_picture`.
    """
    height, width = picture.shape[:2]
    reduction = _reduction((width, height), least)
    if reduction == 1:
        return picture
    down, across = (-size % reduction for size in (height, width))
    whole = np.pad(picture, ((0, down), (0, across), (0, 0)), mode="edge")
    blocks = whole.reshape(len(whole) // reduction, reduction, -1, reduction, 3)
    sums = blocks.sum(axis=1, dtype=np.uint32).sum(axis=2)
    return ((sums + reduction**2 // 2) // reduction**2).astype(np.uint8)


def _reduction(size: tuple[int, int], least: tuple[int, int]) -> int:
    """Return how many pixels of a picture (width, height) become one, in each direction."""
    width, height = size
    if least[0] <= 0 and least[1] <= 0:
        return 1
    enough = (each for each in REDUCTIONS if -(-height // each) >= least[0] and -(-width // each) >= least[1])
    return next(enough, 1)
