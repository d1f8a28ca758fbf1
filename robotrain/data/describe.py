"""Statistics of one column of numbers: exact, in float64, of sorted numbers.

Knows sorted numbers; refuses to know what they mean or where they lie.
"""

from dataclasses import fields
from typing import NamedTuple

import numpy as np

from robotrain.data.stats import FAR_OUT, Columns

__all__ = ["Moments", "sort_present", "statistics_of", "take_moments"]

_SLICE = 1 << 16
"""Values of a sorted column that stand in memory as float64."""


def sort_present(values: np.ndarray) -> np.ndarray:
    """Sort numbers (n,) in place, and return those that are there; NaN stands at the end."""
    values.sort()
    return values[: int(np.searchsorted(values, np.float32(np.nan)))]


class Moments(NamedTuple):
    """What sums tell of numbers; zeros of none."""

    total: float
    mean: float
    std: float
    """Of the population."""
    median: float


def take_moments(ordered: np.ndarray) -> Moments:
    """Return sums of sorted numbers (n,): of their distances from the median, which nothing cancels in.

    The median is within one standard deviation of the mean.
    """
    num = len(ordered)
    if not num:
        return Moments(0.0, 0.0, 0.0, 0.0)
    middle = _quantile(ordered, 0.5)
    total = squares = 0.0
    for start in range(0, num, _SLICE):
        away = ordered[start : start + _SLICE].astype(np.float64)
        away -= middle
        total += float(away.sum())
        squares += float(np.einsum("n,n->", away, away))
    offset = total / num
    std = np.sqrt(max(squares / num - offset * offset, 0.0))
    return Moments(middle * num + total, middle + offset, float(std), middle)


def statistics_of(ordered: np.ndarray, moments: Moments) -> np.ndarray:
    """Return the statistics of sorted numbers (n,) in the order of `Columns`, float64; zeros of no numbers."""
    num = len(ordered)
    if not num:
        return np.zeros(len(fields(Columns)))
    low, high = _quantile(ordered, 0.01), _quantile(ordered, 0.99)
    reach = FAR_OUT * (high - low) / 2
    bounds = np.array([(low + high) / 2 - reach, (low + high) / 2 + reach], ordered.dtype)
    first, last = np.searchsorted(ordered, bounds[0]), np.searchsorted(ordered, bounds[1], side="right")
    return np.array(
        [
            moments.mean,
            moments.std,
            ordered[0],
            ordered[-1],
            moments.median,
            low,
            high,
            ordered[int(np.floor(0.0001 * (num - 1)))],
            ordered[int(np.ceil(0.9999 * (num - 1)))],
            1 - (last - first) / num,
        ],
        np.float64,
    )


def _quantile(ordered: np.ndarray, q: float) -> float:
    """Return the quantile of sorted numbers (n,), linear between neighbours, rounded as numpy does it."""
    place = q * (len(ordered) - 1)
    below = int(np.floor(place))
    low, high = float(ordered[below]), float(ordered[min(below + 1, len(ordered) - 1)])
    part = place - below
    return low + (high - low) * part if part < 0.5 else high - (high - low) * (1 - part)
