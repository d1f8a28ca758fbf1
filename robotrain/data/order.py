"""The order in which samples are seen: pure functions of a seed and a position.

Knows sample numbers; refuses to know what a sample is. The training order is one endless row of shuffled passes over
the data. Global batch k is its entries k*R*B to (k+1)*R*B for R processes of B samples each, and process r takes every
R-th of them from the r-th on: no entry is lost or seen twice, and any batch can be named without those before it.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

TRAIN_STREAM, VALID_STREAM = 0, 1


@dataclass(frozen=True)
class Share:
    """Which part of every global batch one process takes."""

    rank: int = 0
    world: int = 1
    """Number of processes, R."""


def compute_pass(num_samples: int, seed: int, pass_index: int) -> np.ndarray:
    """Return the order (N,) of one pass over the data."""
    return np.random.default_rng([seed, TRAIN_STREAM, pass_index]).permutation(num_samples)


def entries(num_samples: int, seed: int, start: int, stop: int) -> np.ndarray:
    """Return the samples at places ``start`` to ``stop`` of the endless training order."""
    first, last = start // num_samples, max(start, stop - 1) // num_samples
    passes = [compute_pass(num_samples, seed, index) for index in range(first, last + 1)]
    offset = first * num_samples
    return np.concatenate(passes)[start - offset : stop - offset]


class TrainOrder:
    """Batches of sample numbers for one process, an epoch at a time.

    Args:
        num_samples: N.
        batch_size: samples a batch and process, B.
        seed: of the order.
        batches_per_epoch: batches that an epoch takes; epoch e begins at global batch e * batches_per_epoch.
        share: this process's part.
        start: global batches that were trained on before: the first iteration begins with this one, and ends with the
            epoch that it lies in.
    """

    def __init__(
        self, num_samples: int, batch_size: int, seed: int, batches_per_epoch: int, share: Share, start: int = 0
    ) -> None:
        self.num_samples, self.batch_size, self.seed = num_samples, batch_size, seed
        self.batches_per_epoch, self.share, self.start = batches_per_epoch, share, start
        self.epoch = start // batches_per_epoch
        self._begun = False

    @property
    def sampler(self) -> "TrainOrder":
        """Itself: Lightning looks for `set_epoch` on a batch sampler's sampler."""
        return self

    def set_epoch(self, epoch: int) -> None:
        """Begin at this epoch the next time it is iterated; Lightning calls it.

        Before the first iteration it changes nothing: Lightning's count is wrong inside an epoch, and ``start`` knows.
        """
        if self._begun or not self.start:
            self.epoch = epoch

    def __len__(self) -> int:
        return self.batches_per_epoch

    def batch(self, index: int) -> list[int]:
        """Return this process's part of global batch ``index``, counted from the start of training."""
        step = self.share.world * self.batch_size
        whole = entries(self.num_samples, self.seed, index * step, (index + 1) * step)
        return whole[self.share.rank :: self.share.world].tolist()

    def __iter__(self) -> Iterator[list[int]]:
        self._begun = True
        step = self.share.world * self.batch_size
        begin, end = self.epoch * self.batches_per_epoch, (self.epoch + 1) * self.batches_per_epoch
        if begin < self.start < end:
            begin = self.start
        row = entries(self.num_samples, self.seed, begin * step, end * step)
        for batch in row.reshape(-1, step):
            yield batch[self.share.rank :: self.share.world].tolist()


class PlacedOrder:
    """A training order that gives each sample with its epoch, by which a bad one is replaced.

    Args:
        order: the training order.
    """

    def __init__(self, order: TrainOrder) -> None:
        self.order = order

    @property
    def sampler(self) -> "PlacedOrder":
        """Itself: Lightning looks for `set_epoch` on a batch sampler's sampler."""
        return self

    def set_epoch(self, epoch: int) -> None:
        """Begin at this epoch the next time it is iterated, see `TrainOrder.set_epoch`."""
        self.order.set_epoch(epoch)

    def places(self, index: int) -> list[tuple[int, int]]:
        """Return this process's part of global batch ``index``: epoch and sample number."""
        epoch = index // self.order.batches_per_epoch
        return [(epoch, sample) for sample in self.order.batch(index)]

    def __len__(self) -> int:
        return len(self.order)

    def __iter__(self) -> Iterator[list[tuple[int, int]]]:
        for batch in self.order:
            yield [(self.order.epoch, sample) for sample in batch]


class ValidOrder:
    """Batches of sample numbers that see every sample once, the same ones each time.

    The order is shuffled, so that a validation cut short scores an even sample of all episodes. The last batch may be
    smaller; where samples run out, some processes have one batch less.

    Args:
        num_samples: N.
        batch_size: samples a batch and process, B.
        seed: of the order.
        share: this process's part.
    """

    def __init__(self, num_samples: int, batch_size: int, seed: int, share: Share) -> None:
        self.order = np.random.default_rng([seed, VALID_STREAM]).permutation(num_samples)
        self.batch_size, self.share = batch_size, share

    @property
    def _mine(self) -> np.ndarray:
        return self.order[self.share.rank :: self.share.world]

    def __len__(self) -> int:
        return math.ceil(len(self._mine) / self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        mine = self._mine.tolist()
        return (mine[start : start + self.batch_size] for start in range(0, len(mine), self.batch_size))
