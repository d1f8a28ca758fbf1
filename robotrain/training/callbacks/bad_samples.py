# ruff: noqa: ARG002  # Lightning hands every hook everything
"""What an epoch could not use, said at its end: how many samples were replaced, and why.

Knows keys; refuses to judge a sample: `data/replacement.py` tells again what a loader's process did.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytorch_lightning as pl

from robotrain import console
from robotrain.batch import Batch
from robotrain.data.datamodule import EpisodesDataModule
from robotrain.data.order import PlacedOrder
from robotrain.data.replacement import QUARANTINED, Place, ReplacedSamples


class BadSamples(pl.Callback):
    """Counts replaced samples by reason, and names each episode in quarantine once.

    Args:
        data: the loaders; it must replace bad samples.
    """

    def __init__(self, data: EpisodesDataModule) -> None:
        self.data = data
        self._reasons: Counter[str] = Counter()
        self._told: set[str] = set()
        self._order: PlacedOrder | None = None
        self._places: Iterator[list[Place]] = iter(())

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Go through the order beside the loader, from where a resumed run begins."""
        if self._order is None:
            self._order = PlacedOrder(self.data.train_order())
        self._order.set_epoch(trainer.current_epoch)
        self._places = iter(self._order)

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        """Compare what was learned from with what was asked for."""
        for place, key in zip(next(self._places), batch.observation.keys, strict=True):
            if self.data.replaced is not None and key != self.data.train.keys(place[1]):
                self._count(self.data.replaced, place)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Say how many samples were replaced."""
        if self._reasons:
            told = ", ".join(f"{number} {reason}" for reason, number in sorted(self._reasons.items()))
            replaced = console.count(self._reasons.total(), "bad sample")
            console.warn(f"epoch {trainer.current_epoch}: {replaced} replaced: {told}")
        self._reasons.clear()

    def _count(self, replaced: ReplacedSamples, place: Place) -> None:
        first = replaced.settle(place)[1][0]
        self._reasons[first.reason] += 1
        episode = first.key[0]
        if first.reason == QUARANTINED and episode not in self._told:
            self._told.add(episode)
            share = replaced.bad_share(episode)
            console.warn(f"episode '{episode}' is in quarantine: {share:.0%} of its samples are out of bounds")
