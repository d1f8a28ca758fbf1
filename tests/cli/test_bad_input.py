"""Bad input: one clear line, exit code 1, and nothing half-written."""

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from typer.testing import CliRunner, Result

from robotrain.cli.app import app
from tests.factories import make_human_episode

Damage = Callable[[Path], None]


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def expect_one_line(result: Result, *words: str) -> None:
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    complaints = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(complaints) == 1, result.stderr
    assert "Traceback" not in result.stderr
    for word in words:
        assert word in result.stderr


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "runs"
    monkeypatch.setenv("ROBOTRAIN_LOG_DIR", str(path))
    return path


@pytest.fixture
def episodes(tmp_path: Path, tiny_episodes: Path) -> Path:
    return Path(shutil.copytree(tiny_episodes, tmp_path / "episodes"))


COMMANDS = (
    ("validate-data", "{data}"),
    ("norm-stats", "{data}"),
    ("train", "--data", "{data}"),
    ("train", "--data", "{data}", "--dry-run"),
    ("render", "{data}", "{out}"),
    ("convert", "lerobot", "{data}", "{out}"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_folder_that_is_not_there(command: tuple[str, ...], tmp_path: Path, logs: Path) -> None:
    data, out = tmp_path / "nowhere", tmp_path / "out"
    result = invoke(*(word.format(data=data, out=out) for word in command))
    expect_one_line(result, str(data), "does not exist")
    assert not logs.exists()
    assert not out.exists()


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_folder_that_is_empty(command: tuple[str, ...], tmp_path: Path, logs: Path) -> None:
    data, out = tmp_path / "empty", tmp_path / "out"
    data.mkdir()
    result = invoke(*(word.format(data=data, out=out) for word in command))
    expect_one_line(result, str(data))
    assert not logs.exists()
    assert not out.exists()


def test_no_data_named_at_all(logs: Path) -> None:
    for command in (("validate-data",), ("norm-stats",), ("train", "--arch", "hpt_tiny")):
        expect_one_line(invoke(*command), "No data named", "ROBOTRAIN_DATA_DIR")
    assert not logs.exists()


def test_data_in_the_place_of_a_setting_are_told_where_they_go(episodes: Path, logs: Path) -> None:
    expect_one_line(invoke("train", episodes), f"--data {episodes}")
    expect_one_line(invoke("train", "nonsense"), "'nonsense' is not of the form KEY=VALUE")
    assert not logs.exists()


def drop_total_frames(episode: Path) -> None:
    path = episode / "zarr.json"
    metadata = json.loads(path.read_text())
    del metadata["attributes"]["total_frames"]
    path.write_text(json.dumps(metadata))


def lose_a_shard(episode: Path) -> None:
    (shard, *_) = sorted(
        path for path in (episode / "left.cmd_ee_pose").rglob("*") if path.name != "zarr.json" and path.is_file()
    )
    shard.unlink()


def truncate_a_picture(episode: Path) -> None:
    with warnings.catch_warnings(action="ignore"):  # zarr on the data type of bytes
        pictures: Any = zarr.open_array(episode / "images.front_1", mode="r+")
        jpeg = pictures[0:1][0]
        pictures[0:1] = np.array([jpeg[: len(jpeg) // 2]], dtype=object)


DAMAGES = (
    (drop_total_frames, "no-total-frames", "total_frames"),
    (lose_a_shard, "missing-shard", "left.cmd_ee_pose"),
    (truncate_a_picture, "bad-jpeg", "front_1"),
)


@pytest.mark.parametrize(("damage", "code", "word"), DAMAGES, ids=[code for _, code, _ in DAMAGES])
def test_a_damaged_episode_is_found_by_validate_data(damage: Damage, code: str, word: str, episodes: Path) -> None:
    damaged = sorted(episodes.iterdir())[0]
    damage(damaged)
    result = invoke("validate-data", episodes)
    assert result.exit_code == 1
    assert "Traceback" not in result.output
    for text in (code, word, damaged.name.removesuffix(".zarr"), "How to mend:"):
        assert text in result.stdout
    told = json.loads(invoke("validate-data", episodes, "--json").stdout)
    assert (told["episodes"], told["errors"]) == (4, len([f for f in told["findings"] if f["severity"] == "error"]))
    assert code in {finding["code"] for finding in told["findings"]}


@pytest.mark.parametrize(("damage", "code", "word"), DAMAGES, ids=[code for _, code, _ in DAMAGES])
def test_a_damaged_episode_is_not_trained_on(damage: Damage, code: str, word: str, episodes: Path, logs: Path) -> None:
    damaged = sorted(episodes.iterdir())[0]
    damage(damaged)
    result = invoke("train", "--data", episodes)
    expect_one_line(result, damaged.name.removesuffix(".zarr"), word, "robotrain validate-data")
    assert not logs.exists()


def test_no_manifest_is_written_of_damaged_episodes(episodes: Path) -> None:
    lose_a_shard(sorted(episodes.iterdir())[0])
    assert invoke("validate-data", episodes, "--write-manifest").exit_code == 1
    assert not (episodes / "manifest.json").exists()


def test_names_that_do_not_exist_are_told_with_the_nearest(episodes: Path, logs: Path) -> None:
    for option, group in (("--arch", "arch"), ("--trainer", "trainer"), ("--recipe", "recipe")):
        nearest = {"arch": "hpt_tiny", "trainer": "default", "recipe": "default"}[group]
        wrong = nearest[:-2] + nearest[-1]
        result = invoke("train", "--data", episodes, option, wrong)
        expect_one_line(result, f"Unknown {group} '{wrong}'. Did you mean '{nearest}'?")
    expect_one_line(invoke("norm-stats", episodes, "--arch", "hpt_tinny"), "Did you mean 'hpt_tiny'?")
    expect_one_line(invoke("models", "hpt_tinny"), "Did you mean 'hpt_tiny'?")
    assert not logs.exists()


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("trainer.max_step=3", ("Unknown key 'trainer.max_step'", "Did you mean 'trainer.max_steps'?")),
        ("max_steps=3", ("Did you mean 'trainer.max_steps'?",)),
        ("trainer.max_steps=many", ("trainer.max_steps",)),
        ("arch.widht=3", ("Did you mean 'arch.width'?",)),
        ("data.mode=cartesian_7d", ("Unknown mode 'cartesian_7d'", "cartesian_6d")),
        ("data.cameras=[top]", ("top", "front_1")),
        ("trainer.max_steps", ("KEY=VALUE",)),
        ("trainer.max_steps=0", ("max_steps",)),
        ("data.batch_size=0", ("batch_size",)),
    ],
)
def test_a_setting_that_does_not_fit(setting: str, words: tuple[str, ...], episodes: Path, logs: Path) -> None:
    expect_one_line(invoke("train", "--data", episodes, setting), *words)
    assert not logs.exists()


def test_a_checkpoint_of_another_embodiment(tiny_run: Path, tmp_path: Path) -> None:
    for seed in range(2):
        make_human_episode(tmp_path / "human" / f"2026-02-0{seed + 1}-00-00-00-000000.zarr", seed=seed)
    before = sorted(tiny_run.rglob("*"))
    result = invoke("eval", tiny_run, "--data", tmp_path / "human")
    expect_one_line(result, "eva_bimanual", "human_bimanual")
    assert sorted(tiny_run.rglob("*")) == before


def test_a_run_that_is_not_there(tmp_path: Path, logs: Path) -> None:
    expect_one_line(invoke("eval"), "A run with a checkpoint", "robotrain train")
    expect_one_line(invoke("eval", tmp_path / "nowhere"), "nowhere")
    expect_one_line(invoke("train", "--resume", tmp_path / "nowhere"), "nowhere")
    (tmp_path / "broken.ckpt").write_bytes(b"PK no checkpoint")
    expect_one_line(invoke("eval", tmp_path / "broken.ckpt"), "broken.ckpt")


def test_options_that_would_be_ignored_are_refused(tiny_run: Path, tiny_episodes: Path, tmp_path: Path) -> None:
    expect_one_line(invoke("train", "--resume", tiny_run, "--arch", "hpt_tiny"), "--arch would be ignored")
    expect_one_line(invoke("train", "--resume", tiny_run), "has done its 2 steps")
    expect_one_line(invoke("eval", tiny_run, "videos=true"), "'videos' is an option of its own")
    expect_one_line(invoke("eval", tiny_run, "--split", "test"), "Unknown split 'test'", "valid")
    expect_one_line(invoke("render", tiny_episodes, tmp_path / "out", "--data", tiny_episodes), "--data")
    assert not (tmp_path / "out").exists()


def test_the_demo_leaves_other_folders_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("all of it")
    expect_one_line(invoke("demo", tmp_path / "mine"), "It holds something else")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def test_an_episode_of_the_source_without_its_video_is_refused_by_name(real_data: Path, tmp_path: Path) -> None:
    result = invoke("convert", "lerobot", real_data / "g1-inspire-pick", tmp_path / "out", "--episodes", "27-28")
    expect_one_line(result, "27")
    assert not (tmp_path / "out").exists()


def test_a_body_that_cannot_be_generated(tmp_path: Path) -> None:
    result = invoke("convert", "synthetic", "eva_bimanul", tmp_path / "out")
    expect_one_line(result, "Did you mean 'eva_bimanual'?")
    assert not (tmp_path / "out").exists()
