"""Memory that several processes fill and then sort from: the columns of all samples.

Knows numbers that are there and numbers that are not (NaN); refuses to know what a column means.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count, pairwise
from mmap import mmap

import numpy as np

__all__ = ["SharedColumns", "share_columns"]

_OPEN: dict[int, "SharedColumns"] = {}
_KEYS = count()


class SharedColumns:
    """An array (columns, rows) float32 that is the same in this process and in those forked after it was made.

    It lies in memory block of rows after block of rows, so that each page of it is filled by one process, at once.
    It travels to other processes as a number. Made by `share_columns`.
    """

    def __init__(self, key: int, num_columns: int, ends: Sequence[int]) -> None:
        self.key = key
        self.num_columns, self.num_rows = num_columns, ends[-1]
        self._ends = dict(pairwise(ends))
        memory = mmap(-1, max(4 * num_columns * self.num_rows, 1))  # of no file, nor of /dev/shm, which may be small
        self._flat = np.frombuffer(memory, np.float32, num_columns * self.num_rows)
        self._scratch = np.empty(0, np.float32)  # each process has its own, and keeps it

    def __reduce__(self) -> tuple[object, ...]:
        return _find, (self.key,)

    def block(self, first: int) -> np.ndarray:
        """Return the block (columns, n) that begins at a row, to be written to; a row that does not count is NaN."""
        last = self._ends[first]
        return self._flat[self.num_columns * first : self.num_columns * last].reshape(self.num_columns, last - first)

    def gather(self, columns: slice) -> np.ndarray:
        """Return neighbouring columns (columns, rows), a copy that is good until the next call."""
        num = columns.stop - columns.start
        if len(self._scratch) < num * self.num_rows:
            self._scratch = np.empty(num * self.num_rows, np.float32)
        gathered = self._scratch[: num * self.num_rows].reshape(num, self.num_rows)
        for first, last in self._ends.items():
            gathered[:, first:last] = self.block(first)[columns]
        return gathered


def _find(key: int) -> SharedColumns:
    return _OPEN[key]


@contextmanager
def share_columns(num_columns: int, ends: Sequence[int]) -> Iterator[SharedColumns]:
    """Give memory for columns; processes that are to see it are started within the block.

    Args:
        num_columns: columns.
        ends: rows at which blocks of rows end, from 0 to the number of rows; each block is written whole.
    """
    shared = SharedColumns(next(_KEYS), num_columns, ends)
    _OPEN[shared.key] = shared
    try:
        yield shared
    finally:
        del _OPEN[shared.key]
