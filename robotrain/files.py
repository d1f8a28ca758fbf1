"""Files on disk: where the user keeps things, atomic writes, and digests of bytes.

Knows paths and bytes; refuses to know what is inside them.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from robotrain.errors import ConfigError, MissingPathError, UnsafePathError


def data_dir() -> Path:
    """Return the folder of episodes named by ROBOTRAIN_DATA_DIR.

    Raises:
        ConfigError: when the variable is not set.
        MissingPathError: when it names a folder that does not exist.
    """
    value = os.environ.get("ROBOTRAIN_DATA_DIR")
    if not value:
        raise ConfigError("No data named: name a folder of episodes, or set ROBOTRAIN_DATA_DIR to one.")
    path = Path(value).expanduser()
    if not path.is_dir():
        raise MissingPathError(path, "The folder in ROBOTRAIN_DATA_DIR")
    return path


def log_dir() -> Path:
    """Return the folder of runs: ROBOTRAIN_LOG_DIR, or ``./runs``."""
    return Path(os.environ.get("ROBOTRAIN_LOG_DIR") or "runs").expanduser()


def cache_dir() -> Path:
    """Return the folder of caches: ROBOTRAIN_CACHE_DIR, or ``robotrain`` in the user's cache folder.

    A user without a home, as in some containers, has one of the machine's folders for temporary files.
    """
    if value := os.environ.get("ROBOTRAIN_CACHE_DIR"):
        return Path(value).expanduser()
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "robotrain"
    except RuntimeError:
        return Path(tempfile.gettempdir()) / f"robotrain-{os.getuid()}"


def weights_dir() -> Path | None:
    """Return the folder of pretrained weights named by ROBOTRAIN_WEIGHTS_DIR, or None."""
    value = os.environ.get("ROBOTRAIN_WEIGHTS_DIR")
    return Path(value).expanduser() if value else None


def inside(root: Path, relative: str) -> Path:
    """Return ``root / relative`` for a path that came from a data file.

    Raises:
        UnsafePathError: when the path would leave ``root``.
    """
    path = (root / relative).resolve()
    if not path.is_relative_to(root.resolve()):
        raise UnsafePathError(relative, root)
    return path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path to write to; on success it takes the place of ``path`` in one step.

    The bytes are flushed to disk before the rename, so a kill at any instant leaves the old file or the new one.
    An exception removes what was written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}.", suffix=f".partial{path.suffix}", dir=path.parent)
    os.close(handle)
    partial = Path(name)
    partial.chmod(0o666 & ~_umask())  # mkstemp makes files that only the owner reads
    try:
        yield partial
        sync(partial)
        partial.replace(path)
        sync(path.parent)
    finally:
        partial.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Flush a file's bytes, or a folder's list of names, to disk, so that a rename survives a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a whole file atomically."""
    with replacing(path) as partial:
        partial.write_bytes(content)


def write_text(path: Path, content: str) -> None:
    """Write a whole UTF-8 text file atomically."""
    write_bytes(path, content.encode())


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file atomically, indented, non-finite numbers refused."""
    write_text(path, json.dumps(value, indent=2, allow_nan=False) + "\n")


def canonical_json(value: Any) -> bytes:
    """Return the one JSON spelling of a value: sorted keys, no spaces, UTF-8. Equal values give equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def sha256_of_json(value: Any) -> str:
    """Return the SHA-256 of a value's canonical JSON, in hex."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def sha256_of_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hex, read in blocks."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
