import io
import re
from pathlib import Path

import pytest
import pytorch_lightning as pl
from rich.console import Console
from torch.utils.data import DataLoader

from robotrain import console
from robotrain.training.callbacks.progress import Progress, duration
from robotrain.training.module import Learning, build_module
from robotrain.training.trainer import quiet
from tests.policies import TINY, interface_of, random_batch, subject_of


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.4, "0 s"), (45, "45 s"), (59.6, "1 min 0 s"), (200, "3 min 20 s"), (3600, "1 h 0 min"), (18_730, "5 h 12 min")],
)
def test_a_time_is_said_as_a_person_says_it(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_at_a_terminal_one_line_is_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(console, "log", Console(file=screen, force_terminal=True, width=70, color_system=None))
    train(tmp_path, Progress(interval_s=0.0))
    lines = screen.getvalue().split("\n")
    assert len(lines) == 2, "the line that stays, and nothing after it"
    shown = lines[0].split("\r")
    assert [line.split()[1] for line in shown] == ["1/3", "2/3", "3/3"]
    assert {len(line) for line in shown} == {69}


def test_elsewhere_there_is_a_line_now_and_then(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train(tmp_path, Progress())
    (line,) = capsys.readouterr().err.splitlines()
    expected = r"step 3/3  loss \d\.\d{4}  \d+ samples/s  0 s left  \d+ % waiting for data"
    assert re.fullmatch(expected, line), line


def train(folder: Path, progress: Progress) -> None:
    """Run three steps with this callback in place of the usual one."""
    batches = [random_batch(interface_of("robot"), 2, seed=seed) for seed in range(3)]
    module = build_module(TINY, [subject_of(interface_of("robot"))], learning=Learning(max_steps=3), config={})
    with quiet():
        trainer = pl.Trainer(
            max_steps=3,
            accelerator="cpu",
            logger=False,
            default_root_dir=folder,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            callbacks=[progress],
        )
        trainer.fit(module, DataLoader(batches, batch_size=None))  # pyright: ignore[reportArgumentType]
