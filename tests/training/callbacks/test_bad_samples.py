"""A whole run over pictures that cannot be read and that no quick validation looks at."""

from pathlib import Path

import pytest

from robotrain.errors import EpisodeError
from robotrain.stages.recipe import TrainChoice
from robotrain.stages.train import resolve_config, run
from tests.damage import set_pictures
from tests.factories import make_eva_episode

SETTINGS = (
    "trainer.max_steps=6",
    "trainer.steps_per_epoch=3",
    "trainer.accelerator=cpu",
    "data.batch_size=8",
    "data.cameras=[front_1]",
)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROBOTRAIN_CACHE_DIR", str(tmp_path / "cache"))
    for index in range(3):
        path = make_eva_episode(tmp_path / "data" / f"2026-01-01-00-00-00-00000{index}.zarr", 15, seed=index, fps=15)
        set_pictures(path, "front_1", range(3, 5), b"no JPEG")
    return tmp_path / "data"


def train(data: Path, *settings: str) -> None:
    choice = TrainChoice(arch="hpt_tiny", data=str(data), overrides=(*SETTINGS, *settings))
    run(resolve_config(choice), log_dir=data.parent / "runs")


def test_each_epoch_says_what_it_replaced_the_same_for_any_number_of_workers(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = []
    for workers in (0, 2):
        train(data, "data.bounds.replace=true", "trainer.validate_every_steps=99", f"data.num_workers={workers}")
        lines = capsys.readouterr().err.splitlines()
        told.append([line for line in lines if "bad sample" in line])
    assert told[0] == told[1]
    assert len(told[0]) == 2
    assert told[0][0].startswith("warning: epoch 0: ")
    assert all(line.endswith(" cannot be read") for line in told[0])


def test_by_default_nothing_is_replaced_and_the_run_ends(data: Path) -> None:
    with pytest.raises(EpisodeError, match="the picture is no sound JPEG"):
        train(data)
