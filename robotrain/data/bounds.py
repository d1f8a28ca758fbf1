"""Which samples are too far off to be learned from: numbers that are none, or far beyond what the statistics saw.

Knows numbers and their bounds; refuses to know what happens to a sample that is bad: that is `data/replacement.py`.
"""

from dataclasses import dataclass

import numpy as np

from robotrain.data.pipeline import Encoded
from robotrain.data.stats import MIN_SPREAD, Columns, Stats
from robotrain.embodiments.layout import BOUNDED_KINDS, Layout
from robotrain.errors import ConfigError

MARGIN = 1e-6
"""Beside the slack, in the column's unit: what float32 rounds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BoundsConfig:
    """What happens to training samples that are bad. Evaluation never replaces one."""

    replace: bool = False
    """True: a training sample that is out of bounds, not finite or cannot be read is replaced by another, counted and
    reported. False: nothing is out of bounds (rare motions are what policies lack), and what cannot be read ends the
    run."""
    slack: float = 0.5
    """How far beyond the 0.01 % and 99.99 % quantiles a value may lie, as a share of the range between them. Without
    slack four samples in ten would be out of bounds, for some column at some step of a long chunk always is."""
    attempts: int = 100
    """Replacements that are tried for one sample before the run ends."""
    quarantine: float = 0.5
    """An episode with a larger share of bad samples than this is left out whole."""

    def __post_init__(self) -> None:
        """Refuse numbers that make no bounds."""
        if not self.slack >= 0:
            raise ConfigError(f"data.bounds.slack must be at least 0, found {self.slack}.")
        if self.attempts < 1:
            raise ConfigError(f"data.bounds.attempts must be at least 1, found {self.attempts}.")
        if not 0 <= self.quarantine <= 1:
            raise ConfigError(f"data.bounds.quarantine must be from 0 to 1, found {self.quarantine}.")


@dataclass(frozen=True)
class Bounds:
    """The least and the largest value of every column; without end where a column has none."""

    action_layout: Layout
    state_layout: Layout
    actions: tuple[np.ndarray, np.ndarray]
    """(H, D) each, raw units."""
    state: tuple[np.ndarray, np.ndarray]
    """(S,) each."""

    def problems(self, encoded: Encoded) -> list[str]:
        """Return what is wrong with each of N samples in a few words, empty where nothing is.

        Steps and columns that are not real are not looked at.
        """
        action_mask = np.broadcast_to(encoded.action_mask[..., None], encoded.actions.shape)
        parts = (
            (encoded.actions, action_mask, self.actions, self.action_layout),
            (encoded.state, encoded.state_mask, self.state, self.state_layout),
        )
        words = [""] * len(encoded.state)
        for values, real, (low, high), layout in parts:
            finite = np.isfinite(values)
            _name(words, real & ~finite, layout, "not finite")
            _name(words, real & finite & ((values < low) | (values > high)), layout, "out of bounds")
        return words


def bounds_of(stats: Stats, slack: float) -> Bounds:
    """Return the bounds that statistics give: their outermost quantiles, and a share of the range beyond.

    Rotations are bounded by what they are, and a column that hardly moves has no range to tell of: both have none.
    """
    layouts = stats.interface
    return Bounds(
        layouts.actions,
        layouts.state,
        _ends(stats.actions, layouts.actions, slack),
        _ends(stats.state, layouts.state, slack),
    )


def _ends(columns: Columns, layout: Layout, slack: float) -> tuple[np.ndarray, np.ndarray]:
    spread = columns.q9999 - columns.q0001
    free = ~(spread >= MIN_SPREAD)
    for field in layout.fields:
        if field.kind in BOUNDED_KINDS:
            free[..., layout.slices[field.name]] = True
    beyond = slack * spread + MARGIN
    return np.where(free, -np.inf, columns.q0001 - beyond), np.where(free, np.inf, columns.q9999 + beyond)


def _name(words: list[str], bad: np.ndarray, layout: Layout, what: str) -> None:
    """Write down the first field of each sample (N, ..., D) with a bad value, where nothing is written yet."""
    flat = np.any(bad.reshape(len(bad), -1, bad.shape[-1]), axis=1).reshape(len(bad), -1)
    for row in np.flatnonzero(flat.any(axis=-1)).tolist():
        if not words[row]:
            column = layout.columns[int(np.argmax(flat[row]))].partition("[")[0]
            words[row] = f"{column} {what}"
