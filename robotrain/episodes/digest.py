"""What protects an episode: the digest of every byte of it.

Knows files and bytes; refuses to know what they mean. A stray file, a lost one and a flipped bit all change the digest.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from robotrain.episodes.fingerprint import ListedFile, list_files
from robotrain.episodes.schema import hash_of
from robotrain.errors import EpisodeError

__all__ = ["Content", "compute_digest", "digest_of_arrays", "read_content"]

_BLOCK = 1 << 20
_FILE_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Content:
    """All bytes of an episode, in short."""

    digest: str
    num_bytes: int
    files: Mapping[str, tuple[int, str]]
    """By relative name: bytes, and the first digits of the file's own SHA-256."""


def compute_digest(path: Path | str) -> str:
    """Return the SHA-256 of an episode's content, in hex: see `read_content`."""
    return read_content(path).digest


def read_content(path: Path | str) -> Content:
    """Read every byte of an episode and return its digest.

    The digest is SHA-256 over each file, sorted by the UTF-8 bytes of its relative path with forward slashes: length of
    the path (8 bytes, little endian), path, length of the file (8 bytes, little endian), bytes.

    Raises:
        MissingPathError: when there is no such folder.
        EpisodeError: when a file changes while it is read.
    """
    folder = Path(path)
    return _read_files(folder, list_files(folder))


def digest_of_arrays(path: Path | str, arrays: Iterable[str]) -> str:
    """Return the SHA-256, as in `read_content`, of the stored files of some arrays only.

    Raises:
        EpisodeError: when the episode has no such array.
    """
    folder = Path(path)
    files: list[ListedFile] = []
    for array in sorted(set(arrays)):
        if not (folder / array).is_dir():
            raise EpisodeError(hash_of(folder), "there is no such array.", array=array)
        prefix = os.fsencode(array) + b"/"
        files += [file._replace(name=prefix + file.name) for file in list_files(folder / array)]
    return _read_files(folder, sorted(files)).digest


def _read_files(folder: Path, files: Sequence[ListedFile]) -> Content:
    """Read files of a folder."""
    whole = hashlib.sha256()
    told: dict[str, tuple[int, str]] = {}
    for name, length, *_ in files:
        whole.update(len(name).to_bytes(8, "little") + name + length.to_bytes(8, "little"))
        own = hashlib.sha256()
        read = 0
        with (folder / os.fsdecode(name)).open("rb") as stream:
            while block := stream.read(_BLOCK):
                whole.update(block)
                own.update(block)
                read += len(block)
        if read != length:
            raise EpisodeError(hash_of(folder), f"the file '{os.fsdecode(name)}' changed while it was read.")
        told[os.fsdecode(name)] = (length, own.hexdigest()[:_FILE_DIGITS])
    return Content(whole.hexdigest(), sum(file.size for file in files), told)
