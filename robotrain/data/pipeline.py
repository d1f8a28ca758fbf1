"""The way from an episode's arrays to action chunks and states, and back: one object for stats, training and robots.

Knows windows; refuses to know images and torch.

    frame i                                   n rows of the store, clamped at the last frame
      |---- i, i+1, ... i+n-1 ---------------->|
    encode: H steps over the same time, moved into the current frame, spelled as the layout says
    decode: H steps in the stored frame
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from robotrain.data.numbers import CameraPoses, EpisodeNumbers, RowReader, load_numbers, read_now
from robotrain.data.sources import Plan, arrays_read, build_plan
from robotrain.data.transforms import Sample
from robotrain.embodiments.catalog import embodiment_of
from robotrain.embodiments.embodiment import Embodiment, ModeLayouts, PolicyInterface
from robotrain.embodiments.layout import Layout
from robotrain.episodes.left_wrist import mend_left_wrist
from robotrain.episodes.schema import EpisodeFacts
from robotrain.errors import ConfigError, EpisodeError, LayoutError
from robotrain.geometry.resample import resample_mask

if TYPE_CHECKING:  # the reader brings zarr, which a cache hit does without
    from robotrain.episodes.reader import Episode

MASK_RULES = (
    "a step past the last frame is not real",
    "a row is real when every part of it was recorded",
    "a step between two rows is real when both are",
    "no step is real where a frame that the actions are moved into is missing",
    "a frame without a real step is no sample",
)
"""Part of the statistics' cache key: change a rule, and its words."""


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


@dataclass(frozen=True)
class Pipeline:
    """Ordered transforms of one embodiment and mode. Made by `build_pipeline`."""

    embodiment: Embodiment
    mode: str
    horizon: int
    seconds: float
    """Time from the first to the last step of a chunk, s."""
    plan: Plan

    @property
    def layouts(self) -> ModeLayouts:
        """Layouts of actions and state."""
        return self.embodiment.mode(self.mode)

    def interface(self, cameras: tuple[str, ...] | None = None) -> PolicyInterface:
        """Return what a policy must agree on; None takes all of the embodiment's cameras.

        Raises:
            ConfigError: when the embodiment has no such camera.
        """
        known = self.embodiment.cameras
        chosen = known if cameras is None else tuple(cameras)
        if unknown := [camera for camera in chosen if camera not in known]:
            raise ConfigError(
                f"Embodiment '{self.embodiment.name}' has no camera '{unknown[0]}'. Available: {', '.join(known)}."
            )
        return PolicyInterface(
            embodiment=self.embodiment.name,
            mode=self.mode,
            actions=self.layouts.actions,
            state=self.layouts.state,
            horizon=self.horizon,
            seconds=self.seconds,
            cameras=chosen,
        )

    def recipe(self) -> dict[str, Any]:
        """Return plain data for a cache key: everything that shapes the numbers, no location."""
        return {
            "embodiment": self.embodiment.name,
            "mode": self.mode,
            "horizon": self.horizon,
            "seconds": self.seconds,
            "actions": self.layouts.actions.to_plain(),
            "state": self.layouts.state.to_plain(),
            "plan": self.plan.recipe(),
            "mask_rules": list(MASK_RULES),
        }

    def rows(self, fps: Fraction) -> int:
        """Return the stored rows that a chunk spans at a rate: n = round(seconds * fps) + 1."""
        return round(self.seconds * float(fps)) + 1

    def arrays(self, facts: EpisodeFacts) -> tuple[str, ...]:
        """Return the numeric arrays that are read of an episode, sorted.

        Raises:
            EpisodeError: when one is not there.
        """
        return arrays_read(self.plan, facts.arrays, facts.hash)

    def check(self, facts: EpisodeFacts) -> None:
        """Check that an episode is of this pipeline's embodiment and describes its columns the same way.

        Raises:
            EpisodeError: when it does not.
        """
        if facts.embodiment != self.embodiment.name:
            raise EpisodeError(facts.hash, f"it is of '{facts.embodiment}', expected '{self.embodiment.name}'.")
        if embodiment_of(facts.embodiment, facts.attributes).mode(self.mode) != self.layouts:
            raise EpisodeError(facts.hash, "its fields differ from those of the other episodes of this robot.")

    def load(self, episode: "Episode") -> EpisodeNumbers:
        """Read an episode's numbers, each array once and whole.

        Raises:
            EpisodeError: when an array is missing, or the episode is of another kind.
        """
        self.check(episode.facts)
        return load_numbers(self.plan, self.embodiment, episode, self.rows(episode.fps))

    def gather(self, episode: "Episode | EpisodeNumbers", frames: np.ndarray) -> Window:
        """Return the raw rows around frames (N,) int; rows past the end repeat the last one and are not real."""
        numbers = episode if isinstance(episode, EpisodeNumbers) else self.load(episode)
        frames = np.asarray(frames, np.int64)
        rows, real = _rows_around(numbers, frames)
        now = numbers.now
        return Window(
            actions={part: values[rows] for part, values in numbers.actions.items()},
            action_arrays=numbers.action_arrays,
            action_real=real,
            state={part: values[frames] for part, values in now.state.items()},
            state_present={part: present[frames] for part, present in now.state_present.items()},
            frames={name: frame if frame.ndim == 2 else frame[frames] for name, frame in now.frames.items()},
        )

    def real_steps(self, numbers: EpisodeNumbers) -> np.ndarray:
        """Return which steps (T, H) bool of the chunk at each frame of an episode are real, without encoding them."""
        _, real = _rows_around(numbers, np.arange(numbers.num_frames))
        return resample_mask(real, self.horizon)

    def observe(self, arrays: Mapping[str, np.ndarray], camera_poses: CameraPoses | None = None) -> Window:
        """Return the window of an observation that no chunk follows yet: what a robot has.

        Args:
            arrays: by stored name: (width,), or (N, width) for N rows.
            camera_poses: by arm: base_from_camera (4, 4); an arm left out takes the embodiment's own.

        Raises:
            EpisodeError: when an array is missing or a pose is none.
        """
        rows = {name: np.atleast_2d(np.asarray(value, np.float64)) for name, value in arrays.items()}
        reader = RowReader("observation", rows.__getitem__, self.plan.mended)
        now = read_now(self.plan, self.embodiment, reader, tuple(rows), camera_poses or {})
        targets = {source.part: source.actions[0] for source in self.plan.sources}
        num = len(next(iter(now.state.values())))
        return Window({}, targets, np.zeros((num, 0), bool), now.state, now.state_present, now.frames)

    def encode(self, window: Window) -> Encoded:
        """Return chunks, states and their masks, all N at once.

        Raises:
            LayoutError: when the window holds no actions: use `encode_state`.
        """
        if not window.actions:
            raise LayoutError("An observation has no actions to encode.")
        sample = self._run(window, window.actions)
        state, state_mask = self._state(window, sample)
        return Encoded(
            actions=_joined(self.layouts.actions, sample.actions),
            action_mask=resample_mask(window.action_real, self.horizon),
            state=state,
            state_mask=state_mask,
        )

    def encode_state(self, window: Window) -> tuple[np.ndarray, np.ndarray]:
        """Return the state (N, S) float32 and its mask (N, S) bool."""
        return self._state(window, self._run(window, {}))

    def decode(self, actions: np.ndarray, window: Window) -> dict[str, np.ndarray]:
        """Return chunks in the stored frames and units: what a robot is commanded.

        Args:
            actions: (N, H, D), raw units.
            window: the window that the chunks start at; gives the frames.

        Returns:
            by stored array: (N, H, width) float64.
        """
        fields = self.layouts.actions.split(np.asarray(actions, np.float64))
        sample = Sample(actions=fields, state={}, frames=window.frames)
        for transform in reversed(self.plan.transforms):
            sample = transform.decode(sample)
        decoded = {window.action_arrays[part]: value for part, value in sample.actions.items()}
        return decoded | {array: _unmended(decoded[array]) for array in self.plan.mended}

    def _run(self, window: Window, actions: Mapping[str, np.ndarray]) -> Sample:
        sample = Sample(actions=actions, state=window.state, frames=window.frames)
        for transform in self.plan.transforms:
            sample = transform.encode(sample)
        return sample

    def _state(self, window: Window, sample: Sample) -> tuple[np.ndarray, np.ndarray]:
        layout = self.layouts.state
        mask = np.empty((len(window), layout.width), bool)
        for source in self.plan.sources:
            for name in source.state_fields:
                mask[:, layout.slices[name]] = window.state_present[source.part][:, None]
        return np.where(mask, _joined(layout, sample.state), np.float32(0)), mask


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
            name: np.concatenate([np.broadcast_to(window.frames[name], (len(window), 4, 4)) for window in windows])
            for name in first.frames
        },
    )


