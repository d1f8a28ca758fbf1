"""A folder of episodes, checked: those that are new or have changed, in parallel; what was found before is remembered.

Knows which episodes need a look and what was recorded of them; refuses to know what is looked at: that is `check`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import get_args

from robotrain.cache import source_digest
from robotrain.episodes.digest import Content, read_content
from robotrain.episodes.index import Entry, Found, Index, Record, batches
from robotrain.episodes.manifest import ManifestRow
from robotrain.episodes.records import Change, ChangeCode, changed_content, changed_files, recorded_of
from robotrain.episodes.schema import hash_of
from robotrain.episodes.validation.check import validate_episode
from robotrain.episodes.validation.findings import Finding, build_finding
from robotrain.errors import EpisodeError, MissingPathError, listing
from robotrain.processes import Workers

__all__ = ["Surveyed", "equal_contents", "read_digests", "survey"]

_SOURCES = (
    "geometry",
    "embodiments",
    "episodes/schema.py",
    "episodes/fingerprint.py",
    "episodes/calibration.py",
    "episodes/storage.py",
    "episodes/shards.py",
    "episodes/jpegs.py",
    "episodes/spans.py",
    "episodes/reader.py",
    "episodes/left_wrist.py",
    "episodes/validation",
)
"""What decides which findings an episode has."""


@dataclass(frozen=True, slots=True)
class Surveyed:
    """One episode and what is wrong with it."""

    entry: Entry
    findings: tuple[Finding, ...]
    """With the severity of their code."""
    is_recorded: bool
    """Whether it could be compared with what was recorded."""
    content: Content | None
    """What it holds, where the survey was to record that."""


def survey(
    index: Index,
    paths: Sequence[Path],
    *,
    manifest: Mapping[str, ManifestRow],
    deep: bool = False,
    record: bool = False,
) -> Iterator[Surveyed]:
    """Check these episodes of a folder, in their order.

    Args:
        index: of the folder.
        paths: the episodes.
        manifest: what they should be, by hash.
        deep: read every byte: digest, every picture, the numbers' motion. Else only new or changed episodes are
            opened, and what a deep survey found in the others is told again.
        record: take the episodes as they are: nothing is compared, every byte is read, every digest recorded anew.

    Raises:
        WorkerDiedError: when a process that shares the work is killed.
    """
    rules = source_digest(_SOURCES)
    with Workers() as workers:
        for batch in batches(paths):
            entries = index.refresh(batch)
            found = _look_at(entries, index, workers, rules, deep=deep)
            records = index.records([path.name for path in batch])
            unsure = [entry for entry in entries if deep or record or _has_changed(entry, records.get(entry.path.name))]
            contents, unread = _read_contents(unsure, workers)
            recorded: dict[str, Record] = {}
            for entry in entries:
                content = contents.get(entry.path)
                before = None if record else recorded_of(manifest.get(entry.hash), records.get(entry.path.name))
                change = _change(entry, content, before)
                findings = _findings(entry, found[entry.path.name], change)
                if entry.path in unread and change is None:
                    findings += (build_finding("changed-content", entry.hash, unread[entry.path]),)
                sound = all(each.severity != "error" for each in findings if each.code not in get_args(ChangeCode))
                keeps = change is None or entry.path.name not in records  # what was recorded before stays
                if content is not None and sound and keeps:
                    recorded[entry.path.name] = _record(entry, content)
                known = before is not None or entry.path.name in recorded
                yield Surveyed(entry, findings, known, content if record else None)
            index.keep_records(recorded)


def read_digests(index: Index, paths: Sequence[Path], *, record: bool = False) -> Iterator[tuple[Entry, str]]:
    """Yield these episodes with their digests as they are now, in their order; only those without one are read.

    Args:
        index: of the folder.
        paths: the episodes.
        record: record what is read in place of what was recorded before; else that stays, and only what nothing was
            known of is recorded.

    Raises:
        EpisodeError: when one changes while it is read.
    """
    with Workers() as workers:
        for batch in batches(paths):
            entries = index.refresh(batch)
            unread = [entry for entry in entries if entry.digest is None]
            contents = workers.map(read_content, [entry.path for entry in unread])
            fresh = {entry.path.name: _record(entry, each) for entry, each in zip(unread, contents, strict=True)}
            before = () if record else index.records(fresh)
            index.keep_records({folder: each for folder, each in fresh.items() if folder not in before})
            yield from ((entry, entry.digest or fresh[entry.path.name].digest) for entry in entries)


def equal_contents(index: Index) -> Iterator[Finding]:
    """Yield a finding for every group of episodes that hold the same bytes, as far as digests were recorded."""
    for folders in index.equal_contents():
        first, *others = sorted({hash_of(folder) for folder in folders})
        if others:  # else they are twins, of which another finding tells
            yield build_finding("duplicate-content", first, f"It holds the same bytes as {listing(others)}.")


def _look_at(entries: Sequence[Entry], index: Index, workers: Workers, rules: str, *, deep: bool) -> dict[str, Found]:
    """Return what is wrong with each of these episodes, by folder; only those are opened that nothing is known of."""
    known = {} if deep else {name: each for name, each in index.findings(entries).items() if each.rules == rules}
    stale = [entry for entry in entries if entry.path.name not in known]
    looks = workers.map(partial(_look, deep=deep), [entry.path for entry in stale])
    fresh = {entry.path.name: Found(rules, deep, look) for entry, look in zip(stale, looks, strict=True)}
    index.keep_findings((entry, fresh[entry.path.name]) for entry in stale)
    return known | fresh


def _look(path: Path, *, deep: bool) -> tuple[tuple[str, str, int | None, str], ...]:
    """Check one episode, in whichever process."""
    found = validate_episode(path, deep=deep)
    return tuple((each.code, each.array, each.frame, each.message) for each in found)


def _has_changed(entry: Entry, record: Record | None) -> bool:
    """Tell whether files were written since an episode's digest was recorded, so that only its bytes can tell."""
    return record is not None and record.fingerprint != entry.fingerprint.value


def _read_contents(entries: Sequence[Entry], workers: Workers) -> tuple[dict[Path, Content], dict[Path, str]]:
    """Read every byte of these episodes; return by path what they hold, and why others could not be read whole."""
    paths = [entry.path for entry in entries]
    read = dict(zip(paths, workers.map(_read, paths), strict=True))
    contents = {path: each for path, each in read.items() if isinstance(each, Content)}
    return contents, {path: each for path, each in read.items() if isinstance(each, str)}


def _read(path: Path) -> Content | str:
    """Read every byte of one episode, in whichever process, or return why that cannot be done."""
    try:
        return read_content(path)
    except EpisodeError as problem:  # it changed while it was read
        return f"It cannot be compared: {problem.problem}"
    except OSError as problem:
        if isinstance(problem, MissingPathError):
            raise
        return f"It cannot be compared: '{problem.filename}': {problem.strerror}."


def _change(entry: Entry, content: Content | None, before: Record | None) -> Change | None:
    if before is None:
        return None
    return changed_files(entry, before) if content is None else changed_content(content, before)


def _findings(entry: Entry, found: Found, change: Change | None) -> tuple[Finding, ...]:
    told = [
        build_finding(code, entry.hash, text, array=array, frame=frame) for code, array, frame, text in found.findings
    ]
    return (*told, build_finding(change.code, entry.hash, change.message)) if change else tuple(told)


def _record(entry: Entry, content: Content) -> Record:
    return Record(content.digest, len(content.files), content.num_bytes, entry.fingerprint.value, content.files)
