"""What a folder holds, seen from outside: names, sizes and times of its files. Cheap, and different after any change.

Knows the file system; opens no file. What a change was, only a digest tells.
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from robotrain.episodes.schema import METADATA
from robotrain.errors import MissingPathError

__all__ = ["Fingerprint", "ListedFile", "list_files", "take_fingerprint"]


class ListedFile(NamedTuple):
    """A file as a listing shows it."""

    name: bytes
    """Path relative to the folder, with forward slashes."""
    size: int
    """Bytes."""
    modified_ns: int
    """When its bytes were last written, as it says itself: tools that copy files set it."""
    changed_ns: int
    """When anything of it last changed, its times included: nobody sets that."""


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
    for file in files:
        digest.update(b"%s\0%d\0%d\0%d\0" % file)
        num_bytes += file.size
    return Fingerprint(digest.hexdigest(), len(files), num_bytes)


def list_files(folder: Path | str) -> list[ListedFile]:
    """Return every file below a folder, sorted by the bytes of its name.

    A link to a file counts as that file, unless it leads nowhere, and so does a link that stands for a whole array; one
    to any other folder is not followed.

    Raises:
        MissingPathError: when there is no such folder.
    """
    found: list[ListedFile] = []
    if not Path(folder).is_dir():
        raise MissingPathError(folder, "The episode")
    open_folders = [(os.fsencode(folder), b"")]
    while open_folders:
        place, prefix = open_folders.pop()
        with os.scandir(place) as children:
            for child in children:
                name = prefix + child.name
                if child.is_dir(follow_symlinks=False) or (not prefix and _is_linked_array(child, folder)):
                    open_folders.append((child.path, name + b"/"))
                elif _is_file(child):
                    status = child.stat()
                    found.append(ListedFile(name, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    return sorted(found)


def _is_linked_array(child: os.DirEntry[bytes], folder: Path | str) -> bool:
    """Say whether a link leads to an array that is kept elsewhere; the folder itself would have no end."""
    if not child.is_symlink():
        return False
    target, home = Path(os.fsdecode(os.path.realpath(child.path))), Path(folder).resolve()
    return (target / METADATA).is_file() and not home.is_relative_to(target)


def _is_file(child: os.DirEntry[bytes]) -> bool:
    try:
        return child.is_file()
    except OSError:  # a link to itself
        return False
