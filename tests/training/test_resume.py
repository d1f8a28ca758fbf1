"""A run that stops anywhere goes on as if it never had: the samples that follow, the draws, the numbers."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from robotrain.batch import Batch
from robotrain.data.datamodule import EpisodesDataModule
from robotrain.models.hpt.config import HptConfig
from robotrain.training.checkpoint import resolve_checkpoint
from robotrain.training.module import PolicyModule, build_module
from robotrain.training.trainer import TrainerConfig, build_trainer, fit
from tests.policies import TINY, interface_of, random_batch, subject_of

ARCH = HptConfig(**{**{name: getattr(TINY, name) for name in TINY.__slots__}, "dropout": 0.3})


class Numbered:
    """Samples that know what they were asked for; 13 of them, so that no epoch is a pass over them."""

    sample_bytes = 64

    def __init__(self) -> None:
        self.asked: list[tuple[int, ...]] = []

    def __len__(self) -> int:
        return 13

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        self.asked.append(tuple(indices))
        return random_batch(
            interface_of("robot"), len(indices), seed=sum(8**place * i for place, i in enumerate(indices))
        )


def train(
    run: Path, *, stop: int, accumulate: int, workers: int = 0, resume: bool = False
) -> tuple[list[tuple[int, ...]], PolicyModule]:
    config = TrainerConfig(
        max_steps=stop, steps_per_epoch=4, accumulate=accumulate, accelerator="cpu", validate_every_steps=3
    )
    whole = TrainerConfig(
        max_steps=11, steps_per_epoch=4, accumulate=accumulate
    )  # the schedule is that of the whole run
    module = build_module(ARCH, [subject_of(interface_of("robot"))], learning=whole.learning, config={"name": "test"})
    samples = Numbered()
    data = EpisodesDataModule(
        samples,  # pyright: ignore[reportArgumentType]
        None,
        batch_size=2,
        num_workers=workers,
        seed=3,
        steps_per_epoch=config.batches_per_epoch,
    )
    fit(build_trainer(config, run), module, data, resume=resolve_checkpoint(run) if resume else None)
    return samples.asked, module


@pytest.mark.parametrize(("stops", "accumulate"), [((3,), 1), ((4, 6), 1), ((1, 2, 9, 10), 1), ((2, 7), 3)])
def test_a_run_stopped_inside_epochs_sees_and_learns_what_it_would_have(
    tmp_path: Path, stops: tuple[int, ...], accumulate: int
) -> None:
    through, whole = train(tmp_path / "whole", stop=11, accumulate=accumulate)
    seen, module = train(tmp_path / "parts", stop=stops[0], accumulate=accumulate)
    for stop in (*stops[1:], 11):
        torch.manual_seed(stop)  # whatever happened in between
        more, module = train(tmp_path / "parts", stop=stop, accumulate=accumulate, resume=True)
        seen += more
    assert seen == through
    assert len(seen) == 11 * accumulate
    for name, value in whole.state_dict().items():
        assert torch.equal(value, module.state_dict()[name]), name


def test_batches_that_workers_fetched_ahead_are_not_lost(tmp_path: Path) -> None:
    _, whole = train(tmp_path / "whole", stop=6, accumulate=1)
    train(tmp_path / "parts", stop=2, accumulate=1, workers=2)
    _, parts = train(tmp_path / "parts", stop=6, accumulate=1, workers=2, resume=True)
    for name, value in whole.state_dict().items():
        assert torch.equal(value, parts.state_dict()[name]), name
