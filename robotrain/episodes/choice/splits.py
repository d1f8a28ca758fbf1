"""Which episodes are trained on and which are held out to validate with.

Knows hashes, seeds and groups of hashes, and which way to split a config asks for. Every split depends on the set of
hashes alone, and not on their order. A drawn split depends on all of them: adding an episode to a folder may move
others to the other side. What is missing by allowance keeps its place in the draw, so that leaving it out moves no
other; only among groups by an attribute it has none, as the attribute cannot be read.
"""

import random
from collections.abc import Iterable, Mapping, Sequence

from robotrain.episodes.choice.filters import parse_filters, text_of
from robotrain.episodes.choice.pool import Pool
from robotrain.episodes.choice.selection import SelectionConfig
from robotrain.episodes.schema import hash_of
from robotrain.errors import ConfigError, NoEpisodesError, listing

__all__ = ["choose_valid", "split_groups", "split_hashes"]

_WHERE = "episodes.held_out_where"
_NO_VALUE = (None, "")

Split = tuple[tuple[str, ...], tuple[str, ...]]
"""Hashes for training and for validation, each sorted."""


def choose_valid(config: SelectionConfig, pool: Pool, places: Sequence[str], used: Sequence[str]) -> set[str]:
    """Return the hashes that validate, in the way that a config asks for.

    Args:
        config: What is asked for.
        pool: What is known of the episodes.
        places: Hashes over which a split is drawn: those used, and those missing by allowance.
        used: Hashes of the episodes that are used.

    Raises:
        NoEpisodesError: when no episode passes `SelectionConfig.held_out_where`.
        UnknownNameError: when it, or `SelectionConfig.split_by`, is about something that no episode has.
        ConfigError: when episodes lack what they are to be split by, or all have the same.
    """
    if config.held_out:
        return {hash_of(each) for each in config.held_out}
    if filters := parse_filters(config.held_out_where, _WHERE):
        for each in filters:
            pool.require_name(each.name, _WHERE)
        passing = {each for each in used if not pool.failing(each, filters)}
        if not passing:
            raise NoEpisodesError(pool.root, reason=pool.explain_emptiness(used, filters, _WHERE))
        return passing
    if config.split_by is None:
        return set(split_hashes(places, config.valid_ratio, config.split_seed)[1])
    name = config.split_by
    pool.require_name(name, "episodes.split_by")
    values = {each: pool.value(each, name) for each in places}
    if without := [each for each in used if values[each] in _NO_VALUE]:
        raise ConfigError(
            f"episodes.split_by={name}: {len(without)} of {len(used)} episodes have no '{name}': {listing(without)}. "
            f"To leave them out: episodes.where.{name}.regex=."
        )
    groups = {each: text_of(value) for each, value in values.items() if value not in _NO_VALUE}
    return set(split_groups(groups, config.valid_ratio, config.split_seed, name=name)[1])


def split_hashes(hashes: Iterable[str], valid_ratio: float, seed: int) -> Split:
    """Return the hashes for training and for validation: sort, shuffle, and the first of them validate.

    One episode alone is for training: it cannot also tell how well training went.
    """
    shuffled = _shuffled(hashes, seed)
    wanted = max(1, int(len(shuffled) * valid_ratio)) if valid_ratio > 0 and len(shuffled) > 1 else 0
    return tuple(sorted(shuffled[wanted:])), tuple(sorted(shuffled[:wanted]))


def split_groups(groups: Mapping[str, str], valid_ratio: float, seed: int, *, name: str) -> Split:
    """Return the hashes for training and for validation, where a group is never torn apart.

    Groups are sorted and shuffled; whole ones validate until they hold the share asked for: at least one of them, and
    never all.

    Args:
        groups: By hash: its group, such as an operator.
        valid_ratio: Share of the episodes to hold out, above 0.
        seed: Of the shuffle.
        name: What groups are by, for messages.

    Raises:
        ConfigError: when there are fewer than two groups.
    """
    members: dict[str, list[str]] = {}
    for each, group in groups.items():
        members.setdefault(group, []).append(each)
    if len(members) < 2:
        raise ConfigError(
            f"episodes.split_by={name} needs episodes of at least two values of '{name}': "
            f"there {'is only ' + repr(next(iter(members))) if members else 'are none'}."
        )
    valid: list[str] = []
    for group in _shuffled(members, seed)[:-1]:
        if valid and len(valid) >= valid_ratio * len(groups):
            break
        valid += members[group]
    return tuple(sorted(set(groups) - set(valid))), tuple(sorted(valid))


def _shuffled(names: Iterable[str], seed: int) -> list[str]:
    ordered = sorted(names)
    random.Random(seed).shuffle(ordered)  # noqa: S311 -- reproducible, not secret
    return ordered
