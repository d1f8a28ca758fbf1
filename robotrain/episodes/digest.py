"""What protects an episode: the digest of every byte of it, and the manifest that keeps digests.

Knows files and bytes; refuses to know what they mean. A stray file, a lost one and a flipped bit all change the digest.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from robotrain.episodes.fingerprint import ListedFile, list_files
from robotrain.episodes.schema import hash_of
from robotrain.errors import EpisodeError, ManifestError, MissingPathError, listing
from robotrain.files import write_json

__all__ = [
    "Content",
    "ManifestRow",
    "compute_digest",
    "digest_of_arrays",
    "load_manifest",
    "read_content",
    "save_manifest",
]

_SCHEMA_VERSION = 1
_BLOCK = 1 << 20
_FILE_DIGITS = 16


@dataclass(frozen=True, slots=True)
class ManifestRow:
    """What an episode was when its manifest was written."""

    hash: str
    digest: str
    num_files: int
    num_bytes: int
    num_frames: int
    embodiment: str


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


def save_manifest(path: Path | str, rows: Sequence[ManifestRow]) -> None:
    """Write a manifest, sorted by hash, atomically."""
    episodes = [asdict(row) for row in sorted(rows, key=lambda row: row.hash)]
    write_json(Path(path), {"schema_version": _SCHEMA_VERSION, "episodes": episodes})


def load_manifest(path: Path | str) -> tuple[ManifestRow, ...]:
    """Read a manifest.

    Raises:
        MissingPathError: when there is no such file.
        ManifestError: when it holds no manifest of this version.
    """
    file = Path(path)
    try:
        told = json.loads(file.read_bytes())
    except FileNotFoundError:
        raise MissingPathError(file, "The manifest") from None
    except (ValueError, RecursionError) as problem:
        raise ManifestError(file, f"it is no JSON: {problem}.") from None
    version = told.get("schema_version") if isinstance(told, dict) else None
    if version != _SCHEMA_VERSION:
        raise ManifestError(file, f"its schema_version is {version!r}, and this robotrain reads {_SCHEMA_VERSION}.")
    episodes = told.get("episodes")
    if not isinstance(episodes, list):
        raise ManifestError(file, "it has no list of episodes.")
    rows = tuple(_row(file, entry) for entry in episodes)
    if twice := [each for each, number in Counter(row.hash for row in rows).items() if number > 1]:
        raise ManifestError(file, f"it names episodes twice: {listing(twice)}.")
    return rows


def _row(file: Path, entry: Any) -> ManifestRow:
    kinds = {each.name: each.type for each in fields(ManifestRow)}
    if not isinstance(entry, dict) or set(entry) != set(kinds):
        raise ManifestError(file, f"an episode in it does not have exactly {', '.join(sorted(kinds))}.")
    for name, kind in kinds.items():
        if type(entry[name]) is not kind:
            raise ManifestError(file, f"the {name} of an episode in it is {entry[name]!r}.")
    return ManifestRow(**entry)


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
