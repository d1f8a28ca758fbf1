"""The way from an episode's arrays to action chunks and states, and back: one object for stats, training and robots.

Knows windows; refuses to know images and torch.

    frame i                                   n rows of the store, clamped at the last frame
      |---- i, i+1, ... i+n-1 ---------------->|
    encode: H steps over the same time, moved into the current frame, spelled as the layout says
    decode: H steps in the stored frame
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from robotrain.data.numbers import CameraPoses, EpisodeNumbers, RowReader, load_numbers, read_now, text_ends
from robotrain.data.past import Past, gather_past, observed_past
from robotrain.data.sources import Plan, arrays_observed, arrays_read, build_plan
from robotrain.data.transforms import Sample
from robotrain.data.windows import Encoded, Window, join_windows, rows_ahead
from robotrain.embodiments.catalog import embodiment_of
from robotrain.embodiments.embodiment import Embodiment, ModeLayouts, PolicyInterface
from robotrain.embodiments.history import NO_HISTORY, History
from robotrain.embodiments.layout import Layout
from robotrain.episodes.left_wrist import mend_left_wrist
from robotrain.episodes.schema import ANNOTATIONS, EpisodeFacts
from robotrain.errors import ConfigError, EpisodeError, LayoutError
from robotrain.files import canonical_json
from robotrain.geometry.resample import resample_mask

if TYPE_CHECKING:  # the reader brings zarr, which a cache hit does without
    from robotrain.episodes.reader import Episode

__all__ = ["MASK_RULES", "Encoded", "Pipeline", "Window", "build_pipeline", "join_windows"]

MASK_RULES = (
    "a step past the last frame is not real",
    "a row is real when every part of it was recorded",
    "a step between two rows is real when both are",
    "no step is real where a frame that the actions are moved into is missing",
    "a frame without a real step is no sample",
    "where texts end chunks, a row past the end of the text that holds at the frame is not real",
)
"""Part of the statistics' cache key: change a rule, and its words."""


