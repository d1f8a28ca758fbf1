"""Training as a stage: what it refuses before it writes, and how it ends early."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from robotrain.errors import CheckpointError, ConfigError, ManifestError
from robotrain.stages.recipe import TrainChoice
from robotrain.stages.run_directory import newest_run
from robotrain.stages.train import TrainReport, plan, resolve_config, run
from robotrain.training.checkpoint import load_checkpoint
from tests.conftest import TINY_TRAINING
from tests.factories import make_eva_episode


@pytest.fixture
def own_run(tiny_run: Path, tmp_path: Path) -> Path:
    """Return a copy of the tiny run that may be written to."""
    return Path(shutil.copytree(tiny_run, tmp_path / "run", symlinks=True))


def resume(run_dir: Path, *overrides: str) -> TrainReport:
    return run(resolve_config(TrainChoice(resume=run_dir, overrides=overrides)), resume=run_dir)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_plan_counts_without_weights_and_writes_nothing(tiny_episodes: Path, tmp_path: Path) -> None:
    config = resolve_config(TrainChoice(arch="hpt_tiny", data=str(tiny_episodes)))
    planned = plan(config)
    assert planned.num_parameters == sum(planned.parameters.values()) > 0
    assert set(planned.parameters) == {"trunk", "stems.eva_bimanual", "heads.eva_bimanual"}
    assert planned.config.data.episodes.root == str(tiny_episodes)
    assert not Path(os.environ["ROBOTRAIN_LOG_DIR"]).exists()


def test_a_checkpoint_holds_the_whole_config_and_the_statistics(tiny_run: Path) -> None:
    checkpoint = load_checkpoint(tiny_run / "checkpoints" / "last.ckpt")
    assert checkpoint.step == 2
    assert checkpoint.config["trainer"]["max_steps"] == 2
    assert checkpoint.config["arch"]["name"] == "hpt_tiny"
    assert set(checkpoint.stats) == set(checkpoint.interfaces) == {"eva_bimanual"}


def test_one_episode_is_trained_on_without_validation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_eva_episode(tmp_path / "episodes" / "2026-01-01-00-00-00-000000.zarr")
    choice = TrainChoice(arch="hpt_tiny", data=str(tmp_path / "episodes"), overrides=TINY_TRAINING)
    assert run(resolve_config(choice), log_dir=tmp_path / "runs").step == 2
    assert "only one episode" in capsys.readouterr().err


def test_a_run_goes_on_to_more_steps_in_its_own_directory(own_run: Path) -> None:
    report = resume(own_run, "trainer.max_steps=4")
    assert (report.run_dir, report.step) == (own_run, 4)


@pytest.mark.parametrize(
    ("override", "error"),
    [
        ("trainer.max_steps=2", ConfigError),
        ("arch.mlp_ratio=3", CheckpointError),
        ("data.seconds=1.0", CheckpointError),
    ],
)
def test_a_run_that_cannot_go_on_is_left_as_it_is(own_run: Path, override: str, error: type[Exception]) -> None:
    before = contents(own_run)
    overrides = {override, "trainer.max_steps=4"} if "max_steps" not in override else {override}
    with pytest.raises(error):
        resume(own_run, *overrides)
    assert contents(own_run) == before


def test_a_run_does_not_go_on_with_other_episodes(own_run: Path, tiny_episodes: Path, tmp_path: Path) -> None:
    grown = Path(shutil.copytree(tiny_episodes, tmp_path / "grown"))
    make_eva_episode(grown / "2026-01-09-00-00-00-000000.zarr", num_frames=12)
    before = contents(own_run)
    with pytest.raises(CheckpointError, match="not those it began with"):
        resume(own_run, "trainer.max_steps=4", f"data.episodes.root={grown}")
    assert contents(own_run) == before


def test_a_run_goes_on_with_changed_episodes_only_where_asked_and_says_so(
    own_run: Path, tiny_episodes: Path, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(tiny_episodes, tmp_path / "copy"))  # of which no index knows anything
    told = next(root.iterdir()) / "zarr.json"
    told.write_bytes(told.read_bytes().replace(b'"task_name": "', b'"task_nome": "'))  # of the same size
    name, before = told.parent.name.removesuffix(".zarr"), contents(own_run)
    settings = ("trainer.max_steps=4", f"data.episodes.root={root}")
    with pytest.raises(ManifestError, match=f"1 episode of the run changed since it began: {name}"):
        resume(own_run, *settings)
    assert contents(own_run) == before
    assert resume(own_run, *settings, "data.allow_changed=true").step == 4
    assert list(json.loads((own_run / "manifest.json").read_text())["differs"]) == [name]


@pytest.mark.slow
def test_ctrl_c_ends_a_training_in_one_line_and_says_how_to_go_on(tiny_episodes: Path) -> None:
    command = [sys.executable, "-m", "robotrain.cli", "train", "--data", str(tiny_episodes), *TINY_TRAINING[1:]]
    logs = Path(os.environ["ROBOTRAIN_LOG_DIR"])
    with subprocess.Popen([*command, "trainer.max_steps=100000"], stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 120
        while not list(logs.glob("*/*/checkpoints/last.ckpt")) and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stderr.strip().endswith("error: interrupted")
    assert "Traceback" not in stderr
    assert f"--resume {newest_run(logs)}" in re.sub(r"\s+", " ", stderr)


@pytest.mark.slow
def test_two_processes_make_one_run_directory(tiny_episodes: Path) -> None:
    command = [sys.executable, "-m", "robotrain.cli", "train", "--data", str(tiny_episodes), *TINY_TRAINING]
    result = subprocess.run([*command, "trainer.devices=2"], capture_output=True, text=True, check=True)
    (run_dir,) = Path(os.environ["ROBOTRAIN_LOG_DIR"]).glob("*/*")
    assert load_checkpoint(run_dir / "checkpoints" / "last.ckpt").step == 2
    assert result.stdout.count("checkpoint ") == 1
    assert "error" not in result.stderr
