"""How much of the past a policy reads: states at several moments, the current one last, and an earlier picture.

Knows numbers of steps and seconds; refuses to know rows, which come of an episode's own rate.
"""

from dataclasses import dataclass
from fractions import Fraction

from robotrain.errors import ConfigError

MAX_STEPS = 64
"""Most steps of a history: far beyond any in use, and few enough to be held with every sample."""
MAX_SECONDS = 60
"""Longest time between two steps, s."""
BEFORE = ".before"
"""What the name of a camera's earlier picture ends in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class History:
    """What a policy reads beside the current state and pictures."""

    steps: int = 1
    """K, the current one counted; 1 is no history."""
    seconds: float = 0.1
    """Time from one step to the next; becomes rows, at least one, through the episode's own rate."""
    per_step_wrist: bool = False
    """True: keypoints that are told in a wrist's frame stand in that of their own step, as they do in the current
    state, so that the statistics hold for them; False: all steps stand in the frames of the current one."""

    image_seconds: float | None = None
    """Each camera gives a second picture, of so long before: ``front_1.before`` beside ``front_1``; None gives none.
    Before the first frame it is the first, and counts as absent."""

    def __post_init__(self) -> None:
        """Refuse numbers that make no history, and what a single step would ignore."""
        if not 1 <= self.steps <= MAX_STEPS:
            raise ConfigError(f"data.history.steps must be at least 1 and at most {MAX_STEPS}, found {self.steps}.")
        if not 0 < self.seconds <= MAX_SECONDS:
            raise ConfigError(f"data.history.seconds must be above 0 and at most {MAX_SECONDS}, found {self.seconds}.")
        if self.image_seconds is not None and not 0 < self.image_seconds <= MAX_SECONDS:
            raise ConfigError(
                f"data.history.image_seconds must be above 0 and at most {MAX_SECONDS}, found {self.image_seconds}."
            )
        if self.per_step_wrist and self.steps == 1:
            raise ConfigError("data.history.per_step_wrist says nothing with one step: raise data.history.steps.")

    def stride(self, fps: Fraction) -> int:
        """Return the stored rows from one step to the next at a rate, at least 1."""
        return _rows(self.seconds, fps)

    def image_stride(self, fps: Fraction) -> int:
        """Return the stored rows from the earlier picture to the current one at a rate, at least 1; 0 without one."""
        return 0 if self.image_seconds is None else _rows(self.image_seconds, fps)


NO_HISTORY = History()


def _rows(seconds: float, fps: Fraction) -> int:
    return max(1, round(seconds * float(fps)))
