"""The manifest: what many episodes were, to the byte, kept beside them.

Knows rows and their file; refuses to compute a digest, and to compare.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from robotrain.errors import ManifestError, MissingPathError, listing
from robotrain.files import write_json

__all__ = ["MANIFEST", "SCHEMA_VERSION", "ManifestRow", "load_manifest", "read_manifest", "save_manifest"]

MANIFEST = "manifest.json"
"""Name of the manifest of a folder of episodes, in the folder; and of a run's own."""
SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class ManifestRow:
    """What an episode was when its manifest was written."""

    hash: str
    digest: str
    num_files: int
    num_bytes: int
    num_frames: int
    embodiment: str


def save_manifest(path: Path | str, rows: Sequence[ManifestRow]) -> None:
    """Write a manifest, sorted by hash, atomically."""
    episodes = [asdict(row) for row in sorted(rows, key=lambda row: row.hash)]
    write_json(Path(path), {"schema_version": SCHEMA_VERSION, "episodes": episodes})


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
    if version != SCHEMA_VERSION:
        raise ManifestError(file, f"its schema_version is {version!r}, and this robotrain reads {SCHEMA_VERSION}.")
    episodes = told.get("episodes")
    if not isinstance(episodes, list):
        raise ManifestError(file, "it has no list of episodes.")
    rows = tuple(_row(file, entry) for entry in episodes)
    if twice := [each for each, number in Counter(row.hash for row in rows).items() if number > 1]:
        raise ManifestError(file, f"it names episodes twice: {listing(twice)}.")
    return rows


def read_manifest(path: Path) -> dict[str, ManifestRow]:
    """Read a manifest, by hash; empty where there is none.

    Raises:
        ManifestError: when the file holds no manifest.
    """
    try:
        return {row.hash: row for row in load_manifest(path)}
    except MissingPathError:
        return {}


def _row(file: Path, entry: Any) -> ManifestRow:
    kinds = {each.name: each.type for each in fields(ManifestRow)}
    if not isinstance(entry, dict) or set(entry) != set(kinds):
        raise ManifestError(file, f"an episode in it does not have exactly {', '.join(sorted(kinds))}.")
    for name, kind in kinds.items():
        if type(entry[name]) is not kind:
            raise ManifestError(file, f"the {name} of an episode in it is {entry[name]!r}.")
    return ManifestRow(**entry)
