"""The episodes of a folder that a config looks at: what is known of each, and everything that speaks against using it.

Knows how to ask the index, the registry and the filters; refuses to decide what follows: that is the resolver's.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from robotrain.episodes.choice.filters import HASH, Filter, Scalar, describe_values, parse_filters, show
from robotrain.episodes.choice.registry import DELETED, EMPTY_PATH, Registry, find_registry, load_registry
from robotrain.episodes.choice.selection import SelectionConfig
from robotrain.episodes.index import Entry, read_entries
from robotrain.episodes.schema import (
    DATA_STATUS,
    EMBODIMENT,
    FPS,
    STRUCTURAL_SAMPLE,
    TASK_DESCRIPTION,
    TASK_NAME,
    TOTAL_FRAMES,
    EpisodeFacts,
    canonical_embodiment,
    hash_of,
)
from robotrain.errors import ConfigError, UnknownNameError

__all__ = ["CHANGED", "FILTERED", "OTHER_BODY", "STRUCTURAL", "UNREADABLE", "Differs", "Pool", "Problem", "build_pool"]

Differs = Callable[[Entry], str]
"""How an episode differs from what was recorded of it, in words; empty where it does not."""

# Kinds of problems, in words that follow a number; the registry's two kinds are of them.
UNREADABLE = "unreadable"
STRUCTURAL = "marked structural"
OTHER_BODY = "of another embodiment"
FILTERED = "filtered out"
CHANGED = "changed"

_SAID_BY_ALL: Mapping[str, Callable[[EpisodeFacts], Scalar]] = {
    HASH: lambda facts: facts.hash,
    EMBODIMENT: lambda facts: facts.embodiment,
    TASK_NAME: lambda facts: facts.task_name,
    TASK_DESCRIPTION: lambda facts: facts.task_description,
    TOTAL_FRAMES: lambda facts: facts.num_frames,
    FPS: lambda facts: float(facts.fps),
}
"""Names under which every episode says something."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that speaks against using an episode."""

    hash: str
    kind: str
    message: str


@dataclass(frozen=True)
class Pool:
    """Episodes of a folder, by hash."""

    root: Path
    facts: Mapping[str, EpisodeFacts] = field(repr=False)
    """What those that can be read say about themselves."""
    registry: Registry | None
    problems: dict[str, list[Problem]] = field(repr=False)
    """Of every episode that was looked at; an empty list where nothing speaks against it."""

    def kinds(self, episode: str) -> set[str]:
        """Return the kinds of an episode's problems."""
        return {problem.kind for problem in self.problems[episode]}

    def without_problem(self, ignored: Collection[str] = ()) -> list[str]:
        """Return the episodes against which nothing else speaks than these kinds, sorted."""
        return sorted(each for each in self.problems if not self.kinds(each) - set(ignored))

    def is_in_registry(self, name: str) -> bool:
        """Tell whether a name is a column, so that an episode need not be readable to know its value."""
        return self.registry is not None and name in self.registry.columns and name != HASH

    def value(self, episode: str, name: str) -> Scalar:
        """Return what is known of an episode under a name, or None; a column wins over an attribute."""
        if name == HASH:
            return episode
        facts = self.facts.get(episode)
        if self.registry is not None and self.is_in_registry(name):
            value = self.registry.value(episode, name)
        elif facts is None:
            return None
        else:
            value = _SAID_BY_ALL[name](facts) if name in _SAID_BY_ALL else facts.attributes.get(name)
        return canonical_embodiment(value) if name == EMBODIMENT and isinstance(value, str) else value

    def require_name(self, name: str, setting: str) -> None:
        """Check that at least one episode could have a value of this name.

        Raises:
            UnknownNameError: when none has.
            ConfigError: when what they have is no single value.
        """
        if name == HASH:
            return
        for each in self.problems:
            if not isinstance(value := self.value(each, name), Scalar):
                kind = "list" if isinstance(value, list | tuple) else "group of values"
                raise ConfigError(f"{setting}: '{name}' is a {kind} in episode '{each}', and no single value.")
        known = [*_SAID_BY_ALL, *(self.registry.columns if self.registry else ())]
        if name in known or not self.facts or any(name in facts.attributes for facts in self.facts.values()):
            return
        said = {key for facts in self.facts.values() for key, value in facts.attributes.items() if _is_single(value)}
        raise UnknownNameError("attribute", name, list(dict.fromkeys([*known, *sorted(said)])), where=setting)

    def failing(self, episode: str, filters: Sequence[Filter]) -> list[Filter]:
        """Return the filters that an episode does not pass; of one that cannot be read, only those that tell."""
        is_read = episode in self.facts
        return [
            each
            for each in filters
            if (is_read or each.name == HASH or self.is_in_registry(each.name))
            and not each.holds(self.value(episode, each.name))
        ]

    def explain_emptiness(self, episodes: Sequence[str], filters: Iterable[Filter], setting: str) -> str:
        """Return which filter leaves nothing of these episodes, the nearest value, and the values there are."""
        remaining = list(episodes)
        for each in filters:
            values = [self.value(episode, each.name) for episode in remaining]
            left = [episode for episode, value in zip(remaining, values, strict=True) if each.holds(value)]
            if not left:
                lines = [f"None passes {setting}: {each.words}"]
                if len(remaining) < len(episodes):
                    lines.append(f"{len(remaining)} of {len(episodes)} pass what comes before it")
                if close := each.nearest_of(values):
                    lines.append(f"the nearest value there is: {close}")
                lines.append(f"values of {each.name}: {describe_values(values)}")
                return "\n  - ".join(lines)
            remaining = left
        raise AssertionError("no filter emptied the selection")


