# ruff: noqa: ARG002  # Lightning hands every hook everything
"""What a person sees while a run trains: step, loss, samples a second, time left, share of time waiting for data.

Knows clocks and the console; refuses to know the policy. At a terminal one line that is written over, elsewhere a line
now and then.
"""

import time
from collections.abc import Mapping
from typing import Any

import pytorch_lightning as pl
import torch

from robotrain import console
from robotrain.batch import Batch

TERMINAL_INTERVAL_S = 0.5


class Progress(pl.Callback):
    """Reports training on stderr.

    Args:
        interval_s: seconds between reports; None takes what suits the console.
    """

    def __init__(self, interval_s: float | None = None) -> None:
        usual = TERMINAL_INTERVAL_S if console.log.is_terminal else console.PLAIN_INTERVAL_S
        self.interval_s = usual if interval_s is None else interval_s
        self.first_step = 0
        self._restart(time.monotonic())
        self.begin = self.batch_end = self.shown
        self.loss = float("nan")

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Start the clocks."""
        self._restart(time.monotonic())
        self.begin = self.batch_end = self.shown
        self.first_step = trainer.global_step

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Add the time since the last batch to the waiting."""
        self.waited += time.monotonic() - self.batch_end

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Count the batch and report when it is time."""
        self.samples += _num_rows(batch) * trainer.world_size
        self.batch_end = time.monotonic()
        is_last = trainer.global_step >= trainer.max_steps > 0
        if self.batch_end - self.shown >= self.interval_s or is_last:
            loss = outputs["loss"] if isinstance(outputs, Mapping) else outputs
            self.loss = float(loss) if isinstance(loss, torch.Tensor) else float("nan")
            self._report(trainer, is_last=is_last)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Do not count validation as waiting for data."""
        self.batch_end = time.monotonic()

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Do not count checkpoints as waiting for data."""
        self.batch_end = time.monotonic()

    def on_exception(self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException) -> None:
        """Leave the updating line, so that the message stands on its own."""
        if console.log.is_terminal:
            console.log.print()

    def _report(self, trainer: pl.Trainer, *, is_last: bool) -> None:
        if not trainer.is_global_zero:
            return
        now = time.monotonic()
        done = trainer.global_step - self.first_step
        seconds_left = (now - self.begin) / max(done, 1) * (trainer.max_steps - trainer.global_step)
        span = max(now - self.shown, 1e-9)
        line = (
            f"step {trainer.global_step}/{trainer.max_steps}  loss {self.loss:.4f}  {self.samples / span:.0f} samples/s"
            f"  {duration(seconds_left)} left  {100 * min(1.0, self.waited / span):.0f} % waiting for data"
        )
        if console.log.is_terminal:
            width = console.log.width - 1
            console.log.print(line[:width].ljust(width), end="\n" if is_last else "\r", markup=False)
        else:
            console.say(line)
        self._restart(now)

    def _restart(self, now: float) -> None:
        self.shown = now
        self.samples = 0
        self.waited = 0.0


def duration(seconds: float) -> str:
    """Return a time as a person says it: ``45 s``, ``3 min 20 s``, ``5 h 12 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _num_rows(batch: Any) -> int:
    return len(batch) if isinstance(batch, Batch) else sum(len(part) for part in batch.values())
