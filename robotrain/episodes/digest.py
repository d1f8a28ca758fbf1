"""What protects an episode: the digest of every byte of it, and the manifest that keeps digests.

Knows files and bytes; refuses to know what they mean. A stray file, a lost one and a flipped bit all change the digest.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from robotrain.episodes.schema import hash_of, read_facts
from robotrain.errors import EpisodeError, ManifestError, MissingPathError
from robotrain.files import write_json

__all__ = ["ManifestRow", "compute_digest", "digest_of_arrays", "load_manifest", "manifest_row", "save_manifest"]

_SCHEMA_VERSION = 1
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class ManifestRow:
    """What an episode was when its manifest was written."""

    hash: str
    digest: str
    num_files: int
    num_bytes: int
    num_frames: int
    embodiment: str


def compute_digest(path: Path | str) -> str:
    """Return the SHA-256 of an episode's content, in hex.

    Over each file, sorted by the UTF-8 bytes of its relative path with forward slashes: length of the path (8 bytes,
    little endian), path, length of the file (8 bytes, little endian), bytes.

    Raises:
        MissingPathError: when there is no such folder.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise MissingPathError(folder, "The episode")
    return _digest(folder, _files(folder, folder))


def digest_of_arrays(path: Path | str, arrays: Iterable[str]) -> str:
    """Return the SHA-256, as in `compute_digest`, of the stored files of some arrays only.

    Raises:
        EpisodeError: when the episode has no such array.
    """
    folder = Path(path)
    files: list[tuple[bytes, Path]] = []
    for array in sorted(set(arrays)):
        if not (folder / array).is_dir():
            raise EpisodeError(hash_of(folder), "there is no such array.", array=array)
        files += _files(folder, folder / array)
    return _digest(folder, sorted(files))


def manifest_row(path: Path | str) -> ManifestRow:
    """Return what a manifest keeps of an episode.

    Raises:
        MissingPathError: when there is no such folder.
        EpisodeError: when it is no episode.
    """
    folder = Path(path)
    facts = read_facts(folder)
    files = _files(folder, folder)
    return ManifestRow(
        hash=facts.hash,
        digest=_digest(folder, files),
        num_files=len(files),
        num_bytes=sum(file.stat().st_size for _, file in files),
        num_frames=facts.num_frames,
        embodiment=facts.embodiment,
    )


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
    except ValueError as problem:
        raise ManifestError(file, f"it is no JSON: {problem}.") from None
    version = told.get("schema_version") if isinstance(told, dict) else None
    if version != _SCHEMA_VERSION:
        raise ManifestError(file, f"its schema_version is {version!r}, and this robotrain reads {_SCHEMA_VERSION}.")
    return tuple(_row(file, entry) for entry in told.get("episodes") or ())


def _row(file: Path, entry: Any) -> ManifestRow:
    names = {each.name for each in fields(ManifestRow)}
    if not isinstance(entry, dict) or set(entry) != names:
        raise ManifestError(file, f"an episode in it does not have exactly {', '.join(sorted(names))}.")
    return ManifestRow(**entry)


def _files(root: Path, folder: Path) -> list[tuple[bytes, Path]]:
    """Return every file below a folder with its path relative to the root, sorted by the bytes of that path."""
    found = [Path(place) / name for place, _, names in os.walk(folder) for name in names]
    return sorted((file.relative_to(root).as_posix().encode(), file) for file in found if file.is_file())


def _digest(root: Path, files: Sequence[tuple[bytes, Path]]) -> str:
    digest = hashlib.sha256()
    for name, file in files:
        length = file.stat().st_size
        digest.update(len(name).to_bytes(8, "little") + name + length.to_bytes(8, "little"))
        read = 0
        with file.open("rb") as stream:
            while block := stream.read(_BLOCK):
                digest.update(block)
                read += len(block)
        if read != length:
            raise EpisodeError(hash_of(root), f"the file '{name.decode()}' changed while it was read.")
    return digest.hexdigest()
