"""Small charts of numbers over the horizon, one for each column of a layout.

Knows numbers, names and boxes of pixels; refuses to know points and cameras. Every chart of an episode keeps one scale
from frame to frame, so that what moves is the data.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robotrain.canvas import Color, draw_disc, draw_line, draw_polyline, draw_text, text_size
from robotrain.viz.palette import BACKGROUND, QUIET, TEXT

CELL_WIDTH = 192
MIN_CELL_HEIGHT = 62
HEADER_HEIGHT = 26
_TITLE_SCALE = 0.4
_NUMBER_SCALE = 0.33
_HEADER_SCALE = 0.42
_GRID: Color = (62, 62, 68)
_PAPER: Color = (36, 36, 41)
_MARGIN = 6
_GUTTER = 42
SMALLEST_SPAN = 0.05
"""In the column's unit: noise of a joint at rest must not fill its chart."""


@dataclass(frozen=True)
class Chart:
    """One column over the horizon."""

    title: str
    """Name and unit; shortened where it does not fit."""
    lines: tuple[tuple[np.ndarray, Color], ...]
    """Curves (H,) in the column's unit with their colours, later ones on top. NaN leaves a gap."""
    value_range: tuple[float, float]
    """Lowest and highest value shown; a curve beyond runs along the edge."""


def charts_of(titles: Sequence[str], curves: Sequence[tuple[np.ndarray, Color]], ranges: np.ndarray) -> list[Chart]:
    """Return a chart for each column.

    Args:
        titles: of the D columns.
        curves: values (H, D) with their colours, NaN where there is nothing to show.
        ranges: (D, 2), from `value_ranges`.
    """
    return [
        Chart(title, tuple((values[:, i], color) for values, color in curves), (ranges[i, 0], ranges[i, 1]))
        for i, title in enumerate(titles)
    ]


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
    room = np.maximum(high - low, SMALLEST_SPAN) * 0.08 + np.maximum(SMALLEST_SPAN - (high - low), 0) / 2
    return np.stack([low - room, high + room], axis=-1)


def draw_chart(image: np.ndarray, box: tuple[int, int, int, int], chart: Chart, cursor: float | None) -> None:
    """Draw one chart into a box of a picture, in place.

    Args:
        image: (h, w, 3) uint8 RGB.
        box: left, top, right, bottom, in pixels.
        chart: what to draw.
        cursor: fraction of the horizon that has passed, or None for no cursor.
    """
    left, top, right, bottom = box
    baseline = top + text_size("Ag", _TITLE_SCALE)[1] + 5
    title = shorten(chart.title, _TITLE_SCALE, right - left - 2 * _MARGIN)
    draw_text(image, title, (left + _MARGIN, baseline), TEXT, _TITLE_SCALE)
    plot = (left + _MARGIN, baseline + 5, right - _GUTTER, bottom - 3)
    _draw_axes(image, plot, chart.value_range, cursor)
    for values, color in chart.lines:
        path = _path(plot, values, chart.value_range)
        draw_polyline(image, path, color, 1)
        if len(path) == 1:
            draw_disc(image, path[0], 2, color)


def draw_panel(grid: Grid, charts: Sequence[Chart], cursor: float | None, header: str) -> np.ndarray:
    """Return a panel (grid.height, grid.width, 3) uint8 full of charts.

    Args:
        grid: from `plan_grid`, for as many charts.
        charts: in the order in which they fill the grid.
        cursor: fraction of the horizon that has passed, or None.
        header: what the charts show, in a line above them.
    """
    panel = np.empty((grid.height, grid.width, 3), np.uint8)
    panel[...] = BACKGROUND
    header = shorten(header, _HEADER_SCALE, grid.width - 2 * _MARGIN)
    draw_text(panel, header, (_MARGIN, HEADER_HEIGHT - 9), QUIET, _HEADER_SCALE)
    for index, chart in enumerate(charts):
        draw_chart(panel, grid.box(index), chart, cursor)
    return panel


def _draw_axes(
    image: np.ndarray, plot: tuple[int, int, int, int], value_range: tuple[float, float], cursor: float | None
) -> None:
    left, top, right, bottom = plot
    image[top:bottom, left:right] = _PAPER
    low, high = value_range
    if low < 0 < high:
        level = bottom + low / (high - low) * (bottom - top)
        draw_line(image, (left, level), (right, level), _GRID)
    for number, baseline in ((high, top + 9), (low, bottom - 2)):
        draw_text(image, format_number(number), (right + 4, baseline), QUIET, _NUMBER_SCALE)
    if cursor is not None:
        at = left + cursor * (right - left)
        draw_line(image, (at, top), (at, bottom), QUIET)


def _path(plot: tuple[int, int, int, int], values: np.ndarray, value_range: tuple[float, float]) -> np.ndarray:
    """Return where a curve runs, (H, 2) pixels."""
    left, top, right, bottom = plot
    low, high = value_range
    fraction = np.clip((values - low) / (high - low), 0, 1)
    across = np.linspace(left + 1, right - 1, len(values))
    return np.stack([across, bottom - 1 - fraction * (bottom - top - 2)], axis=-1)


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
