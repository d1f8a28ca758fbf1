"""Memory that a loader's processes share from their start, in slots of one batch each.

Knows bytes and processes; refuses to know what a batch is. Sent in the usual way, each tensor of each batch is written
to fresh shared memory: a page fault for every 4 KiB, a third of what decoding takes, and a file handle a tensor. Here a
worker makes its batch in a slot, whose pages were touched before, and sends its number.

    main process   lend -> number, with what is asked for        unpack: tensors over the slot; free when all are gone
    worker                   fill: makes the batch in the slot, and pickles what is left of it
"""

import ctypes
import io
import mmap
import pickle
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np
import torch
from torch import Tensor

ALIGNMENT = 64
"""Bytes: that of a tensor of torch's own."""
BATCHES_IN_USE = 3
"""That the main process may hold at a time before batches come in the usual way: the one that is trained on, the next
one on its way to the device, and one in between."""


class Filling:
    """A slot while a worker makes a batch in it."""

    def __init__(self, memory: np.ndarray) -> None:
        self.memory, self.used = memory, 0

    @classmethod
    def over(cls, slots: "Slots", number: int) -> "Filling":
        """Return a slot as it is before anything lies in it."""
        return cls(np.frombuffer(slots.memory, np.uint8, slots.num_bytes, number * slots.num_bytes))

    def take(self, num_bytes: int) -> np.ndarray | None:
        """Return (num_bytes,) uint8 of the slot that nothing else holds, or None where it has no such room."""
        begin = -(-self.used // ALIGNMENT) * ALIGNMENT
        if begin + num_bytes > len(self.memory):
            return None
        self.used = begin + num_bytes
        return self.memory[begin : self.used]

    def place_of(self, tensor: Tensor) -> int | None:
        """Return at which byte of the slot a tensor lies; copies it there where it lies elsewhere, if there is room."""
        begin = tensor.data_ptr() - self.memory.ctypes.data
        if not 0 <= begin < self.used:
            room = self.take(tensor.numel() * tensor.element_size())
            if room is None:
                return None
            torch.from_numpy(room).view(tensor.dtype).view(tensor.shape).copy_(tensor)
            begin = room.ctypes.data - self.memory.ctypes.data
        return begin


_filling: Filling | None = None
"""In a worker: the slot of the batch that is made just now, of which there is one at a time."""


def take(num_bytes: int) -> np.ndarray | None:
    """Return (num_bytes,) uint8 of the slot that is being filled; None where none is, or it has no such room."""
    return None if _filling is None else _filling.take(num_bytes)


class Lent(list[Any]):
    """What is asked for, with the slot that it is to be made in."""

    def __init__(self, wanted: list[Any], number: int) -> None:
        super().__init__(wanted)
        self.number = number

    def __reduce__(self) -> tuple[type["Lent"], tuple[list[Any], int]]:
        return Lent, (list(self), self.number)


@dataclass(frozen=True)
class Packed:
    """A batch on its way to the main process: its tensors lie in a slot, and the rest is pickled."""

    pool: int
    number: int
    rest: bytes

    def unpack(self) -> Any:
        """Return the batch; once only, in the main process."""
        return _pools[self.pool].unpack(self)

    def pin_memory(self) -> Any:
        """Return the batch in page-locked memory: torch's own thread asks for it, where there is an accelerator."""
        return self.unpack().pin_memory()


class Slots:
    """Slots of equal size, made before the workers start.

    A worker that is started by anything but a fork has none of this memory, and its batches come in the usual way.

    Args:
        num: slots.
        num_bytes: of each.
    """

    def __init__(self, num: int, num_bytes: int) -> None:
        self.num_bytes = -(-num_bytes // mmap.PAGESIZE) * mmap.PAGESIZE
        self.memory = mmap.mmap(-1, num * self.num_bytes)  # shared with forked processes; no page of it exists yet
        self._free = list(range(num))
        self._lent: set[int] = set()
        self.name = next(_names)
        _pools[self.name] = self

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        return _no_slots, ()

    def lend(self, wanted: list[Any]) -> list[Any]:
        """Return what is asked for, with a slot where one is free. The slot used last goes first: its pages exist."""
        if not self._free:
            return wanted
        number = self._free.pop()
        self._lent.add(number)
        return Lent(wanted, number)

    def take_back(self) -> None:
        """Take back the slots whose batches never came; no worker may be at work."""
        while self._lent:
            self._free.append(self._lent.pop())

    def fill(self, number: int, make: Callable[[], Any]) -> Packed:
        """Make a batch in a slot, in a worker."""
        global _filling  # noqa: PLW0603  # as a process makes one batch at a time
        _filling = Filling.over(self, number)
        try:
            made, stream = make(), io.BytesIO()
            _Packer(_filling, stream).dump(made)
        finally:
            _filling = None
        return Packed(self.name, number, stream.getvalue())

    def unpack(self, packed: Packed) -> Any:
        """Return a batch whose tensors are the slot; it is free again when all of them are gone."""
        held = (ctypes.c_uint8 * self.num_bytes).from_buffer(self.memory, packed.number * self.num_bytes)
        # Every array over it keeps it, and so does every tensor over such an array, whatever is made of it.
        weakref.finalize(held, self._free.append, packed.number).atexit = False
        self._lent.discard(packed.number)
        return _Unpacker(memoryview(held).cast("B"), packed.rest).load()


def make_slots(num: int, num_bytes: int) -> Slots | None:
    """Return slots; None where none are asked for, or the system promises no such memory."""
    try:
        return Slots(num, num_bytes) if num and num_bytes else None
    except OSError:
        return None


class LendingOrder:
    """An order of batches, each with a slot to be made in."""

    def __init__(self, order: Iterable[list[Any]], slots: Slots) -> None:
        self.order, self.slots = order, slots

    @property
    def sampler(self) -> Iterable[list[Any]]:
        """The order itself: Lightning looks for `set_epoch` on a batch sampler's sampler."""
        return self.order

    def set_epoch(self, epoch: int) -> None:
        """Begin at this epoch the next time, where the order knows epochs."""
        if (set_epoch := getattr(self.order, "set_epoch", None)) is not None:
            set_epoch(epoch)

    def __len__(self) -> int:
        return len(self.order)  # pyright: ignore[reportArgumentType]  # orders have a length

    def __iter__(self) -> Iterator[list[Any]]:
        self.slots.take_back()  # the loader asks for the first batch of an epoch when its workers have ended the last
        for wanted in self.order:
            yield self.slots.lend(wanted)


class _Packer(ForkingPickler):
    """Leaves in the slot what lies there or finds room; what does not is sent in the usual way."""

    def __init__(self, filling: Filling, stream: io.BytesIO) -> None:
        super().__init__(stream, pickle.HIGHEST_PROTOCOL)
        self.filling = filling

    def persistent_id(self, obj: Any) -> tuple[int, torch.dtype, tuple[int, ...]] | None:
        if type(obj) is not Tensor or not obj.numel() or not obj.is_contiguous() or obj.requires_grad:
            return None
        place = self.filling.place_of(obj)
        return None if place is None else (place, obj.dtype, tuple(obj.shape))


class _Unpacker(pickle.Unpickler):
    def __init__(self, held: memoryview, rest: bytes) -> None:
        super().__init__(io.BytesIO(rest))
        self.held = held

    def persistent_load(self, pid: tuple[int, torch.dtype, tuple[int, ...]]) -> Tensor:
        place, dtype, shape = pid
        num_bytes = int(np.prod(shape)) * dtype.itemsize
        return torch.from_numpy(np.frombuffer(self.held, np.uint8, num_bytes, place)).view(dtype).view(shape)


_names = count()
_pools: "weakref.WeakValueDictionary[int, Slots]" = weakref.WeakValueDictionary()
"""Of this process, by name: what comes from a worker names the pool that it lies in."""


def _no_slots() -> None:
    return None
