"""Where runs lie, which is the newest, and what a run remembers of its episodes."""

import json
import os
import shutil
from pathlib import Path

import pytest

from robotrain.episodes.digest import compute_digest, read_content
from robotrain.episodes.folder import find_episodes
from robotrain.episodes.resolver import SelectionConfig, resolve_episodes
from robotrain.episodes.validation import survey
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


def test_digests_are_taken_over_from_the_index_unless_an_episode_changed(
    tiny_episodes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(shutil.copytree(tiny_episodes, tmp_path / "episodes"))
    selection = resolve_episodes(SelectionConfig(root=str(root)))
    save_split(tmp_path, selection)
    before = json.loads((tmp_path / "manifest.json").read_text())["episodes"]
    changed = find_episodes(root)[1]
    (changed / "stray.txt").write_text("new")
    read: list[Path] = []
    monkeypatch.setattr(survey, "read_content", lambda path: read.append(path) or read_content(path))
    save_split(tmp_path, selection)
    after = json.loads((tmp_path / "manifest.json").read_text())["episodes"]
    assert read == [changed]
    assert [row["digest"] for row in after] == [compute_digest(path) for path in find_episodes(root)]
    assert [one == other for one, other in zip(before, after, strict=True)] == [True, False, True, True]


def test_a_run_remembers_what_was_left_out_and_what_was_let_pass(tiny_episodes: Path, tmp_path: Path) -> None:
    selection = resolve_episodes(SelectionConfig(root=str(tiny_episodes)))
    first, second, *_ = (facts.hash for facts in selection.train)
    save_split(tmp_path, selection.without({first: "bad-jpeg: cut short"}), {second: "2 files were recorded"})
    told = json.loads((tmp_path / "manifest.json").read_text())
    assert told["left_out"] == {first: "unsound: bad-jpeg: cut short"}
    assert told["differs"] == {second: "2 files were recorded"}
    assert first not in {row["hash"] for row in told["episodes"]}


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
