"""A cache of JSON files keyed by content: it can be deleted at any time without harm.

Knows kinds and keys; refuses to know what is kept, and never fails the work that it was meant to save.
"""

import json
from pathlib import Path
from typing import Any

from robotrain import console
from robotrain.files import cache_dir, write_text


def cache_path(kind: str, key: str) -> Path:
    """Return the file that holds a payload of a kind, such as ``norm-stats``, under a key of hex digits."""
    return cache_dir() / kind / f"{key}.json"


def load_cached(kind: str, key: str) -> dict[str, Any] | None:
    """Return what was saved under a key, or None; a file that cannot be read warns and counts as nothing."""
    path = cache_path(kind, key)
    try:
        payload = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as problem:
        console.warn(f"the cache file '{path}' cannot be read and is made again: {problem}")
        return None
    if not isinstance(payload, dict):
        console.warn(f"the cache file '{path}' holds no payload and is made again")
        return None
    return payload


def save_cached(kind: str, key: str, payload: dict[str, Any]) -> None:
    """Save a payload under a key, atomically; a failure only warns."""
    path = cache_path(kind, key)
    try:
        write_text(path, json.dumps(payload, allow_nan=False) + "\n")
    except OSError as problem:
        console.warn(f"the cache file '{path}' cannot be written: {problem}")
