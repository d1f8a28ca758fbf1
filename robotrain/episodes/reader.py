"""An episode, opened: its numbers, its pictures, its words, read right or not at all.

Knows Zarr's way of keeping them, padding, and what marks a missing row. Refuses to hand out what Zarr makes up: it
reads a chunk whose file is missing as zeros, and this module looks for the file first. Files in the usual encoding are
read directly; Zarr is loaded for any other, and for the last word on a broken one.
"""

import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robotrain.episodes.calibration import (
    camera_pose_from_attributes,
    intrinsics_from_attributes,
    vendor_intrinsics,
)
from robotrain.episodes.jpegs import decode_picture, picture_size
from robotrain.episodes.schema import (
    ANNOTATIONS,
    EpisodeFacts,
    Side,
    image_array,
    missing_rows,
    read_facts,
)
from robotrain.episodes.shards import ElementReader, read_rows
from robotrain.episodes.spans import Span, prompts_at, span_from_json
from robotrain.episodes.storage import BYTES, StoredArray, missing_chunk_files, missing_words, read_stored_array
from robotrain.errors import EpisodeError, UnknownNameError
from robotrain.geometry.cameras import Intrinsics

if TYPE_CHECKING:
    import zarr

__all__ = ["Episode", "Span", "open_episode"]

_FAILURES = (ValueError, RuntimeError, OSError, EOFError, KeyError, TypeError, MemoryError, OverflowError, zlib.error)
"""What Zarr and its codecs raise on broken bytes."""
_BLOCK = 100  # pictures that are read in one call: bounds memory, and costs a hundredth of a call each


def open_episode(path: Path | str) -> "Episode":
    """Open an episode; arrays are read when they are asked for.

    Raises:
        MissingPathError: when there is no such folder.
        EpisodeError: when the folder is no episode.
    """
    return Episode(read_facts(path))


