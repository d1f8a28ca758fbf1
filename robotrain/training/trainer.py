"""The loop: a Lightning trainer set up the one way robotrain uses it. Only here is anything placed on a device.

Knows Lightning's settings and its chatter; refuses to know data and policies.
"""

import logging
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytorch_lightning as pl
from pytorch_lightning.loggers import TensorBoardLogger

from robotrain.errors import CheckpointError, ConfigError
from robotrain.training.augment import AugmentConfig
from robotrain.training.callbacks.epochs import EpochCount
from robotrain.training.callbacks.keeper import CheckpointKeeper
from robotrain.training.callbacks.progress import Progress
from robotrain.training.checkpoint import FOLDER, AtomicCheckpointIO, load_checkpoint
from robotrain.training.loggers import MetricsFile
from robotrain.training.module import Learning, PolicyModule
from robotrain.training.optim import OptimConfig

CHATTER = (
    "The '.*_dataloader' does not have many workers",
    "The number of training batches .* is smaller than the logging interval",
    "You defined a `validation_step` but have no `val_dataloader`",
    "GPU available but not used",
    "You're resuming from a checkpoint that ended before the epoch ended",
    "Total length of `list` across ranks is zero",  # no validation episodes: the stage says so
    r"`isinstance\(treespec, LeafSpec\)` is deprecated",  # Lightning 2.6 under torch 2.13
)
"""Lightning's advice that robotrain answers itself, or that its users cannot act on."""

COUNTS = (
    "max_steps",
    "steps_per_epoch",
    "accumulate",
    "log_every_steps",
    "validate_every_steps",
    "save_every_epochs",
    "keep_checkpoints",
)
"""Settings of a `TrainerConfig` that must be at least 1."""

LARGEST_SEED = 2**32 - 1
"""What every library that is seeded takes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainerConfig:
    """How long, how precise, where, and what is written on the way."""

    max_steps: int = 1000
    """Optimiser steps of the run."""
    steps_per_epoch: int = 100
    """Optimiser steps of an epoch: checkpoints are written between epochs."""
    accumulate: int = 1
    """Micro-batches whose gradients make one optimiser step."""
    seed: int = 0
    """Of starting values, order of samples, draws and dropout."""
    precision: Literal["32-true", "bf16-mixed", "bf16-true", "16-mixed"] = "32-true"
    """Of Lightning: what numbers are computed in."""
    accelerator: Literal["auto", "cpu", "gpu", "mps"] = "auto"
    """Of Lightning: `auto` takes what the machine has."""
    devices: int | None = None
    """How many devices of this machine; all of them when null, one on a CPU."""
    clip_norm: float = 1.0
    """Longest gradient; longer ones are shortened to it. 0 shortens none."""
    log_every_steps: int = 10
    """Optimiser steps between rows of metrics."""
    validate_every_steps: int = 100
    """Optimiser steps between validations."""
    validate_batches: int | None = None
    """Batches of a validation; all of them when null."""
    save_every_epochs: int = 1
    """Epochs between checkpoints."""
    keep_checkpoints: int = 2
    """Checkpoints that stay; `last.ckpt`'s always does."""
    optim: OptimConfig = field(default_factory=OptimConfig)
    """The optimiser and its schedule."""
    augment: AugmentConfig = field(default_factory=AugmentConfig)
    """Jitter of training images."""

    def __post_init__(self) -> None:
        """Refuse counts that make no training, before anything is written."""
        for name in COUNTS:
            if getattr(self, name) < 1:
                raise ConfigError(f"trainer.{name} must be at least 1, found {getattr(self, name)}.")
        for name in ("devices", "validate_batches"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"trainer.{name} must be at least 1, or null, found {value}.")
        if not 0 <= self.seed <= LARGEST_SEED:
            raise ConfigError(f"trainer.seed must be from 0 to {LARGEST_SEED}, found {self.seed}.")
        if not self.clip_norm >= 0:  # nan too
            raise ConfigError(f"trainer.clip_norm must be at least 0, found {self.clip_norm}.")

    @property
    def batches_per_epoch(self) -> int:
        """Micro-batches that the loader gives an epoch."""
        return self.steps_per_epoch * self.accumulate

    @property
    def learning(self) -> Learning:
        """What a `PolicyModule` needs to know of this."""
        return Learning(optim=self.optim, augment=self.augment, max_steps=self.max_steps, seed=self.seed)