def build_pool(
    config: SelectionConfig, root: Path, paths: Sequence[Path], named: Collection[str], differs: Differs | None
) -> Pool:
    """Look at episodes and gather everything that speaks against each.

    Args:
        config: What is asked for.
        root: The folder of episodes.
        paths: Which of its episodes to look at.
        named: Hashes of those that the config names: only of them it is asked whether they differ.
        differs: Tells how an episode differs from what was recorded of it.

    Raises:
        UnknownNameError, ConfigError: for a filter on something that no episode has.
        MissingPathError, RegistryError, MissingExtraError: of the registry.
    """
    registry = load_registry(find_registry(config.registry, root)) if config.registry else None
    facts: dict[str, EpisodeFacts] = {}
    pool = Pool(root, facts, registry, {hash_of(path): [] for path in paths})
    for entry in read_entries(root, paths):
        told, episode = entry.facts, entry.hash
        if told is None:
            pool.problems[episode].append(Problem(episode, UNREADABLE, entry.problem))
        else:
            facts[episode] = told
        if differs is not None and episode in named and (words := differs(entry)):
            pool.problems[episode].append(Problem(episode, CHANGED, f"'{episode}' is not as recorded: {words}"))
    filters = parse_filters(config.where, "episodes.where")
    for each in filters:
        pool.require_name(each.name, "episodes.where")
    wanted = canonical_embodiment(config.embodiment) if config.embodiment is not None else None
    for episode in pool.problems:
        pool.problems[episode] += _objections(pool, episode, wanted, filters)
    return pool


def _objections(pool: Pool, episode: str, wanted: str | None, filters: Sequence[Filter]) -> list[Problem]:
    """Return what speaks against an episode by rule, body and filters."""
    found: list[tuple[str, str]] = []
    reason = pool.registry.unusable.get(episode) if pool.registry else None
    if reason == DELETED:
        found.append((DELETED, f"'{episode}' is marked deleted in the registry."))
    elif reason == EMPTY_PATH:
        found.append((EMPTY_PATH, f"'{episode}' has an empty path in the registry."))
    told = pool.facts.get(episode)
    if told is not None and told.attributes.get(DATA_STATUS) == STRUCTURAL_SAMPLE:
        found.append((STRUCTURAL, f"'{episode}' is a structural sample: a specimen of the format, and no recording."))
    if told is not None and wanted is not None and told.embodiment != wanted:
        found.append((OTHER_BODY, f"'{episode}' is of embodiment '{told.embodiment}', not '{wanted}'."))
    if failing := pool.failing(episode, filters):
        words = ", and by ".join(f"{each.words}: it is {show(pool.value(episode, each.name))}" for each in failing)
        found.append((FILTERED, f"'{episode}' is filtered out by {words}."))
    return [Problem(episode, kind, message) for kind, message in found]


def _is_single(value: Any) -> bool:
    return isinstance(value, str | int | float)
