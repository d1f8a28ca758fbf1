"""Findings in any number: counted, kept out of memory where there are many, told again with the errors first.

Knows findings; refuses to make or judge them.
"""

import json
import tempfile
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import astuple

from robotrain.episodes.validation.findings import Finding

_IN_MEMORY = 1 << 20
"""Bytes held before a file takes over."""


class FindingLog:
    """A list of findings that only grows, and is read from its beginning."""

    def __init__(self, findings: Iterable[Finding] = ()) -> None:
        self.num_by_code: Counter[str] = Counter()
        self._num_by_severity: Counter[str] = Counter()
        self._files = {
            severity: tempfile.SpooledTemporaryFile(_IN_MEMORY, mode="w+", encoding="utf-8")  # noqa: SIM115 -- kept open
            for severity in ("error", "warning")
        }
        for file in self._files.values():
            weakref.finalize(self, file.close)
        for finding in findings:
            self.add(finding)

    def __len__(self) -> int:
        return self.num_by_code.total()

    def __iter__(self) -> Iterator[Finding]:
        """Yield the findings in the order in which they came, the errors first."""
        for file in self._files.values():
            file.seek(0)
            for line in file:
                yield Finding(*json.loads(line))

    @property
    def num_errors(self) -> int:
        """Number of findings that must be mended before training."""
        return self._num_by_severity["error"]

    @property
    def num_warnings(self) -> int:
        """Number of findings to know about."""
        return self._num_by_severity["warning"]

    def add(self, finding: Finding) -> None:
        """Add a finding that is an error or a warning."""
        self.num_by_code[finding.code] += 1
        self._num_by_severity[finding.severity] += 1
        file = self._files[finding.severity]
        file.seek(0, 2)
        file.write(json.dumps(astuple(finding)) + "\n")
