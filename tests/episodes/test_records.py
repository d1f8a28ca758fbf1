"""Whether an episode is still what was recorded of it."""

from pathlib import Path

import pytest

from robotrain.episodes.digest import Content, read_content
from robotrain.episodes.index import Entry, Record, read_entries
from robotrain.episodes.manifest import ManifestRow, read_manifest, save_manifest
from robotrain.episodes.records import Change, changed_content, changed_files, recorded_of
from robotrain.errors import ManifestError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "data" / "e"
    path.mkdir(parents=True)
    (path / "zarr.json").write_bytes(b"{}")
    (path / "a").write_bytes(b"12345")
    return path


def entry_of(path: Path) -> Entry:
    (entry,) = read_entries(path.parent, [path])
    return entry


def record_of(path: Path) -> Record:
    content = read_content(path)
    fingerprint = entry_of(path).fingerprint
    return Record(content.digest, len(content.files), content.num_bytes, fingerprint.value, content.files)


def row_of(path: Path) -> ManifestRow:
    return entry_of(path).manifest_row(read_content(path).digest)


def changes(path: Path, row: ManifestRow | None, record: Record | None) -> tuple[Change | None, Change | None]:
    """Return what names and sizes tell, and what the bytes do."""
    before = recorded_of(row, record)
    assert before is not None
    return changed_files(entry_of(path), before), changed_content(read_content(path), before)


def test_without_a_manifest_and_a_record_there_is_nothing_to_compare_with(folder: Path) -> None:
    assert recorded_of(None, None) is None


@pytest.mark.parametrize("known", ["manifest", "index", "both"])
def test_an_episode_that_is_as_it_was_has_not_changed(folder: Path, known: str) -> None:
    row = row_of(folder) if known != "index" else None
    record = record_of(folder) if known != "manifest" else None
    assert changes(folder, row, record) == (None, None)
    (folder / "a").touch()
    assert changes(folder, row, record) == (None, None)


@pytest.mark.parametrize("known", ["manifest", "index", "both"])
def test_a_lost_file_is_named_where_the_index_knows_it_and_counted_elsewhere(folder: Path, known: str) -> None:
    row = row_of(folder) if known != "index" else None
    record = record_of(folder) if known != "manifest" else None
    (folder / "a").unlink()
    for change in changes(folder, row, record):
        assert change is not None
        assert change.code == "lost-file"
        named = "1 of 2 recorded files are gone, such as 'a'."
        assert change.message == ("2 files were recorded, and 1 are there." if known == "manifest" else named)


def test_a_file_that_comes_as_another_goes_is_seen_by_name(folder: Path) -> None:
    record = record_of(folder)
    (folder / "a").rename(folder / "b")
    quick, deep = changes(folder, None, record)
    assert quick == deep == Change("lost-file", "1 of 2 recorded files are gone, such as 'a'.")


def test_another_size_is_seen_at_once_and_other_bytes_only_by_reading_them(folder: Path) -> None:
    row, record = row_of(folder), record_of(folder)
    (folder / "a").write_bytes(b"54321")
    assert changes(folder, row, None)[0] is None
    assert changes(folder, None, record) == (
        None,
        Change("changed-content", "The file 'a' is not as it was recorded."),
    )
    deep = changes(folder, row, None)[1]
    assert deep is not None
    assert (deep.code, row.digest[:12] in deep.message) == ("changed-content", True)
    (folder / "a").write_bytes(b"123456")
    (folder / "zarr.json").write_bytes(b"{ }")
    quick = changes(folder, None, record)[0]
    assert quick == Change("changed-content", "The file 'a' and 1 more is not as it was recorded.")
    assert changes(folder, row, None)[0] == Change(
        "changed-content", "2 files of 7 bytes were recorded, and there are 2 of 9."
    )


def test_a_manifest_wins_over_what_the_index_remembers(folder: Path) -> None:
    before = row_of(folder)
    (folder / "a").write_bytes(b"54321")
    change = changes(folder, before, record_of(folder))[1]
    assert change is not None
    assert change.code == "changed-content"


def test_an_own_file_name_that_is_no_utf8_is_compared_too(folder: Path) -> None:
    import os

    Path(os.fsdecode(os.fsencode(folder) + b"/\xff")).write_bytes(b"1")
    assert changes(folder, None, record_of(folder)) == (None, None)
    assert isinstance(read_content(folder), Content)


def test_a_manifest_that_is_not_there_is_empty_and_a_broken_one_an_error(tmp_path: Path) -> None:
    assert read_manifest(tmp_path / "manifest.json") == {}
    row = ManifestRow("e", "d" * 64, 2, 7, 8, "toy_arm")
    save_manifest(tmp_path / "manifest.json", [row])
    assert read_manifest(tmp_path / "manifest.json") == {"e": row}
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(ManifestError):
        read_manifest(tmp_path / "manifest.json")
