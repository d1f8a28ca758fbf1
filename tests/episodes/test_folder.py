"""Which folders of a folder are episodes."""

import os
from pathlib import Path

import pytest

from robotrain.episodes.folder import EpisodePaths, find_episodes, twin_hashes
from robotrain.errors import EpisodeError, MissingPathError, NoEpisodesError
from tests.hollow import make_hollow


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for number in range(10):
        make_hollow(tmp_path, f"e{number}" + ".zarr" * (number % 2))
    return tmp_path


def test_episodes_are_found_by_hash_with_and_without_ending(root: Path) -> None:
    assert [path.name for path in find_episodes(root)][:3] == ["e0", "e1.zarr", "e2"]


def test_unfinished_and_foreign_folders_are_left_alone_and_broken_episodes_are_not(tmp_path: Path) -> None:
    make_hollow(tmp_path, "a")
    make_hollow(tmp_path, ".b.partial-17")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "x.txt").write_text("")
    (tmp_path / "lost.zarr").mkdir()
    make_hollow(tmp_path / "headless", "images.front_1")
    (tmp_path / "manifest.json").write_text("{}")
    assert [path.name for path in find_episodes(tmp_path)] == ["a", "headless", "lost.zarr"]


def test_a_missing_folder_and_an_empty_one_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(MissingPathError):
        find_episodes(tmp_path / "nothing")
    with pytest.raises(NoEpisodesError):
        find_episodes(tmp_path)


def test_a_lerobot_data_set_is_recognised_and_the_command_that_converts_it_named(tmp_path: Path) -> None:
    (tmp_path / "meta").mkdir()
    (tmp_path / "meta" / "info.json").write_text("{}")
    with pytest.raises(NoEpisodesError, match="robotrain convert lerobot"):
        find_episodes(tmp_path)


def test_twins_are_hashes_of_two_folders(tmp_path: Path) -> None:
    for name in ("a", "a.zarr", "b.zarr", "c", "d.zarr", "d.zarr.zarr"):
        make_hollow(tmp_path, name)
    assert twin_hashes(find_episodes(tmp_path)) == ("a",)


def test_episodes_are_a_sequence_of_paths_and_a_portion_of_them_is_one_too(root: Path) -> None:
    paths = find_episodes(root)
    assert len(paths) == 10
    assert paths[3] == root / "e3.zarr"
    assert paths[-1] == root / "e9.zarr"
    assert list(paths[2:4]) == [root / "e2", root / "e3.zarr"]
    assert isinstance(paths[2:4], EpisodePaths)
    assert root / "e2" in paths


def test_a_name_that_is_no_text_is_refused_in_letters_that_can_be_shown(root: Path) -> None:
    (root / "e2").rename(root / os.fsdecode(b"e2\xff"))
    with pytest.raises(EpisodeError, match=r"Episode 'e2\\xff': the folder's name is not UTF-8"):
        find_episodes(root)
