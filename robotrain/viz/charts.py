"""Small charts of numbers over the horizon, one for each column of a layout.

Knows numbers, names and boxes of pixels; refuses to know points and cameras. Every chart of an episode keeps one scale
from frame to frame, so that what moves is the data.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from robotrain.canvas import Color, draw_disc, draw_line, draw_polyline, draw_text, text_size
from robotrain.viz.palette import BACKGROUND, HALO, QUIET, TEXT

CELL_WIDTH = 192
MIN_CELL_HEIGHT = 62
HEADER_HEIGHT = 26
_TITLE_SCALE = 0.4
_NUMBER_SCALE = 0.33
_GRID: Color = (62, 62, 68)
_PAPER: Color = (36, 36, 41)
_MARGIN = 6
_SMALLEST_SPAN = 1e-3


@dataclass(frozen=True)
class Line:
    """One curve of a chart."""

    values: np.ndarray
    """(H,) in the column's unit; NaN leaves a gap."""
    color: Color


@dataclass(frozen=True)
class Grid:
    """How the charts of n columns fill a panel."""

    rows: int
    columns: int
    width: int
    """Of the panel, pixels."""
    height: int

    def box(self, index: int) -> tuple[int, int, int, int]:
        """Return left, top, right, bottom of a chart, in pixels. Charts run down first, so that limbs stay together."""
        column, row = divmod(index, self.rows)
        step = (self.height - HEADER_HEIGHT) / self.rows
        top, bottom = HEADER_HEIGHT + round(row * step), HEADER_HEIGHT + round((row + 1) * step)
        return column * CELL_WIDTH, top, (column + 1) * CELL_WIDTH, bottom


def plan_grid(num_charts: int, height: int) -> Grid:
    """Return the grid that shows this many charts legibly in a panel of this height: as wide as it needs to be."""
    most = max(1, (height - HEADER_HEIGHT) // MIN_CELL_HEIGHT)
    columns = math.ceil(num_charts / most)
    return Grid(rows=math.ceil(num_charts / columns), columns=columns, width=columns * CELL_WIDTH, height=height)


def value_ranges(truth: np.ndarray | None, predicted: np.ndarray | None, mask: np.ndarray) -> np.ndarray:
    """Return the lowest and highest value that the chart of each column shows, (D, 2) float64.

    It is the truth's own range, widened by at most half of itself on either side for predictions; of predictions alone
    it is theirs.

    Args:
        truth: (N, H, D) or None.
        predicted: (N, H, D) or None.
        mask: (N, H) bool, real steps of the truth.
    """
    seen = None if truth is None else truth[mask]
    guessed = None if predicted is None else predicted.reshape(-1, predicted.shape[-1])
    known = [values.astype(np.float64) for values in (seen, guessed) if values is not None]
    filled = [values for values in known if len(values)]
    if not filled:
        return np.tile([0.0, 1.0], (known[0].shape[1], 1)) if known else np.empty((0, 2))
    low, high = filled[0].min(0), filled[0].max(0)
    if len(filled) == 2:
        span = high - low
        low = np.maximum(np.minimum(low, filled[1].min(0)), low - 0.5 * span)
        high = np.minimum(np.maximum(high, filled[1].max(0)), high + 0.5 * span)
    room = np.maximum(high - low, _SMALLEST_SPAN) * 0.08 + np.maximum(_SMALLEST_SPAN - (high - low), 0) / 2
    return np.stack([low - room, high + room], axis=-1)


def draw_chart(
    image: np.ndarray,
    box: tuple[int, int, int, int],
    title: str,
    lines: tuple[Line, ...],
    value_range: np.ndarray,
    cursor: float | None,
) -> None:
    """Draw one chart into a box of a picture, in place.

    Args:
        image: (h, w, 3) uint8 RGB.
        box: left, top, right, bottom, in pixels.
        title: name and unit of the column, shortened where it does not fit.
        lines: the curves, later ones on top; a value beyond the range runs along the chart's edge.
        value_range: (2,) lowest and highest value shown.
        cursor: fraction of the horizon that has passed, or None for no cursor.
    """
    left, top, right, bottom = box
    title_height = text_size("Ag", _TITLE_SCALE)[1]
    numbers = [format_number(value) for value in (value_range[1], value_range[0])]
    plot_left, plot_right = left + _MARGIN, right - _MARGIN
    plot_top, plot_bottom = top + title_height + 10, bottom - 3
    draw_text(
        image,
        shorten(title, _TITLE_SCALE, right - left - 2 * _MARGIN),
        (plot_left, top + title_height + 5),
        TEXT,
        _TITLE_SCALE,
    )
    image[plot_top:plot_bottom, plot_left:plot_right] = _PAPER
    low, high = float(value_range[0]), float(value_range[1])
    if low < 0 < high:
        level = plot_bottom - (0 - low) / (high - low) * (plot_bottom - plot_top)
        draw_line(image, (plot_left, level), (plot_right, level), _GRID)
    for number, baseline in zip(numbers, (plot_top + 9, plot_bottom - 3), strict=True):
        draw_text(image, number, (plot_right - text_size(number, _NUMBER_SCALE)[0] - 2, baseline), QUIET, _NUMBER_SCALE)
    if cursor is not None:
        at = plot_left + cursor * (plot_right - plot_left)
        draw_line(image, (at, plot_top), (at, plot_bottom), QUIET)
    for line in lines:
        height = np.clip((line.values - low) / (high - low), 0, 1)
        across = (
            np.linspace(plot_left + 1, plot_right - 1, len(height)) if len(height) > 1 else np.array([plot_left + 3])
        )
        path = np.stack([across, plot_bottom - 1 - height * (plot_bottom - plot_top - 2)], axis=-1)
        draw_polyline(image, path, line.color, 1)
        if len(path) == 1:
            draw_disc(image, path[0], 2, line.color)


def draw_panel(  # a whole grid
    grid: Grid,
    titles: tuple[str, ...],
    curves: Mapping[str, tuple[np.ndarray, Color]],
    ranges: np.ndarray,
    cursor: float | None,
    header: str,
) -> np.ndarray:
    """Return a panel (grid.height, grid.width, 3) uint8 with a chart for each column.

    Args:
        grid: from `plan_grid`, for D charts.
        titles: of the D columns.
        curves: by name (as the legend has it): values (H, D), NaN where there is nothing to show, and colour.
        ranges: (D, 2), from `value_ranges`.
        cursor: fraction of the horizon that has passed, or None.
        header: what the charts show, in a line above them.
    """
    panel = np.empty((grid.height, grid.width, 3), np.uint8)
    panel[...] = BACKGROUND
    draw_text(panel, shorten(header, 0.42, grid.width - 2 * _MARGIN), (_MARGIN, HEADER_HEIGHT - 9), QUIET, 0.42)
    for index, title in enumerate(titles):
        lines = tuple(Line(values[:, index], color) for values, color in curves.values())
        draw_chart(panel, grid.box(index), title, lines, ranges[index], cursor)
    draw_line(panel, (0.5, 0), (0.5, grid.height), HALO)
    return panel


def format_number(value: float) -> str:
    """Return a number in at most six characters."""
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}" if abs(value) < 1e5 else f"{value:.0e}"


def shorten(text: str, scale: float, width: float) -> str:
    """Return the text, cut with three dots where it would be wider than this many pixels."""
    if text_size(text, scale)[0] <= width:
        return text
    while text and text_size(f"{text}...", scale)[0] > width:
        text = text[:-1]
    return f"{text.rstrip()}..."
