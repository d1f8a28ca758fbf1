"""Checks of episodes: every finding has a code, a place, a meaning and a way to mend it."""

from robotrain.episodes.validation.check import check_pins, check_twins, validate_episode
from robotrain.episodes.validation.codes import CODES, Code, Severity
from robotrain.episodes.validation.findings import Finding

__all__ = [
    "CODES",
    "Code",
    "Finding",
    "Severity",
    "check_pins",
    "check_twins",
    "validate_episode",
]
