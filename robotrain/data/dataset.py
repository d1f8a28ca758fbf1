"""Samples of episodes, a whole batch at a time.

Opens episodes lazily in each process. A batch reads one JPEG a camera and row; numbers come from arrays that were read
whole, once. Knows no order: that is `data/datamodule.py`.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from torch import Tensor

from robotrain import console
from robotrain.batch import Batch, Keys, Observation, history_fields
from robotrain.data.buffers import Buffers
from robotrain.data.numbers import EpisodeNumbers, shows_mirrored
from robotrain.data.pipeline import Encoded, Pipeline, Window, join_windows
from robotrain.embodiments.history import BEFORE
from robotrain.episodes.jpegs import reduced_size
from robotrain.episodes.left_wrist import is_mecka
from robotrain.episodes.reader import Episode
from robotrain.episodes.schema import EpisodeFacts
from robotrain.errors import ConfigError, EpisodeError, UnknownNameError, listing

NUMBERS_BUDGET = 1 << 29
"""Bytes of episodes' numbers that a process keeps, 512 MiB; the episodes used longest ago go first."""
PICTURES_BUDGET = 1 << 29
"""Bytes of encoded pictures that a process may keep, 512 MiB. A data set with fewer keeps them all, and reads each
episode's once: where a file system is slow, or only Zarr can read them, that is a call for hundreds in place of one for
each."""
ENCODED_AT_ONCE = 1 << 18
"""Numbers of chunks, so that what is computed on the way stays in the processor's cache, and in memory that was used
before."""
_SPARE = 1024
"""Bytes a sample, for what lies between tensors."""
SAMPLED = 3
"""So many episodes of a vendor are looked at for left wrists that are mirrored twice: one converter wrote them all."""


@dataclass
class _Opened:
    """One episode as a process holds it."""

    episode: Episode
    numbers: EpisodeNumbers


