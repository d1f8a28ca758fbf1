"""Every error that a user, a file or a config can cause, as one tree.

Each class takes typed arguments and builds its own message: what is wrong, where, what was expected, what is
available, and the nearest valid name. Mistakes of our own are asserts and never pass through here.
"""

import difflib
import heapq
from collections.abc import Iterable, Mapping, Sequence
from operator import eq
from pathlib import Path

_MANY = 300
"""Names among which the nearest is looked for letter by letter; of more, only those with the most letters in place."""


def nearest(name: str, available: Iterable[str]) -> str | None:
    """Return the available name that reads most like ``name``, or None when none is close."""
    wanted = name.lower()
    lowered = {candidate.lower(): candidate for candidate in available}
    candidates = list(lowered)
    if len(candidates) > _MANY:
        candidates = heapq.nlargest(_MANY, candidates, key=lambda candidate: _letters_in_place(wanted, candidate))
    close = difflib.get_close_matches(wanted, candidates, n=1, cutoff=0.5)
    return lowered[close[0]] if close else None


def did_you_mean(name: str, available: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" with the available name nearest to ``name``; empty where none is close."""
    close = nearest(name, available)
    return f" Did you mean '{close}'?" if close else ""


def _letters_in_place(first: str, second: str) -> int:
    """Return how many letters two names share at the same place, counted from their beginnings and from their ends."""
    return sum(map(eq, first, second)) + sum(map(eq, reversed(first), reversed(second)))


def listing(names: Iterable[str], most: int = 8) -> str:
    """Join names for a message, at most ``most`` of them, and say how many were left out."""
    ordered = list(names)
    shown = ", ".join(ordered[:most])
    return shown if len(ordered) <= most else f"{shown}, and {len(ordered) - most} more"


def first_line(problem: BaseException) -> str:
    """Return the first line of what a library complains about, or what kind of error it is where it says nothing."""
    return (str(problem).splitlines() or [type(problem).__name__])[0]


_MOST_LINES = 20
"""Lines of a message that lists problems; of more, the first and their number."""


def _cut(problems: Sequence[str], most: int, kind: str) -> list[str]:
    """Return a line for each problem, at most ``most`` of them, and one that counts the rest."""
    lines = [f"\n  - {problem}" for problem in problems[:most]]
    return [*lines, f"\n  - and {len(problems) - most} more {kind}"] if len(problems) > most else lines


class RobotrainError(Exception):
    """The root: the command line turns it into one line and exit code 1."""

    def __reduce__(self) -> tuple[object, ...]:
        """Travel between processes as it is: what makes an error anew would make a message of its message."""
        return _same_error, (type(self), self.args, dict(self.__dict__))


def _same_error(kind: type[RobotrainError], told: tuple[object, ...], state: dict[str, object]) -> RobotrainError:
    error = kind.__new__(kind)
    error.args = told
    error.__dict__.update(state)
    return error


class UnknownNameError(RobotrainError, KeyError):
    """A name that is not in the list it was looked up in."""

    def __init__(self, kind: str, name: str, available: Sequence[str], *, where: str = "") -> None:
        known = f" Available: {listing(available)}." if available else f" There is no {kind} at all."
        at = f" in {where}" if where else ""
        self.message = f"Unknown {kind} '{name}'{at}.{did_you_mean(name, available)}{known}"
        super().__init__(self.message)

    def __str__(self) -> str:  # KeyError would print the repr
        return self.message


class MissingPathError(RobotrainError, FileNotFoundError):
    """A file or folder that should be there."""

    def __init__(self, path: Path | str, what: str, *, hint: str = "") -> None:
        self.path = Path(path)
        super().__init__(f"{what} '{path}' does not exist.{' ' + hint if hint else ''}")

    def __str__(self) -> str:  # OSError would print errno
        return str(self.args[0])


class ExistingPathError(RobotrainError, FileExistsError):
    """A file or folder that would be overwritten."""

    def __init__(self, path: Path | str, what: str, *, hint: str = "") -> None:
        self.path = Path(path)
        super().__init__(f"{what} '{path}' exists already.{' ' + hint if hint else ''}")

    def __str__(self) -> str:
        return str(self.args[0])


class UnsafePathError(RobotrainError, ValueError):
    """A path read from a data file that would leave the data root."""

    def __init__(self, path: str, root: Path | str) -> None:
        super().__init__(f"The path '{path}', read from a data file, leaves the data root '{root}'.")


class ConfigError(RobotrainError, ValueError):
    """A config that contradicts itself or does not fit what it is used with."""


class EpisodeError(RobotrainError, ValueError):
    """An episode that cannot be read as one."""

    def __init__(self, episode: str, problem: str, *, array: str = "", frame: int | None = None) -> None:
        self.episode, self.problem, self.array, self.frame = episode, problem, array, frame
        place = f", array '{array}'" if array else ""
        place += f", frame {frame}" if frame is not None else ""
        super().__init__(f"Episode '{episode}'{place}: {problem}")


class NoEpisodesError(RobotrainError, ValueError):
    """A folder or a selection with no episode in it."""

    def __init__(self, root: Path | str, *, reason: str = "") -> None:
        super().__init__(f"No episodes in '{root}'.{' ' + reason if reason else ''}")


class BrokenEpisodesError(RobotrainError, ValueError):
    """A folder in which episodes cannot be read; every problem in one message."""

    def __init__(self, root: Path | str, problems: Sequence[str], num_episodes: int) -> None:
        self.problems = tuple(problems)
        lines = "".join(_cut(problems, _MOST_LINES, "like these"))
        super().__init__(
            f"{len(problems)} of {num_episodes} episodes in '{root}' cannot be read:{lines}\n"
            f"To see more: robotrain validate-data {root}. To leave them out: --allow-missing {len(problems)}"
        )


class UnsoundEpisodesError(RobotrainError, ValueError):
    """Episodes with errors that would poison a training."""

    def __init__(self, root: Path | str, first: str, *, num_unsound: int, num_episodes: int) -> None:
        super().__init__(
            f"{num_unsound} of {num_episodes} episodes have errors, first: {first} "
            f"To see them all: robotrain validate-data {root}. To leave them out: --allow-missing {num_unsound}"
        )


class ManifestError(RobotrainError, ValueError):
    """A manifest that cannot be used."""

    def __init__(self, path: Path | str, problem: str) -> None:
        self.path = Path(path)
        super().__init__(f"Manifest '{path}': {problem}")


class RegistryError(RobotrainError, ValueError):
    """A table of episodes that cannot be used."""

    def __init__(self, path: Path | str, problem: str, *, line: int | None = None, unit: str = "line") -> None:
        self.path, self.line = Path(path), line
        place = f", {unit} {line}" if line is not None else ""
        super().__init__(f"Registry '{path}'{place}: {problem}")


class PinError(RobotrainError, ValueError):
    """Episodes named by hash that cannot be used; every problem of every one in one message.

    Args:
        root: The folder where they were looked for.
        problems: By kind, in words that follow a number ("absent", "of another embodiment"): what is wrong with each.
        num_wrong: Number of episodes concerned; one may have several problems.
        num_pins: Number of episodes named.
        named: How they were named: "pinned" or "held-out".
    """

    def __init__(
        self,
        root: Path | str,
        problems: Mapping[str, Sequence[str]],
        *,
        num_wrong: int,
        num_pins: int,
        named: str = "pinned",
    ) -> None:
        self.problems = tuple(each for kind in problems.values() for each in kind)
        counts = ", ".join(f"{len(each)} {kind}" for kind, each in problems.items())
        most = max(2, _MOST_LINES // len(problems))
        lines = [line for kind, each in problems.items() for line in _cut(each, most, kind)]
        super().__init__(
            f"{num_wrong} of {num_pins} {named} episodes of '{root}' cannot be used: {counts}" + "".join(lines)
        )


class SplitError(RobotrainError, ValueError):
    """Episodes that would both be trained on and validated with."""

    def __init__(self, hashes: Sequence[str]) -> None:
        self.hashes = tuple(hashes)
        verb = "episode is" if len(hashes) == 1 else "episodes are"
        super().__init__(
            f"{len(hashes)} {verb} both for training and held out for validation: {listing(hashes)}. "
            "What was trained on tells nothing of how well a policy does; take them off one of the two."
        )


class WorkerDiedError(RobotrainError, RuntimeError):
    """A process that shared the work was killed, most often because memory ran out."""

    def __init__(self) -> None:
        super().__init__("A worker process was killed, most often for want of memory. What was done so far is kept.")


class GeometryError(RobotrainError, ValueError):
    """Numbers that are no rotation, pose or camera."""


class LayoutError(RobotrainError, ValueError):
    """Numbers or arrays whose meaning does not fit a layout."""


class ShapeError(RobotrainError, ValueError):
    """A batch field with a shape that contradicts the others."""

    def __init__(self, field: str, expected: str, found: Sequence[int] | str) -> None:
        shown = found if isinstance(found, str) else tuple(found)
        super().__init__(f"{field}: expected {expected}, found {shown}.")


class StatsError(RobotrainError, ValueError):
    """Statistics that cannot be computed, or do not belong to the data they are used with."""


class CheckpointError(RobotrainError, ValueError):
    """A checkpoint that cannot be opened or does not fit."""

    def __init__(self, path: Path | str, problem: str) -> None:
        self.path = Path(path)
        super().__init__(f"Checkpoint '{path}': {problem}")


class DivergedError(RobotrainError, ArithmeticError):
    """A training loss that is not a number any more."""

    def __init__(self, step: int, loss: float) -> None:
        self.step = step
        super().__init__(
            f"The loss became {loss} at step {step}: training cannot go on. "
            "Lower trainer.optim.lr, or look for extreme values with 'robotrain validate-data'."
        )


class ConversionError(RobotrainError, ValueError):
    """Foreign data that cannot be converted."""


class VideoError(RobotrainError, ValueError):
    """A video that cannot be written or read."""

    def __init__(self, path: Path | str, problem: str) -> None:
        self.path = Path(path)
        super().__init__(f"Video '{path}': {problem}.")


class PredictionError(RobotrainError, ValueError):
    """Predictions that cannot be scored or drawn."""


class MissingExtraError(RobotrainError, ImportError):
    """An optional library that is not installed."""

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs '{library}'. Install it with: pip install 'robotrain[{extra}]'")
