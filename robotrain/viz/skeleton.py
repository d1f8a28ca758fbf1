"""A hand as a skeleton: its keypoints joined along its bones.

Knows pixels and pairs of keypoints; the bones are the embodiment's. Only bones with both ends in sight are drawn.
"""

from collections.abc import Sequence

import numpy as np

from robotrain.canvas import Color, draw_disc, draw_line

Edges = Sequence[tuple[int, int]]


def draw_skeleton(
    image: np.ndarray, pixels: np.ndarray, visible: np.ndarray, edges: Edges, color: Color, thickness: int
) -> None:
    """Draw one hand, in place: bones as lines, keypoints as discs.

    Args:
        image: (h, w, 3) uint8 RGB.
        pixels: (K, 2).
        visible: (K,) bool.
        edges: pairs of keypoints to join.
        color: of the whole hand.
        thickness: of a bone, in pixels.
    """
    for start, end in edges:
        if visible[start] and visible[end]:
            draw_line(image, pixels[start], pixels[end], color, thickness)
    for point in pixels[visible]:
        draw_disc(image, point, 0.7 * thickness + 0.6, color)


def fingertips(edges: Edges) -> tuple[int, ...]:
    """Return the keypoints where a chain of bones ends."""
    starts, ends = {start for start, _ in edges}, {end for _, end in edges}
    return tuple(sorted(ends - starts))
