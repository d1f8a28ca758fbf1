"""The colours and sizes that every picture shares.

Truth and prediction are told apart by anyone: the colours are from the colour-blind-safe set of Okabe and Ito (2008).
"""

from robotrain.canvas import Color

TRUTH: Color = (0, 158, 115)
"""Bluish green."""
PREDICTION: Color = (213, 94, 0)
"""Vermillion."""
HALO: Color = (16, 16, 16)
"""Thin dark edge that keeps lines visible on bright pictures."""
TEXT: Color = (245, 245, 245)
QUIET: Color = (170, 170, 170)
"""Text and lines of second rank."""
BACKGROUND: Color = (24, 24, 28)

_LIGHTEST = 0.65


def shade(color: Color, fraction: float) -> Color:
    """Return the colour at a fraction of the way ahead: light now (0), full at the end of the horizon (1)."""
    white = _LIGHTEST * (1 - fraction)
    red, green, blue = (round(channel + (255 - channel) * white) for channel in color)
    return red, green, blue


def line_thickness(width: int) -> int:
    """Return the thickness of a trace, in pixels, on a picture of this width: 1 at 320, 2 at 640, 4 at 1280."""
    return max(1, round(width / 320))


def text_scale(width: int) -> float:
    """Return the scale of captions on a picture of this width: legible on small ones, not huge on large ones."""
    return min(max(width / 1400, 0.35), 1.2)
