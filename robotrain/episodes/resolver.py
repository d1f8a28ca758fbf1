"""From a folder and a config to the episodes of a run, split into training and validation.

Knows folders, hashes and what episodes say about themselves; refuses to open an array. Nothing is left out silently: an
episode that cannot be used stops the run, and every problem is told at once.
"""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from robotrain.episodes.schema import METADATA, SUFFIX, EpisodeFacts, canonical_embodiment, hash_of, read_facts
from robotrain.errors import (
    BrokenEpisodesError,
    ConfigError,
    EpisodeError,
    MissingPathError,
    NoEpisodesError,
    PinError,
    listing,
    nearest,
)
from robotrain.files import data_dir

__all__ = [
    "Selection",
    "SelectionConfig",
    "check_pins",
    "find_episodes",
    "resolve_episodes",
    "split_hashes",
    "twin_hashes",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectionConfig:
    """Which episodes a run uses, and how they split."""

    root: str | None = None
    """Folder of episodes; None takes ROBOTRAIN_DATA_DIR."""
    embodiment: str | None = None
    """Take only episodes of this embodiment (vendor names count as the body they stand for); None takes all."""
    pins: tuple[str, ...] = ()
    """Take exactly these episodes, named by hash; empty takes all."""
    valid_ratio: float = 0.2
    """Share of the episodes kept for validation, at least one; 0 keeps none."""
    split_seed: int = 42
    """Seed of the shuffle that splits."""
    limit: int | None = None
    """Take at most so many episodes, the first by hash; None takes all."""

    def __post_init__(self) -> None:
        """Refuse numbers that select nothing."""
        if not 0 <= self.valid_ratio < 1:
            raise ConfigError(f"valid_ratio is {self.valid_ratio}: it must be at least 0 and less than 1.")
        if self.limit is not None and self.limit < 1:
            raise ConfigError(f"limit is {self.limit}: it must be at least 1, or left out.")


@dataclass(frozen=True)
class Selection:
    """The episodes of a run, each part sorted by hash."""

    train: tuple[EpisodeFacts, ...]
    valid: tuple[EpisodeFacts, ...]
    root: Path

    @property
    def all(self) -> tuple[EpisodeFacts, ...]:
        """Both parts together, sorted by hash."""
        return tuple(sorted((*self.train, *self.valid), key=lambda facts: facts.hash))

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


def find_episodes(root: Path | str) -> tuple[Path, ...]:
    """Return the folders of a folder that are, or should be, episodes, sorted by hash.

    Hidden folders are left alone: they are unfinished. A folder counts when it holds ``zarr.json``, is named
    ``.zarr``, or holds a folder with ``zarr.json``: the last two are broken episodes that must not go unseen.

    Raises:
        MissingPathError: when there is no such folder.
        NoEpisodesError: when there is no episode in it.
    """
    root = Path(root)
    if not root.is_dir():
        raise MissingPathError(root, "The folder of episodes")
    found = [child for child in root.iterdir() if not child.name.startswith(".") and _is_episode(child)]
    if not found:
        raise NoEpisodesError(root, reason="An episode is a folder with a file 'zarr.json', named by its hash.")
    return tuple(sorted(found, key=lambda path: (hash_of(path), path.name)))


def resolve_episodes(config: SelectionConfig) -> Selection:
    """Find, check and split the episodes that a config selects: all of one embodiment.

    Raises:
        MissingPathError: when there is no such folder.
        NoEpisodesError: when nothing is selected.
        PinError: when pinned episodes cannot be used, with every problem of every pin.
        BrokenEpisodesError: when episodes cannot be read, with every problem.
        ConfigError: when episodes are of several embodiments and none is chosen, or one hash stands for two folders.
    """
    root = Path(config.root).expanduser() if config.root else data_dir()
    paths = find_episodes(root)
    _refuse_twins(paths)
    selected = _read_pinned(paths, config, root) if config.pins else _read_matching(paths, config, root)
    selected = selected[: config.limit]
    _refuse_mixture(selected, root)
    valid_hashes = set(split_hashes([facts.hash for facts in selected], config.valid_ratio, config.split_seed)[1])
    return Selection(
        train=tuple(facts for facts in selected if facts.hash not in valid_hashes),
        valid=tuple(facts for facts in selected if facts.hash in valid_hashes),
        root=root,
    )


def split_hashes(hashes: Iterable[str], valid_ratio: float, seed: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the hashes for training and for validation: sort, shuffle, and the first of them validate.

    One episode alone is for training: it cannot also tell how well training went.
    """
    shuffled = sorted(hashes)
    random.Random(seed).shuffle(shuffled)  # noqa: S311 -- reproducible, not secret
    wanted = max(1, int(len(shuffled) * valid_ratio)) if valid_ratio > 0 and len(shuffled) > 1 else 0
    return tuple(sorted(shuffled[wanted:])), tuple(sorted(shuffled[:wanted]))


def twin_hashes(paths: Iterable[Path]) -> tuple[str, ...]:
    """Return the hashes that more than one of these folders stands for, with and without ``.zarr``, sorted."""
    counts = Counter(hash_of(path) for path in paths)
    return tuple(sorted(each for each, number in counts.items() if number > 1))


def check_pins(paths: Sequence[Path], pins: Sequence[str], embodiment: str | None = None) -> dict[str, str]:
    """Return what is wrong with pinned episodes: by pin, in the order of the pins, one problem each.

    Args:
        paths: The episodes there are.
        pins: Hashes, with or without ``.zarr``.
        embodiment: What they must be; None allows any.
    """
    by_hash = {hash_of(path): path for path in paths}
    problems: dict[str, str] = {}
    for pin in pins:
        if hash_of(pin) not in by_hash:
            close = nearest(hash_of(pin), by_hash)
            problems[pin] = f"'{pin}' is not there.{f' Did you mean {close!r}?' if close else ''}"
            continue
        try:
            facts = read_facts(by_hash[hash_of(pin)])
        except EpisodeError as problem:
            problems[pin] = str(problem)
            continue
        if embodiment is not None and facts.embodiment != canonical_embodiment(embodiment):
            problems[pin] = f"'{pin}' is of embodiment '{facts.embodiment}', not '{canonical_embodiment(embodiment)}'."
    return problems


def _is_episode(path: Path) -> bool:
    if not path.is_dir():
        return False
    if path.name.endswith(SUFFIX) or (path / METADATA).is_file():
        return True
    return any((child / METADATA).is_file() for child in path.iterdir())


def _refuse_twins(paths: Sequence[Path]) -> None:
    if twice := twin_hashes(paths):
        raise ConfigError(f"Two folders stand for one episode, with and without '.zarr': {listing(twice)}. Remove one.")


def _read_pinned(paths: Sequence[Path], config: SelectionConfig, root: Path) -> list[EpisodeFacts]:
    problems = check_pins(paths, config.pins, config.embodiment)
    pinned = {hash_of(pin): pin for pin in config.pins}
    usable = sorted(each for each, pin in pinned.items() if pin not in problems)
    if config.limit is not None:
        for dropped in usable[config.limit :]:
            problems[pinned[dropped]] = f"'{pinned[dropped]}' is beyond the limit of {config.limit} episodes."
    if problems:
        raise PinError(str(root), tuple(problems.values()), len(config.pins))
    by_hash = {hash_of(path): path for path in paths}
    return [read_facts(by_hash[each]) for each in usable]


def _read_matching(paths: Sequence[Path], config: SelectionConfig, root: Path) -> list[EpisodeFacts]:
    found: list[EpisodeFacts] = []
    problems: list[str] = []
    for path in paths:
        try:
            found.append(read_facts(path))
        except EpisodeError as problem:
            problems.append(str(problem))
    if problems:
        raise BrokenEpisodesError(root, problems, len(paths))
    if config.embodiment is None:
        return found
    wanted = canonical_embodiment(config.embodiment)
    matching = [facts for facts in found if facts.embodiment == wanted]
    if not matching:
        there = sorted({facts.embodiment for facts in found})
        close = nearest(wanted, there)
        hint = f" Did you mean '{close}'?" if close else ""
        reason = f"None is of embodiment '{wanted}'.{hint} There are: {listing(there)}."
        raise NoEpisodesError(root, reason=reason)
    return matching


def _refuse_mixture(selected: Sequence[EpisodeFacts], root: Path) -> None:
    there = sorted({facts.embodiment for facts in selected})
    if len(there) > 1:
        counts = [f"{name} ({sum(facts.embodiment == name for facts in selected)})" for name in there]
        raise ConfigError(
            f"The episodes in '{root}' are of several embodiments: {', '.join(counts)}. "
            f"Choose one with episodes.embodiment={there[0]}."
        )
