# ruff: noqa: ARG002  # Lightning hands every hook everything
"""When checkpoints are written, what `last.ckpt` points at, and which ones go.

Knows the folder of checkpoints; refuses to know what is in them.
"""

import os
from pathlib import Path

import pytorch_lightning as pl

from robotrain.files import sync
from robotrain.training.checkpoint import LAST


class CheckpointKeeper(pl.Callback):
    """Saves at the end of epochs and of the run; `last.ckpt` is a relative link to the newest.

    Pruning keeps the newest few and never removes what `last.ckpt` points at. An order of steps makes every instant
    safe: write the file, move the link, and only then prune.

    Args:
        folder: where checkpoints go.
        every_epochs: epochs between saves.
        keep: checkpoints to keep, at least one.
    """

    def __init__(self, folder: Path, *, every_epochs: int, keep: int) -> None:
        self.folder = folder
        self.every_epochs = every_epochs
        self.keep = keep
        self.saved_step = -1

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Save when it is time."""
        if (trainer.current_epoch + 1) % self.every_epochs == 0:
            self._save(trainer, trainer.current_epoch)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Save the last state, unless it has just been saved."""
        if trainer.global_step != self.saved_step:
            self._save(trainer, trainer.current_epoch - 1)

    def _save(self, trainer: pl.Trainer, epoch: int) -> None:
        path = self.folder / f"epoch={epoch:04d}-step={trainer.global_step:07d}.ckpt"
        trainer.save_checkpoint(path)
        self.saved_step = trainer.global_step
        if trainer.is_global_zero:
            point_last_at(path)
            prune(self.folder, self.keep)


def point_last_at(path: Path) -> None:
    """Make `last.ckpt` beside a checkpoint a relative link to it, in one step."""
    aside = path.parent / f".{LAST}.partial-{os.getpid()}"
    aside.unlink(missing_ok=True)
    aside.symlink_to(path.name)
    aside.replace(path.parent / LAST)
    sync(path.parent)


def prune(folder: Path, keep: int) -> None:
    """Delete all but the newest `keep` checkpoints of a folder, and never the one that `last.ckpt` points at."""
    last = (folder / LAST).resolve()
    checkpoints = sorted(folder.glob("epoch=*.ckpt"), key=lambda path: path.name.split("step=")[-1])
    for path in checkpoints[: len(checkpoints) - keep]:
        if path.resolve() != last:
            path.unlink(missing_ok=True)
