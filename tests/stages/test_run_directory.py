"""Where runs lie, which is the newest, and what a run remembers of its episodes."""

import json
import os
import shutil
from pathlib import Path

import pytest

from robotrain.episodes.digest import compute_digest, manifest_row, save_manifest
from robotrain.episodes.resolver import SelectionConfig, find_episodes, resolve_episodes
from robotrain.errors import ManifestError, MissingPathError
from robotrain.stages.run_directory import create_run_directory, load_split, newest_run, run_of, save_split


def test_two_runs_of_one_second_do_not_meet(tmp_path: Path) -> None:
    runs = [create_run_directory("name", "words", tmp_path) for _ in range(3)]
    assert len(set(runs)) == 3
    for run in runs:
        assert run.parent == tmp_path / "name"
        assert run.name.startswith("words_2")


def test_the_newest_run_is_the_one_with_the_newest_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(MissingPathError, match="Train first"):
        newest_run(tmp_path)
    for age, name in ((30, "b/one"), (10, "a/two"), (20, "c/three")):
        checkpoint = tmp_path / name / "checkpoints" / "last.ckpt"
        checkpoint.parent.mkdir(parents=True)
        checkpoint.touch()
        os.utime(checkpoint, (1_000_000 - age, 1_000_000 - age))
    (tmp_path / "a" / "unfinished").mkdir()
    assert newest_run(tmp_path) == tmp_path / "a" / "two"


def test_the_split_is_remembered_with_the_bytes_of_its_episodes(tiny_episodes: Path, tmp_path: Path) -> None:
    selection = resolve_episodes(SelectionConfig(root=str(tiny_episodes)))
    save_split(tmp_path, selection)
    split = load_split(tmp_path)
    assert split.root == tiny_episodes
    assert split.train == tuple(facts.hash for facts in selection.train)
    assert split.valid == tuple(facts.hash for facts in selection.valid)
    told = {row["hash"]: row["digest"] for row in json.loads((tmp_path / "manifest.json").read_text())["episodes"]}
    assert told == {facts.hash: compute_digest(facts.path) for facts in selection.all}


def test_digests_are_taken_over_from_the_data_s_manifest_unless_an_episode_changed(
    tiny_episodes: Path, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(tiny_episodes, tmp_path / "episodes"))
    rows = [manifest_row(path) for path in find_episodes(root)]
    (root / rows[1].hash).with_suffix(".zarr").joinpath("stray.txt").write_text("new")
    save_manifest(root / "manifest.json", rows)
    save_split(tmp_path, resolve_episodes(SelectionConfig(root=str(root))))
    told = {row["hash"]: row["digest"] for row in json.loads((tmp_path / "manifest.json").read_text())["episodes"]}
    assert told[rows[0].hash] == rows[0].digest
    assert told[rows[1].hash] not in {row.digest for row in rows}


def test_a_checkpoint_knows_its_run_unless_it_was_taken_elsewhere(tmp_path: Path) -> None:
    checkpoint = tmp_path / "run" / "checkpoints" / "x.ckpt"
    assert run_of(checkpoint) is None
    checkpoint.parent.mkdir(parents=True)
    (tmp_path / "run" / "manifest.json").write_text("{}")
    assert run_of(checkpoint) == tmp_path / "run"
    with pytest.raises(ManifestError, match="no manifest of a run"):
        load_split(tmp_path / "run")
    with pytest.raises(MissingPathError, match="manifest"):
        load_split(tmp_path)
