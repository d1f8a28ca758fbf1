"""Loaders of training and validation batches, for Lightning.

Knows order, processes and memory; refuses to know what a sample is. Which batch comes when is a function of the seed
and its number alone, whatever the workers do.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader

from robotrain.batch import Batch
from robotrain.data.dataset import WindowDataset
from robotrain.data.order import PlacedOrder, Share, TrainOrder, ValidOrder
from robotrain.data.replacement import ReplacedSamples
from robotrain.data.slots import BATCHES_IN_USE, LendingOrder, Lent, Packed, Slots, make_slots
from robotrain.errors import ConfigError, RobotrainError, WorkerDiedError
from robotrain.processes import die_with_parent, leave_signals_to_parent

PREFETCHED = 2
"""Batches that each worker has in hand or done."""


class _Samples(Protocol):
    def __getitems__(self, indices: list[Any], /) -> Any: ...


class EpisodesDataModule(pl.LightningDataModule):
    """Training and validation loaders over two data sets.

    Args:
        train: samples to learn from.
        valid: samples to validate on; None for no validation.
        batch_size: samples a batch and process.
        num_workers: loader processes beside each main one; 0 loads in the main process.
        seed: of the order.
        steps_per_epoch: batches that an epoch takes.
        replaced: the training samples with the bad ones replaced; None trains on all of them.

    Raises:
        ConfigError: when a number makes no sense, or the training set is empty.
    """

    def __init__(
        self,
        train: WindowDataset,
        valid: WindowDataset | None,
        *,
        batch_size: int,
        num_workers: int,
        seed: int,
        steps_per_epoch: int,
        replaced: ReplacedSamples | None = None,
    ) -> None:
        super().__init__()
        for name, value, least in (
            ("batch_size", batch_size, 1),
            ("num_workers", num_workers, 0),
            ("steps_per_epoch", steps_per_epoch, 1),
        ):
            if value < least:
                raise ConfigError(f"{name} must be at least {least}, found {value}.")
        if len(train) == 0:
            raise ConfigError("No frame of the training episodes has a recorded step: there is nothing to learn from.")
        self.train, self.valid, self.replaced = train, valid, replaced
        self.batch_size, self.num_workers = batch_size, num_workers
        self.seed, self.steps_per_epoch = seed, steps_per_epoch

    def train_dataloader(self) -> DataLoader[Batch]:
        """Return the loader of training batches, for this process of the trainer."""
        order = self.train_order()
        return (
            self._loader(self.train, order, self.train.sample_bytes)
            if self.replaced is None
            else self._loader(self.replaced, PlacedOrder(order), self.train.sample_bytes)
        )

    def train_order(self) -> TrainOrder:
        """Return the order of training samples, for this process of the trainer, from where it stands."""
        begun = self._num_trained_on()
        return TrainOrder(len(self.train), self.batch_size, self.seed, self.steps_per_epoch, self._share(), begun)

    def val_dataloader(self) -> DataLoader[Batch] | list[Any]:
        """Return the loader of validation batches, for this process of the trainer; an empty list without any."""
        if self.valid is None or len(self.valid) == 0:
            return []
        order = ValidOrder(len(self.valid), self.batch_size, self.seed, self._share())
        return self._loader(self.valid, order, self.valid.sample_bytes)

    def _num_trained_on(self) -> int:
        """Return the batches that optimiser steps were made of: what was only fetched ahead does not count."""
        return 0 if self.trainer is None else self.trainer.global_step * self.trainer.accumulate_grad_batches

    def _share(self) -> Share:
        trainer = self.trainer
        return Share() if trainer is None else Share(trainer.global_rank, trainer.world_size)

    def _loader(self, dataset: _Samples, order: Iterable[list[Any]], sample_bytes: int = 0) -> DataLoader[Batch]:
        room = sample_bytes * self.batch_size
        return build_loader(dataset, order, num_workers=self.num_workers, seed=self.seed, batch_bytes=room)


def build_loader(
    samples: _Samples, order: Iterable[list[Any]], *, num_workers: int, seed: int, batch_bytes: int = 0
) -> DataLoader[Any]:
    """Return the loader of batches in an order; of a `data/mixture.py` too.

    Args:
        samples: make a whole batch of what the order gives.
        order: of each batch, in the order of batches.
        num_workers: loader processes beside this one; 0 loads here.
        seed: of the loader's own generator.
        batch_bytes: of a batch's tensors, which workers then make in memory that is used again and again; a batch that
            needs more, and every one where it is 0, comes the way that torch sends tensors.
    """
    slots = make_slots(num_workers and num_workers * PREFETCHED + BATCHES_IN_USE, batch_bytes)
    return _Loader(
        _Carried(samples, slots),  # pyright: ignore[reportArgumentType]  # map-style by its methods
        batch_sampler=order if slots is None else LendingOrder(order, slots),
        num_workers=num_workers,
        prefetch_factor=PREFETCHED if num_workers else None,
        collate_fn=_as_it_is,  # pyright: ignore[reportArgumentType]  # the data set makes the batch itself
        pin_memory=torch.accelerator.is_available(),
        persistent_workers=num_workers > 0,
        worker_init_fn=_start_worker,
        # Without its own generator a loader draws from torch's, and a resumed run would draw other dropout masks.
        generator=torch.Generator().manual_seed(seed),
    )


@dataclass(frozen=True)
class _Failure:
    """An error of ours on its way out of a worker; torch would make a RuntimeError and a traceback of it."""

    kind: type[RobotrainError]
    arguments: tuple[Any, ...]
    members: dict[str, Any]

    def rebuild(self) -> RobotrainError:
        problem = self.kind.__new__(self.kind, *self.arguments)
        problem.args = self.arguments
        problem.__dict__.update(self.members)
        return problem


@dataclass(frozen=True)
class _Carried:
    """Samples whose errors are carried to the main process as what they are."""

    samples: _Samples
    slots: Slots | None = None

    def __getitems__(self, wanted: list[Any]) -> Any:
        try:
            if isinstance(wanted, Lent) and self.slots is not None:  # None in a worker that was not forked
                return self.slots.fill(wanted.number, lambda: self.samples.__getitems__(wanted))
            return self.samples.__getitems__(wanted)
        except RobotrainError as problem:
            return _Failure(type(problem), problem.args, problem.__dict__)


@contextmanager
def _worker_deaths() -> Iterator[None]:
    try:
        yield
    except RuntimeError as problem:
        if str(problem).startswith("DataLoader worker"):  # what torch says when one was killed
            raise WorkerDiedError from problem
        raise


class _Loader(DataLoader[Batch]):
    """Raises in the main process what went wrong in a worker: an error of ours, or that it died."""

    def __iter__(self) -> "_Batches":  # pyright: ignore[reportIncompatibleMethodOverride]
        with _worker_deaths():  # a worker may be gone before all of them were told what to do
            return _Batches(super().__iter__())


class _Batches(Iterator[Batch]):
    def __init__(self, batches: Iterator[Batch | Packed | _Failure]) -> None:
        self.batches = batches

    def __next__(self) -> Batch:
        with _worker_deaths():
            batch = next(self.batches)
        if isinstance(batch, _Failure):
            raise batch.rebuild()
        return batch.unpack() if isinstance(batch, Packed) else batch


def _as_it_is(batch: Batch) -> Batch:
    return batch


def _start_worker(_: int) -> None:
    """Make a loader process modest: one thread, the parent's signals left to the parent, gone when it is gone."""
    die_with_parent()
    leave_signals_to_parent()
    torch.set_num_threads(1)
