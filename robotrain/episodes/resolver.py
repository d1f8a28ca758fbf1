"""From a folder and a config to the episodes of a run, split into training and validation.

Knows the order: find, look, exclude, filter, pin, limit, split; each step lives elsewhere. Refuses to open an array.
Nothing is left out silently: an episode that cannot be used stops the run with every problem at once, unless the config
allows it; what is left out is counted, with its reason.
"""

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from robotrain.episodes.choice.filters import parse_filters
from robotrain.episodes.choice.pins import MISSING, beyond_limit, named_problems, refuse_problems
from robotrain.episodes.choice.pool import (
    FILTERED,
    OTHER_BODY,
    STRUCTURAL,
    UNREADABLE,
    Differs,
    Pool,
    Problem,
    build_pool,
)
from robotrain.episodes.choice.registry import DELETED, EMPTY_PATH
from robotrain.episodes.choice.selection import LeftOut, Selection, SelectionConfig, describe_left_out
from robotrain.episodes.choice.splits import choose_valid
from robotrain.episodes.folder import EpisodePaths, find_episodes, twin_hashes
from robotrain.episodes.schema import EpisodeFacts, canonical_embodiment, hash_of
from robotrain.errors import (
    BrokenEpisodesError,
    ConfigError,
    NoEpisodesError,
    SplitError,
    did_you_mean,
    listing,
)
from robotrain.files import data_dir

__all__ = [
    "Selection",
    "SelectionConfig",
    "find_chosen",
    "find_pin_problems",
    "resolve_episodes",
    "resolving_once",
]

_BY_RULE = {DELETED: "marked deleted", EMPTY_PATH: "with an empty path", STRUCTURAL: "marked structural"}
"""By kind of problem that leaves an episode out without asking: how it is counted."""
_UNASKED = {OTHER_BODY, FILTERED}
"""Kinds of problems of episodes that were never asked for."""

_WHERE = "episodes.where"

_RESOLVED: ContextVar[dict[Any, Selection] | None] = ContextVar("resolved", default=None)


def resolve_episodes(config: SelectionConfig, *, differs: Differs | None = None) -> Selection:
    """Find, check and split the episodes that a config selects: all of one embodiment.

    Args:
        config: What is asked for.
        differs: Tells how an episode differs from what was recorded of it; asked of those that are named by hash.

    Raises:
        MissingPathError: when there is no such folder, or no such registry.
        NoEpisodesError: when nothing is selected: which filter left nothing, and what there is.
        PinError: when episodes named by hash cannot be used, with every problem of every one.
        BrokenEpisodesError: when more episodes cannot be read than are allowed, with every problem.
        SplitError: when an episode is pinned and held out.
        UnknownNameError: for a filter on something that no episode has.
        ConfigError: when episodes are of several embodiments and none is chosen, one hash stands for two folders, or
            the split cannot be made.
        RegistryError, MissingExtraError: of the registry.
    """
    root = _root(config)
    resolved = _RESOLVED.get()
    if resolved is None:
        return _resolve(config, root, differs)
    asked = {name: value for name, value in asdict(config).items() if name != "root"}
    key = (json.dumps(asked, sort_keys=True, default=str), root.resolve(), differs)
    if key not in resolved:
        resolved[key] = _resolve(config, root, differs)
    return resolved[key]


@contextmanager
def resolving_once() -> Iterator[None]:
    """Let equal configs of one folder resolve once as long as this lasts; blocks within it share what it knows.

    Changes of the folder meanwhile go unseen. Nothing is kept beyond it, and no error.
    """
    if _RESOLVED.get() is not None:
        yield
        return
    token = _RESOLVED.set({})
    try:
        yield
    finally:
        _RESOLVED.reset(token)


def find_pin_problems(
    config: SelectionConfig, root: Path | None = None, *, differs: Differs | None = None
) -> tuple[Problem, ...]:
    """Return everything that is wrong with the episodes that a config names by hash, without stopping at any.

    Args:
        config: With pins, or episodes that are held out.
        root: The folder of episodes; None takes the config's.
        differs: As in `resolve_episodes`.

    Raises:
        As `resolve_episodes` does for what is no problem of an episode.
    """
    root = root or _root(config)
    paths = {hash_of(path): path for path in find_episodes(root)}
    named = _named(config)
    pool = build_pool(config, root, [paths[each] for each in sorted(named & set(paths))], named, differs)
    return tuple(named_problems((*config.pins, *config.held_out), pool, paths))


def find_chosen(config: SelectionConfig) -> EpisodePaths:
    """Return the episodes that a config is about, whether or not they can be used, sorted by hash.

    Raises:
        NoEpisodesError: when nothing passes: which filter left nothing, and what there is.
        As `resolve_episodes` does for what is no problem of an episode.
    """
    root = _root(config)
    paths = find_episodes(root)
    if config.pins:  # whether they pass filters is their problem, not the choice's
        named = _named(config)
        return EpisodePaths(root, (name for name in paths.names if hash_of(name) in named))
    if config.embodiment is None and not config.where and config.registry is None:
        return paths
    pool = build_pool(config, root, paths, (), None)
    unwanted = {*_UNASKED, DELETED, EMPTY_PATH}
    chosen = EpisodePaths(root, (name for name in paths.names if not pool.kinds(hash_of(name)) & unwanted))
    if not chosen:
        raise NoEpisodesError(root, reason=_why_none(config, pool, _excluded(pool)))
    return chosen