class WindowDataset:
    """Frames of one embodiment's episodes with the chunks that follow them.

    Frames whose chunk has no real step are no samples; `num_left_out` counts them. `batch` serves any frame.

    Args:
        facts: the episodes.
        pipeline: makes chunks of their arrays.
        cameras: cameras of a batch, in order; None takes all of the embodiment's.
        image_size: height and width that are enough, see `PolicyInterface`; None reads whole pictures.

    Raises:
        ConfigError: when there is no episode, or none has any of the cameras.
        EpisodeError: when an episode cannot be read by this pipeline.
    """

    def __init__(
        self,
        facts: Sequence[EpisodeFacts],
        pipeline: Pipeline,
        cameras: tuple[str, ...] | None = None,
        image_size: tuple[int, int] | None = None,
    ) -> None:
        if not facts:
            raise ConfigError("A data set needs at least one episode.")
        self.pipeline = pipeline
        self.interface = pipeline.interface(cameras, image_size)
        self._least = image_size or (0, 0)
        self.facts = {each.hash: each for each in facts}
        self._opened: OrderedDict[str, _Opened] = OrderedDict()
        self._buffers, self._chunks = Buffers(), Buffers()
        self._sizes = self._fallback_sizes()
        stored = (Episode(each).stored_bytes(camera) for each in facts for camera in self._cameras_of(each))
        self._keeps_pictures = all(total <= PICTURES_BUDGET for total in accumulate(stored))  # stops counting beyond it
        self._samples: dict[str, np.ndarray] = {}
        self._unread: dict[str, str] = {}
        for name in console.track(tuple(self.facts), "Opening episodes", total=len(self.facts), unit="episodes"):
            opened = self._open(name)
            self._samples[name] = np.flatnonzero(pipeline.real_steps(opened.numbers).any(axis=1))
            if problem := opened.episode.annotations_problem:
                self._unread[name] = problem
        suspects = [each for each in facts if is_mecka(each.stored_embodiment)][:SAMPLED]
        self._mirrored = [each.hash for each in suspects if shows_mirrored(pipeline.plan, Episode(each))]
        self._ends = np.cumsum([len(frames) for frames in self._samples.values()])

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": OrderedDict()}  # another process opens its own

    def __len__(self) -> int:
        return int(self._ends[-1])

    @property
    def hashes(self) -> tuple[str, ...]:
        """The episodes, in the order of the samples."""
        return tuple(self.facts)

    @property
    def sample_bytes(self) -> int:
        """Memory that the tensors of a sample take in a batch, or a little more; more where its pictures are larger."""
        face, history = self.interface, self.interface.history
        pixels = sum(3 * width * height for width, height in self._sizes.values())
        steps = 1 + (history.steps if history.steps > 1 else 0)
        numbers = face.horizon * (4 * face.actions.width + 1) + steps * (5 * face.state.width + 1)
        return pixels * (1 if history.image_seconds is None else 2) + numbers + 2 * len(self._sizes) + _SPARE

    @property
    def num_left_out(self) -> int:
        """Frames that are no samples, because no step of their chunk was recorded (missing hands)."""
        return sum(each.num_frames for each in self.facts.values()) - len(self)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a person should know: frames that were left out, hands to mend, annotations that could not be read."""
        lines: list[str] = []
        if self.num_left_out:
            total = sum(each.num_frames for each in self.facts.values())
            lines.append(f"{self.num_left_out} of {total} frames are no samples: no step of their chunk was recorded")
        if self._mirrored:
            names = listing(f"'{name}'" for name in self._mirrored)
            lines.append(f"the left wrists of {names} are mirrored twice; data.mend_left_wrist=true mends them")
        lines += [f"annotations of '{name}' cannot be read: {problem}" for name, problem in self._unread.items()]
        return tuple(lines)

    def keys(self, index: int) -> tuple[str, int]:
        """Return the (hash, frame) of a sample.

        Raises:
            IndexError: when there is no such sample.
        """
        if not 0 <= index < len(self):
            raise IndexError(f"sample {index} of {len(self)}")
        place = int(np.searchsorted(self._ends, index, side="right"))
        episode = self.hashes[place]
        frames = self._samples[episode]
        return episode, int(frames[index - (int(self._ends[place]) - len(frames))])

    def frames_of(self, episode: str) -> np.ndarray:
        """Return all frames (T,) of an episode, those without a real step included: what a video shows.

        Raises:
            UnknownNameError: when there is no such episode.
        """
        return np.arange(self._facts_of(episode).num_frames)

    def samples_of(self, episode: str) -> np.ndarray:
        """Return the frames of an episode that are samples, ascending.

        Raises:
            UnknownNameError: when there is no such episode.
        """
        self._facts_of(episode)
        return self._samples[episode]

    def __getitem__(self, index: int) -> Batch:
        """Return a batch of one sample."""
        return self.__getitems__([index])

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        """Return the batch of these samples: the loader's entrance."""
        return self.batch([self.keys(index) for index in indices])

    def batch(self, keys: Sequence[tuple[str, int]], *, encoded: Encoded | None = None) -> Batch:
        """Return the batch of these (hash, frame), in their order.

        Args:
            keys: one a row.
            encoded: what `encode` gave for them; None encodes them.

        Raises:
            UnknownNameError: when there is no such episode.
            EpisodeError: when a frame cannot be read, or pictures of one camera differ in size.
        """
        keys = [(str(episode), int(frame)) for episode, frame in keys]
        encoded = self.encode(keys) if encoded is None else encoded
        images, image_mask = {}, {}
        for camera in self.interface.cameras:
            images[camera], image_mask[camera] = self._images(camera, keys)
        if self.interface.history.image_seconds is not None:
            earlier, real = self._earlier(keys)
            for camera in self.interface.cameras:
                pictures, mask = self._images(camera, earlier)
                images[camera + BEFORE], image_mask[camera + BEFORE] = pictures, mask & real
        observation = Observation(
            embodiment=self.interface.embodiment,
            images=images,
            image_mask=image_mask,
            state=torch.from_numpy(encoded.state),
            state_mask=torch.from_numpy(encoded.state_mask),
            prompts=tuple(self.prompt(episode, frame) for episode, frame in keys),
            keys=tuple(keys),
            **history_fields(encoded.state_history, encoded.state_history_mask, encoded.history_mask),
        )
        return Batch(
            observation=observation,
            actions=torch.from_numpy(encoded.actions),
            action_mask=torch.from_numpy(encoded.action_mask),
        )

    def prompt(self, episode: str, frame: int) -> str:
        """Return the text that a policy reads at a frame of an episode."""
        return self._open(episode).episode.prompt(frame)

    def _cameras_of(self, facts: EpisodeFacts) -> tuple[str, ...]:
        return tuple(camera for camera in self.interface.cameras if camera in facts.cameras)

    def _facts_of(self, episode: str) -> EpisodeFacts:
        if episode not in self.facts:
            raise UnknownNameError("episode", episode, self.hashes)
        return self.facts[episode]

    def _open(self, name: str) -> _Opened:
        if name in self._opened:
            self._opened.move_to_end(name)
            return self._opened[name]
        facts = self._facts_of(name)
        # The episode that numbers are read from keeps its raw arrays, so it is not the one that is kept.
        self._opened[name] = opened = _Opened(Episode(facts), self.pipeline.load(Episode(facts)))
        kept = sum(each.numbers.num_bytes for each in self._opened.values())
        while kept > NUMBERS_BUDGET and len(self._opened) > 1:
            _, gone = self._opened.popitem(last=False)
            kept -= gone.numbers.num_bytes
        return opened

    def gather(self, keys: Keys | Sequence[tuple[str, int]]) -> list[tuple[list[int], Window]]:
        """Return the raw rows around these (hash, frame), and whose they are: those of one length together.

        Raises:
            UnknownNameError: when there is no such episode.
            EpisodeError: when there is no such frame.
        """
        rows_of: dict[str, list[int]] = {}
        for row, (episode, _) in enumerate(keys):
            rows_of.setdefault(episode, []).append(row)
        groups: dict[int, list[tuple[list[int], Window]]] = {}
        for episode, rows in rows_of.items():
            numbers = self._open(episode).numbers
            frames = np.array([keys[row][1] for row in rows])
            if outside := [frame for frame in frames.tolist() if not 0 <= frame < numbers.num_frames]:
                raise EpisodeError(episode, f"there is no such frame among {numbers.num_frames}.", frame=outside[0])
            groups.setdefault(numbers.rows, []).append((rows, self.pipeline.gather(numbers, frames)))
        return [
            ([row for rows, _ in group for row in rows], join_windows([window for _, window in group]))
            for group in groups.values()
        ]

    def encode(self, keys: Keys | Sequence[tuple[str, int]]) -> Encoded:
        """Return chunks and states of these (hash, frame), in their order: the numbers of a batch.

        Some at a time, those of an episode together.
        """
        order = sorted(range(len(keys)), key=lambda row: keys[row][0])
        shape = (len(keys), self.interface.horizon, self.interface.actions.width)
        actions = self._chunks.empty((*shape, np.dtype(np.float32).itemsize)).view(torch.float32).view(shape).numpy()
        parts: list[tuple[list[int], Encoded]] = []
        turns = -(-actions.size // ENCODED_AT_ONCE)
        at_once = -(-len(keys) // turns)  # equally many each time, so that memory of one size serves
        for start in range(0, len(order), at_once):
            chosen = order[start : start + at_once]
            for places, window in self.gather([keys[row] for row in chosen]):
                rows = [chosen[place] for place in places]
                parts.append((rows, self.pipeline.encode(window, (actions, rows))))
        others = [field.name for field in fields(Encoded) if field.name != "actions"]
        return Encoded(actions=actions, **{name: _in_order(parts, name, len(keys)) for name in others})

    def _earlier(self, keys: Sequence[tuple[str, int]]) -> tuple[list[tuple[str, int]], Tensor]:
        """Return the (hash, frame) of the earlier pictures, not before the first frame, and which are real (B,)."""
        stride = {name: self.interface.history.image_stride(self.facts[name].fps) for name, _ in keys}
        wanted = [(name, frame - stride[name]) for name, frame in keys]
        return [(name, max(0, frame)) for name, frame in wanted], torch.tensor([frame >= 0 for _, frame in wanted])

    def _images(self, camera: str, keys: Sequence[tuple[str, int]]) -> tuple[Tensor, Tensor]:
        """Read one camera's pictures (B, h, w, 3) uint8 and their mask (B,); an absent camera gives zeros."""
        mask = torch.tensor([camera in self.facts[episode].cameras for episode, _ in keys])
        images: Tensor | None = None
        pixels = np.empty(0, np.uint8)
        for row, (episode, frame) in enumerate(keys):
            if not mask[row]:
                continue
            opened = self._open(episode).episode
            if self._keeps_pictures:  # here and not on opening: with workers, only they look at pictures
                opened.keep_pictures(camera)
            if images is None:
                first = opened.image(camera, frame, least=self._least)
                images = self._buffers.empty((len(keys), *first.shape))
                pixels = images.numpy()
                pixels[row] = first
                continue
            try:
                opened.image(camera, frame, into=pixels[row], least=self._least)
            except EpisodeError:
                if opened.image(camera, frame, least=self._least).shape == pixels.shape[1:]:
                    raise
                raise self._sizes_differ(camera, keys) from None
        if images is None:
            width, height = self._sizes[camera]
            return torch.zeros(len(keys), height, width, 3, dtype=torch.uint8), mask
        pixels[~mask.numpy()] = 0
        return images, mask

    def _sizes_differ(self, camera: str, keys: Sequence[tuple[str, int]]) -> EpisodeError:
        owners: dict[str, str] = {}
        for episode, frame in keys:
            if camera in self.facts[episode].cameras:
                height, width, _ = self._open(episode).episode.image(camera, frame, least=self._least).shape
                owners.setdefault(f"{width}x{height}", episode)
        found = listing(f"{size} in '{episode}'" for size, episode in owners.items())
        text = f"pictures of camera '{camera}' differ in size within a batch: {found}."
        return EpisodeError(next(iter(owners.values())), text)

    def _fallback_sizes(self) -> dict[str, tuple[int, int]]:
        """Return the size (width, height) of each camera's zeros, for batches in which no row has the camera."""
        sizes: dict[str, tuple[int, int]] = {}
        for camera in self.interface.cameras:
            owner = next((each for each in self.facts.values() if camera in each.cameras), None)
            if owner is not None:
                sizes[camera] = reduced_size(Episode(owner).image_size(camera), self._least)
        if self.interface.cameras and not sizes:
            raise ConfigError(f"No episode has any of the cameras {', '.join(self.interface.cameras)}.")
        return {camera: sizes.get(camera) or next(iter(sizes.values())) for camera in self.interface.cameras}


def _in_order(parts: Sequence[tuple[list[int], Encoded]], name: str, num: int) -> np.ndarray:
    """Return one array of encoded parts, whose rows are told, as one."""
    first = getattr(parts[0][1], name)
    values = np.empty((num, *first.shape[1:]), first.dtype)
    for rows, part in parts:
        values[rows] = getattr(part, name)
    return values
