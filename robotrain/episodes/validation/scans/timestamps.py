"""Capture times: their order, their gaps, what they count from, what they were rounded to, and the rate they tell.

Knows nanoseconds since 1970 as whole numbers; refuses to know which frame of a video belongs to which time.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from robotrain.episodes.reader import Episode
from robotrain.episodes.schema import TIMESTAMPS
from robotrain.episodes.validation.findings import Finding, build_finding
from robotrain.episodes.validation.scans.tracks import rate_of
from robotrain.errors import EpisodeError

_MAX_GAP = 1.5  # of the usual time
_RATE_TOLERANCE = 0.05
_EARLIEST, _LATEST = 946_684_800 * 10**9, 4_102_444_800 * 10**9  # ns: the years 2000 and 2100
_MIN_QUANTUM = 64  # ns
_DECIMAL_CLOCK = 125  # divides every whole number of microseconds, and no power of two
_MIN_FOR_QUANTUM = 4  # times: so many are not multiples of 64 by chance


def scan_timestamps(episode: Episode, arrays: Sequence[str]) -> Iterator[Finding]:
    """Scan the capture times, where an episode has them."""
    if TIMESTAMPS not in arrays:
        return
    try:
        stored = episode.numbers(TIMESTAMPS)
    except EpisodeError:
        return  # told by the check that arrays can be read
    if stored.shape[1] != 1 or stored.dtype.kind not in "iuf":
        return
    times = _whole(stored[:, 0])
    if times is None:
        return
    yield from _check_epoch(episode, times)
    yield from _check_quantum(episode, times)
    if len(times) > 1:
        yield from _check_steps(episode, np.diff(times))


def _whole(stored: np.ndarray) -> np.ndarray | None:
    """Return times (T,) int64, or None where one is no such number."""
    values = stored.astype(np.float64)
    if not np.all(np.abs(values) < 2.0**62):  # so that differences fit too; a NaN is none
        return None
    return stored.astype(np.int64)


def _check_epoch(episode: Episode, times: np.ndarray) -> Iterator[Finding]:
    strange = (times < _EARLIEST) | (times >= _LATEST)
    if strange.any():
        first = int(np.argmax(strange))
        text = (
            f"{int(strange.sum())} of {len(times)} times are not of the years 2000 to 2099, "
            f"the first {times[first]} ns at frame {first}."
        )
        yield build_finding("timestamp-epoch", episode.hash, text, array=TIMESTAMPS, frame=first)


def _check_quantum(episode: Episode, times: np.ndarray) -> Iterator[Finding]:
    common = int(np.gcd.reduce(times))
    quantum = common & -common  # the largest power of two that divides all times
    if len(times) >= _MIN_FOR_QUANTUM and quantum >= _MIN_QUANTUM and common % _DECIMAL_CLOCK:
        text = f"All {len(times)} times are multiples of {quantum} ns, from frame 0 on."
        yield build_finding("timestamp-quantum", episode.hash, text, array=TIMESTAMPS, frame=0)


def _check_steps(episode: Episode, steps: np.ndarray) -> Iterator[Finding]:
    """Check the differences (T - 1,) ns between neighbouring times."""
    back = steps <= 0
    if back.any():
        first = int(np.argmax(back)) + 1
        text = (
            f"{int(back.sum())} of {len(steps)} times are not later than the one before, "
            f"the first at frame {first} ({steps[first - 1] / 1e6:+.3f} ms)."
        )
        yield build_finding("timestamp-order", episode.hash, text, array=TIMESTAMPS, frame=first)
    if back.all():
        return
    usual = float(np.median(steps[~back]))
    gaps = steps > _MAX_GAP * usual
    if gaps.any():
        first = int(np.argmax(gaps)) + 1
        text = (
            f"{int(gaps.sum())} of {len(steps)} steps last more than {_MAX_GAP} times the usual {usual / 1e6:.3f} ms "
            f"(up to {steps.max() / 1e6:.3f} ms), the first from frame {first - 1} to {first}."
        )
        yield build_finding("timestamp-gap", episode.hash, text, array=TIMESTAMPS, frame=first)
    rate = rate_of(episode)
    if rate is not None and abs(rate * usual / 1e9 - 1) > _RATE_TOLERANCE:
        text = (
            f"{len(steps)} steps of usually {usual / 1e6:.3f} ms make {1e9 / usual:.4g} frames per second, "
            f"and the attribute fps says {rate:.4g}."
        )
        yield build_finding("fps-mismatch", episode.hash, text, array=TIMESTAMPS, frame=0)