def _unmended(poses: np.ndarray) -> np.ndarray:
    """Return poses (..., 7) as they would have been stored, qw >= 0: mending twice gives the rotation back."""
    stored = mend_left_wrist(poses)
    return np.concatenate([stored[..., :3], np.where(stored[..., 3:4] < 0, -1.0, 1.0) * stored[..., 3:]], axis=-1)


def _joined(layout: Layout, parts: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the array (..., D) float32 of named parts in one copy."""
    values = np.empty((*parts[layout.names[0]].shape[:-1], layout.width), np.float32)
    for name, columns in layout.slices.items():
        values[..., columns] = parts[name]
    return values


def _rows_around(numbers: EpisodeNumbers, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows (N, n) that chunks at frames (N,) are made of, clamped at the end, and which are real (N, n)."""
    wanted = frames[:, None] + np.arange(numbers.rows)
    rows = np.minimum(wanted, numbers.num_frames - 1)
    anchored = numbers.anchor_present[frames][:, None]
    return rows, (wanted < numbers.num_frames) & numbers.action_present[rows] & anchored


def build_pipeline(
    embodiment: Embodiment,
    *,
    mode: str | None = None,
    horizon: int,
    seconds: float | None = None,
    mend_left_wrist: bool = False,
) -> Pipeline:
    """Build the pipeline of an embodiment.

    Args:
        embodiment: the body.
        mode: which transforms; None takes the embodiment's default.
        horizon: H, steps of a chunk.
        seconds: time that a chunk spans; None takes the mode's own.
        mend_left_wrist: True turns back the left hand's rotation that Mecka's older converter mirrored twice.

    Raises:
        UnknownNameError: when the embodiment has no such mode.
        ConfigError: when the horizon or the time is not positive, or there is no left hand to mend.
    """
    layouts = embodiment.mode(mode)
    chosen, spans = mode or embodiment.default_mode, layouts.seconds if seconds is None else seconds
    if horizon < 1:
        raise ConfigError(f"The horizon must be at least 1 step, found {horizon}.")
    if not spans > 0:
        raise ConfigError(f"The time that a chunk spans must be above 0 s, found {spans}.")
    plan = build_plan(embodiment, chosen, horizon, mend_left_wrist=mend_left_wrist)
    return Pipeline(embodiment, chosen, horizon, spans, plan)
