"""What is known of every episode of a folder, kept between runs in one SQLite file of the cache.

Knows fingerprints, what episodes say about themselves, what was found in them, and the digests that were recorded;
refuses to judge them. It may be deleted at any time, and shared by any number of processes: what it does not know is
read again, and what two processes write is the same. Where it cannot be kept, the run goes on without it.
"""

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from robotrain import console
from robotrain.cache import cache_file
from robotrain.episodes.fingerprint import Fingerprint, take_fingerprint
from robotrain.episodes.manifest import ManifestRow
from robotrain.episodes.schema import EpisodeFacts, facts_from, hash_of, list_arrays, read_attributes, read_facts
from robotrain.errors import EpisodeError
from robotrain.files import sha256_of_json

__all__ = ["BATCH", "ArraysDigest", "Entry", "Found", "Index", "Record", "batches", "open_index", "read_entries"]

BATCH = 128
"""Episodes looked at between two writes: what an interrupt loses, and what is held in memory."""
_THREADS = 8
"""Threads that ask the file system: on a network's, each question waits."""
_PORTION = 16
"""Episodes that a thread asks for in a row."""
_PATIENCE_S = 60
"""How long one process waits for another's write."""
_LAYOUT = 1
"""Of the tables; another layout is another file."""

_BROKEN = (sqlite3.Error, zlib.error, ValueError)
"""What a database or its content that is not as it was written raises."""
_OTHER_LAYOUT = ("no such", "no column", "columns but")
"""Words by which SQLite says that tables are not those it is asked about."""

T = TypeVar("T")

_TABLES = """
CREATE TABLE IF NOT EXISTS episode (
    folder TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, num_files INTEGER NOT NULL, num_bytes INTEGER NOT NULL,
    embodiment TEXT NOT NULL, num_frames INTEGER NOT NULL, told BLOB NOT NULL, problem TEXT NOT NULL,
    rules TEXT NOT NULL DEFAULT '', is_deep INTEGER NOT NULL DEFAULT 0, findings TEXT NOT NULL DEFAULT '[]'
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS record (
    folder TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, digest TEXT NOT NULL, num_files INTEGER NOT NULL,
    num_bytes INTEGER NOT NULL, files BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS arrays (
    folder TEXT NOT NULL, names TEXT NOT NULL, fingerprint TEXT NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (folder, names)
) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class Entry:
    """One episode as the index knows it."""

    path: Path
    fingerprint: Fingerprint
    embodiment: str
    """Canonical name; empty where it is not said."""
    num_frames: int
    """T; 0 where it is not said."""
    problem: str
    """Why it cannot be read as an episode, in words; empty where it can."""
    told: bytes
    """Attributes and names of arrays, packed."""
    digest: str | None = None
    """Digest of its content as it is now, where it was recorded since the last change."""

    @property
    def hash(self) -> str:
        """The identity of the episode."""
        return hash_of(self.path)

    def manifest_row(self, digest: str) -> ManifestRow:
        """Return what a manifest keeps of an episode of this digest."""
        seen = self.fingerprint
        return ManifestRow(self.hash, digest, seen.num_files, seen.num_bytes, self.num_frames, self.embodiment)

    @cached_property
    def facts(self) -> EpisodeFacts | None:
        """What it says about itself; None where it cannot be read as an episode."""
        if self.problem:
            return None
        try:
            attributes, arrays = json.loads(zlib.decompress(self.told))
        except _BROKEN:
            return read_facts(self.path)
        return facts_from(self.path, attributes, tuple(arrays))


@dataclass(frozen=True, slots=True)
class Record:
    """What an episode's content was when its digest was recorded."""

    digest: str
    num_files: int
    num_bytes: int
    fingerprint: str | None = None
    """Of the moment; as long as it is the episode's, the digest is too, but for changes that leave no trace. None where
    a manifest alone tells; the index keeps it always."""
    files: Mapping[str, tuple[int, str]] | None = None
    """By relative name: bytes, and the first digits of the file's SHA-256. None where a manifest alone tells."""


@dataclass(frozen=True, slots=True)
class ArraysDigest:
    """The digest of the stored files of some arrays of an episode."""

    folder: str
    names: str
    """Of the arrays, in short."""
    fingerprint: str
    """Of the whole episode; as long as it is the episode's, the digest is too."""
    digest: str | None
    """None where it is not known."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a check of an episode found, as plain data."""

    rules: str
    """Digest of the checks' own source: other checks find other things."""
    is_deep: bool
    findings: tuple[tuple[str, str, int | None, str], ...]
    """Code, array, frame, message."""


