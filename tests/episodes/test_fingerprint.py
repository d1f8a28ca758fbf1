"""A fingerprint tells any change of names, sizes and times, and opens no file."""

import os
from pathlib import Path

import pytest

from robotrain.episodes.fingerprint import list_files, take_fingerprint
from robotrain.errors import MissingPathError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "e" / "b" / "c").mkdir(parents=True)
    (tmp_path / "e" / "zarr.json").write_bytes(b"{}")
    (tmp_path / "e" / "b" / "c" / "0").write_bytes(b"12345")
    return tmp_path / "e"


def test_files_are_listed_by_the_bytes_of_their_paths_with_their_sizes(folder: Path) -> None:
    (folder / "b.x").write_bytes(b"")  # a dot sorts before a slash
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "part").write_bytes(b"1")
    listed = [(file.name, file.size) for file in list_files(folder)]
    assert listed == [(b".hidden/part", 1), (b"b.x", 0), (b"b/c/0", 5), (b"zarr.json", 2)]


def test_a_fingerprint_counts_and_is_the_same_until_something_changes(folder: Path) -> None:
    before = take_fingerprint(folder)
    assert (before.num_files, before.num_bytes) == (2, 7)
    assert take_fingerprint(folder) == before
    changes = [
        lambda: os.utime(folder / "zarr.json", ns=(1, 1)),
        lambda: (folder / "b" / "c" / "0").write_bytes(b"123456"),
        lambda: (folder / "b" / "c" / "0").rename(folder / "b" / "c" / "1"),
        lambda: (folder / "more").write_bytes(b""),
        (folder / "b" / "c" / "1").unlink,
    ]
    seen = {before.value}
    for change in changes:
        change()
        seen.add(take_fingerprint(folder).value)
    assert len(seen) == len(changes) + 1


def test_a_change_that_sets_the_time_back_is_seen_too(folder: Path) -> None:
    before, file = take_fingerprint(folder), folder / "b" / "c" / "0"
    times = file.stat()
    file.write_bytes(b"54321")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert file.stat().st_mtime_ns == times.st_mtime_ns
    assert take_fingerprint(folder) != before


def test_a_link_counts_as_its_file_and_one_to_nowhere_or_to_a_folder_as_none(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "blob").write_bytes(b"123")
    (folder / "linked").symlink_to(tmp_path / "blob")
    (folder / "dangling").symlink_to(tmp_path / "nothing")
    (folder / "loop").symlink_to(folder)
    assert [(file.name, file.size) for file in list_files(folder)][1] == (b"linked", 3)
    assert take_fingerprint(folder).num_files == 3


def test_an_array_that_is_kept_elsewhere_is_seen_through_its_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "big" / "c").mkdir(parents=True)
    (tmp_path / "big" / "zarr.json").write_bytes(b"{}")
    (tmp_path / "big" / "c" / "0").write_bytes(b"1")
    (folder / "images").symlink_to(tmp_path / "big")
    (folder / "self").symlink_to(folder)
    (folder / "b" / "loop").symlink_to(folder / "b" / "loop")
    names = [file.name for file in list_files(folder)]
    assert names == [b"b/c/0", b"images/c/0", b"images/zarr.json", b"zarr.json"]
    before = take_fingerprint(folder)
    (tmp_path / "big" / "c" / "0").write_bytes(b"2")
    assert take_fingerprint(folder) != before


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(MissingPathError):
        take_fingerprint(tmp_path / "nothing")
