"""What an episode was when its digest was recorded, and whether it still is that.

Knows two places where digests are recorded, a manifest and the index; refuses to read an episode's bytes: a deep check
does that and hands in what it read.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from robotrain.episodes.digest import Content
from robotrain.episodes.fingerprint import list_files
from robotrain.episodes.index import Entry, Record
from robotrain.episodes.manifest import ManifestRow

__all__ = ["Change", "Recorded", "changed_content", "changed_files", "recorded_of"]

ChangeCode = Literal["lost-file", "changed-content"]


@dataclass(frozen=True, slots=True)
class Recorded:
    """What is known of an episode's content at the moment when its digest was recorded."""

    digest: str
    num_files: int
    num_bytes: int
    fingerprint: str | None
    """Of the moment, where the index knows it."""
    files: Mapping[str, tuple[int, str]] | None
    """By relative name: bytes, and the first digits of the file's SHA-256, where the index knows them."""


@dataclass(frozen=True, slots=True)
class Change:
    """How an episode differs from what was recorded."""

    code: ChangeCode
    """As a finding is called."""
    message: str


def recorded_of(row: ManifestRow | None, record: Record | None) -> Recorded | None:
    """Return what an episode should be: as the manifest says, else as the index remembers; None where neither does."""
    if row is not None:
        same = record if record is not None and record.digest == row.digest else None
        fingerprint, files = (same.fingerprint, same.files) if same else (None, None)
        return Recorded(row.digest, row.num_files, row.num_bytes, fingerprint, files)
    if record is None:
        return None
    return Recorded(record.digest, record.num_files, record.num_bytes, record.fingerprint, record.files)


def changed_files(entry: Entry, before: Recorded) -> Change | None:
    """Return how an episode differs from what was recorded, as far as names and sizes of files tell, or None."""
    if entry.fingerprint.value == before.fingerprint:
        return None
    if before.files is not None:
        sizes = {os.fsdecode(file.name): file.size for file in list_files(entry.path)}
        recorded = {name: size for name, (size, _) in before.files.items()}
        change = _named_change(recorded, sizes)
    else:
        change = _counted_change(entry.fingerprint.num_files, entry.fingerprint.num_bytes, before)
    if change is None and entry.digest is not None:
        return _digest_change(entry.digest, before)
    return change


def changed_content(content: Content, before: Recorded) -> Change | None:
    """Return how the bytes of an episode differ from what was recorded, or None: as sure as SHA-256."""
    if content.digest == before.digest:
        return None
    if before.files is not None:
        change = _named_change(before.files, content.files)
    else:
        change = _counted_change(len(content.files), content.num_bytes, before)
    return change or _digest_change(content.digest, before)


def _named_change(recorded: Mapping[str, object], now: Mapping[str, object]) -> Change | None:
    """Compare what is told of each file by name."""
    if lost := sorted(set(recorded) - set(now)):
        return Change("lost-file", f"{len(lost)} of {len(recorded)} recorded files are gone, such as '{lost[0]}'.")
    if other := sorted(name for name in now if recorded.get(name) != now[name]):
        more = f" and {len(other) - 1} more" if len(other) > 1 else ""
        return Change("changed-content", f"The file '{other[0]}'{more} is not as it was recorded.")
    return None


def _counted_change(num_files: int, num_bytes: int, before: Recorded) -> Change | None:
    if num_files < before.num_files:
        return Change("lost-file", f"{before.num_files} files were recorded, and {num_files} are there.")
    if (num_files, num_bytes) != (before.num_files, before.num_bytes):
        recorded = f"{before.num_files} files of {before.num_bytes:,} bytes were recorded"
        return Change("changed-content", f"{recorded}, and there are {num_files} of {num_bytes:,}.")
    return None


def _digest_change(digest: str, before: Recorded) -> Change | None:
    if digest == before.digest:
        return None
    return Change("changed-content", f"Its digest is {digest[:12]}..., and {before.digest[:12]}... was recorded.")
