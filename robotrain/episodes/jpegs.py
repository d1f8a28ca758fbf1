"""Stored pictures, decoded.

Knows JPEG; refuses to know whose picture it is. A header may promise any size, whatever the bytes behind it: what no
camera of ours takes is refused before room is made for it.
"""

import numpy as np

__all__ = ["decode_picture", "picture_size"]

MAX_PIXELS = 1 << 26
"""Of one picture: 8192x8192, 200 MB of RGB."""


def decode_picture(encoded: bytes) -> np.ndarray:
    """Return a picture (h, w, 3) uint8, RGB.

    Raises:
        ValueError: when it cannot be decoded, with the reason as the end of a sentence.
    """
    import simplejpeg

    picture_size(encoded)
    return simplejpeg.decode_jpeg(encoded, colorspace="RGB")


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