@dataclass(frozen=True)
class Pipeline:
    """Ordered transforms of one embodiment and mode. Made by `build_pipeline`."""

    embodiment: Embodiment
    mode: str
    horizon: int
    seconds: float
    """Time from the first to the last step of a chunk, s."""
    plan: Plan
    history: History = NO_HISTORY
    """The states that are read; the statistics do not depend on it."""
    stop_at_text_end: bool = False
    """Whether steps past the end of the text that holds at a frame are not real."""

    @property
    def layouts(self) -> ModeLayouts:
        """Layouts of actions and state."""
        return self.embodiment.mode(self.mode)

    def interface(
        self, cameras: tuple[str, ...] | None = None, image_size: tuple[int, int] | None = None
    ) -> PolicyInterface:
        """Return what a policy must agree on; None takes all of the embodiment's cameras, and whole pictures.

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
            history=self.history,
            image_size=image_size,
        )

    def without_history(self) -> "Pipeline":
        """Return the pipeline that reads the current state alone: all that statistics need."""
        return replace(self, history=NO_HISTORY)

    def recipe(self) -> dict[str, Any]:
        """Return plain data, as a JSON file gives it back: everything that shapes the numbers, no location."""
        told = {
            "embodiment": self.embodiment.name,
            "mode": self.mode,
            "horizon": self.horizon,
            "seconds": self.seconds,
            "actions": self.layouts.actions.to_plain(),
            "state": self.layouts.state.to_plain(),
            "plan": self.plan.recipe(),
            "mask_rules": list(MASK_RULES),
            "stop_at_text_end": self.stop_at_text_end,
        }
        return json.loads(canonical_json(told))

    def rows(self, fps: Fraction) -> int:
        """Return the stored rows that a chunk spans at a rate: n = round(seconds * fps) + 1."""
        return round(self.seconds * float(fps)) + 1

    def arrays(self, facts: EpisodeFacts) -> tuple[str, ...]:
        """Return the numeric arrays that are read of an episode, sorted.

        Raises:
            EpisodeError: when one is not there.
        """
        return arrays_read(self.plan, facts.arrays, facts.hash)

    def digested_arrays(self, facts: EpisodeFacts) -> tuple[str, ...]:
        """Return the arrays whose content shapes the numbers: those that are read, and texts where they end chunks.

        Raises:
            EpisodeError: when one that is read is not there.
        """
        texts = (ANNOTATIONS,) if self.stop_at_text_end and ANNOTATIONS in facts.arrays else ()
        return (*self.arrays(facts), *texts)

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
        numbers = load_numbers(self.plan, self.embodiment, episode, self.rows(episode.fps))
        ends = text_ends(episode) if self.stop_at_text_end else None
        return replace(numbers, history_stride=self.history.stride(episode.fps), text_ends=ends)

    def gather(self, episode: "Episode | EpisodeNumbers", frames: np.ndarray) -> Window:
        """Return the raw rows around frames (N,) int; rows past the end repeat the last one and are not real."""
        numbers = episode if isinstance(episode, EpisodeNumbers) else self.load(episode)
        frames = np.asarray(frames, np.int64)
        rows, real = rows_ahead(numbers, frames)
        now = numbers.now
        return Window(
            # `take`, where indexing would do: it begins in a third of the time, and most samples are of other episodes
            actions={part: values.take(rows, axis=0) for part, values in numbers.actions.items()},
            action_arrays=numbers.action_arrays,
            action_real=real,
            state={part: values.take(frames, axis=0) for part, values in now.state.items()},
            state_present={part: present[frames] for part, present in now.state_present.items()},
            frames={
                name: frame if frame.ndim == 2 else frame.take(frames, axis=0) for name, frame in now.frames.items()
            },
            past=gather_past(self.plan, numbers, frames, self.history) if self.history.steps > 1 else None,
        )

    def real_steps(self, numbers: EpisodeNumbers) -> np.ndarray:
        """Return which steps (T, H) bool of the chunk at each frame of an episode are real, without encoding them."""
        _, real = rows_ahead(numbers, np.arange(numbers.num_frames))
        return resample_mask(real, self.horizon)

    def observe(self, arrays: Mapping[str, np.ndarray], camera_poses: CameraPoses | None = None) -> Window:
        """Return the window of an observation that no chunk follows yet: what a robot has.

        Args:
            arrays: by stored name: (width,), or (N, width) for N rows. With a history of K steps it is one observation:
                (k, width) for k rows `History.seconds` apart, the current one last, k at most K; what is missing to K
                repeats the first and is not real.
            camera_poses: by arm: base_from_camera (4, 4); an arm left out takes the embodiment's own.

        Raises:
            EpisodeError: when an array is missing or a pose is none, or arrays have other rows than each other or more
                than K.
        """
        rows = {name: np.atleast_2d(np.asarray(value, np.float64)) for name, value in arrays.items()}
        self._check_rows({name: len(rows[name]) for name in arrays_observed(self.plan, tuple(rows), "observation")})
        reader = RowReader("observation", rows.__getitem__, self.plan.mended)
        now = read_now(self.plan, self.embodiment, reader, tuple(rows), camera_poses or {})
        targets = {source.part: source.actions[0] for source in self.plan.sources}
        num = len(next(iter(now.state.values())))
        if self.history.steps == 1:
            return Window({}, targets, np.zeros((num, 0), bool), now.state, now.state_present, now.frames)
        return Window(
            actions={},
            action_arrays=targets,
            action_real=np.zeros((1, 0), bool),
            state={part: value[-1:] for part, value in now.state.items()},
            state_present={part: value[-1:] for part, value in now.state_present.items()},
            frames={name: frame if frame.ndim == 2 else frame[-1:] for name, frame in now.frames.items()},
            past=observed_past(self.plan, now, self.history),
        )

    def _check_rows(self, lengths: Mapping[str, int]) -> None:
        """Refuse arrays of one observation that differ in length, or are longer than the history."""
        most = self.history.steps
        if len(set(lengths.values())) > 1 or (most > 1 and max(lengths.values()) > most):
            limit = f", at most {most}" if most > 1 else ""
            found = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise EpisodeError("observation", f"all arrays need the same number of rows{limit}; found {found}.")

    def encode(self, window: Window, into: tuple[np.ndarray, list[int]] | None = None) -> Encoded:
        """Return chunks, states and their masks, all N at once.

        Args:
            window: the raw rows.
            into: (M, H, D) float32 and N rows of it, where the chunks are written; the array itself is returned. None
                returns chunks of their own.

        Raises:
            LayoutError: when the window holds no actions: use `encode_state`.
        """
        if not window.actions:
            raise LayoutError("An observation has no actions to encode.")
        sample = self._run(window, window.actions)
        state, state_mask = self._state(sample, window.state_present)
        history, history_columns, history_mask = self.encode_history(window)
        return Encoded(
            actions=_joined(self.layouts.actions, sample.actions, into),
            action_mask=resample_mask(window.action_real, self.horizon),
            state=state,
            state_mask=state_mask,
            state_history=history,
            state_history_mask=history_columns,
            history_mask=history_mask,
        )

    def encode_state(self, window: Window) -> tuple[np.ndarray, np.ndarray]:
        """Return the state (N, S) float32 and its mask (N, S) bool."""
        return self._state(self._run(window, {}), window.state_present)

    def encode_history(self, window: Window) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the states (N, K, S) float32, their mask (N, K, S) bool, and the real steps (N, K) bool.

        K is 0 for a window without a history.
        """
        if window.past is None:
            num, width = len(window), self.layouts.state.width
            return np.zeros((num, 0, width), np.float32), np.zeros((num, 0, width), bool), np.zeros((num, 0), bool)
        past = window.past
        states, mask = self._state(self._run(past, {}), past.state_present)
        return states, mask, past.real

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

    def _run(self, window: Window | Past, actions: Mapping[str, np.ndarray]) -> Sample:
        sample = Sample(actions=actions, state=window.state, frames=window.frames)
        for transform in self.plan.transforms:
            sample = transform.encode(sample)
        return sample

    def _state(self, sample: Sample, present: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        layout = self.layouts.state
        mask = np.empty((*present[self.plan.sources[0].part].shape, layout.width), bool)
        for source in self.plan.sources:
            for name in source.state_fields:
                mask[..., layout.slices[name]] = present[source.part][..., None]
        return np.where(mask, _joined(layout, sample.state), np.float32(0)), mask


def _unmended(poses: np.ndarray) -> np.ndarray:
    """Return poses (..., 7) as they would have been stored, qw >= 0: mending twice gives the rotation back."""
    stored = mend_left_wrist(poses)
    return np.concatenate([stored[..., :3], np.where(stored[..., 3:4] < 0, -1.0, 1.0) * stored[..., 3:]], axis=-1)


def _joined(
    layout: Layout, parts: Mapping[str, np.ndarray], into: tuple[np.ndarray, list[int]] | None = None
) -> np.ndarray:
    """Return the array (..., D) float32 of named parts in one copy, or fill rows of one."""
    if into is not None:
        values, rows = into
        for name, columns in layout.slices.items():
            values[rows, :, columns] = parts[name]
        return values
    values = np.empty((*parts[layout.names[0]].shape[:-1], layout.width), np.float32)
    for name, columns in layout.slices.items():
        values[..., columns] = parts[name]
    return values


def build_pipeline(
    embodiment: Embodiment,
    *,
    mode: str | None = None,
    horizon: int,
    seconds: float | None = None,
    mend_left_wrist: bool = False,
    history: History = NO_HISTORY,
    stop_at_text_end: bool = False,
) -> Pipeline:
    """Build the pipeline of an embodiment.

    Args:
        embodiment: the body.
        mode: which transforms; None takes the embodiment's default.
        horizon: H, steps of a chunk.
        seconds: time that a chunk spans; None takes the mode's own.
        mend_left_wrist: True turns back the left hand's rotation that Mecka's older converter mirrored twice.
        history: the states that are read.
        stop_at_text_end: True: steps past the end of the text that holds at a frame are not real.

    Raises:
        UnknownNameError: when the embodiment has no such mode.
        ConfigError: when the horizon or the time is not positive, there is no left hand to mend, or steps of a history
            are to stand in wrists' frames of their own where the state knows none.
    """
    layouts = embodiment.mode(mode)
    chosen, spans = mode or embodiment.default_mode, layouts.seconds if seconds is None else seconds
    if horizon < 1:
        raise ConfigError(f"The horizon must be at least 1 step, found {horizon}.")
    if not spans > 0:
        raise ConfigError(f"The time that a chunk spans must be above 0 s, found {spans}.")
    plan = build_plan(embodiment, chosen, horizon, mend_left_wrist=mend_left_wrist)
    wrists = {frame.name for frame in plan.frames if frame.is_wrist}
    if history.per_step_wrist and not any(source.state_frame in wrists for source in plan.sources):
        problem = f"data.history.per_step_wrist says nothing in mode '{chosen}': its state knows no wrist's frame."
        raise ConfigError(problem)
    history = history if history.steps > 1 else History(image_seconds=history.image_seconds)
    return Pipeline(embodiment, chosen, horizon, spans, plan, history, stop_at_text_end)
