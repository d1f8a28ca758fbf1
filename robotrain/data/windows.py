"""The rows around a frame, before and after they are encoded. Knows shapes and rows; refuses to change a number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from robotrain.data.numbers import EpisodeNumbers
from robotrain.data.past import Past, join_pasts


@dataclass(frozen=True)
class Window:
    """The raw rows around N frames of one episode, float64, in the stored frames."""

    actions: Mapping[str, np.ndarray]
    """By part: (N, n, width); empty where only an observation was given."""
    action_arrays: Mapping[str, str]
    """By part: the stored array."""
    action_real: np.ndarray
    """(N, n) bool: rows that were recorded; False past the episode's end, where the last row is repeated."""
    state: Mapping[str, np.ndarray]
    """By part: (N, width)."""
    state_present: Mapping[str, np.ndarray]
    """By part: (N,) bool."""
    frames: Mapping[str, np.ndarray]
    """By name: (N, 4, 4), or (4, 4) where it never moves."""
    past: Past | None = None
    """The K steps of the history; None where only the current state is read."""

    def __len__(self) -> int:
        return len(next(iter(self.state.values())))


@dataclass(frozen=True)
class Encoded:
    """N chunks and states in the interface's layouts, raw units."""

    actions: np.ndarray
    """(N, H, D) float32, always finite."""
    action_mask: np.ndarray
    """(N, H) bool: real steps."""
    state: np.ndarray
    """(N, S) float32, zero where the mask is False."""
    state_mask: np.ndarray
    """(N, S) bool."""
    state_history: np.ndarray
    """(N, K, S) float32, the current state last, zero where its mask is False; K is 0 where there is no history."""
    state_history_mask: np.ndarray
    """(N, K, S) bool: the column was recorded; before the first frame, in the first."""
    history_mask: np.ndarray
    """(N, K) bool: real steps, False before the first frame."""


def join_windows(windows: Sequence[Window]) -> Window:
    """Return the rows of several windows as one, to encode them together; the windows span equally many rows.

    Decoding needs the windows themselves: episodes may store the same part in different arrays.
    """
    if len(windows) == 1:
        return windows[0]
    first = windows[0]
    return Window(
        actions={part: np.concatenate([window.actions[part] for window in windows]) for part in first.actions},
        action_arrays=first.action_arrays,
        action_real=np.concatenate([window.action_real for window in windows]),
        state={part: np.concatenate([window.state[part] for window in windows]) for part in first.state},
        state_present={
            part: np.concatenate([window.state_present[part] for window in windows]) for part in first.state_present
        },
        frames={
            name: np.concatenate([_at_each(window.frames[name], len(window)) for window in windows])
            for name in first.frames
        },
        past=None if first.past is None else join_pasts([window.past for window in windows if window.past is not None]),
    )


def _at_each(frame: np.ndarray, num: int) -> np.ndarray:
    """Return a frame (4, 4) at each of ``num`` samples; one that is (num, 4, 4) already as it is."""
    return frame if frame.ndim == 3 else np.broadcast_to(frame, (num, 4, 4))


def rows_ahead(numbers: EpisodeNumbers, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows (N, n) that chunks at frames (N,) are made of, clamped at the end, and which are real (N, n)."""
    wanted = frames[:, None] + np.arange(numbers.rows)
    rows = np.minimum(wanted, numbers.num_frames - 1)
    anchored = numbers.anchor_present[frames][:, None]
    ends = numbers.num_frames if numbers.text_ends is None else numbers.text_ends[frames][:, None]
    return rows, (wanted < ends) & numbers.action_present[rows] & anchored
