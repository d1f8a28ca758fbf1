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

__all__ = ["Change", "ChangeCode", "changed_content", "changed_digest", "changed_files", "recorded_of"]

ChangeCode = Literal["lost-file", "changed-content"]


@dataclass(frozen=True, slots=True)
class Change:
    """How an episode differs from what was recorded."""

    code: ChangeCode
    """As a finding is called."""
    message: str


def recorded_of(row: ManifestRow | None, record: Record | None) -> Record | None:
    """Return what an episode should be: as the manifest says, else as the index remembers; None where neither does.

    Where both say the same, the index's is returned, which knows files by name.
    """
    if row is None or (record is not None and record.digest == row.digest):
        return record
    return Record(row.digest, row.num_files, row.num_bytes)


def changed_files(entry: Entry, before: Record) -> Change | None:
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
        return changed_digest(entry.digest, before.digest)
    return change


def changed_content(content: Content, before: Record) -> Change | None:
    """Return how the bytes of an episode differ from what was recorded, or None: as sure as SHA-256."""
    if content.digest == before.digest:
        return None
    if before.files is not None:
        change = _named_change(before.files, content.files)
    else:
        change = _counted_change(len(content.files), content.num_bytes, before)
    return change or changed_digest(content.digest, before.digest)


def changed_digest(now: str, before: str) -> Change | None:
    """Return that a digest is not the recorded one, or None where it is."""
    if now == before:
        return None
    return Change("changed-content", f"Its digest is {now[:12]}..., and {before[:12]}... was recorded.")


def _named_change(recorded: Mapping[str, object], now: Mapping[str, object]) -> Change | None:
    """Compare what is told of each file by name."""
    if lost := sorted(set(recorded) - set(now)):
        return Change("lost-file", f"{len(lost)} of {len(recorded)} recorded files are gone, such as '{lost[0]}'.")
    if other := sorted(name for name in now if recorded.get(name) != now[name]):
        more = f" and {len(other) - 1} more" if len(other) > 1 else ""
        return Change("changed-content", f"The file '{other[0]}'{more} is not as it was recorded.")
    return None


def _counted_change(num_files: int, num_bytes: int, before: Record) -> Change | None:
    if num_files < before.num_files:
        return Change("lost-file", f"{before.num_files} files were recorded, and {num_files} are there.")
    if (num_files, num_bytes) != (before.num_files, before.num_bytes):
        recorded = f"{before.num_files} files of {before.num_bytes:,} bytes were recorded"
        return Change("changed-content", f"{recorded}, and there are {num_files} of {num_bytes:,}.")
    return None
