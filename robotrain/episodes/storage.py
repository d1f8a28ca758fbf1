"""Where the bytes of a Zarr array lie: its shape, its chunks, and the file of each.

Knows the metadata file of an array and the names of its chunk files; refuses to know how a chunk is encoded. Needed
because Zarr reads a chunk whose file is missing as fill values, without a word.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from robotrain.episodes.schema import hash_of, read_metadata
from robotrain.errors import EpisodeError

BYTES = "variable_length_bytes"
"""Zarr's name for the data type of pictures and annotations."""

MAX_FILES = 10_000_000
"""For one array, metadata that promise more are broken: 92 hours of pictures at 30 a second, each in its own file."""


@dataclass(frozen=True, slots=True)
class StoredArray:
    """What an array's metadata promise."""

    folder: Path
    shape: tuple[int, ...]
    data_type: str
    chunk_shape: tuple[int, ...]
    """Of the outer chunks: one file each (a shard, where there are shards)."""
    separator: str
    prefix: str
    """``c`` where chunk names begin with it, else empty."""

    def chunk_name(self, chunk: tuple[int, ...]) -> str:
        """Return the name, below the array's folder, of the file that holds an outer chunk."""
        parts = [self.prefix] * bool(self.prefix) + [str(index) for index in chunk]
        return self.separator.join(parts)

    def chunk_file(self, chunk: tuple[int, ...]) -> Path:
        """Return the file that holds an outer chunk."""
        return self.folder / self.chunk_name(chunk)

    def chunk_of_row(self, row: int) -> tuple[int, ...]:
        """Return the first outer chunk that holds a row."""
        return (row // self.chunk_shape[0], *(0 for _ in self.shape[1:]))

    def chunk_files(self, num_rows: int) -> Iterator[Path]:
        """Return the files that hold the first rows, in order."""
        return (self.chunk_file(chunk) for chunk in product(*map(range, self._num_chunks(num_rows))))

    def owns(self, name: str) -> bool:
        """Say whether a file below the array's folder is one of its chunks; padding is stored too."""
        parts = name.split(self.separator)
        if self.prefix:
            prefix, *parts = parts
            if prefix != self.prefix:
                return False
        counts = self._num_chunks(self.shape[0])
        return len(parts) == len(counts) and all(
            part.isdecimal() and str(int(part)) == part and int(part) < count
            for part, count in zip(parts, counts, strict=True)
        )

    @property
    def num_files(self) -> int:
        """How many files the whole array may have."""
        return prod(self._num_chunks(self.shape[0]))

    def _num_chunks(self, num_rows: int) -> list[int]:
        lengths = (min(num_rows, self.shape[0]), *self.shape[1:])
        return [-(-length // max(chunk, 1)) for length, chunk in zip(lengths, self.chunk_shape, strict=True)]


def read_stored_array(path: Path, array: str) -> StoredArray:
    """Read what the metadata of an episode's array promise.

    Raises:
        EpisodeError: when they are not there, or are not those of an array with regular chunks.
    """
    folder = path / array
    metadata = read_metadata(folder, hash_of(path))
    if metadata.get("node_type") != "array":
        raise EpisodeError(hash_of(path), "its metadata describe no array.", array=array)
    try:
        separator, prefix = _key_encoding(metadata["chunk_key_encoding"])
        shape = _lengths(metadata["shape"])
        chunk_shape = _lengths(metadata["chunk_grid"]["configuration"]["chunk_shape"])
        data_type = metadata["data_type"]
        data_type = data_type if isinstance(data_type, str) else str(data_type.get("name", data_type))
    except (AttributeError, KeyError, TypeError, ValueError) as problem:
        text = f"its metadata cannot be read: {type(problem).__name__} {problem}."
        raise EpisodeError(hash_of(path), text, array=array) from None
    if len(shape) != len(chunk_shape) or not shape:
        raise EpisodeError(hash_of(path), f"chunks of shape {chunk_shape} cannot tile {shape}.", array=array)
    stored = StoredArray(folder, shape, data_type, chunk_shape, separator, prefix)
    if stored.num_files > MAX_FILES:
        text = f"its metadata promise {stored.num_files} files, in chunks of shape {chunk_shape} of {shape}."
        raise EpisodeError(hash_of(path), text, array=array)
    return stored


def missing_chunk_files(stored: StoredArray, num_rows: int) -> tuple[Path, ...]:
    """Return the files of the first rows that are not there, or are empty."""
    return tuple(file for file in stored.chunk_files(num_rows) if not file.is_file() or file.stat().st_size == 0)


def _key_encoding(encoding: Mapping[str, Any]) -> tuple[str, str]:
    default = encoding["name"] == "default"
    separator = encoding.get("configuration", {}).get("separator", "/" if default else ".")
    if separator not in {"/", "."}:
        raise ValueError(f"names of chunks cannot be parted by {separator!r}")
    return separator, "c" if default else ""


def _lengths(told: Sequence[Any]) -> tuple[int, ...]:
    lengths = tuple(told)
    if not all(type(length) is int and length >= 0 for length in lengths):
        raise ValueError(f"{told!r} is no shape")
    return lengths
