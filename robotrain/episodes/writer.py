"""Writing an episode in EgoVerse's format, whole or not at all.

Knows the format to the byte: arrays padded to hundreds of rows, one shard each, pictures as JPEG, texts as JSON.
Refuses to know what the numbers mean. Rows are collected as they come, pictures already encoded; `finish` writes all of
it into a hidden folder beside the goal and renames that, so that no crash leaves what looks like an episode.
"""

import json
import os
import shutil
import warnings
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from robotrain.episodes.schema import (
    ANNOTATION_FORMAT,
    ANNOTATIONS,
    EMBODIMENT,
    FEATURES,
    FPS,
    ROWS,
    TASK_DESCRIPTION,
    TASK_NAME,
    TOTAL_FRAMES,
    camera_of,
    hash_of,
    image_array,
)
from robotrain.errors import EpisodeError, ExistingPathError
from robotrain.files import canonical_json, sync

if TYPE_CHECKING:
    import zarr

__all__ = ["JPEG_QUALITY", "EpisodeWriter"]

JPEG_QUALITY = 85
_RESERVED = (EMBODIMENT, TOTAL_FRAMES, FPS, TASK_NAME, TASK_DESCRIPTION, FEATURES)


class EpisodeWriter:
    """Collects one episode, and writes it when it is finished.

    Use it as a context manager: leaving the block finishes the episode, an exception drops it.

        with EpisodeWriter(path, embodiment="eva_bimanual", fps=30) as writer:
            writer.add_numbers({"left.obs_ee_pose": pose})
            writer.add_image("front_1", picture)
            writer.add_span("reach for the can", 0, 60)
    """

    def __init__(
        self,
        path: Path | str,
        *,
        embodiment: str,
        fps: Fraction | float,
        task_name: str = "",
        task_description: str = "",
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        self._path = Path(path)
        if self._path.exists():
            raise ExistingPathError(self._path, "The episode")
        self.hash = hash_of(self._path)
        rate = Fraction(fps).limit_denominator(1001)
        if rate <= 0:
            raise EpisodeError(self.hash, f"a rate of {fps} frames per second cannot be stored.")
        self._attributes = {
            EMBODIMENT: embodiment,
            TOTAL_FRAMES: 0,
            FPS: int(rate) if rate.denominator == 1 else float(rate),
            TASK_NAME: task_name,
            TASK_DESCRIPTION: task_description,
        }
        self._extra = dict(attributes or {})
        if clash := [name for name in _RESERVED if name in self._extra]:
            raise EpisodeError(self.hash, f"the attributes {clash} have arguments of their own.")
        try:
            canonical_json(self._attributes | self._extra)
        except (TypeError, ValueError) as problem:
            raise EpisodeError(self.hash, f"its attributes cannot be written as JSON: {problem}.") from None
        self._rows: dict[str, list[np.ndarray]] = {}
        self._pictures: dict[str, list[bytes]] = {}
        self._sizes: dict[str, tuple[int, int]] = {}
        self._spans: list[tuple[str, int, int]] = []
        self._finished = False

    def __enter__(self) -> "EpisodeWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.finish()

    def add_numbers(self, values: Mapping[str, np.ndarray]) -> None:
        """Append rows to numeric arrays: each (n, D), or (D,) for one row; the first rows fix the width and dtype.

        Raises:
            EpisodeError: when an array's name, width or dtype cannot be stored or differs from before.
        """
        self._require_open()
        for array, value in values.items():
            rows = np.atleast_2d(np.asarray(value))
            self._check_name(array)
            if rows.ndim != 2 or rows.shape[1] < 1 or rows.dtype.kind not in "iufb":
                text = f"rows of shape {rows.shape} and type {rows.dtype} cannot be stored."
                raise EpisodeError(self.hash, text, array=array)
            kept = self._rows.setdefault(array, [])
            first = kept[0] if kept else rows
            if (rows.shape[1], rows.dtype) != (first.shape[1], first.dtype):
                text = (
                    f"rows of {rows.shape[1]} {rows.dtype} do not fit the first ones, {first.shape[1]} {first.dtype}."
                )
                raise EpisodeError(self.hash, text, array=array)
            kept.append(rows.copy())

    def add_image(self, camera: str, picture: np.ndarray | bytes) -> None:
        """Append a camera's next picture: (h, w, 3) uint8 RGB, or a JPEG that is kept as it is.

        Raises:
            EpisodeError: when it is neither, or its size differs from the first one's.
        """
        import simplejpeg

        self._require_open()
        array, frame = image_array(camera), len(self._pictures.get(camera, ()))
        self._check_name(array)
        if isinstance(picture, np.ndarray):
            if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
                text = f"a picture is (h, w, 3) uint8, and this is {picture.shape} {picture.dtype}."
                raise EpisodeError(self.hash, text, array=array, frame=frame)
            size = picture.shape[:2]
            content = simplejpeg.encode_jpeg(
                np.ascontiguousarray(picture), quality=JPEG_QUALITY, colorspace="RGB", colorsubsampling="444"
            )
        else:
            content = bytes(picture)
            try:
                height, width = simplejpeg.decode_jpeg_header(content)[:2]
            except ValueError as problem:
                text = f"these bytes are no JPEG: {problem}."
                raise EpisodeError(self.hash, text, array=array, frame=frame) from None
            size = (int(height), int(width))
        first = self._sizes.setdefault(camera, (size[0], size[1]))
        if first != tuple(size):
            text = f"a picture of {size[1]}x{size[0]} follows one of {first[1]}x{first[0]}."
            raise EpisodeError(self.hash, text, array=array, frame=frame)
        self._pictures.setdefault(camera, []).append(content)

    def add_span(self, text: str, start: int, end: int) -> None:
        """Add a text that holds for frames start to end, end left out.

        Raises:
            EpisodeError: when no frame can lie in it.
        """
        self._require_open()
        if not 0 <= start < end:
            raise EpisodeError(self.hash, f"no frame lies from {start} up to {end}.", array=ANNOTATIONS)
        self._spans.append((text, int(start), int(end)))

    def finish(self) -> Path:
        """Write the episode and return its path; a second call returns it again.

        Raises:
            EpisodeError: when arrays and pictures differ in length, there are none, or a text reaches past the end.
            ExistingPathError: when the path has come to exist meanwhile.
        """
        if self._finished:
            return self._path
        num_frames = self._num_frames()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        partial = self._path.parent / f".{self.hash}.partial-{os.getpid()}"
        if partial.exists():  # left by a killed process that had our number
            shutil.rmtree(partial)
        try:
            self._write(partial, num_frames)
            _sync_tree(partial)
            if self._path.exists():
                raise ExistingPathError(self._path, "The episode")
            partial.rename(self._path)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        sync(self._path.parent)
        self._finished = True
        return self._path

    def _require_open(self) -> None:
        if self._finished:
            raise EpisodeError(self.hash, "it is finished, and nothing can be added.")

    def _check_name(self, array: str) -> None:
        faults = ("/" in array, array.startswith("."), array == ANNOTATIONS, camera_of(array) == "", not array)
        if any(faults) or (camera_of(array) is not None and array in self._rows):
            raise EpisodeError(self.hash, "this name cannot be an array's.", array=array)

    def _num_frames(self) -> int:
        lengths = {array: sum(len(rows) for rows in parts) for array, parts in self._rows.items()}
        lengths |= {image_array(camera): len(pictures) for camera, pictures in self._pictures.items()}
        found = sorted(set(lengths.values()))
        if not found or found[-1] == 0:
            raise EpisodeError(self.hash, "it has no frames to write.")
        if len(found) > 1:
            told = ", ".join(f"{array} {length}" for array, length in lengths.items())
            raise EpisodeError(self.hash, f"its arrays differ in length: {told}.")
        for text, start, end in self._spans:
            if end > found[0]:
                problem = f"the text '{text}' from {start} up to {end} reaches past the {found[0]} frames."
                raise EpisodeError(self.hash, problem, array=ANNOTATIONS)
        return found[0]

    def _features(self) -> dict[str, Any]:
        features: dict[str, Any] = {
            array: {"dtype": str(parts[0].dtype), "shape": [parts[0].shape[1]], "names": ["dim_0"]}
            for array, parts in self._rows.items()
        }
        for camera, (height, width) in self._sizes.items():
            shape = [height, width, 3]
            features[image_array(camera)] = {"dtype": "jpeg", "shape": shape, "names": ["height", "width", "channel"]}
        texts = {"dtype": "json", "shape": [len(self._spans)], "names": ["json"], "format": ANNOTATION_FORMAT}
        return features | {ANNOTATIONS: texts}

    def _write(self, folder: Path, num_frames: int) -> None:
        import zarr
        from zarr.errors import UnstableSpecificationWarning

        attributes = self._attributes | {TOTAL_FRAMES: num_frames, FEATURES: self._features()} | self._extra
        padded = -(-num_frames // ROWS) * ROWS
        with warnings.catch_warnings():  # variable-length bytes have no agreed v3 specification
            warnings.simplefilter("ignore", UnstableSpecificationWarning)
            group = zarr.create_group(folder, zarr_format=3, attributes=attributes)
            for array, parts in self._rows.items():
                values = np.zeros((padded, parts[0].shape[1]), dtype=parts[0].dtype)
                values[:num_frames] = np.concatenate(parts)
                _write_numbers(group, array, values)
            for camera, pictures in self._pictures.items():
                _write_bytes(group, image_array(camera), pictures + pictures[-1:] * (padded - num_frames), chunk=1)
            texts = [_annotation(*span) for span in self._spans]
            _write_bytes(group, ANNOTATIONS, texts, chunk=max(1, len(texts)))


def _write_numbers(group: "zarr.Group", array: str, values: np.ndarray) -> None:
    from zarr.codecs import ZstdCodec

    group.create_array(
        array,
        data=values,
        chunks=(min(ROWS, len(values)), values.shape[1]),
        shards=values.shape,
        compressors=ZstdCodec(level=0, checksum=False),
        fill_value=values.dtype.type(0),
        config={"write_empty_chunks": True},
    )


def _write_bytes(group: "zarr.Group", array: str, elements: list[bytes], chunk: int) -> None:
    from zarr.codecs import ZstdCodec
    from zarr.dtype import VariableLengthBytes

    stored = group.create_array(
        array,
        shape=(len(elements),),
        dtype=VariableLengthBytes(),
        chunks=(chunk,),
        shards=(max(1, len(elements)),),
        compressors=ZstdCodec(level=0, checksum=False),
        fill_value=b"",
        config={"write_empty_chunks": True},
    )
    if elements:
        values = np.empty(len(elements), dtype=object)
        values[:] = elements
        stored[:] = values


def _annotation(text: str, start: int, end: int) -> bytes:
    told = {"text": text, "start_idx": start, "end_idx": end}
    return json.dumps(told, separators=(",", ":"), ensure_ascii=False).encode()


def _sync_tree(folder: Path) -> None:
    """Flush every file and every list of names to disk, several at a time: a disk takes them together."""
    places = [(Path(place), files) for place, _, files in os.walk(folder)]
    with ThreadPoolExecutor(max_workers=16) as pool:
        list(pool.map(sync, [place / file for place, files in places for file in files]))
        list(pool.map(sync, [place for place, _ in places]))
