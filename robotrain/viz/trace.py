"""A horizon trace: where a point goes over the horizon, light now and dark at its end.

Knows pixels and colours; refuses to know where they come from. No point that the camera does not see is drawn, and no
line leads to one.
"""

import numpy as np

from robotrain.canvas import Color, draw_disc, draw_line
from robotrain.viz.palette import HALO, shade


def draw_trace(image: np.ndarray, pixels: np.ndarray, visible: np.ndarray, color: Color, thickness: int) -> None:
    """Draw one point's way over the horizon, in place, with a disc at its last step in sight.

    Args:
        image: (h, w, 3) uint8 RGB.
        pixels: (H, 2), of each step.
        visible: (H,) bool.
        color: reached at the end of the horizon.
        thickness: of the line, in pixels.
    """
    for step in _pieces(visible):
        draw_line(image, pixels[step], pixels[step + 1], _shade_at(color, step + 1, len(visible)), thickness)
    if visible.any():
        last = int(np.flatnonzero(visible)[-1])
        draw_disc(image, pixels[last], _radius(thickness), _shade_at(color, last, len(visible)))


def draw_halo(image: np.ndarray, pixels: np.ndarray, visible: np.ndarray, thickness: int) -> None:
    """Draw the dark edge of a trace, in place; all edges go below all traces. Takes what `draw_trace` does.

    A trace one pixel wide stands on a small picture, where an edge would hide more than it shows: it has none.
    """
    if thickness < 2:
        return
    for step in _pieces(visible):
        draw_line(image, pixels[step], pixels[step + 1], HALO, thickness + 2)
    if visible.any():
        draw_disc(image, pixels[np.flatnonzero(visible)[-1]], _radius(thickness) + 1, HALO)


def _pieces(visible: np.ndarray) -> list[int]:
    """Return the steps that are in sight together with the next one."""
    return np.flatnonzero(visible[:-1] & visible[1:]).tolist()


def _radius(thickness: int) -> float:
    return 1.2 * thickness + 0.7


def _shade_at(color: Color, step: int, horizon: int) -> Color:
    return shade(color, step / (horizon - 1) if horizon > 1 else 1.0)
