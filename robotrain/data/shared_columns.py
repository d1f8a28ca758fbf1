"""Memory that several processes fill and sort together: the columns of all samples, one after the other.

Knows numbers that are there and numbers that are not (NaN); refuses to know what a column means.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from mmap import mmap

import numpy as np

__all__ = ["SharedColumns", "share_columns"]

_OPEN: dict[int, "SharedColumns"] = {}
_KEYS = count()


class SharedColumns:
    """An array (columns, rows) float32 that is the same in this process and in those forked after it was made.

    It travels to them as a number. Made by `share_columns`.
    """

    def __init__(self, key: int, num_columns: int, num_rows: int) -> None:
        self.key = key
        self.shape = (num_columns, num_rows)
        memory = mmap(-1, max(4 * num_columns * num_rows, 1))  # of no file, and not of /dev/shm, which may be small
        self.values = np.frombuffer(memory, np.float32, num_columns * num_rows).reshape(self.shape)
        """A column's row that does not count is NaN."""

    def __reduce__(self) -> tuple[object, ...]:
        return _find, (self.key,)

    def sort(self, columns: slice) -> np.ndarray:
        """Return the numbers (n,) of neighbouring columns that count, together and sorted, in the columns' place."""
        flat = self.values[columns].reshape(-1)
        assert flat.base is not None  # noqa: S101 -- a view: a copy would be sorted in vain
        flat.sort()  # NaN goes to the end
        return flat[: int(np.searchsorted(flat, np.float32(np.nan)))]


def _find(key: int) -> SharedColumns:
    return _OPEN[key]


@contextmanager
def share_columns(num_columns: int, num_rows: int) -> Iterator[SharedColumns]:
    """Give memory for columns; processes that are to see it are started within the block."""
    shared = SharedColumns(next(_KEYS), num_columns, num_rows)
    _OPEN[shared.key] = shared
    try:
        yield shared
    finally:
        del _OPEN[shared.key]