def build_trainer(config: TrainerConfig, run_dir: Path, *, callbacks: tuple[pl.Callback, ...] = ()) -> pl.Trainer:
    """Return a trainer that writes `metrics.csv`, `tensorboard/` and `checkpoints/` into a run directory.

    Args:
        config: the settings.
        run_dir: the run directory; made where it is not there.
        callbacks: more of them, run before the checkpoint is written.
    """
    run_dir.mkdir(parents=True, exist_ok=True)
    with quiet():
        return pl.Trainer(
            max_steps=config.max_steps,
            limit_train_batches=config.batches_per_epoch,
            accumulate_grad_batches=config.accumulate,
            gradient_clip_val=config.clip_norm,
            precision=config.precision,
            accelerator=config.accelerator,
            devices="auto" if config.devices is None else config.devices,
            log_every_n_steps=config.log_every_steps,
            val_check_interval=config.validate_every_steps * config.accumulate,
            check_val_every_n_epoch=None,
            limit_val_batches=config.validate_batches,
            num_sanity_val_steps=0,
            logger=[MetricsFile(run_dir), TensorBoardLogger(run_dir, name="tensorboard", version="")],
            callbacks=[
                EpochCount(config.steps_per_epoch),
                *callbacks,
                Progress(),
                CheckpointKeeper(run_dir / FOLDER, every_epochs=config.save_every_epochs, keep=config.keep_checkpoints),
            ],
            plugins=[AtomicCheckpointIO()],
            use_distributed_sampler=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )


def fit(trainer: pl.Trainer, module: PolicyModule, data: pl.LightningDataModule, *, resume: Path | None = None) -> None:
    """Train until the trainer's last step.

    Args:
        trainer: from `build_trainer`.
        module: on the CPU; the trainer places it.
        data: loaders of training and validation batches.
        resume: a checkpoint of the same arch and embodiments to go on from, bit for bit.

    Raises:
        CheckpointError: when the checkpoint does not fit the module.
        DivergedError: when the loss is not a number any more.
        KeyboardInterrupt: when the user pressed Ctrl-C.
    """
    if resume is not None:
        check_resumable(resume, module)
        step = load_checkpoint(resume).step
        for logger in trainer.loggers:
            if isinstance(logger, MetricsFile):
                logger.rewind(step)
    with quiet():
        try:
            trainer.fit(module, datamodule=data, ckpt_path=resume, weights_only=True)
        except SystemExit:  # what Lightning makes of Ctrl-C, with further signals ignored
            signal.signal(signal.SIGINT, signal.default_int_handler)
            raise KeyboardInterrupt from None


@contextmanager
def quiet() -> Iterator[None]:
    """Silence Lightning's notes and its advice in `CHATTER`; every other warning is heard."""
    names = ("pytorch_lightning", "lightning.pytorch", "lightning_fabric")
    levels = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.WARNING)
    try:
        with warnings.catch_warnings():
            for message in CHATTER:
                warnings.filterwarnings("ignore", message)
            yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def check_resumable(path: Path, module: PolicyModule) -> None:
    """Refuse a checkpoint of another arch or other embodiments, before anything is touched."""
    found, expected = load_checkpoint(path).record.to_plain(), module.record.to_plain()
    for what in ("arch", "interfaces"):
        if found[what] != expected[what]:
            names = sorted(
                key for key in {*found[what], *expected[what]} if found[what].get(key) != expected[what].get(key)
            )
            raise CheckpointError(path, f"this run cannot go on from it: {what} differ in {', '.join(names)}.")
