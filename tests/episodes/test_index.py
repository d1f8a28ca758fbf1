"""The index knows what it has read, forgets nothing that still holds, and is never in the way."""

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from robotrain.episodes import index as index_module
from robotrain.episodes.digest import compute_digest
from robotrain.episodes.fingerprint import take_fingerprint
from robotrain.episodes.folder import find_episodes
from robotrain.episodes.index import BATCH, Entry, Found, Record, batches, open_index, read_entries
from robotrain.episodes.schema import read_facts
from robotrain.files import cache_dir
from tests.factories import make_joint_episode


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_joint_episode(tmp_path_factory.mktemp("sound") / "e")


@pytest.fixture
def root(sound: Path, tmp_path: Path) -> Path:
    for name in ("e0.zarr", "e1", "e2.zarr"):
        shutil.copytree(sound, tmp_path / "data" / name)
    return tmp_path / "data"


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the episodes whose attributes are read, as they are read."""
    seen: list[str] = []
    read = index_module.read_attributes

    def counted(path: Path) -> dict[str, object]:
        seen.append(path.name)
        return read(path)

    monkeypatch.setattr(index_module, "read_attributes", counted)
    return seen


def entries(root: Path) -> list[Entry]:
    return list(read_entries(root, find_episodes(root)))


def edit(path: Path, **attributes: object) -> None:
    metadata = json.loads((path / "zarr.json").read_text())
    metadata["attributes"] |= attributes
    (path / "zarr.json").write_text(json.dumps(metadata))


def index_file() -> Path:
    (file,) = (cache_dir() / "index").glob("*.sqlite")
    return file


def change(file: Path, *statements: str) -> None:
    with sqlite3.connect(file) as database:
        for statement in statements:
            database.execute(statement)


def test_an_entry_says_what_reading_the_episode_says(root: Path) -> None:
    for path, entry in zip(find_episodes(root), entries(root), strict=True):
        assert entry.facts == read_facts(path)
        assert (entry.hash, entry.embodiment, entry.num_frames) == (read_facts(path).hash, "toy_arm", 8)
        assert entry.fingerprint == take_fingerprint(path)
        assert (entry.problem, entry.digest) == ("", None)


def test_a_second_look_reads_only_what_is_new_or_has_changed(root: Path, reads: list[str]) -> None:
    first = entries(root)
    assert sorted(reads) == ["e0.zarr", "e1", "e2.zarr"]
    reads.clear()
    assert entries(root) == first
    assert reads == []
    edit(root / "e1", task_name="sort")
    shutil.copytree(root / "e0.zarr", root / "e3")
    assert [entry.facts.task_name for entry in entries(root) if entry.facts] == ["wave", "sort", "wave", "wave"]
    assert sorted(reads) == ["e1", "e3"]


def test_what_cannot_be_read_is_remembered_with_its_reason(root: Path, reads: list[str]) -> None:
    (root / "e1" / "zarr.json").write_text("{")
    for _ in range(2):
        broken = entries(root)[1]
        assert broken.facts is None
        assert "cannot be read as JSON" in broken.problem
    assert reads.count("e1") == 1


def test_findings_hold_until_the_episode_changes(root: Path) -> None:
    paths = find_episodes(root)
    found = Found("rules", True, (("missing-rows", "obs_joints", 3, "3 of 8 rows"),))
    with open_index(root) as index:
        known = index.refresh(paths)
        index.keep_findings([(known[0], found), (known[1], found)])
    edit(root / "e1", task_name="sort")
    with open_index(root) as index:
        assert index.findings(index.refresh(paths)) == {"e0.zarr": found}


def test_a_record_outlives_a_change_and_names_the_digest_only_until_then(root: Path) -> None:
    (entry, *_) = entries(root)
    record = Record("d" * 64, 2, 7, entry.fingerprint.value, {"zarr.json": (2, "ab"), "b/c/0": (5, "cd")})
    with open_index(root) as index:
        index.keep_records({"e0.zarr": record})
    assert [each.digest for each in entries(root)] == ["d" * 64, None, None]
    edit(root / "e0.zarr", task_name="sort")
    assert entries(root)[0].digest is None
    with open_index(root) as index:
        assert index.records(["e0.zarr", "e1"]) == {"e0.zarr": record}


def test_equal_contents_are_those_of_the_same_digest_as_they_are_now(root: Path) -> None:
    with open_index(root) as index:
        known = index.refresh(find_episodes(root))
        index.keep_records({e.path.name: Record("d", 1, 1, e.fingerprint.value, {}) for e in known})
        assert index.equal_contents() == (("e0.zarr", "e1", "e2.zarr"),)
        edit(root / "e1", task_name="sort")
        index.refresh(find_episodes(root))
        assert index.equal_contents() == (("e0.zarr", "e2.zarr"),)


def test_episodes_that_are_gone_are_forgotten(root: Path) -> None:
    entries(root)
    shutil.rmtree(root / "e1")
    with open_index(root) as index:
        index.forget_all_but(find_episodes(root).names)
    with sqlite3.connect(index_file()) as database:
        assert database.execute("SELECT folder FROM episode").fetchall() == [("e0.zarr",), ("e2.zarr",)]


@pytest.mark.parametrize(
    "harm",
    [
        lambda file: file.unlink(),
        lambda file: file.write_bytes(b"no database at all" * 100),
        lambda file: file.write_bytes(file.read_bytes()[:5000] + b"\xff" * 3000),
        lambda file: file.write_bytes(b""),
        lambda file: change(file, "DROP TABLE episode", "CREATE TABLE episode (folder TEXT)"),
    ],
    ids=["deleted", "nonsense", "broken", "empty", "another layout"],
)
def test_an_index_that_is_deleted_or_broken_is_made_again(
    root: Path, harm: Callable[[Path], object], capfd: pytest.CaptureFixture[str]
) -> None:
    first = entries(root)
    harm(index_file())
    assert entries(root) == first
    told = capfd.readouterr().err
    assert entries(root) == first
    assert capfd.readouterr().err == ""  # the one after is in order again
    assert told.count("\n") <= 1


def test_content_that_is_not_as_it_was_written_is_read_anew(root: Path) -> None:
    first = entries(root)
    facts = [entry.facts for entry in first]
    with open_index(root) as index:
        index.keep_findings((entry, Found("rules", False, ())) for entry in first)
        index.keep_records({entry.path.name: Record("d", 1, 1, "f", {}) for entry in first})
    change(index_file(), "UPDATE episode SET told = x'00', findings = '{'", "UPDATE record SET files = x'00'")
    with open_index(root) as index:
        again = index.refresh(find_episodes(root))
        assert [entry.facts for entry in again] == facts
        assert index.records(["e0.zarr"]) == {}
        assert index.findings(again) == {}
    assert not list((cache_dir() / "index").glob("*.sqlite"))  # the next run makes a new one


def test_an_index_that_breaks_while_it_is_open_does_not_stop_the_work(root: Path) -> None:
    paths = find_episodes(root)
    with open_index(root) as index:
        first = index.refresh(paths)
        index._database.execute("DROP TABLE episode")
        assert index.refresh(paths) == first
        assert index.refresh(paths) == first


def test_a_cache_folder_that_is_a_file_is_said_and_done_without(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ROBOTRAIN_CACHE_DIR", str(tmp_path / "file"))
    assert len(entries(root)) == 3
    assert "cannot be used" in capfd.readouterr().err


def test_two_folders_have_two_indexes(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root, tmp_path / "copy")
    entries(root)
    entries(tmp_path / "copy")
    assert len(list((cache_dir() / "index").glob("*.sqlite"))) == 2


BUILD = """
import sys
from pathlib import Path
from robotrain.stages.validate import ValidateConfig, run
run(ValidateConfig(data=(sys.argv[1],), deep=sys.argv[2] == 'deep'))
"""


def build(root: Path, depth: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", BUILD, str(root), depth],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        process_group=0,
    )


def assert_complete(root: Path) -> None:
    """Check the index against the episodes themselves, without the index's own code."""
    with sqlite3.connect(index_file()) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        known = dict(database.execute("SELECT folder, fingerprint FROM episode WHERE rules != ''"))
        stale = database.execute("SELECT count(*) FROM record JOIN episode USING (folder) WHERE rules = ''").fetchall()
    assert known == {path.name: take_fingerprint(path).value for path in find_episodes(root)}
    assert stale == [(0,)]