class Episode:
    """One episode, lazily read. Numbers stay in memory once read; pictures are read one by one.

    Cheap to hold and picklable: what was opened or read does not travel, and is opened again on the other side.
    """

    def __init__(self, facts: EpisodeFacts) -> None:
        self.facts = facts
        self._numbers: dict[str, np.ndarray] = {}
        self._pictures: dict[str, _Pictures] = {}
        self._sizes: dict[str, tuple[int, int]] = {}

    def __repr__(self) -> str:
        return f"Episode({self.hash}, {self.embodiment}, {self.num_frames} frames)"

    def __reduce__(self) -> tuple[type["Episode"], tuple[EpisodeFacts]]:
        return (Episode, (self.facts,))

    @property
    def hash(self) -> str:
        """The identity of the episode."""
        return self.facts.hash

    @property
    def embodiment(self) -> str:
        """Canonical name of the body."""
        return self.facts.embodiment

    @property
    def num_frames(self) -> int:
        """Number of real frames, T."""
        return self.facts.num_frames

    @property
    def fps(self) -> Fraction:
        """Frames per second, exactly."""
        return self.facts.fps

    @property
    def cameras(self) -> tuple[str, ...]:
        """Cameras with pictures, sorted."""
        return self.facts.cameras

    @property
    def arrays(self) -> tuple[str, ...]:
        """Names of the arrays on disk, sorted."""
        return self.facts.arrays

    def numbers(self, array: str) -> np.ndarray:
        """Return the values (T, D) of a numeric array, as stored, padding left out, read-only; read once and kept.

        Missing rows hold whatever marks them, see `missing`.

        Raises:
            UnknownNameError: when the episode has no such array.
            EpisodeError: when it is too short, holds no numbers, or a file of it is missing or broken.
        """
        if array not in self._numbers:
            self._numbers[array] = _read_numbers(self.facts, array)
        return self._numbers[array]

    def missing(self, array: str) -> np.ndarray:
        """Return which rows (T,) bool of a numeric array are not data, see `schema.missing_rows`."""
        return missing_rows(array, self.numbers(array))

    def jpeg(self, camera: str, frame: int) -> bytes:
        """Return a picture as it is stored.

        Raises:
            UnknownNameError: when the episode has no such camera.
            EpisodeError: when the frame is outside the episode, or its bytes are missing or broken.
        """
        return self._pictures_of(camera).read(frame)

    def keep_pictures(self, camera: str) -> None:
        """Read all encoded pictures of a camera in one call and keep them; `jpeg` and `image` then touch no file.

        Raises:
            UnknownNameError: when the episode has no such camera.
            EpisodeError: when bytes are missing or broken.
        """
        self._pictures_of(camera).keep()

    def jpegs(self, camera: str) -> Iterator[bytes | EpisodeError]:
        """Yield every picture as it is stored, in order; in place of one that cannot be read, the error that says why.

        Reads many in one call, and keeps none.

        Raises:
            UnknownNameError: when the episode has no such camera.
            EpisodeError: when its array cannot be opened.
        """
        return self._pictures_of(camera).read_all()

    def stored_bytes(self, camera: str) -> int:
        """Return the bytes that a camera's encoded pictures take on disk; no picture is read."""
        folder = self.facts.path / image_array(camera)
        return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())

    def image(
        self, camera: str, frame: int, *, into: np.ndarray | None = None, least: tuple[int, int] = (0, 0)
    ) -> np.ndarray:
        """Return a picture (h, w, 3) uint8, RGB.

        Args:
            camera: one of `cameras`.
            frame: from 0.
            into: (h, w, 3) uint8 in one piece, to be filled and returned; must have the picture's size.
            least: height and width in pixels that are enough, see `jpegs.decode_picture`.

        Raises:
            UnknownNameError: when the episode has no such camera.
            EpisodeError: when the frame is outside the episode, or the picture is missing, broken or of another size.
        """
        picture = self.jpeg(camera, frame)
        try:
            return decode_picture(picture, into, least=least)
        except ValueError as problem:
            raise self._no_jpeg(camera, frame, problem) from None

    def image_size(self, camera: str) -> tuple[int, int]:
        """Return width and height of a camera's first picture, in pixels."""
        if camera not in self._sizes:
            picture = self.jpeg(camera, 0)
            try:
                self._sizes[camera] = picture_size(picture)
            except ValueError as problem:
                raise self._no_jpeg(camera, 0, problem) from None
        return self._sizes[camera]

    def _no_jpeg(self, camera: str, frame: int, problem: ValueError) -> EpisodeError:
        text = f"the picture is no sound JPEG: {problem}."
        return EpisodeError(self.hash, text, array=image_array(camera), frame=frame)

    @property
    def spans(self) -> tuple[Span, ...]:
        """Annotated texts, in stored order; none where there are none, or where `annotations_problem` says why not."""
        return self._annotations[0]

    @property
    def annotations_problem(self) -> str | None:
        """Why annotations that exist could not be read, or None."""
        return self._annotations[1]

    def prompts(self, frame: int) -> tuple[str, ...]:
        """Return all texts that hold at a frame, in stored order."""
        return prompts_at(self.spans, frame)

    def prompt(self, frame: int) -> str:
        """Return the text that a policy reads at a frame: its first annotation, else the description, else the task."""
        prompts, facts = self.prompts(frame), self.facts
        return prompts[0] if prompts else facts.task_description or facts.task_name.replace("_", " ")

    def intrinsics(self, camera: str) -> Intrinsics | None:
        """Return a camera's intrinsics, scaled to its pictures: the episode's own, else those of its vendor's camera.

        None for wrist cameras and other robots where the episode does not tell them.

        Raises:
            UnknownNameError: when the episode has no such camera.
            EpisodeError: when what it tells cannot be read.
        """
        size = self.image_size(camera)
        meant = intrinsics_from_attributes(self.facts.attributes, camera, size, self.hash)
        meant = meant or vendor_intrinsics(self.facts.stored_embodiment, camera)
        return None if meant is None else meant.scaled_to(*size)

    def camera_pose(self, arm: Side) -> np.ndarray | None:
        """Return base_from_camera (4, 4), metres: the front camera in an arm's base; None when the episode is silent.

        Raises:
            EpisodeError: when what it tells cannot be read.
        """
        return camera_pose_from_attributes(self.facts.attributes, arm, self.hash)

    def _pictures_of(self, camera: str) -> "_Pictures":
        if camera not in self._pictures:
            self._pictures[camera] = _Pictures(self.facts, camera)
        return self._pictures[camera]

    @cached_property
    def _annotations(self) -> tuple[tuple[Span, ...], str | None]:
        if ANNOTATIONS not in self.arrays:
            return (), None
        try:
            stored = read_stored_array(self.facts.path, ANNOTATIONS)
            num = stored.shape[0]
            if num == 0:
                return (), None
            if missing := missing_chunk_files(stored, num):
                return (), missing_words(missing, self.facts.path)
            with _zarr_errors(self.facts, ANNOTATIONS):
                elements = _open_array(stored.folder)[:]
            return tuple(span_from_json(element) for element in np.asarray(elements).ravel()), None
        except KeyError as problem:
            return (), f"an annotation has no {problem}."
        except (EpisodeError, ValueError, TypeError, RecursionError) as problem:
            return (), str(problem)


