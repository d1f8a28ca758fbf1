"""Episodes that a config names by hash: every problem of every one, at once.

Knows lists of hashes and a pool of episodes; refuses to choose.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from pathlib import Path

from robotrain.episodes.choice.pool import CHANGED, FILTERED, OTHER_BODY, STRUCTURAL, UNREADABLE, Pool, Problem
from robotrain.episodes.choice.registry import DELETED, EMPTY_PATH
from robotrain.episodes.schema import hash_of
from robotrain.errors import PinError, did_you_mean

__all__ = ["ABSENT", "MISSING", "beyond_limit", "named_problems", "refuse_problems"]

ABSENT = "absent"
TWICE = "named twice"
BEYOND = "beyond the limit"
MISSING = frozenset({ABSENT, UNREADABLE})
"""Kinds of problems that an allowance covers."""

_ORDER = (ABSENT, DELETED, EMPTY_PATH, UNREADABLE, STRUCTURAL, CHANGED, OTHER_BODY, FILTERED, BEYOND, TWICE)
_GUESSES = 10
"""Absent episodes for which the nearest hash is looked for: looking takes long where there are many."""


def named_problems(pins: Sequence[str], pool: Pool, there: Collection[str]) -> list[Problem]:
    """Return what is wrong with episodes named by hash, in the order of their names.

    Args:
        pins: Hashes, with or without ``.zarr``.
        pool: The episodes, those named among them where they are there.
        there: Hashes of all episodes of the folder.
    """
    counts = Counter(hash_of(pin) for pin in pins)
    absent = (each for each in counts if each not in there)
    guesses = {each: did_you_mean(each, there) for each in islice(absent, _GUESSES)}
    found: list[Problem] = []
    for each, number in counts.items():
        if each not in there:
            found.append(Problem(each, ABSENT, f"'{each}' is not there.{guesses.get(each, '')}"))
        else:
            found += pool.problems[each]
        if number > 1:
            found.append(Problem(each, TWICE, f"'{each}' is named {number} times."))
    return found


def beyond_limit(usable: Collection[str], named: Collection[str], limit: int | None) -> list[Problem]:
    """Return a problem for every named episode that is not among the first of the usable ones by hash."""
    beyond = sorted(usable)[limit:] if limit is not None else []
    return [
        Problem(each, BEYOND, f"'{each}' is beyond the limit of {limit} episodes.") for each in beyond if each in named
    ]


def refuse_problems(problems: Sequence[Problem], root: Path, num_pins: int, named: str) -> None:
    """Stop where any named episode cannot be used.

    Raises:
        PinError: with every problem of every one, kind by kind.
    """
    if not problems:
        return
    by_kind: Mapping[str, list[str]] = {
        kind: [problem.message for problem in problems if problem.kind == kind] for kind in _ORDER
    }
    raise PinError(
        root,
        {kind: messages for kind, messages in by_kind.items() if messages},
        num_wrong=len({problem.hash for problem in problems}),
        num_pins=num_pins,
        named=named,
    )
