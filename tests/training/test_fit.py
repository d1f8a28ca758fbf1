"""The loop itself, on a data set in memory: what it writes, and that it goes on where it stopped."""

import csv
import re
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader

from robotrain.batch import Batch
from robotrain.errors import CheckpointError, ConfigError, DivergedError
from robotrain.models.hpt.config import HptConfig
from robotrain.training.checkpoint import load_checkpoint, resolve_checkpoint
from robotrain.training.module import PolicyModule, build_module
from robotrain.training.optim import OptimConfig
from robotrain.training.trainer import TrainerConfig, build_trainer, fit, quiet
from tests.policies import TINY, interface_of, random_batch, subject_of

NUM = 24
CONFIG = TrainerConfig(
    max_steps=4, steps_per_epoch=2, accelerator="cpu", log_every_steps=1, validate_every_steps=2,
    optim=OptimConfig(warmup_steps=2),
)  # fmt: skip


class Rows(pl.LightningDataModule):
    """Batch k of the whole run is rows 4k ... 4k + 3, whatever epoch it falls in."""

    def __init__(self, poison_step: int | None = None) -> None:
        super().__init__()
        self.poison_step = poison_step

    def _batch(self, number: int) -> Batch:
        batch = random_batch(interface_of("robot"), 4, seed=number)
        if number == self.poison_step:
            batch.actions[0, 0, 0] = float("nan")
        return batch

    def train_dataloader(self) -> DataLoader[Batch]:
        first = self.trainer.current_epoch * CONFIG.steps_per_epoch if self.trainer else 0
        numbers = range(first, first + 100)
        return DataLoader([self._batch(i) for i in numbers], batch_size=None)  # pyright: ignore[reportArgumentType]

    def val_dataloader(self) -> DataLoader[Batch]:
        return DataLoader([self._batch(1000 + i) for i in range(2)], batch_size=None)  # pyright: ignore[reportArgumentType]


class Ordered(Rows):
    """As `Rows`, in a loader that is told the epoch as the real one is."""

    def train_dataloader(self) -> DataLoader[Batch]:
        owner = self

        class Sampler(torch.utils.data.Sampler[int]):
            epoch = 0

            def set_epoch(self, epoch: int) -> None:
                self.epoch = epoch

            def __iter__(self):
                first = self.epoch * CONFIG.steps_per_epoch
                return iter(range(first, first + CONFIG.steps_per_epoch))

            def __len__(self) -> int:
                return CONFIG.steps_per_epoch

        class Store(torch.utils.data.Dataset[Batch]):
            def __getitem__(self, index: int) -> Batch:
                return owner._batch(index)

            def __len__(self) -> int:
                return 10_000

        return DataLoader(Store(), batch_size=None, sampler=Sampler())


def new_module(arch: HptConfig = TINY, config: TrainerConfig = CONFIG, embodiment: str = "robot") -> PolicyModule:
    subject = subject_of(interface_of(embodiment))
    return build_module(arch, [subject], learning=config.learning, config={"name": "test"})


def logged(run: Path, name: str) -> dict[int, str]:
    with (run / "metrics.csv").open(newline="") as stream:
        return {int(row["step"]): row[name] for row in csv.DictReader(stream) if row[name]}


def train(run: Path, max_steps: int, resume: Path | None = None, arch: HptConfig = TINY) -> PolicyModule:
    module = new_module(arch)  # the schedule is that of the whole run
    config = TrainerConfig(
        max_steps=max_steps, steps_per_epoch=2, accelerator="cpu", log_every_steps=1, validate_every_steps=2
    )
    fit(build_trainer(config, run), module, Ordered(), resume=resume)
    return module


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_four_steps_equal_two_a_resume_and_two_more_bit_for_bit(tmp_path: Path, dropout: float) -> None:
    arch = HptConfig(**{**{name: getattr(TINY, name) for name in TINY.__slots__}, "dropout": dropout})
    whole = train(tmp_path / "whole", 4, arch=arch)
    train(tmp_path / "parts", 2, arch=arch)
    torch.manual_seed(99)  # whatever happened in between
    parts = train(tmp_path / "parts", 4, resume=resolve_checkpoint(tmp_path / "parts"), arch=arch)
    for name, value in whole.state_dict().items():
        assert torch.equal(value, parts.state_dict()[name]), name
    for name, steps in (("train/loss", [0, 1, 2, 3]), ("train/lr", [0, 1, 2, 3]), ("valid/loss", [1, 3])):
        assert sorted(logged(tmp_path / "whole", name)) == steps, name
        assert logged(tmp_path / "whole", name) == logged(tmp_path / "parts", name), name
    ends = [torch.load(resolve_checkpoint(tmp_path / name), weights_only=True) for name in ("whole", "parts")]
    for first, second in zip(*(end["optimizer_states"][0]["state"].values() for end in ends), strict=True):
        assert all(torch.equal(first[key], second[key]) for key in first)


