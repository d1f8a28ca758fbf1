"""What is drawn on one frame: tracks of truth and prediction, what the colours mean, and a caption.

Knows pictures, tracks and words; refuses to know episodes and files.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from robotrain.canvas import Color, blend, draw_text, text_size
from robotrain.viz.charts import CELL_WIDTH, MIN_CELL_HEIGHT, Chart, draw_chart, shorten
from robotrain.viz.palette import BACKGROUND, QUIET, TEXT, line_thickness, shade, text_scale
from robotrain.viz.skeleton import Edges, draw_skeleton, fingertips
from robotrain.viz.trace import draw_halo, draw_trace
from robotrain.viz.tracks import Track

Marks = Sequence[tuple[Color, Sequence[Track]]]
"""Tracks with their colour, later ones on top."""

INSET_MIN_WIDTH = 600
"""Narrower pictures have no room for charts of the grippers."""
_BAND_ALPHA = 0.62


@dataclass(frozen=True)
class Caption:
    """The words under a frame."""

    prompt: str
    episode: str
    """Hash."""
    frame: int
    num_frames: int
    seconds: float
    """Time of the frame in the episode."""

    def lines(self) -> tuple[str, ...]:
        """Return the prompt, where there is one, and the place in the episode."""
        place = f"{self.episode}   frame {self.frame}/{self.num_frames - 1}   {self.seconds:.2f} s"
        return (self.prompt, place) if self.prompt else (place,)


def draw_tracks(image: np.ndarray, marks: Marks, edges: Edges) -> None:
    """Draw tracks, in place: a trace for each arm or wrist, and for a hand its skeleton at the end of the horizon.

    A hand's fingertips leave thin traces to there. The first tracks, the truth where it is known, also show the hand as
    it is now; all hands start there.

    Args:
        image: (h, w, 3) uint8 RGB, of the size that the tracks' pixels are for.
        marks: tracks with their colour; the first are drawn a little thicker, so that later ones do not hide them.
        edges: bones of a hand.
    """
    thickness = line_thickness(image.shape[1])
    widths = [thickness + (1 if index == 0 and len(marks) > 1 else 0) for index in range(len(marks))]
    for (_, tracks), width in zip(marks, widths, strict=True):
        for track in tracks:
            for point in _traced(track, edges):
                draw_halo(image, track.pixels[:, point], track.visible[:, point], _width(track, width))
    for index, ((color, tracks), width) in enumerate(zip(marks, widths, strict=True)):
        for track in tracks:
            if track.kind == "keypoints":
                _draw_hand(image, track, edges, color, width, from_now=index == 0)
            for point in _traced(track, edges):
                draw_trace(image, track.pixels[:, point], track.visible[:, point], color, _width(track, width))


def draw_legend(image: np.ndarray, colors: Mapping[str, Color], note: str) -> None:
    """Draw what the colours mean, in place, in the upper left corner.

    Args:
        image: (h, w, 3) uint8 RGB.
        colors: by name, such as ``truth``; each is shown from light (now) to full (end of the horizon).
        note: how far the traces reach, in words.
    """
    scale, gap, letter = _letters(image.shape[1])
    swatch = 3 * letter
    names = list(colors.items())
    widths = [swatch + gap + text_size(name, scale)[0] + 2 * gap for name, _ in names]
    note_width = text_size(note, scale)[0]
    if sum(widths) + note_width + 2 * gap > image.shape[1]:
        note, note_width = "", 0
    _darken(image, (0, 0, gap + sum(widths) + note_width + (gap if note else 0), letter + 2 * gap))
    left, baseline = float(gap), gap + letter
    for (name, color), width in zip(names, widths, strict=True):
        across = np.stack([np.linspace(left, left + swatch, 12), np.full(12, baseline - letter / 2)], axis=-1)
        draw_trace(image, across, np.ones(12, bool), color, line_thickness(image.shape[1]))
        draw_text(image, name, (left + swatch + gap, baseline), shade(color, 0.3), scale)
        left += width
    draw_text(image, note, (left, baseline), QUIET, scale)


def draw_caption(image: np.ndarray, caption: Caption) -> None:
    """Draw the prompt and the place in the episode, in place, over a dark band at the lower edge."""
    lines = caption.lines()
    scale, gap, letter = _letters(image.shape[1])
    height = _band_height(image.shape[1], len(lines))
    width, bottom = image.shape[1], image.shape[0]
    _darken(image, (0, bottom - height, width, bottom))
    for row, text in enumerate(lines):
        color = QUIET if row == len(lines) - 1 else TEXT
        baseline = bottom - height + (row + 1) * (letter + gap)
        draw_text(image, shorten(text, scale, width - 2 * gap), (gap, baseline), color, scale)


def draw_insets(image: np.ndarray, charts: Sequence[Chart]) -> None:
    """Draw the first two charts above the caption, in place: left and right, where those arms are.

    Pictures on which they would hide too much stay free of them.
    """
    height, width = image.shape[:2]
    if width < INSET_MIN_WIDTH:
        return
    bottom = height - _band_height(width, 2)
    for chart, left in zip(charts[:2], (0, width - CELL_WIDTH), strict=False):
        box = (left, bottom - MIN_CELL_HEIGHT, left + CELL_WIDTH, bottom)
        _darken(image, box)
        draw_chart(image, box, chart, cursor=None)


def _traced(track: Track, edges: Edges) -> tuple[int, ...]:
    """Return which points of a track leave a trace: all of an arm, the fingertips of a hand."""
    return fingertips(edges) if track.kind == "keypoints" else tuple(range(track.pixels.shape[1]))


def _width(track: Track, thickness: int) -> int:
    return max(1, thickness // 2) if track.kind == "keypoints" else thickness


def _draw_hand(image: np.ndarray, track: Track, edges: Edges, color: Color, thickness: int, *, from_now: bool) -> None:
    steps = np.flatnonzero(track.visible.any(axis=1))
    ends = dict.fromkeys((steps[[0, -1]] if from_now else steps[-1:]).tolist()) if len(steps) else {}
    for step in ends:
        fraction = step / max(len(track.pixels) - 1, 1)
        draw_skeleton(image, track.pixels[step], track.visible[step], edges, shade(color, fraction), thickness)


def _letters(width: int) -> tuple[float, int, int]:
    """Return the text's scale, the gap around it and its height, in pixels, for a picture of this width."""
    scale = text_scale(width)
    return scale, round(width / 80) + 3, text_size("Ag", scale)[1]


def _band_height(width: int, num_lines: int) -> int:
    _, gap, letter = _letters(width)
    return num_lines * (letter + gap) + gap


def _darken(image: np.ndarray, box: tuple[int, int, int, int]) -> None:
    left, top, right, bottom = (max(edge, 0) for edge in box)
    part = image[top:bottom, left:right]
    layer = np.empty_like(part)
    layer[...] = BACKGROUND
    blend(part, layer, _BAND_ALPHA)
