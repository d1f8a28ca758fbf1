"""What a data set's owner makes of findings: how grave each code is, and what is known and accepted.

Knows codes; refuses to look at data.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import get_args

from robotrain.episodes.schema import hash_of
from robotrain.episodes.validation.codes import CODES, Severity
from robotrain.episodes.validation.findings import Finding
from robotrain.errors import ConfigError, UnknownNameError, did_you_mean

__all__ = ["ValidationConfig", "judge", "kept_in_vain"]

_YAML_WORDS = {"False": "off"}
"""YAML takes an unquoted off for false."""
KEPT = "kept: "
"""Begins the message of a finding that the config accepts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ValidationConfig:
    """How findings of this data set are judged."""

    severity: dict[str, str] = field(default_factory=dict)
    """By code: error, warning or off, in place of the code's own."""
    keep: tuple[str, ...] = ()
    """Known and accepted: HASH for all findings of an episode, HASH:CODE for one; told as warnings that are kept."""

    def __post_init__(self) -> None:
        """Refuse codes and severities that do not exist."""
        spelled = {code: _YAML_WORDS.get(str(severity), severity) for code, severity in self.severity.items()}
        object.__setattr__(self, "severity", spelled)
        for code, severity in self.severity.items():
            _require_code(code)
            if severity not in get_args(Severity):
                raise ConfigError(f"The severity of '{code}' is '{severity}': it must be error, warning or off.")
        for entry in self.keep:
            _, colon, code = entry.rpartition(":")
            if colon:
                _require_code(code)


def judge(findings: Iterable[Finding], config: ValidationConfig) -> Iterator[Finding]:
    """Yield the findings as a config judges them: those that are off are left out."""
    kept = {(hash_of(name), code) for name, code in map(_split, config.keep)}
    for finding in findings:
        severity = config.severity.get(finding.code, CODES[finding.code].severity)
        if severity == "off":
            continue
        if finding.episode and {(finding.episode, ""), (finding.episode, finding.code)} & kept:
            yield replace(finding, severity="warning", message=KEPT + finding.message)
        else:
            yield replace(finding, severity=severity)


def kept_in_vain(config: ValidationConfig, there: Collection[str]) -> Iterator[str]:
    """Yield the entries of ``keep`` whose episode is none of these, in words with the nearest."""
    for entry in config.keep:
        if (name := hash_of(_split(entry)[0])) not in there:
            yield f"validation.keep names '{entry}', and there is no such episode.{did_you_mean(name, there)}"


def _split(entry: str) -> tuple[str, str]:
    name, colon, code = entry.rpartition(":")
    return (name, code) if colon else (entry, "")


def _require_code(code: str) -> None:
    if code not in CODES:
        raise UnknownNameError("finding code", code, tuple(CODES))