def test_the_run_directory_has_its_files(tmp_path: Path) -> None:
    train(tmp_path / "run", 4)
    run = tmp_path / "run"
    assert {path.name for path in run.iterdir()} == {"metrics.csv", "tensorboard", "checkpoints"}
    assert list((run / "tensorboard").glob("events*"))
    names = sorted(path.name for path in (run / "checkpoints").iterdir())
    assert names == ["epoch=0000-step=0000002.ckpt", "epoch=0001-step=0000004.ckpt", "last.ckpt"]
    assert (run / "checkpoints" / "last.ckpt").readlink() == Path("epoch=0001-step=0000004.ckpt")


def test_validation_is_repeatable_and_logged(tmp_path: Path) -> None:
    module = train(tmp_path / "run", 4)
    trainer = build_trainer(CONFIG, tmp_path / "again")
    with quiet():
        first, second = (trainer.validate(module, datamodule=Rows(), verbose=False)[0] for _ in range(2))
    assert first == second
    assert float(logged(tmp_path / "run", "valid/loss")[3]) == pytest.approx(first["valid/loss"], rel=1e-5)


def test_a_loss_that_is_no_number_ends_the_run_and_names_the_step(tmp_path: Path) -> None:
    trainer = build_trainer(CONFIG, tmp_path / "run")
    with pytest.raises(DivergedError, match="at step 3"):
        fit(trainer, new_module(), Ordered(poison_step=3))
    assert load_checkpoint(resolve_checkpoint(tmp_path / "run")).step == 2


def test_a_checkpoint_of_another_body_or_arch_is_refused_before_training(tmp_path: Path) -> None:
    train(tmp_path / "run", 2)
    path = resolve_checkpoint(tmp_path / "run")
    before = (tmp_path / "run" / "metrics.csv").read_bytes()
    with pytest.raises(CheckpointError, match="interfaces differ in other, robot"):
        fit(build_trainer(CONFIG, tmp_path / "run"), new_module(embodiment="other"), Rows(), resume=path)
    wider = HptConfig(**{**{name: getattr(TINY, name) for name in TINY.__slots__}, "width": 32})
    with pytest.raises(CheckpointError, match="arch differ in width"):
        fit(build_trainer(CONFIG, tmp_path / "run"), new_module(wider), Rows(), resume=path)
    assert (tmp_path / "run" / "metrics.csv").read_bytes() == before


def test_a_count_below_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"trainer\.steps_per_epoch must be at least 1, found 0"):
        build_trainer(TrainerConfig(steps_per_epoch=0), tmp_path)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"devices": 0}, "trainer.devices must be at least 1, or null, found 0"),
        ({"validate_batches": -1}, "trainer.validate_batches must be at least 1, or null, found -1"),
        ({"seed": -1}, "trainer.seed must be from 0 to 4294967295, found -1"),
        ({"seed": 1 << 64}, "trainer.seed must be from 0 to 4294967295, found 18446744073709551616"),
        ({"clip_norm": -1.0}, "trainer.clip_norm must be at least 0, found -1.0"),
        ({"clip_norm": float("nan")}, "trainer.clip_norm must be at least 0, found nan"),
    ],
)
def test_a_setting_that_cannot_train_is_refused(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        TrainerConfig(**setting)


def test_training_says_where_it_is_and_lightning_says_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    train(tmp_path / "run", 2)
    told = capsys.readouterr()
    assert told.out == ""
    assert "step 2/2  loss " in told.err
    assert "samples/s" in told.err
    assert len(told.err.strip().splitlines()) == 1
    assert not caplog.records


def test_a_restored_module_predicts_the_same_numbers(tmp_path: Path) -> None:
    from robotrain.training.module import restore_module

    module = train(tmp_path / "run", 2).eval()
    restored = restore_module(load_checkpoint(resolve_checkpoint(tmp_path / "run")))
    observation = random_batch(interface_of("robot"), 3, seed=5).observation
    draws = module.draws(observation, seed=0, pass_index=0)
    assert torch.equal(module.predict(observation, draws), restored.predict(observation, draws))
    assert not restored.training