class _Pictures:
    """The open array of one camera, with the chunk files already seen."""

    def __init__(self, facts: EpisodeFacts, camera: str) -> None:
        if camera not in facts.cameras:
            raise UnknownNameError("camera", camera, facts.cameras, where=f"episode '{facts.hash}'")
        self._facts, self._name = facts, image_array(camera)
        self._stored = _stored_array(facts, self._name)
        if len(self._stored.shape) != 1:
            text = f"pictures are stored as one JPEG a frame, and this has shape {self._stored.shape}."
            raise EpisodeError(facts.hash, text, array=self._name)
        encoding = self._stored.encoding
        self._direct = None if encoding is None else ElementReader(self._stored, encoding)
        if self._direct is None:
            self._array.shape  # noqa: B018  # opens it, or tells at once why it cannot be
        self._seen: set[int] = set()
        self._kept: list[bytes] | None = None

    def keep(self) -> None:
        if self._kept is not None:
            return
        num = self._facts.num_frames
        for frame in range(num):
            self._require_file(frame)
        elements = self._elements(0, num)
        self._kept = [self._checked(element, frame) for frame, element in enumerate(elements)]

    def read(self, frame: int) -> bytes:
        if not 0 <= frame < self._facts.num_frames:
            text = f"there is no such frame among {self._facts.num_frames}."
            raise EpisodeError(self._facts.hash, text, array=self._name, frame=frame)
        if self._kept is not None:
            return self._kept[frame]
        self._require_file(frame)
        (element,) = self._elements(frame, frame + 1)
        return self._checked(element, frame)

    def read_all(self) -> Iterator[bytes | EpisodeError]:
        num = self._facts.num_frames
        for start in range(0, num, _BLOCK):
            stop = min(start + _BLOCK, num)
            try:
                for frame in range(start, stop):
                    self._require_file(frame)
                elements = self._elements(start, stop)
            except EpisodeError:  # one by one, to know which
                elements = [None] * (stop - start)
            for frame, element in enumerate(elements, start):
                try:
                    yield self._checked(element, frame) if element is not None else self.read(frame)
                except EpisodeError as problem:
                    yield problem

    @cached_property
    def _array(self) -> "zarr.Array[Any]":
        with _zarr_errors(self._facts, self._name):
            return _open_array(self._stored.folder)

    def _elements(self, start: int, stop: int) -> list[object]:
        """Return the elements of frames start to stop, directly where all of them can be read so."""
        if self._direct is not None:
            elements = []
            for frame in range(start, stop):
                if (element := self._direct.element(frame)) is None:
                    break
                elements.append(element)
            else:
                return elements
        with _zarr_errors(self._facts, self._name, start if stop == start + 1 else None):
            return np.asarray(self._array[start:stop]).tolist()

    def _checked(self, element: object, frame: int) -> bytes:
        if not isinstance(element, bytes) or not element:
            raise EpisodeError(self._facts.hash, "the picture is empty.", array=self._name, frame=frame)
        return element

    def _require_file(self, frame: int) -> None:
        (chunk,) = self._stored.chunk_of_row(frame)
        if chunk in self._seen:
            return
        file = self._stored.chunk_file((chunk,))
        if not file.is_file():
            name = file.relative_to(self._facts.path).as_posix()
            raise EpisodeError(self._facts.hash, f"the file '{name}' is missing.", array=self._name, frame=frame)
        self._seen.add(chunk)


def _read_numbers(facts: EpisodeFacts, array: str) -> np.ndarray:
    stored = _stored_array(facts, array)
    if stored.data_type == BYTES:
        raise EpisodeError(facts.hash, "it holds pictures or text, and no numbers.", array=array)
    if missing := missing_chunk_files(stored, facts.num_frames):
        raise EpisodeError(facts.hash, missing_words(missing, facts.path), array=array)
    values = read_rows(stored, facts.num_frames)
    if values is None:
        with _zarr_errors(facts, array):
            values = np.asarray(_open_array(stored.folder)[: facts.num_frames])
    if values.dtype.kind not in "biuf":
        raise EpisodeError(facts.hash, f"it holds values of type {values.dtype}, and no real numbers.", array=array)
    values = values.reshape(facts.num_frames, -1)
    values.setflags(write=False)
    return values


def _stored_array(facts: EpisodeFacts, array: str) -> StoredArray:
    """Return an array's metadata, once it is known to promise every frame."""
    if array not in facts.arrays:
        raise UnknownNameError("array", array, facts.arrays, where=f"episode '{facts.hash}'")
    stored = read_stored_array(facts.path, array)
    if stored.shape[0] < facts.num_frames:
        text = f"it has {stored.shape[0]} rows, and the episode {facts.num_frames} frames."
        raise EpisodeError(facts.hash, text, array=array)
    return stored


@contextmanager
def _zarr_errors(facts: EpisodeFacts, array: str, frame: int | None = None) -> Iterator[None]:
    """Turn what Zarr and its codecs raise on broken bytes into an error that names the episode."""
    try:
        yield
    except _FAILURES as problem:
        words = str(problem).partition(". Stored: ")[0]  # the two values of a checksum tell nobody anything
        text = f"its bytes cannot be read: {words.rstrip('.')}."
        raise EpisodeError(facts.hash, text, array=array, frame=frame) from None


def _open_array(folder: Path) -> "zarr.Array[Any]":
    import zarr
    from zarr.errors import UnstableSpecificationWarning

    with warnings.catch_warnings():  # variable-length bytes have no agreed v3 specification, and Zarr says so each time
        warnings.simplefilter("ignore", UnstableSpecificationWarning)
        return zarr.open_array(folder, mode="r", zarr_format=3)
