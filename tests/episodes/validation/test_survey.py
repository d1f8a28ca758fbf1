"""A folder is looked at once, what changes is seen, and after a digest was recorded no lost bit goes unseen."""

import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robotrain.episodes import schema, storage
from robotrain.episodes.digest import Content, compute_digest
from robotrain.episodes.folder import find_episodes
from robotrain.episodes.index import BATCH, open_index
from robotrain.episodes.manifest import ManifestRow
from robotrain.episodes.validation import survey as survey_module
from robotrain.episodes.validation.survey import Surveyed, equal_contents, read_digests, survey
from robotrain.errors import EpisodeError, WorkerDiedError
from tests.factories import make_eva_episode, make_human_episode, make_joint_episode


def surveyed(root: Path, *, deep: bool = False, record: bool = False, manifest: dict[str, ManifestRow] | None = None):
    with open_index(root) as index:
        return list(survey(index, find_episodes(root), manifest=manifest or {}, deep=deep, record=record))


def codes(found: list[Surveyed]) -> dict[str, list[str]]:
    told = {each.entry.hash: [f.code for f in each.findings if f.severity != "off"] for each in found}
    return {name: each for name, each in told.items() if each}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for seed, name in enumerate(("e0", "e1", "e2")):
        make_joint_episode(tmp_path / "data" / name, num_frames=40, seed=seed)
    return tmp_path / "data"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return the folders whose ``zarr.json`` is read: groups and arrays, with or without Zarr."""
    seen: list[Path] = []
    read = schema.read_metadata

    def counted(folder: Path, episode: str) -> dict[str, object]:
        seen.append(folder)
        return read(folder, episode)

    for module in (schema, storage):
        monkeypatch.setattr(module, "read_metadata", counted)
    return seen


def test_a_second_survey_opens_nothing_and_finds_the_same(root: Path, opened: list[Path]) -> None:
    (root / "e1" / "images.front_1" / "c" / "0").unlink()
    first = surveyed(root)
    assert codes(first) == {"e1": ["missing-shard"]}
    assert opened
    opened.clear()
    second = surveyed(root)
    assert [(each.entry.hash, each.findings) for each in second] == [(each.entry.hash, each.findings) for each in first]
    assert opened == []


def test_only_the_episode_that_changed_is_opened_again(root: Path, opened: list[Path]) -> None:
    surveyed(root)
    opened.clear()
    (root / "e1" / "obs_joints" / "c" / "0" / "0").write_bytes(b"")
    assert codes(surveyed(root)) == {"e1": ["missing-shard"]}
    assert {path.relative_to(root).parts[0] for path in opened} == {"e1"}


def test_other_rules_look_again(root: Path, opened: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    surveyed(root)
    opened.clear()
    monkeypatch.setattr(survey_module, "_SOURCES", ("errors.py",))
    surveyed(root)
    assert opened


def test_the_sources_that_make_findings_are_all_among_the_rules() -> None:
    code = "import sys, robotrain.episodes.validation.scans, robotrain.episodes.validation.check; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    rooms = ("robotrain.episodes.", "robotrain.geometry.", "robotrain.embodiments.")
    files = {f"{name.removeprefix('robotrain.').replace('.', '/')}.py" for name in loaded if name.startswith(rooms)}
    choosing = ("choice", "resolver", "folder", "index", "digest", "manifest")  # which episodes, not what is in one
    beside = tuple(f"episodes/{name}" for name in choosing)
    makers = {file for file in files if not file.startswith(beside)}
    assert "episodes/shards.py" in makers
    assert not {file for file in makers if not file.startswith(survey_module._SOURCES)}


def test_the_rules_are_read_once_a_survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sound, read = make_joint_episode(tmp_path / "sound", num_frames=2), []
    for number in range(BATCH + 1):  # two batches
        shutil.copytree(sound, tmp_path / "data" / f"e{number:03d}")
    digest = survey_module.source_digest
    monkeypatch.setattr(survey_module, "source_digest", lambda sources: read.append(sources) or digest(sources))
    surveyed(tmp_path / "data")
    assert len(read) == 1


def test_what_a_deep_survey_found_is_told_again_by_a_quick_one(root: Path, opened: list[Path]) -> None:
    path = make_joint_episode(root / "e3", num_frames=40, fps=5)
    (path / "obs_joints").rename(path / "aside")
    shutil.copytree(path / "cmd_joints", path / "obs_joints")
    shutil.rmtree(path / "aside")
    assert codes(surveyed(root)) == {}
    deep = codes(surveyed(root, deep=True))
    opened.clear()
    assert codes(surveyed(root)) == deep
    assert opened == []


def test_a_deep_survey_records_and_a_quick_one_does_not(root: Path) -> None:
    assert not any(each.is_recorded for each in surveyed(root))
    assert all(each.is_recorded for each in surveyed(root, deep=True))
    assert all(each.is_recorded for each in surveyed(root))
    with open_index(root) as index:
        told = {entry.hash: entry.digest for entry in index.refresh(find_episodes(root))}
    assert told == {path.name: compute_digest(path) for path in find_episodes(root)}


def test_nothing_is_recorded_of_an_episode_with_an_error(root: Path) -> None:
    (root / "e1" / "obs_joints" / "c" / "0" / "0").unlink()
    assert [each.is_recorded for each in surveyed(root, deep=True)] == [True, False, True]


def test_a_rewrite_with_the_same_bytes_is_recorded_anew_and_one_with_others_is_found_quickly(root: Path) -> None:
    surveyed(root, deep=True)
    file = root / "e1" / "obs_joints" / "c" / "0" / "0"
    content = file.read_bytes()
    file.write_bytes(content)
    assert codes(surveyed(root)) == {}
    assert all(each.entry.digest for each in surveyed(root))
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    found = codes(surveyed(root))["e1"]
    assert "changed-content" in found


def test_an_episode_that_cannot_be_read_whole_is_told_and_not_recorded(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = survey_module.read_content

    def read(path: Path) -> Content:
        if path.name == "e1":
            raise EpisodeError("e1", "the file 'a' changed while it was read.")
        if path.name == "e2":
            raise PermissionError(13, "Permission denied", str(path / "a"))
        return content(path)

    monkeypatch.setattr(survey_module, "read_content", read)
    found = surveyed(root, record=True)
    assert codes(found) == {"e1": ["changed-content"], "e2": ["changed-content"]}
    assert [each.content is not None for each in found] == [True, False, False]
    told = [each.findings[-1].message for each in found[1:]]
    assert told[0] == "It cannot be compared: the file 'a' changed while it was read."
    assert told[1].endswith("e2/a': Permission denied.")


def test_taking_episodes_as_they_are_accepts_a_change(root: Path) -> None:
    surveyed(root, deep=True)
    (root / "e1" / "zarr.json").write_text((root / "e1" / "zarr.json").read_text().replace("wave", "wove"))
    assert codes(surveyed(root)) == {"e1": ["changed-content"]}
    assert codes(surveyed(root)) == {"e1": ["changed-content"]}  # looking at it does not accept it
    taken = surveyed(root, record=True)
    assert codes(taken) == {}
    assert [each.content.digest for each in taken if each.content] == [compute_digest(p) for p in find_episodes(root)]
    assert codes(surveyed(root, deep=True)) == {}


def test_the_same_bytes_under_two_hashes_are_told_once_recorded(root: Path) -> None:
    shutil.copytree(root / "e0", root / "e9.zarr")
    surveyed(root)
    with open_index(root) as index:
        assert list(equal_contents(index)) == []
    surveyed(root, deep=True)
    with open_index(root) as index:
        (finding,) = equal_contents(index)
    assert (finding.code, finding.episode) == ("duplicate-content", "e0")
    assert "e9" in finding.message


def test_recording_reads_only_what_has_no_digest(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    content = survey_module.read_content
    monkeypatch.setattr(survey_module, "read_content", lambda path: read.append(path.name) or content(path))
    for expected in (["e0", "e1", "e2"], []):
        with open_index(root) as index:
            digests = list(read_digests(index, find_episodes(root), record=True))
        assert [(entry.hash, digest) for entry, digest in digests] == [
            (p.name, compute_digest(p)) for p in find_episodes(root)
        ]
        assert read == expected
        read.clear()


def test_many_episodes_are_shared_out_and_come_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robotrain.processes.num_cores", lambda: 2)
    sound = make_joint_episode(tmp_path / "sound", num_frames=2)
    for number in range(40):
        shutil.copytree(sound, tmp_path / "data" / f"e{number:02d}")
    (tmp_path / "data" / "e17" / "zarr.json").write_text("{")
    found = surveyed(tmp_path / "data", deep=True)
    assert [each.entry.hash for each in found] == [f"e{number:02d}" for number in range(40)]
    assert [code for name, code in codes(found).items() if name == "e17"] == [["not-an-episode"]]
    assert all("short-episode" in found_codes for name, found_codes in codes(found).items() if name != "e17")


def _die(path: Path, *, deep: bool) -> tuple[tuple[str, str, int | None, str], ...]:
    import os
    import signal

    os.kill(os.getpid(), signal.SIGKILL)
    return ()


def test_a_killed_worker_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robotrain.processes.num_cores", lambda: 2)
    monkeypatch.setattr(survey_module, "_look", _die)
    sound = make_joint_episode(tmp_path / "sound", num_frames=2)
    for number in range(20):
        shutil.copytree(sound, tmp_path / "data" / f"e{number:02d}")
    with pytest.raises(WorkerDiedError):
        surveyed(tmp_path / "data")


DUE_TO_LOSS = {"missing-shard", "missing-or-all-fill", "missing-array", "not-an-episode", "bad-annotations"}
MAKE = {"eva": make_eva_episode, "human": make_human_episode, "toy": make_joint_episode}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """Return a folder of three sound episodes, and a copy of it to be harmed; both are recorded in one cache."""
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("recorded")
        patch.setenv("ROBOTRAIN_CACHE_DIR", str(home / "cache"))
        for name, make in MAKE.items():
            make(home / "kept" / name, num_frames=31)
        shutil.copytree(home / "kept", home / "data")
        assert codes(surveyed(home / "data", deep=True)) == {}
        yield home / "kept", home / "data"


def mend(recorded: tuple[Path, Path], episode: str) -> None:
    """Put an episode back as it was, from a copy that keeps the times of writing."""
    kept, data = recorded
    shutil.rmtree(data / episode)
    shutil.copytree(kept / episode, data / episode)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(episode=st.sampled_from(sorted(MAKE)), seed=st.integers(0, 2**32), keeps_times=st.booleans())
def test_a_flipped_bit_anywhere_is_found_by_a_deep_survey(
    recorded: tuple[Path, Path], episode: str, seed: int, keeps_times: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    monkeypatch.setenv("ROBOTRAIN_CACHE_DIR", str(recorded[1].parent / "cache"))
    rng = random.Random(seed)
    file = rng.choice(sorted(path for path in (recorded[1] / episode).rglob("*") if path.stat().st_size))
    if file.is_dir():
        file = rng.choice(sorted(path for path in file.rglob("*") if path.is_file()))
    content, times = bytearray(file.read_bytes()), file.stat()
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    file.write_bytes(bytes(content))
    if keeps_times:
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    try:
        found = codes(surveyed(recorded[1], deep=True))
        assert set(found) == {episode}
        assert "changed-content" in found[episode]
    finally:
        mend(recorded, episode)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(episode=st.sampled_from(sorted(MAKE)), seed=st.integers(0, 2**32), deep=st.booleans())
def test_a_deleted_file_is_found_by_a_quick_survey_too(
    recorded: tuple[Path, Path], episode: str, seed: int, deep: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROBOTRAIN_CACHE_DIR", str(recorded[1].parent / "cache"))
    files = sorted(path for path in (recorded[1] / episode).rglob("*") if path.is_file())
    file = random.Random(seed).choice(files)
    name = file.relative_to(recorded[1] / episode).as_posix()
    file.unlink()
    try:
        found = surveyed(recorded[1], deep=deep)
        assert set(codes(found)) == {episode}
        (harmed,) = (each for each in found if each.entry.hash == episode)
        (lost,) = (finding for finding in harmed.findings if finding.code == "lost-file")
        assert f"'{name}'" in lost.message
    finally:
        mend(recorded, episode)


@pytest.mark.parametrize("episode", sorted(MAKE))
def test_without_a_record_every_deleted_file_of_an_array_is_found(
    episode: str, recorded: tuple[Path, Path], tmp_path: Path
) -> None:
    kept = recorded[0] / episode
    for file in sorted(path for path in kept.rglob("*") if path.is_file()):
        root = tmp_path / file.relative_to(kept).as_posix().replace("/", "_")
        shutil.copytree(kept, root / episode)
        (root / episode / file.relative_to(kept)).unlink()
        (harmed,) = surveyed(root)
        assert not harmed.is_recorded
        found = {finding.code for finding in harmed.findings}
        assert found & {"missing-shard", "missing-or-all-fill", "missing-array", "not-an-episode", "bad-annotations"}, (
            file
        )
