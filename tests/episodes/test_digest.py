import hashlib
import shutil
from hashlib import sha256
from pathlib import Path

import pytest

from robotrain.episodes.digest import compute_digest, digest_of_arrays, read_content
from robotrain.errors import EpisodeError, MissingPathError
from tests.factories import make_joint_episode


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "e"
    (root / "a" / "c").mkdir(parents=True)
    (root / "a" / "c" / "0").write_bytes(b"rows")
    (root / "a.b").write_bytes(b"")
    (root / "ä").write_bytes(b"\x00\xff")
    (root / ".stray").write_bytes(b"!")
    (root / "empty").mkdir()
    return root


def test_the_digest_is_the_one_written_down_in_the_contract(folder: Path) -> None:
    # By hand: names sorted by their UTF-8 bytes, lengths as 8 bytes, little endian. Empty folders do not count.
    expected = (
        b"\x06\0\0\0\0\0\0\0.stray\x01\0\0\0\0\0\0\0!"
        b"\x03\0\0\0\0\0\0\0a.b\x00\0\0\0\0\0\0\0"
        b"\x05\0\0\0\0\0\0\0a/c/0\x04\0\0\0\0\0\0\0rows"
        b"\x02\0\0\0\0\0\0\0\xc3\xa4\x02\0\0\0\0\0\0\0\x00\xff"
    )
    assert compute_digest(folder) == hashlib.sha256(expected).hexdigest()


def test_any_flipped_bit_changes_the_digest(folder: Path) -> None:
    before = compute_digest(folder)
    seen = {before}
    for file in (folder / "a" / "c" / "0", folder / "ä", folder / ".stray"):
        content = file.read_bytes()
        for position in range(8 * len(content)):
            flipped = bytearray(content)
            flipped[position // 8] ^= 1 << position % 8
            file.write_bytes(bytes(flipped))
            seen.add(compute_digest(folder))
        file.write_bytes(content)
    assert len(seen) == 1 + 8 * 7
    assert compute_digest(folder) == before


@pytest.mark.parametrize("change", ["lost", "stray", "renamed", "moved bytes"])
def test_lost_stray_and_renamed_files_change_the_digest(folder: Path, change: str) -> None:
    before = compute_digest(folder)
    if change == "lost":
        (folder / "a.b").unlink()
    elif change == "stray":
        (folder / "empty" / "note").write_bytes(b"")
    elif change == "renamed":
        (folder / "ä").rename(folder / "a\u0308")  # the same letter in another spelling
    else:
        (folder / "a" / "c" / "0").write_bytes(b"row")
        (folder / "a.b").write_bytes(b"s")
    assert compute_digest(folder) != before


def test_neither_place_nor_date_of_an_episode_counts(folder: Path, tmp_path: Path) -> None:
    copied = tmp_path / "elsewhere" / "other"
    shutil.copytree(folder, copied)
    (copied / "a.b").touch()
    assert compute_digest(copied) == compute_digest(folder)


def test_the_digest_of_arrays_sees_only_their_files(tmp_path: Path) -> None:
    path = make_joint_episode(tmp_path / "e", num_frames=4)
    arrays = ("obs_joints", "cmd_joints")
    before = digest_of_arrays(path, arrays)
    assert digest_of_arrays(path, reversed(arrays)) == before
    assert digest_of_arrays(path, ("obs_joints",)) != before
    (path / "images.front_1" / "c" / "0").write_bytes(b"other pictures")
    assert digest_of_arrays(path, arrays) == before
    file = path / "obs_joints" / "c" / "0" / "0"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(bytes(content))
    assert digest_of_arrays(path, arrays) != before
    with pytest.raises(EpisodeError, match="no such array"):
        digest_of_arrays(path, ("left.obs_joints",))


def test_the_digest_of_all_arrays_and_nothing_beside_is_the_digest(tmp_path: Path) -> None:
    path = make_joint_episode(tmp_path / "e", num_frames=2)
    (path / "zarr.json").unlink()
    arrays = ("annotations", "cmd_joints", "images.front_1", "obs_joints")
    assert digest_of_arrays(path, arrays) == compute_digest(path)


def test_the_content_names_every_file_with_its_size_and_its_own_digest(tmp_path: Path) -> None:
    path = make_joint_episode(tmp_path / "e.zarr", num_frames=4)
    files = {file.relative_to(path).as_posix(): file.read_bytes() for file in path.rglob("*") if file.is_file()}
    content = read_content(path)
    assert content.digest == compute_digest(path)
    assert content.num_bytes == sum(map(len, files.values()))
    assert content.files == {name: (len(told), sha256(told).hexdigest()[:16]) for name, told in files.items()}


def test_what_is_not_there_has_no_digest(tmp_path: Path) -> None:
    with pytest.raises(MissingPathError):
        compute_digest(tmp_path / "nothing")
