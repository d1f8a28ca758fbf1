"""Pictures of statistics. Knows matplotlib, on no screen; refuses to compute a number."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robotrain.data.stats import Stats
from robotrain.embodiments.layout import Field
from robotrain.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_stats"]

BLUE, ORANGE = "#0072B2", "#D55E00"
"""Of Okabe and Ito's palette, told apart by colour-blind people too; the lines differ in their dashes besides."""
ACROSS, ACROSS_WIDE = 3, 6
"""Columns side by side, so that x, y and z of a point stand in a row; of a field of many columns, two points."""
MANY = 12
LEAST_SPAN = 1e-3
"""The narrowest scale, so that what stands still looks so."""


def plot_stats(stats: Stats, folder: Path) -> tuple[Path, ...]:
    """Draw a picture for each field of the actions: how its quantiles run over the chunk.

    Args:
        stats: whose.
        folder: made where it is not there.

    Returns:
        the PNG files, in the order of the fields.

    Raises:
        MissingExtraError: when matplotlib is not installed.
    """
    figure_type = _figure_type()
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    for field in stats.interface.actions.fields:
        figure = _draw_field(figure_type, stats, field)
        file = folder / f"{len(files):02d}_{re.sub(r'[^A-Za-z0-9._-]+', '_', field.name)}.png"
        figure.savefig(file, dpi=110)
        files.append(file)
    return tuple(files)


def _figure_type() -> Any:
    """Return matplotlib's figure, which draws without a screen and without a global state."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise MissingExtraError("matplotlib", "plots", "Drawing statistics") from None
    return Figure


def _draw_field(figure_type: Any, stats: Stats, field: Field) -> Any:
    layout = stats.interface.actions
    columns = range(layout.width)[layout.slices[field.name]]
    across = min(ACROSS if len(columns) <= MANY else ACROSS_WIDE, len(columns))
    down = -(-len(columns) // across)
    figure = figure_type(figsize=(3.4 * across + 0.4, 2.1 * down + 1.1), layout="constrained")
    axes = np.atleast_1d(figure.subplots(down, across, sharex=True, squeeze=False)).ravel()
    seconds = np.linspace(0, stats.interface.seconds, stats.interface.horizon)
    for axis, column in zip(axes, columns, strict=False):
        _draw_column(axis, stats, column, seconds)
        axis.set_title(layout.columns[column], fontsize=9)
    for axis in axes[len(columns) :]:
        axis.set_visible(False)
    for axis in axes[max(len(columns) - across, 0) : len(columns)]:
        axis.set_xlabel("s", fontsize=8)
        axis.tick_params(labelbottom=True)
    figure.supylabel({"": "value", "1": "ratio"}.get(field.unit, field.unit), fontsize=9)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2 if across == 1 else 4, fontsize=8, frameon=False)
    return figure


def _draw_column(axis: "Axes", stats: Stats, column: int, seconds: np.ndarray) -> None:
    lowest, low, high, highest, median, mean = (
        getattr(stats.actions, name)[:, column] for name in ("min", "q01", "q99", "max", "median", "mean")
    )
    marker = "o" if len(seconds) == 1 else None
    axis.fill_between(seconds, lowest, highest, color=BLUE, alpha=0.12, linewidth=0, label="all values")
    axis.fill_between(seconds, low, high, color=BLUE, alpha=0.3, linewidth=0, label="1 % to 99 %")
    axis.plot(seconds, median, color=BLUE, linewidth=1.6, marker=marker, label="median")
    axis.plot(seconds, mean, color=ORANGE, linewidth=1.2, linestyle="--", marker=marker, label="mean")
    bottom, top = axis.get_ylim()
    if top - bottom < LEAST_SPAN:
        axis.set_ylim((bottom + top - LEAST_SPAN) / 2, (bottom + top + LEAST_SPAN) / 2)
    axis.ticklabel_format(useOffset=False)
    axis.tick_params(labelsize=8)
    axis.grid(alpha=0.25, linewidth=0.5)
