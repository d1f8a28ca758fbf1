"""Stored pictures, decoded.

Knows JPEG; refuses to know whose picture it is. A header may promise any size, whatever the bytes behind it: what no
camera of ours takes is refused before room is made for it.
"""

import numpy as np

__all__ = ["decode_picture", "picture_size"]

MAX_PIXELS = 1 << 26
"""Of one picture: 8192x8192, 200 MB of RGB."""


def decode_picture(encoded: bytes, into: np.ndarray | None = None, *, least: tuple[int, int] = (0, 0)) -> np.ndarray:
    """Return a picture (h, w, 3) uint8, RGB.

    Args:
        encoded: a JPEG.
        into: (h, w, 3) uint8 in one piece, to be filled and returned; its size must be the decoded picture's.
        least: height and width in pixels that are enough; 0 asks for the whole picture. The decoder then does less, and
            gives the smallest of its sizes, eighths of the picture's, that is at least as high and as wide.

    Raises:
        ValueError: when it cannot be decoded, with the reason as the end of a sentence.
    """
    import simplejpeg

    picture_size(encoded)
    height, width = least
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
