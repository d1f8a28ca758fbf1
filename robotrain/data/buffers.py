"""Memory for the pictures of batches: the same again and again, or shared where another process reads them.

Knows bytes; refuses to know pictures. Fresh memory costs a page fault for every 4 KiB, a tenth of what decoding takes.
"""

import weakref

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import get_worker_info

from robotrain.data import slots


class Buffers:
    """Gives out uint8 tensors; takes the memory of each back when nothing refers to it any more.

    It never holds more than was in use at one time, and of no other size than is asked for now.
    """

    def __init__(self) -> None:
        self._idle: list[np.ndarray] = []

    def __reduce__(self) -> tuple[type["Buffers"], tuple[()]]:
        return (Buffers, ())  # memory stays where it is

    def empty(self, shape: tuple[int, ...]) -> Tensor:
        """Return a tensor (*shape) uint8 of unknown values; in shared memory in a loader's process."""
        num_bytes = int(np.prod(shape))
        if get_worker_info() is not None:  # else the loader would copy it there
            if (room := slots.take(num_bytes)) is not None:
                return torch.from_numpy(room).view(shape)
            storage = torch.UntypedStorage._new_shared(num_bytes)  # noqa: SLF001  # as torch's own collation does
            return torch.empty(0, dtype=torch.uint8).set_(storage).view(shape)
        whole = next((each for each in self._idle if each.size == num_bytes), None)
        if whole is None:
            self._idle.clear()
            whole = np.empty(num_bytes, np.uint8)
        else:
            self._idle = [each for each in self._idle if each is not whole]
        lent = whole[:]  # lives as long as a tensor that is made of it
        weakref.finalize(lent, self._take_back, whole).atexit = False
        return torch.from_numpy(lent).view(shape)

    def _take_back(self, whole: np.ndarray) -> None:
        self._idle.append(whole)
