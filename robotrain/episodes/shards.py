"""Arrays read straight from their files, without Zarr's cost of a millisecond a call.

Knows the one encoding that `storage.Encoding` describes, and undoes it with Zarr's own codecs. Refuses to judge: where
anything is not as it should be it gives None, and what Zarr makes of it stands.
"""

import os
import weakref
from math import prod
from pathlib import Path

import numpy as np

from robotrain.episodes.storage import BYTES, Encoding, StoredArray

__all__ = ["ElementReader", "read_rows"]

MAX_OPEN = 256
"""Files that a process keeps open for reading; many systems allow it 1024 in all."""
_ABSENT = 2**64 - 1
"""Offset and length of a chunk that a shard does not hold."""
_ENTRY, _CHECKSUM, _LENGTH = 16, 4, 4
"""Bytes of an entry of an index, of its checksum, and of the length before each variable-length element."""
_BROKEN = (OSError, RuntimeError, ValueError, MemoryError, OverflowError)
"""What a file that is not there, not allowed, cut short or overwritten raises, here and in the codecs."""


class ElementReader:
    """Reads elements of an array of variable-length bytes. Keeps one file open, and the index of each shard.

    Args:
        stored: the array.
        encoding: how it is encoded.
    """

    def __init__(self, stored: StoredArray, encoding: Encoding) -> None:
        self._stored, self._sharded = stored, encoding.sharded
        (self._inner,) = encoding.inner_shape
        self._per_file = stored.chunk_shape[0] // self._inner
        self._indices: dict[int, tuple[_State, np.ndarray]] = {}
        self._open: tuple[int, _OpenFile] | None = None
        self._last: tuple[int, list[bytes]] | None = None

    def element(self, row: int) -> bytes | None:
        """Return one element, or None where it cannot be read this way."""
        number, place = divmod(row, self._inner)
        try:
            if self._inner == 1:
                return self._elements(number)[0]
            if self._last is None or self._last[0] != number:  # neighbours are often asked for next
                self._last = (number, self._elements(number))
            return self._last[1][place]
        except _BROKEN:
            return None

    def close(self) -> None:
        """Close the file; the next element opens it again."""
        self._open = None
        _readers.pop(id(self), None)

    def _elements(self, number: int) -> list[bytes]:
        """Return all elements of an inner chunk, counted from the start of the array."""
        outer, inner = divmod(number, self._per_file)
        if self._sharded:
            file = self._file(outer)
            if outer not in self._indices:
                self._indices[outer] = (file.state, _index_of(file.tail(_index_size(self._per_file))))
            state, index = self._indices[outer]
            if state != file.current_state():
                raise ValueError("the file was written to since its index was read")
            offset, length = _place(index, inner)
            encoded = file.read(offset, length)
        else:
            encoded = self._stored.chunk_file((outer,)).read_bytes()
        return _split(_decompress(encoded), self._inner)

    def _file(self, outer: int) -> "_OpenFile":
        if self._open is not None and self._open[0] == outer:
            return self._open[1]
        file = _OpenFile(self._stored.chunk_file((outer,)))
        if id(self) not in _readers:
            while len(_readers) >= MAX_OPEN:
                next(iter(_readers.values())).close()
            _readers[id(self)] = self
        self._open = (outer, file)
        return file


_readers: "weakref.WeakValueDictionary[int, ElementReader]" = weakref.WeakValueDictionary()
"""Those with an open file, the oldest first."""


def read_rows(stored: StoredArray, num_rows: int) -> np.ndarray | None:
    """Return the first rows (num_rows, ...) of an array of numbers, or None where they cannot be read this way."""
    encoding, width = stored.encoding, stored.shape[1:]
    if encoding is None or stored.data_type == BYTES or {stored.chunk_shape[1:], encoding.inner_shape[1:]} != {width}:
        return None
    sort = np.dtype(stored.data_type).newbyteorder(">" if encoding.endian == "big" else "<")
    outer_rows, inner_rows = stored.chunk_shape[0], encoding.inner_shape[0]
    num_inner, num_bytes = outer_rows // inner_rows, inner_rows * prod(width) * sort.itemsize
    values = np.empty((num_rows, *width), stored.data_type)
    try:
        for outer, file in enumerate(stored.chunk_files(num_rows)):
            content = file.read_bytes()
            index = _index_of(content[-_index_size(num_inner) :]) if encoding.sharded else None
            stop = min((outer + 1) * outer_rows, num_rows)
            for inner, start in enumerate(range(outer * outer_rows, stop, inner_rows)):
                offset, length = (0, len(content)) if index is None else _place(index, inner)
                decoded = _decompress(content[offset : offset + length])  # cut short, it does not decode
                if len(decoded) != num_bytes:
                    return None
                rows = np.frombuffer(decoded, sort).reshape(inner_rows, *width)
                values[start : start + inner_rows] = rows[: stop - start]
    except _BROKEN:
        return None
    return values


_State = tuple[int, int]
"""Size of a file and when it was last written to, ns."""


class _OpenFile:
    """A file that is open for reading until nothing refers to it."""

    def __init__(self, path: Path) -> None:
        self._descriptor = -1
        self._descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        self.state = self.current_state()

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def current_state(self) -> _State:
        told = os.fstat(self._descriptor)
        return told.st_size, told.st_mtime_ns

    def tail(self, length: int) -> bytes:
        return self.read(self.state[0] - length, length)

    def read(self, offset: int, length: int) -> bytes:
        if offset < 0 or offset + length > self.state[0]:
            raise ValueError("the file ends too early")
        return os.pread(self._descriptor, length, offset)


def _index_size(num_chunks: int) -> int:
    return num_chunks * _ENTRY + _CHECKSUM


def _index_of(content: bytes) -> np.ndarray:
    """Return the offset and length (n, 2) uint64 of each chunk of a shard, once their checksum is right."""
    import google_crc32c

    entries, checksum = content[:-_CHECKSUM], content[-_CHECKSUM:]
    if google_crc32c.value(entries).to_bytes(_CHECKSUM, "little") != checksum:
        raise ValueError("the checksum of the index is wrong")
    return np.frombuffer(entries, "<u8").reshape(-1, 2)


def _place(index: np.ndarray, inner: int) -> tuple[int, int]:
    offset, length = index[inner].tolist()
    if offset == _ABSENT:
        raise ValueError("the shard does not hold the chunk")
    return offset, length


def _decompress(encoded: bytes) -> bytes:
    from numcodecs.zstd import decompress

    return decompress(encoded)


def _split(content: bytes, num: int) -> list[bytes]:
    """Return the elements of an inner chunk: their number, then each one's length and bytes, little-endian uint32."""
    if len(content) < _LENGTH or int.from_bytes(content[:_LENGTH], "little") != num:
        raise ValueError("the chunk does not hold as many elements as its shape says")
    elements, at = [], _LENGTH
    for _ in range(num):
        start = at + _LENGTH
        at = start + int.from_bytes(content[at:start], "little")
        elements.append(content[start:at])
    if at != len(content):
        raise ValueError("the elements do not fill the chunk")
    return elements
