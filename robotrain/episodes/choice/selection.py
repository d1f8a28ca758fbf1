"""Which episodes a run asks for, and which it gets.

Knows what can be asked and what the answer is made of; refuses to look for anything: that is the resolver's.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from robotrain.episodes.choice.filters import parse_filters
from robotrain.episodes.schema import EpisodeFacts, hash_of
from robotrain.errors import ConfigError, NoEpisodesError, SplitError, listing

__all__ = ["LeftOut", "Selection", "SelectionConfig"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectionConfig:
    """Which episodes a run uses, and how they split."""

    root: str | None = None
    """Folder of episodes; None takes ROBOTRAIN_DATA_DIR."""
    embodiment: str | None = None
    """Take only episodes of this embodiment (vendor names count as the body they stand for); None takes all."""
    where: dict[str, Any] = field(default_factory=dict)
    """Take only episodes that pass all of these, by name: ``hash``, ``embodiment``, ``task_name``,
    ``task_description``, ``total_frames``, ``fps``, any attribute that is a single value, any column of the registry
    (which wins over an attribute). A value means equals, a list means in; else a mapping of equals, in, prefix, regex,
    at_least, at_most, not. See `filters`."""
    registry: str | None = None
    """CSV or Parquet file with a column ``episode_hash`` or ``hash``: more columns to filter and split by. ``~`` is
    expanded; a relative path counts from the folder of episodes when a file is there, else from the current directory.
    Episodes that it marks ``is_deleted``, or whose ``zarr_processed_path`` is empty, are left out."""
    pins: tuple[str, ...] = ()
    """Take exactly these episodes, named by hash; empty takes all. One that cannot be used is an error."""
    allow_missing: int = 0
    """How many episodes may be left out because they are not there (pins) or cannot be read; more stop the run."""
    limit: int | None = None
    """Take at most so many episodes, the first by hash; None takes all."""
    valid_ratio: float = 0.2
    """Share of the episodes kept for validation, at least one; 0 keeps none."""
    split_seed: int = 42
    """Seed of the shuffle that splits."""
    split_by: str | None = None
    """Keep whole groups for validation: all episodes of an operator, say. An attribute or a column; None splits one by
    one. Groups are drawn with the seed until they make up the ratio: at least one of them, never all."""
    held_out: tuple[str, ...] = ()
    """Validate with exactly these episodes, named by hash, and train on the others (the pins, where there are any)."""
    held_out_where: dict[str, Any] = field(default_factory=dict)
    """Validate with exactly the episodes that pass these filters, written as in ``where``, and train on the others."""

    def __post_init__(self) -> None:
        """Refuse numbers that select nothing, filters that cannot be read, and what would be ignored."""
        if not 0 <= self.valid_ratio < 1:
            raise ConfigError(f"valid_ratio is {self.valid_ratio}: it must be at least 0 and less than 1.")
        if self.limit is not None and self.limit < 1:
            raise ConfigError(f"limit is {self.limit}: it must be at least 1, or left out.")
        if self.allow_missing < 0:
            raise ConfigError(f"allow_missing is {self.allow_missing}: it must be at least 0.")
        for name in ("pins", "held_out"):
            if strange := [each for each in getattr(self, name) if not isinstance(each, str) or not hash_of(each)]:
                raise ConfigError(f"episodes.{name} must be hashes of episodes, found {strange[0]!r}.")
        parse_filters(self.where, "episodes.where")
        named = bool(parse_filters(self.held_out_where, "episodes.held_out_where"))
        chosen = {"split_by": self.split_by is not None, "held_out": bool(self.held_out), "held_out_where": named}
        ways = [name for name, is_set in chosen.items() if is_set]
        if len(ways) > 1:
            raise ConfigError(f"episodes.{ways[0]} and episodes.{ways[1]} both say what validates: choose one.")
        if self.split_by is not None and not self.valid_ratio:
            raise ConfigError("episodes.split_by would be ignored: valid_ratio is 0, which holds nothing out.")
        if ways and ways != ["split_by"]:
            self._refuse_ignored(ways[0])

    def _refuse_ignored(self, way: str) -> None:
        """Refuse a ratio or a seed that nobody would look at; a ratio of 0 says nothing else than ``way``."""
        defaults = {each.name: each.default for each in fields(self)}
        for name, silent in (("valid_ratio", (0, defaults["valid_ratio"])), ("split_seed", (defaults["split_seed"],))):
            value = getattr(self, name)
            if value not in silent:
                raise ConfigError(
                    f"episodes.{name}={value} would be ignored: episodes.{way} says what validates. "
                    f"Leave it at {defaults[name]}."
                )


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An episode that would have been chosen and is not used."""

    hash: str
    reason: str
    """In few words, the same for all of a kind: "marked deleted", "cannot be read"."""
    detail: str = ""
    """What else is known of this one."""
    is_missing: bool = True
    """Whether `SelectionConfig.allow_missing` had to allow it; else a rule leaves it out."""