@pytest.fixture
def many(sound: Path, tmp_path: Path) -> Path:
    for number in range(BATCH + 14):
        path = tmp_path / "many" / f"e{number:03d}"
        shutil.copytree(sound, path)
        edit(path, number=number)
    return tmp_path / "many"


@pytest.mark.slow
def test_ten_processes_that_build_one_index_at_once_leave_it_whole(many: Path) -> None:
    processes = [build(many, "deep") for _ in range(10)]
    errors = [process.communicate()[1].decode() for process in processes]
    assert [process.returncode for process in processes] == [0] * 10, errors
    assert not any("cannot be used" in error for error in errors)
    assert_complete(many)
    with open_index(many) as index:
        entries = [entry for batch in batches(find_episodes(many)) for entry in index.refresh(batch)]
    assert [entry.digest for entry in entries] == [compute_digest(entry.path) for entry in entries]


@pytest.mark.slow
def test_a_kill_at_any_moment_leaves_an_index_that_the_others_and_the_next_run_complete(many: Path) -> None:
    killed: list[bool] = []
    for delay in (0.0, 0.01, 0.05, 0.1, 0.2):
        first, other = build(many, "quick"), build(many, "quick")
        killed.append(kill_once_it_writes(first, delay))
        told = other.communicate()[1].decode()
        assert other.returncode == 0, told
        assert_complete(many)
        index_file().unlink()
        killed.append(kill_once_it_writes(build(many, "quick"), delay))
        last = build(many, "quick")
        told = last.communicate()[1].decode()
        assert last.returncode == 0, told
        assert_complete(many)
        index_file().unlink()
    assert sum(killed) >= 5, "most were done before they could be killed"


def kill_once_it_writes(process: subprocess.Popen[bytes], delay: float) -> bool:
    """Kill a process that builds an index some seconds after there is one; tell whether it was still at work."""
    deadline = time.monotonic() + 60
    while not list((cache_dir() / "index").glob("*.sqlite")) and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)  # its workers die with it
    process.communicate()
    return process.returncode == -signal.SIGKILL
