"""Episodes whose numbers and pictures stand in memory, so that a fault can be planted in any row of them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from robotrain.episodes.reader import Episode
from robotrain.episodes.schema import EpisodeFacts, canonical_embodiment, image_array
from robotrain.episodes.validation.findings import Finding
from robotrain.episodes.validation.scans.tracks import Track, read_tracks
from robotrain.errors import EpisodeError

Told = list[tuple[str, str, int | None]]
"""Code, array and frame of findings."""


class InMemory(Episode):
    """An episode without a folder."""

    def __init__(
        self,
        numbers: Mapping[str, np.ndarray] | None = None,
        pictures: Mapping[str, Sequence[bytes | EpisodeError]] | None = None,
        *,
        embodiment: str = "eva_bimanual",
        fps: float | None = 30,
        attributes: Mapping[str, Any] | None = None,
        size: tuple[int, int] = (640, 480),
    ) -> None:
        numbers, self.encoded = numbers or {}, pictures or {}
        lengths = {len(rows) for rows in (*numbers.values(), *self.encoded.values())}
        assert len(lengths) == 1, "all arrays have one length"
        super().__init__(
            EpisodeFacts(
                path=Path("planted"),
                hash="planted",
                embodiment=canonical_embodiment(embodiment),
                stored_embodiment=embodiment,
                num_frames=lengths.pop(),
                fps=Fraction(1),
                task_name="",
                task_description="",
                arrays=(*sorted(numbers), *map(image_array, sorted(self.encoded))),
                attributes={**({} if fps is None else {"fps": fps}), **(attributes or {})},
            )
        )
        self._numbers = {name: np.asarray(rows).reshape(len(rows), -1) for name, rows in numbers.items()}
        self._sizes = dict.fromkeys(self.encoded, size)

    def jpegs(self, camera: str) -> Iterator[bytes | EpisodeError]:
        return iter(self.encoded[camera])

    @property
    def tracks(self) -> dict[str, Track]:
        return read_tracks(self, self.arrays)


Scan = Callable[[InMemory], Iterable[Finding]]


def told(findings: Iterable[Finding]) -> Told:
    """Return where findings are, once each has shown that it speaks of this episode, in numbers and with its frame."""
    found = list(findings)
    for finding in found:
        assert finding.episode == "planted"
        assert any(character.isdigit() for character in finding.message)
        assert finding.message.endswith(".")
        assert isinstance(finding.frame, int), "not one of numpy's, which JSON refuses"
        assert "numpy" not in finding.message
        assert "np." not in finding.message
    assert len({(finding.code, finding.array) for finding in found}) == len(found), (
        "one finding for each code and array"
    )
    return [(finding.code, finding.array, finding.frame) for finding in found]