@dataclass(frozen=True)
class _Chosen:
    """What a config chooses of a pool."""

    places: list[str]
    """Hashes, sorted: of what is used, and of what is missing by allowance. A split is drawn over both, so that what is
    left out moves no other episode to the other side."""
    used: list[str]
    left_out: list[LeftOut]


def _root(config: SelectionConfig) -> Path:
    return Path(config.root).expanduser() if config.root else data_dir()


def _named(config: SelectionConfig) -> set[str]:
    return {hash_of(each) for each in (*config.pins, *config.held_out)}


def _resolve(config: SelectionConfig, root: Path, differs: Differs | None) -> Selection:
    paths = find_episodes(root)
    _refuse_twins(paths)
    if both := {hash_of(each) for each in config.pins} & {hash_of(each) for each in config.held_out}:
        raise SplitError(sorted(both))
    there = {hash_of(path): path for path in paths}
    looked_at = sorted(_named(config) & set(there)) if config.pins else there
    pool = build_pool(config, root, [there[each] for each in looked_at], _named(config), differs)
    chosen = _choose(config, pool, there)
    _refuse_mixture([pool.facts[each] for each in chosen.used], root)
    valid = choose_valid(config, pool, chosen.places, chosen.used)
    left_out = tuple(sorted(chosen.left_out, key=lambda each: each.hash))
    if not set(chosen.used) - valid:
        reason = f" {describe_left_out(left_out)}." if left_out else ""
        raise NoEpisodesError(root, reason=f"None is left to train on: what is chosen validates.{reason}")
    return Selection(
        train=tuple(pool.facts[each] for each in chosen.used if each not in valid),
        valid=tuple(pool.facts[each] for each in chosen.used if each in valid),
        root=root,
        left_out=left_out,
        notes=_notes(pool),
    )


def _choose(config: SelectionConfig, pool: Pool, there: Collection[str]) -> _Chosen:
    """Return what is asked for and can be used, or is missing by allowance."""
    names = (*config.pins, *config.held_out)
    named = _named(config)
    absent = named - set(there)
    fit = set(pool.without_problem({UNREADABLE})) | (absent if config.pins else set())
    places = sorted(fit)[: config.limit]
    missing = absent | {each for each in places if each not in absent and pool.kinds(each)}
    is_allowed = len(missing) <= config.allow_missing
    problems = [
        problem
        for problem in (*named_problems(names, pool, there), *beyond_limit(fit, named - absent, config.limit))
        if not (is_allowed and problem.hash in missing and problem.kind in MISSING)
    ]
    how = " and ".join(word for word, given in (("pinned", config.pins), ("held-out", config.held_out)) if given)
    refuse_problems(problems, pool.root, len(names), how)
    if not is_allowed:
        messages = [problem.message for each in sorted(missing) for problem in pool.problems[each]]
        raise BrokenEpisodesError(pool.root, messages, len(pool.problems))
    left_out = [*_excluded(pool), *(_missing(each, pool) for each in missing)]
    used = [each for each in places if each not in missing]
    if not used:
        raise NoEpisodesError(pool.root, reason=_why_none(config, pool, left_out))
    return _Chosen(places, used, left_out)


def _excluded(pool: Pool) -> list[LeftOut]:
    """Return what a rule leaves out of what is asked for."""
    kinds = {each: pool.kinds(each) for each in pool.problems}
    return [
        LeftOut(each, words, is_missing=False)
        for each, its in kinds.items()
        if not its & _UNASKED and (words := next((words for kind, words in _BY_RULE.items() if kind in its), ""))
    ]


def _missing(episode: str, pool: Pool) -> LeftOut:
    if episode not in pool.problems:
        return LeftOut(episode, "not there")
    return LeftOut(episode, "cannot be read", pool.problems[episode][0].message)


def _why_none(config: SelectionConfig, pool: Pool, left_out: Sequence[LeftOut]) -> str:
    """Return why nothing is chosen: the body, a filter, or everything is left out."""
    sound = [each for each in sorted(pool.problems) if not pool.kinds(each) & set(_BY_RULE)]
    bodies = sorted({pool.facts[each].embodiment for each in sound if each in pool.facts})
    wanted = canonical_embodiment(config.embodiment or "")
    if config.embodiment and bodies and wanted not in bodies:
        return f"None is of embodiment '{wanted}'.{did_you_mean(wanted, bodies)} There are: {listing(bodies)}."
    candidates = [each for each in sound if OTHER_BODY not in pool.kinds(each)]
    if candidates and all(FILTERED in pool.kinds(each) for each in candidates):
        return pool.explain_emptiness(candidates, parse_filters(config.where, _WHERE), _WHERE)
    return f"{describe_left_out(tuple(left_out))}."


def _notes(pool: Pool) -> tuple[str, ...]:
    if pool.registry is None:
        return ()
    unlisted = [each for each in pool.problems if each not in pool.registry.rows]
    if not unlisted:
        return ()
    return (f"{len(unlisted)} of {len(pool.problems)} episodes are not in the registry '{pool.registry.path}'",)


def _refuse_twins(paths: EpisodePaths) -> None:
    if twice := twin_hashes(paths):
        raise ConfigError(f"Two folders stand for one episode, with and without '.zarr': {listing(twice)}. Remove one.")


def _refuse_mixture(selected: Sequence[EpisodeFacts], root: Path) -> None:
    there = sorted({facts.embodiment for facts in selected})
    if len(there) > 1:
        counts = [f"{name} ({sum(facts.embodiment == name for facts in selected)})" for name in there]
        raise ConfigError(
            f"The episodes in '{root}' are of several embodiments: {', '.join(counts)}. "
            f"Choose one with episodes.embodiment={there[0]}."
        )
