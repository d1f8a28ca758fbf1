import json
from pathlib import Path
from typing import Any

import pytest

from robotrain.episodes.storage import MAX_MISSING, missing_chunk_files, missing_words, read_stored_array
from robotrain.errors import EpisodeError
from tests.factories import make_eva_episode

REGULAR = {"name": "regular", "configuration": {"chunk_shape": [100, 7]}}


def write_array(path: Path, **more: Any) -> Path:
    metadata = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [250, 7],
        "data_type": "float64",
        "chunk_grid": REGULAR,
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    }
    (path / "a").mkdir(parents=True)
    (path / "a" / "zarr.json").write_text(json.dumps(metadata | more))
    return path


@pytest.mark.parametrize(
    ("encoding", "files"),
    [
        ({"name": "default", "configuration": {"separator": "/"}}, ["c/0/0", "c/1/0", "c/2/0"]),
        ({"name": "default"}, ["c/0/0", "c/1/0", "c/2/0"]),
        ({"name": "default", "configuration": {"separator": "."}}, ["c.0.0", "c.1.0", "c.2.0"]),
        ({"name": "v2"}, ["0.0", "1.0", "2.0"]),
    ],
)
def test_every_chunk_has_a_file_named_by_the_metadata(
    tmp_path: Path, encoding: dict[str, Any], files: list[str]
) -> None:
    stored = read_stored_array(write_array(tmp_path, chunk_key_encoding=encoding), "a")
    assert [file.relative_to(tmp_path / "a").as_posix() for file in stored.chunk_files(250)] == files


@pytest.mark.parametrize(
    ("encoding", "owned", "strays"),
    [
        ({"name": "default"}, ["c/0/0", "c/2/0"], ["c/3/0", "c/0/1", "c/0", "c/0/0/0", "0/0", "c/00/0", "c/-1/0", "c"]),
        ({"name": "default", "configuration": {"separator": "."}}, ["c.0.0", "c.2.0"], ["c/0/0", "c.3.0", "c.0.0.x"]),
        ({"name": "v2"}, ["0.0", "2.0"], ["c.0.0", "3.0", "0.0.part", ""]),
    ],
)
def test_a_file_belongs_to_an_array_when_its_name_is_that_of_a_chunk(
    tmp_path: Path, encoding: dict[str, Any], owned: list[str], strays: list[str]
) -> None:
    stored = read_stored_array(write_array(tmp_path, chunk_key_encoding=encoding), "a")
    assert [name for name in (*owned, *strays) if stored.owns(name)] == owned


def test_only_files_that_hold_real_rows_are_asked_for(tmp_path: Path) -> None:
    stored = read_stored_array(write_array(tmp_path), "a")
    assert len(list(stored.chunk_files(200))) == 2
    assert stored.chunk_of_row(200) == (2, 0)


def test_an_array_without_rows_has_no_files(tmp_path: Path) -> None:
    grid = {"name": "regular", "configuration": {"chunk_shape": [0]}}
    stored = read_stored_array(write_array(tmp_path, shape=[0], chunk_grid=grid), "a")
    assert missing_chunk_files(stored, 0) == ()
    assert missing_chunk_files(stored, 5) == ()


def test_lost_and_empty_files_are_missed(tmp_path: Path) -> None:
    path = make_eva_episode(tmp_path / "e", num_frames=3)
    stored = read_stored_array(path, "left.obs_ee_pose")
    assert missing_chunk_files(stored, 3) == ()
    file = stored.chunk_file((0, 0))
    file.write_bytes(b"")
    assert missing_chunk_files(stored, 3) == (file,)
    file.unlink()
    assert missing_chunk_files(stored, 3) == (file,)
    assert missing_words((file,), path) == "the file 'left.obs_ee_pose/c/0/0' is missing or empty."


def test_of_very_many_files_that_were_never_there_the_first_are_counted(tmp_path: Path) -> None:
    grid = {"name": "regular", "configuration": {"chunk_shape": [1, 1]}}
    stored = read_stored_array(write_array(tmp_path, shape=[1_000_000, 9], chunk_grid=grid), "a")
    missing = missing_chunk_files(stored, 1_000_000)
    assert len(missing) == MAX_MISSING
    assert missing_words(missing, tmp_path) == "the file 'a/c/0/0' and at least 9,999 more is missing or empty."


@pytest.mark.parametrize(
    "more",
    [
        {"node_type": "group"},
        {"shape": None},
        {"shape": ["many", 7]},
        {"chunk_grid": {"name": "rectilinear"}},
        {"shape": [250]},
        {"shape": [], "chunk_grid": {"configuration": {"chunk_shape": []}}},
        {"chunk_key_encoding": {}},
        {"chunk_key_encoding": {"name": "default", "configuration": {"separator": "-"}}},
        {"chunk_key_encoding": {"name": "default", "configuration": 3}},
        {"shape": [True, 7]},
        {"shape": [-1, 7]},
        {"shape": [250.0, 7]},
        {"shape": [250, 10**15]},
        {"shape": [250, 10**8], "chunk_grid": {"configuration": {"chunk_shape": [250, 10**8]}}},
        {"data_type": 3},
    ],
)
def test_metadata_that_say_too_little_or_nonsense_are_refused(tmp_path: Path, more: dict[str, Any]) -> None:
    with pytest.raises(EpisodeError, match="array 'a'"):
        read_stored_array(write_array(tmp_path, **more), "a")
