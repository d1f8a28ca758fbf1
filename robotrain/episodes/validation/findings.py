"""One thing that is wrong with an episode: where, and in words. How grave it is and how to mend it, its code tells.

Knows words only; refuses to look at data.
"""

from dataclasses import dataclass

from robotrain.episodes.validation.codes import CODES, Severity
from robotrain.errors import EpisodeError


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with one episode, or with the folder of them."""

    severity: Severity
    code: str
    episode: str
    """Hash; empty where the finding is about the whole folder."""
    array: str
    """Empty where the finding is about the whole episode."""
    frame: int | None
    """First frame concerned, where there is one."""
    message: str
    hint: str
    """How to mend it."""


def build_finding(code: str, episode: str, message: str, *, array: str = "", frame: int | None = None) -> Finding:
    """Return a finding with the severity and the hint of its code."""
    told = CODES[code]
    return Finding(told.severity, code, episode, array, frame, _sentence(message), told.mend)


def finding_of_error(code: str, problem: EpisodeError) -> Finding:
    """Return a finding for what the reader complained about."""
    return build_finding(code, problem.episode, problem.problem, array=problem.array, frame=problem.frame)


def _sentence(words: str) -> str:
    """Return words with a capital and a full stop: what libraries complain about comes without."""
    words = words.strip()
    return words[:1].upper() + words[1:] + ("" if words.endswith((".", "?", "!")) else ".")
