"""From any source of recordings to a folder of episodes.

Knows how to write what is missing, one whole episode after the other; refuses to know where recordings come from. An
episode that is there already is left alone and counted, so that a conversion that was stopped goes on where it was.
"""

import os
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from robotrain.console import track
from robotrain.episodes.schema import SUFFIX, read_facts
from robotrain.episodes.writer import EpisodeWriter
from robotrain.errors import ConversionError, EpisodeError, ExistingPathError

SOURCE = "source"
"""Attribute of a converted episode: what it was made from, plain data. Equal data, equal episode."""


@dataclass(frozen=True, kw_only=True)
class Header:
    """What an episode says about itself before its first row."""

    embodiment: str
    fps: Fraction
    task_name: str = ""
    task_description: str = ""
    source: Mapping[str, Any]
    """What decides the content, plain data; stored as attribute `SOURCE`."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Further attributes: calibration, fields."""


class Source(ABC):
    """Recordings that can become episodes. Its contract is `tests/contracts/source.py`."""

    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Return the hashes of the episodes it makes, each once, always in the same order.

        Raises:
            RobotrainError: when one of the episodes asked for cannot be made; nothing is written then.
        """

    @abstractmethod
    def header(self, name: str) -> Header:
        """Return what an episode says about itself."""

    @abstractmethod
    def write(self, name: str, writer: EpisodeWriter) -> int:
        """Give an episode's rows, pictures and texts to a writer, and return the number of frames.

        Raises:
            RobotrainError: when the recording is broken; the writer then leaves nothing.
        """


@dataclass(frozen=True)
class ConvertReport:
    """What a conversion did."""

    out: Path
    written: tuple[str, ...]
    """Hashes of the episodes written now."""
    skipped_existing: tuple[str, ...]
    """Hashes of the episodes that were there already, from the same source, and were left alone."""
    removed_partials: int
    """Leftovers of killed conversions that were taken away."""
    frames: int
    """Frames written now."""
    seconds: float

    def to_plain(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "out": str(self.out),
            "written": list(self.written),
            "skipped_existing": list(self.skipped_existing),
            "removed_partials": self.removed_partials,
            "frames": self.frames,
            "seconds": self.seconds,
        }


def convert_source(source: Source, out: Path) -> ConvertReport:
    """Write every episode of a source that a folder does not hold yet.

    Raises:
        ExistingPathError: when an episode of that name is there but was made from something else, or is no episode.
        RobotrainError: whatever the source refuses; nothing is written then.
    """
    begin = time.monotonic()
    names = source.names()
    if len(set(names)) != len(names):
        raise ConversionError("The source names the same episode twice.")
    existing = tuple(name for name in names if _is_there(source.header(name), _path(out, name)))
    missing = tuple(name for name in names if name not in set(existing))
    removed = _remove_partials(out, missing)
    frames = sum(
        _write_one(source, name, out) for name in track(missing, "convert", total=len(missing), unit="episodes")
    )
    return ConvertReport(out, missing, existing, removed, frames, time.monotonic() - begin)


def _path(out: Path, name: str) -> Path:
    return out / f"{name}{SUFFIX}"


def _write_one(source: Source, name: str, out: Path) -> int:
    header = source.header(name)
    with EpisodeWriter(
        _path(out, name),
        embodiment=header.embodiment,
        fps=header.fps,
        task_name=header.task_name,
        task_description=header.task_description,
        attributes={**header.attributes, SOURCE: dict(header.source)},
    ) as writer:
        return source.write(name, writer)


def _is_there(header: Header, path: Path) -> bool:
    """Say whether an episode is there; refuse one that is not what the source would make."""
    if not path.exists():
        return False
    try:
        stored = read_facts(path).attributes.get(SOURCE)
    except EpisodeError as problem:
        raise ExistingPathError(path, "What cannot be read as an episode", hint=str(problem)) from None
    if stored != dict(header.source):
        raise ExistingPathError(
            path, "An episode that was made from another source", hint="Choose another folder, or remove it first."
        )
    return True


def _remove_partials(out: Path, names: Sequence[str]) -> int:
    """Remove what killed conversions left of these episodes; what a living process is writing stays."""
    removed = 0
    for name in names:
        for partial in out.glob(f".{name}.partial-*"):
            if not _is_alive(partial.name.rpartition("-")[2]):
                shutil.rmtree(partial)
                removed += 1
    return removed


def _is_alive(process: str) -> bool:
    if not process.isdecimal() or int(process) == os.getpid():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it lives, and is another user's
        return True
    return True
