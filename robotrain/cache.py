"""A cache of JSON files keyed by content: it can be deleted at any time without harm.

Knows kinds and keys; refuses to know what is kept, and never fails the work that it was meant to save.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import robotrain
from robotrain import console
from robotrain.files import cache_dir, write_text


def cache_file(kind: str, key: str, suffix: str = ".json") -> Path:
    """Return the file of a kind, such as ``norm-stats``, under a key of hex digits; it need not exist."""
    return cache_dir() / kind / f"{key}{suffix}"


def source_digest(entries: Sequence[str]) -> str:
    """Return the SHA-256 of source files of this package, names included: other code makes other results.

    Args:
        entries: files and folders of the package, such as ``geometry`` or ``data/stats.py``.
    """
    package = Path(robotrain.__file__).parent
    digest = hashlib.sha256()
    for entry in entries:
        place = package / entry
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(file.relative_to(package).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def load_cached(kind: str, key: str) -> dict[str, Any] | None:
    """Return what was saved under a key, or None; a file that cannot be read warns and counts as nothing."""
    path = cache_file(kind, key)
    try:
        payload = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as problem:
        console.warn(f"the cache file '{path}' cannot be read and is made again: {problem}")
        return None
    if not isinstance(payload, dict):
        console.warn(f"the cache file '{path}' holds no payload and is made again")
        return None
    return payload


def save_cached(kind: str, key: str, payload: dict[str, Any]) -> None:
    """Save a payload under a key, atomically; a failure only warns."""
    path = cache_file(kind, key)
    try:
        write_text(path, json.dumps(payload, allow_nan=False) + "\n")
    except OSError as problem:
        console.warn(f"the cache file '{path}' cannot be written: {problem}")
