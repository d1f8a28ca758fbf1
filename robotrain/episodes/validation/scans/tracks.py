"""Rows over time: an array's values, which of its rows are data, and which of them follow a row that is.

Knows that only neighbouring rows that are both data may be compared: over a gap anything may have happened. Refuses to
know what makes a row wrong.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from robotrain.episodes.reader import Episode
from robotrain.episodes.schema import (
    TIMESTAMPS,
    holds_numbers,
    is_joints,
    is_keypoints,
    is_pose,
    read_fps,
    width_of,
)
from robotrain.errors import EpisodeError

_NUMERIC = "fiu"


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """What one array holds over an episode, T rows."""

    name: str
    """Of the array."""
    values: np.ndarray
    """(T, D) float64."""
    valid: np.ndarray
    """(T,) bool: rows that are data."""
    resolution: float
    """The difference between neighbouring numbers at the size of the largest valid one, as they are stored."""

    @property
    def following(self) -> np.ndarray:
        """(P,) rows that are data and follow a row that is."""
        return rows_following(self.valid)

    def unchanging(self) -> bool:
        """Say whether all valid rows are the same; not said of fewer than two."""
        rows = self.values[self.valid]
        return len(rows) > 1 and bool(np.all(rows == rows[0]))


def read_tracks(episode: Episode, arrays: Sequence[str]) -> dict[str, Track]:
    """Return by name the numeric arrays, leaving out those that cannot be read: another check has told of them."""
    tracks: dict[str, Track] = {}
    for array in arrays:
        if not holds_numbers(array) or array == TIMESTAMPS:
            continue
        try:
            stored = episode.numbers(array)
        except EpisodeError:
            continue
        if stored.dtype.kind not in _NUMERIC or width_of(array) not in {None, stored.shape[1]}:
            continue
        valid = ~episode.missing(array)
        step = np.finfo(stored.dtype).eps if stored.dtype.kind == "f" else 0.0
        largest = float(np.abs(stored[valid]).max(initial=0.0))
        tracks[array] = Track(array, stored.astype(np.float64), valid, float(step) * largest)
    return tracks


def rows_following(valid: np.ndarray) -> np.ndarray:
    """Return the rows (P,) that are valid (T,) bool and follow one that is."""
    return np.flatnonzero(valid[1:] & valid[:-1]) + 1


def rate_of(episode: Episode) -> float | None:
    """Return an episode's frames per second, or None when it does not say: another check has told of it."""
    try:
        return float(read_fps(episode.facts.path, episode.facts.attributes))
    except EpisodeError:
        return None


def posed(tracks: Mapping[str, Track]) -> list[Track]:
    """Return the tracks of poses."""
    return [track for name, track in tracks.items() if is_pose(name)]


def moving(tracks: Mapping[str, Track]) -> list[Track]:
    """Return the tracks of what moves in space: poses, hand keypoints, joints."""
    return [track for name, track in tracks.items() if is_pose(name) or is_keypoints(name) or is_joints(name)]
