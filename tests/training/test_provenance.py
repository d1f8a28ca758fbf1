import os
import subprocess
from pathlib import Path

import pytest

from robotrain.training.provenance import save_provenance

FILES = {"git_sha.txt", "git.diff", "git_untracked.txt"}


def git(folder: Path, *arguments: str) -> str:
    names = {f"GIT_{who}_{what}": "a@b.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    command = ("git", "-C", str(folder), *arguments)
    return subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **names}).stdout


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    (folder / "package").mkdir(parents=True)
    git(folder, "init", "-q")
    (folder / "package" / "code.py").write_text("a = 1\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "First")
    return folder


def test_commit_difference_and_strangers_are_kept(source: Path, tmp_path: Path) -> None:
    (source / "package" / "code.py").write_text("a = 2\n")
    (source / "notes.txt").write_text("new")
    save_provenance(tmp_path / "run", source=source / "package")
    run = tmp_path / "run"
    assert (run / "git_sha.txt").read_text() == git(source, "rev-parse", "HEAD")
    assert "+a = 2" in (run / "git.diff").read_text()
    assert (run / "git_untracked.txt").read_text() == "notes.txt\n"


def test_a_clean_checkout_has_an_empty_difference(source: Path, tmp_path: Path) -> None:
    save_provenance(tmp_path / "run", source=source / "package")
    assert (tmp_path / "run" / "git.diff").read_text() == ""
    assert (tmp_path / "run" / "git_untracked.txt").read_text() == ""


@pytest.mark.parametrize("kind", ["no repository", "no git", "installed inside another repository"])
def test_without_a_checkout_the_files_say_so_and_the_run_goes_on(
    kind: str, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "plain"
    if kind == "no git":
        monkeypatch.setenv("PATH", str(tmp_path))
    if kind == "installed inside another repository":
        folder = source / "venv" / "lib"
        (source / ".gitignore").write_text("venv\n")
    folder.mkdir(parents=True)
    save_provenance(tmp_path / "run", source=folder)
    assert {path.name for path in (tmp_path / "run").iterdir()} == FILES
    assert {path.read_text() for path in (tmp_path / "run").iterdir()} == {"not a git checkout\n"}


def test_a_folder_that_cannot_be_written_only_warns(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run").write_text("a file stands where the folder should be")
    save_provenance(tmp_path / "run", source=source / "package")
    assert capsys.readouterr().err.count("could not be written") == 3
