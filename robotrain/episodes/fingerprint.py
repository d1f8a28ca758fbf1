"""What a folder holds, seen from outside: names, sizes and times of its files. Cheap, and different after any change.

Knows the file system; opens no file. What a change was, only a digest tells.
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from robotrain.errors import MissingPathError

__all__ = ["Fingerprint", "list_files", "take_fingerprint"]


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A folder as it looked at one moment."""

    value: str
    """SHA-256 over names, sizes and times of all files, in hex."""
    num_files: int
    num_bytes: int


def take_fingerprint(folder: Path | str) -> Fingerprint:
    """Return the fingerprint of a folder: every file in it counts, in hidden folders too.

    Raises:
        MissingPathError: when there is no such folder.
    """
    digest = hashlib.sha256()
    num_bytes = 0
    files = list_files(folder)
    for name, size, modified_ns in files:
        digest.update(b"%s\0%d\0%d\0" % (name, size, modified_ns))
        num_bytes += size
    return Fingerprint(digest.hexdigest(), len(files), num_bytes)


def list_files(folder: Path | str) -> list[tuple[bytes, int, int]]:
    """Return every file below a folder: path relative to it (UTF-8, forward slashes), bytes, time of change in ns.

    Sorted by the bytes of the path. A link to a file counts as that file, unless it leads nowhere; a link to a folder
    is not followed.

    Raises:
        MissingPathError: when there is no such folder.
    """
    found: list[tuple[bytes, int, int]] = []
    if not Path(folder).is_dir():
        raise MissingPathError(folder, "The episode")
    open_folders = [(os.fsencode(folder), b"")]
    while open_folders:
        place, prefix = open_folders.pop()
        with os.scandir(place) as children:
            for child in children:
                name = prefix + child.name
                if child.is_dir(follow_symlinks=False):
                    open_folders.append((child.path, name + b"/"))
                elif child.is_file():
                    status = child.stat()
                    found.append((name, status.st_size, status.st_mtime_ns))
    return sorted(found)