class Index:
    """The index of one folder. A context manager; not to be shared between threads."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._file = cache_file("index", sha256_of_json([str(root.resolve()), _LAYOUT])[:32], ".sqlite")
        self._threads = ThreadPoolExecutor(_THREADS)
        self._database = self._connect()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown()
        self._database.close()

    def refresh(self, paths: Sequence[Path]) -> list[Entry]:
        """Return an entry for each of these episodes, in their order; only new and changed ones are read.

        Meant for a batch of them: see `batches`.
        """
        prints = self._fingerprints(paths)
        known = self._known([path.name for path in paths])
        stale = [
            (path, seen)
            for path, seen in zip(paths, prints, strict=True)
            if path.name not in known or known[path.name].fingerprint != seen
        ]
        read = {entry.path.name: entry for entry in self._threads.map(_read, stale)}
        self._save(read.values())
        return [replace((known | read)[path.name], path=path) for path in paths]

    def findings(self, entries: Sequence[Entry]) -> dict[str, Found]:
        """Return what was found in these episodes as they are now, by folder, where they were checked."""
        prints = {entry.path.name: entry.fingerprint.value for entry in entries}
        rows = self._select("folder, fingerprint, rules, is_deep, findings", "episode", prints, "rules != ''")
        now = [row for row in rows if prints[row[0]] == row[1]]
        return self._try(lambda: {folder: _found(*told) for folder, _, *told in now}, {})

    def keep_findings(self, found: Iterable[tuple[Entry, Found]]) -> None:
        """Keep what was found in episodes, unless they have changed in the index meanwhile."""
        rows = [
            (each.rules, each.is_deep, json.dumps(each.findings), entry.path.name, entry.fingerprint.value)
            for entry, each in found
        ]
        self._write(
            "UPDATE episode SET rules = ?, is_deep = ?, findings = ? WHERE folder = ? AND fingerprint = ?", rows
        )

    def records(self, folders: Iterable[str]) -> dict[str, Record]:
        """Return what was recorded of these episodes, by folder."""
        columns = "folder, digest, num_files, num_bytes, fingerprint, files"
        rows = self._select(columns, "record", folders)
        return self._try(lambda: {folder: _recorded(*told) for folder, *told in rows}, {})

    def keep_records(self, records: Mapping[str, Record]) -> None:
        """Record what episodes are, by folder, in place of what was recorded before."""
        rows = [
            (folder, each.fingerprint, each.digest, each.num_files, each.num_bytes, _pack(each.files))
            for folder, each in records.items()
        ]
        self._write("INSERT OR REPLACE INTO record VALUES (?, ?, ?, ?, ?, ?)", rows)

    def arrays_digests(self, arrays: Mapping[Path, Sequence[str]]) -> dict[Path, ArraysDigest]:
        """Return what is known of some arrays of episodes as they are now, by episode; only fingerprints are taken."""
        paths = list(arrays)
        prints = [seen.value for seen in self._fingerprints(paths)]
        names = {path: sha256_of_json(sorted(arrays[path]))[:32] for path in paths}
        kept: dict[tuple[str, str, str], str] = {}
        for batch in batches(paths):
            columns = "folder, names, fingerprint, digest"
            kept |= {row[:3]: row[3] for row in self._select(columns, "arrays", [path.name for path in batch])}
        return {
            path: ArraysDigest(path.name, names[path], seen, kept.get((path.name, names[path], seen)))
            for path, seen in zip(paths, prints, strict=True)
        }

    def keep_arrays_digests(self, digests: Iterable[ArraysDigest]) -> None:
        """Keep digests of arrays, each with the fingerprint that was taken before the arrays were read."""
        rows = [(each.folder, each.names, each.fingerprint, each.digest) for each in digests]
        self._write("INSERT OR REPLACE INTO arrays VALUES (?, ?, ?, ?)", rows)

    def equal_contents(self) -> tuple[tuple[str, ...], ...]:
        """Return the folders that hold the same bytes, as far as recorded: each group sorted."""
        groups: dict[str, list[str]] = {}
        query = """SELECT record.digest, record.folder FROM record JOIN episode USING (folder, fingerprint)
            WHERE record.digest IN (SELECT digest FROM record GROUP BY digest HAVING count(*) > 1)
            ORDER BY record.digest, record.folder"""
        for digest, folder in self._read(query):
            groups.setdefault(digest, []).append(folder)
        return tuple(tuple(folders) for folders in groups.values() if len(folders) > 1)

    def forget_all_but(self, names: Iterable[str]) -> None:
        """Forget the folders that are none of these."""
        there = set(names)
        gone = [(folder,) for (folder,) in self._read("SELECT folder FROM episode") if folder not in there]
        self._write("DELETE FROM episode WHERE folder = ?", gone)
        self._write("DELETE FROM record WHERE folder = ?", gone)
        self._write("DELETE FROM arrays WHERE folder = ?", gone)

    def _fingerprints(self, paths: Sequence[Path]) -> list[Fingerprint]:
        portions = _portions(paths, _PORTION)
        return [seen for portion in self._threads.map(_take_fingerprints, portions) for seen in portion]

    def _known(self, folders: Sequence[str]) -> dict[str, Entry]:
        columns = "folder, episode.fingerprint, num_files, num_bytes, embodiment, num_frames, problem, told"
        entries = {
            row[0]: Entry(self.root / row[0], Fingerprint(*row[1:4]), *row[4:])
            for row in self._select(columns, "episode", folders)
        }
        for folder, fingerprint, digest in self._select("folder, fingerprint, digest", "record", folders):
            if folder in entries and entries[folder].fingerprint.value == fingerprint:
                entries[folder] = replace(entries[folder], digest=digest)
        return entries

    def _save(self, entries: Iterable[Entry]) -> None:
        columns = "folder, fingerprint, num_files, num_bytes, embodiment, num_frames, problem, told"
        rows = [
            (
                entry.path.name,
                entry.fingerprint.value,
                entry.fingerprint.num_files,
                entry.fingerprint.num_bytes,
                entry.embodiment,
                entry.num_frames,
                entry.problem,
                entry.told,
            )
            for entry in entries
        ]
        self._write(f"INSERT OR REPLACE INTO episode ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)  # noqa: S608 -- the words are ours

    def _select(self, columns: str, table: str, folders: Iterable[str], condition: str = "1") -> list[tuple[Any, ...]]:
        names = list(folders)
        marks = ", ".join("?" * len(names))
        return self._read(f"SELECT {columns} FROM {table} WHERE {condition} AND folder IN ({marks})", names)  # noqa: S608 -- the words are ours

    def _read(self, query: str, values: Sequence[str] = ()) -> list[tuple[Any, ...]]:
        return self._try(lambda: self._database.execute(query, values).fetchall(), [])

    def _write(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        def write() -> None:
            self._database.execute("BEGIN IMMEDIATE")
            with self._database:
                self._database.executemany(statement, rows)

        if rows:
            self._try(write, None)

    def _try(self, work: Callable[[], T], otherwise: T) -> T:
        """Do some work on the database or on what it told; where it fails, go on with an empty one in memory."""
        try:
            return work()
        except _BROKEN as problem:
            self._database.close()
            self._database = self._without(problem)
            return otherwise

    def _connect(self) -> sqlite3.Connection:
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            return _connect(str(self._file))
        except (OSError, sqlite3.Error) as problem:
            return self._without(problem)

    def _without(self, problem: Exception) -> sqlite3.Connection:
        console.warn(f"the index '{self._file}' cannot be used, and episodes are read anew: {problem}")
        is_elsewhere = isinstance(problem, OSError | sqlite3.OperationalError)  # a lock, a full disk, a folder
        if not is_elsewhere or any(words in str(problem) for words in _OTHER_LAYOUT):
            with suppress(OSError):
                self._file.unlink(missing_ok=True)  # it is broken: the next run makes a new one
        return _connect(":memory:")


def open_index(root: Path) -> Index:
    """Open the index of a folder of episodes; it need not exist yet."""
    return Index(root)


def read_entries(root: Path, paths: Sequence[Path]) -> Iterator[Entry]:
    """Yield an entry for each of these episodes of a folder, in their order; only new and changed ones are read."""
    with open_index(root) as index:
        found = (entry for batch in batches(paths) for entry in index.refresh(batch))
        yield from console.track(found, "index", total=len(paths), unit="episodes")


def batches(paths: Sequence[Path]) -> Iterator[Sequence[Path]]:
    """Return the episodes in portions of `BATCH`."""
    return _portions(paths, BATCH)


def _portions(paths: Sequence[Path], size: int) -> Iterator[Sequence[Path]]:
    return (paths[start : start + size] for start in range(0, len(paths), size))


def _connect(file: str) -> sqlite3.Connection:
    database = sqlite3.connect(file, timeout=_PATIENCE_S, isolation_level=None)
    database.executescript(_TABLES)
    return database


def _take_fingerprints(paths: Sequence[Path]) -> list[Fingerprint]:
    return [take_fingerprint(path) for path in paths]


def _read(seen: tuple[Path, Fingerprint]) -> Entry:
    """Read what an episode says about itself."""
    path, fingerprint = seen
    try:
        attributes, arrays = read_attributes(path), list_arrays(path)
        facts = facts_from(path, attributes, arrays)
    except EpisodeError as problem:
        return Entry(path, fingerprint, "", 0, str(problem), b"")
    return Entry(path, fingerprint, facts.embodiment, facts.num_frames, "", _pack([attributes, arrays]))


def _found(rules: str, is_deep: int, findings: str) -> Found:
    told = tuple((code, array, frame, text) for code, array, frame, text in json.loads(findings))
    return Found(rules, bool(is_deep), told)


def _recorded(digest: str, num_files: int, num_bytes: int, fingerprint: str, files: bytes) -> Record:
    told = {name: (size, sha) for name, (size, sha) in json.loads(zlib.decompress(files)).items()}
    return Record(digest, num_files, num_bytes, fingerprint, told)


def _pack(value: Any) -> bytes:
    return zlib.compress(json.dumps(value).encode(), 1)
