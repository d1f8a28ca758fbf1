"""The states that came before a frame: which rows they are, which of them are real, and in which frames they stand.

Knows rows; refuses to change a number: the transforms of the plan do, which see a history as they see a state.

    frame i, K steps: i - (K-1) s, ..., i - s, i     rows before the first one repeat the first, and are not real
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from robotrain.data.numbers import EpisodeNumbers, Now
from robotrain.data.sources import Plan
from robotrain.embodiments.history import History


@dataclass(frozen=True)
class Past:
    """The raw rows of K steps at each of N frames, the current one last; float64, in the stored frames."""

    state: Mapping[str, np.ndarray]
    """By part: (N, K, width)."""
    state_present: Mapping[str, np.ndarray]
    """By part: (N, K) bool: the part was recorded there, and the frame that it is moved into is known."""
    frames: Mapping[str, np.ndarray]
    """By name: (N, K, 4, 4), or (N, 1, 4, 4) where all steps stand in the current frame."""
    real: np.ndarray
    """(N, K) bool: False before the first row, which is repeated there."""


def past_rows(frames: np.ndarray, history: History, stride: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows (N, K) of the steps up to frames (N,), clamped at the first row, and which are real (N, K)."""
    wanted = frames[:, None] + stride * np.arange(1 - history.steps, 1)
    return np.maximum(wanted, 0), wanted >= 0


def gather_past(plan: Plan, numbers: EpisodeNumbers, frames: np.ndarray, history: History) -> Past:
    """Return the steps up to frames (N,) int of an episode."""
    rows, real = past_rows(frames, history, numbers.history_stride)
    return _past(plan, numbers.now, rows, real, history)


def observed_past(plan: Plan, now: Now, history: History) -> Past:
    """Return the steps of one observation: k rows a step apart, the current one last; k below K repeats the first."""
    num = len(next(iter(now.state.values())))
    rows, real = past_rows(np.array([num - 1]), history, stride=1)
    return _past(plan, now, rows, real, history)


def _past(plan: Plan, now: Now, rows: np.ndarray, real: np.ndarray, history: History) -> Past:
    own = {frame.name for frame in plan.frames if frame.is_wrist} if history.per_step_wrist else set()
    current = rows[:, -1:]
    place = {name: rows if name in own else current for name in now.frames}
    present = {source.part: now.recorded[source.part][rows] for source in plan.sources}
    for source in plan.sources:
        if source.state_frame:
            known = now.frame_present[source.state_frame][place[source.state_frame]]
            present[source.part] = present[source.part] & known
    return Past(
        state={part: values[rows] for part, values in now.state.items()},
        state_present=present,
        frames={
            name: np.broadcast_to(frame, (len(rows), 1, 4, 4)) if frame.ndim == 2 else frame[place[name]]
            for name, frame in now.frames.items()
        },
        real=real,
    )


def join_pasts(pasts: Sequence[Past]) -> Past:
    """Return the rows of several pasts, of equally many steps, as one."""
    first = pasts[0]
    return Past(
        state={part: np.concatenate([past.state[part] for past in pasts]) for part in first.state},
        state_present={part: np.concatenate([past.state_present[part] for past in pasts]) for part in first.state},
        frames={name: np.concatenate([past.frames[name] for past in pasts]) for name in first.frames},
        real=np.concatenate([past.real for past in pasts]),
    )