@dataclass(frozen=True)
class Selection:
    """The episodes of a run, each part sorted by hash. No episode is in both: that is an error, wherever it comes from.

    Raises:
        SplitError: when an episode is in both parts, naming every one.
    """

    train: tuple[EpisodeFacts, ...]
    valid: tuple[EpisodeFacts, ...]
    root: Path
    left_out: tuple[LeftOut, ...] = ()
    """Sorted by hash: what is not used, and why."""
    notes: tuple[str, ...] = ()
    """What else a person should know of how they were chosen."""

    def __post_init__(self) -> None:
        """Refuse an overlap."""
        if both := {facts.hash for facts in self.train} & {facts.hash for facts in self.valid}:
            raise SplitError(sorted(both))

    @property
    def all(self) -> tuple[EpisodeFacts, ...]:
        """Both parts together, sorted by hash."""
        return tuple(sorted((*self.train, *self.valid), key=lambda facts: facts.hash))

    @property
    def remarks(self) -> tuple[str, ...]:
        """What to warn of: how many episodes are left out, why, and which where they are few."""
        return (*([describe_left_out(self.left_out)] if self.left_out else []), *self.notes)

    @property
    def num_missing(self) -> int:
        """Number of episodes left out that the allowance had to allow."""
        return sum(each.is_missing for each in self.left_out)

    def require_valid(self) -> tuple[EpisodeFacts, ...]:
        """Return the validation episodes, for those who cannot do without.

        Raises:
            ConfigError: when there are none.
        """
        if not self.valid:
            raise ConfigError(
                f"There is no episode to validate on: {len(self.train)} in '{self.root}', all for training. "
                "Add episodes, or set a valid_ratio above 0."
            )
        return self.valid

    def without(self, details: Mapping[str, str], reason: str = "unsound") -> "Selection":
        """Return the selection without some episodes, as missing; the others stay on their side of the split.

        Args:
            details: By hash, which must be of the selection: what is wrong with each.
            reason: What they have in common, in few words that follow a number.

        Raises:
            NoEpisodesError: when no episode is left to train on.
        """
        strangers = set(details) - {facts.hash for facts in (*self.train, *self.valid)}
        assert not strangers, f"not of this selection: {sorted(strangers)}"  # noqa: S101 -- a mistake of the caller
        left_out = (*self.left_out, *(LeftOut(each, reason, detail) for each, detail in details.items()))
        left_out = tuple(sorted(left_out, key=lambda each: each.hash))
        train = tuple(facts for facts in self.train if facts.hash not in details)
        if not train and self.train:
            raise NoEpisodesError(self.root, reason=f"None is left to train on: {describe_left_out(left_out)}.")
        valid = tuple(facts for facts in self.valid if facts.hash not in details)
        return replace(self, train=train, valid=valid, left_out=left_out)


def describe_left_out(left_out: tuple[LeftOut, ...]) -> str:
    """Return in a line how many episodes are left out, and why: "3 are left out: 2 marked deleted (a, b), ..."."""
    counts = Counter(each.reason for each in left_out)
    parts = [
        f"{number} {reason} ({listing([each.hash for each in left_out if each.reason == reason], most=3)})"
        for reason, number in counts.most_common()
    ]
    return f"{'1 episode is' if len(left_out) == 1 else f'{len(left_out)} episodes are'} left out: {', '.join(parts)}"
