"""Where the bytes of a Zarr array lie: its shape, its chunks, the file of each, and whether it is encoded as usual.

Knows the metadata file of an array and the names of its chunk files; refuses to read a chunk. Needed because Zarr reads
a chunk whose file is missing as fill values, without a word, and takes a millisecond to read anything.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import prod
from pathlib import Path
from typing import Any

from robotrain.episodes.schema import hash_of, read_metadata
from robotrain.errors import EpisodeError

BYTES = "variable_length_bytes"
"""Zarr's name for the data type of pictures and annotations."""

MAX_FILES = 10_000_000
"""For one array, metadata that promise more are broken: 92 hours of pictures at 30 a second, each in its own file."""
MAX_ELEMENTS = 1_000_000_000
"""Of one array; metadata that promise more are broken: 44 hours of 200 numbers at 30 a second."""
MAX_MISSING = 10_000
"""Missing files of one array that are counted: metadata may promise any number of them."""

_NUMBERS = {"bool": bool} | dict.fromkeys((f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)), int)
_NUMBERS |= dict.fromkeys(("float16", "float32", "float64"), float)
"""Data types of numbers, and what Python makes of a fill value in their metadata."""
_KEYS = {"zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs"}
_MORE_KEYS = {"attributes", "dimension_names", "storage_transformers"}


@dataclass(frozen=True, slots=True)
class Encoding:
    """The usual way to encode the chunks of an array: numbers or variable-length bytes, then zstd."""

    inner_shape: tuple[int, ...]
    """Of what is encoded as one: the chunks inside a shard, the outer chunks where there are no shards."""
    sharded: bool
    """Whether a file holds many of them, with an index at its end: offset and length of each as little-endian uint64,
    C order, then the CRC32C of that."""
    endian: str
    """Of numbers: ``little`` or ``big``; empty where a number is one byte, and for bytes."""


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
    encoding: Encoding | None = None
    """None where it is not the usual one: then only Zarr can read the array."""

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
    encoding = _usual_encoding(metadata, shape, chunk_shape)
    stored = StoredArray(folder, shape, data_type, chunk_shape, separator, prefix, encoding)
    if stored.num_files > MAX_FILES:
        text = f"its metadata promise {stored.num_files} files, in chunks of shape {chunk_shape} of {shape}."
        raise EpisodeError(hash_of(path), text, array=array)
    if prod(shape) > MAX_ELEMENTS:
        raise EpisodeError(hash_of(path), f"its metadata promise {prod(shape)} elements, shape {shape}.", array=array)
    return stored


def missing_chunk_files(stored: StoredArray, num_rows: int) -> tuple[Path, ...]:
    """Return the files of the first rows that are not there, or are empty: the first `MAX_MISSING` of them."""
    lost = (file for file in stored.chunk_files(num_rows) if not file.is_file() or file.stat().st_size == 0)
    return tuple(islice(lost, MAX_MISSING))


def missing_words(missing: Sequence[Path], path: Path) -> str:
    """Return which files of an episode are missing: "the file 'a/c/0' and 3 more is missing or empty."."""
    least = "at least " if len(missing) == MAX_MISSING else ""
    more = f" and {least}{len(missing) - 1:,} more" if len(missing) > 1 else ""
    return f"the file '{missing[0].relative_to(path).as_posix()}'{more} is missing or empty."


def _usual_encoding(
    metadata: Mapping[str, Any], shape: tuple[int, ...], chunk_shape: tuple[int, ...]
) -> Encoding | None:
    """Return how chunks are encoded where every word of the metadata is a known one, else None."""
    try:
        known = metadata.keys() >= _KEYS and metadata.keys() <= _KEYS | _MORE_KEYS
        if not known or not _is_plain(metadata, len(shape)) or not all(chunk_shape):
            return None
        outer = metadata["codecs"]
        if outer[0]["name"] != "sharding_indexed":
            return _chain(outer, metadata["data_type"], chunk_shape, sharded=False)
        (shards,) = outer
        configuration = shards["configuration"]
        inner_shape = _lengths(configuration["chunk_shape"])
        tiles = len(inner_shape) == len(shape) and all(
            inner > 0 and whole % inner == 0 for whole, inner in zip(chunk_shape, inner_shape, strict=True)
        )
        index, checksum = configuration["index_codecs"]
        usual = (
            tiles
            and configuration.keys() == {"chunk_shape", "codecs", "index_codecs", "index_location"}
            and configuration["index_location"] == "end"
            and index == {"name": "bytes", "configuration": {"endian": "little"}}
            and checksum in ({"name": "crc32c"}, {"name": "crc32c", "configuration": {}})
        )
        return _chain(configuration["codecs"], metadata["data_type"], inner_shape, sharded=True) if usual else None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return None  # an array of another kind: Zarr says what it thinks of it


def _is_plain(metadata: Mapping[str, Any], num_axes: int) -> bool:
    """Say whether the metadata beside shape and codecs are ones that Zarr takes as a matter of course."""
    data_type, fill = metadata["data_type"], metadata["fill_value"]
    names = metadata.get("dimension_names")
    empty = fill == "" if data_type == BYTES else fill == 0 and type(fill) in {int, _NUMBERS[data_type]}
    return (
        empty
        and (data_type != "bool" or type(fill) is bool)
        and metadata["chunk_grid"]["name"] == "regular"
        and metadata["chunk_key_encoding"]["name"] in {"default", "v2"}
        and isinstance(metadata.get("attributes", {}), dict)
        and metadata.get("storage_transformers", []) == []
        and (names is None or (isinstance(names, list) and len(names) == num_axes))
    )


def _chain(
    codecs: Sequence[Mapping[str, Any]], data_type: str, inner_shape: tuple[int, ...], *, sharded: bool
) -> Encoding | None:
    first, second = codecs
    if second["name"] != "zstd" or not second["configuration"].keys() <= {"level", "checksum"}:
        return None
    told = first.get("configuration", {})
    if data_type == BYTES:
        return Encoding(inner_shape, sharded, "") if first["name"] == "vlen-bytes" and told == {} else None
    endian = "" if data_type in {"bool", "int8", "uint8"} else told["endian"]
    if first["name"] != "bytes" or not told.keys() <= {"endian"} or endian not in {"", "little", "big"}:
        return None
    return Encoding(inner_shape, sharded, endian)


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
