"""Which folders of a folder are episodes.

Knows names; refuses to open anything.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import overload

from robotrain.episodes.schema import METADATA, SUFFIX, hash_of
from robotrain.errors import EpisodeError, MissingPathError, NoEpisodesError

__all__ = ["EpisodePaths", "find_episodes", "twin_hashes"]


class EpisodePaths(Sequence[Path]):
    """Episodes of one folder, in an order. Keeps names alone: a path takes ten times the memory of its name."""

    def __init__(self, root: Path, names: Iterable[str]) -> None:
        self.root, self.names = root, tuple(names)

    def __repr__(self) -> str:
        return f"EpisodePaths({self.root}, {len(self)} episodes)"

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Path]:
        return (self.root / name for name in self.names)

    @overload
    def __getitem__(self, index: int) -> Path: ...
    @overload
    def __getitem__(self, index: slice) -> "EpisodePaths": ...
    def __getitem__(self, index: int | slice) -> "Path | EpisodePaths":
        if isinstance(index, slice):
            return EpisodePaths(self.root, self.names[index])
        return self.root / self.names[index]


def find_episodes(root: Path | str) -> EpisodePaths:
    """Return the folders of a folder that are, or should be, episodes, sorted by hash.

    Hidden folders are left alone: they are unfinished. A folder counts when it holds ``zarr.json``, is named
    ``.zarr``, or holds a folder with ``zarr.json``: the last two are broken episodes that must not go unseen.

    Raises:
        MissingPathError: when there is no such folder.
        NoEpisodesError: when there is no episode in it.
        EpisodeError: when a name is no text that could be kept, compared and shown.
    """
    root = Path(root)
    if not root.is_dir():
        raise MissingPathError(root, "The folder of episodes")
    with os.scandir(root) as children:
        names = [child.name for child in children if not child.name.startswith(".") and _is_episode(child)]
    if not names:
        raise NoEpisodesError(root, reason=_what_it_is(root))
    for path in (str(root.absolute()), *names):
        _require_text(path)
    return EpisodePaths(root, sorted(names, key=lambda name: (hash_of(name), name)))


def twin_hashes(paths: EpisodePaths) -> tuple[str, ...]:
    """Return the hashes that more than one of these folders stands for, with and without ``.zarr``, sorted."""
    with_suffix = {hash_of(name) for name in paths.names if name.endswith(SUFFIX)}
    return tuple(sorted(name for name in paths.names if not name.endswith(SUFFIX) and name in with_suffix))


def _require_text(name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError:
        shown = os.fsencode(name).decode(errors="backslashreplace")
        raise EpisodeError(shown, "the folder's name is not UTF-8: rename it.") from None


def _what_it_is(root: Path) -> str:
    if (root / "meta" / "info.json").is_file():
        return f"It looks like a LeRobot data set: robotrain convert lerobot {root} OUT"
    return "An episode is a folder with a file 'zarr.json', named by its hash."


def _is_episode(child: os.DirEntry[str]) -> bool:
    if not child.is_dir():
        return False
    if child.name.endswith(SUFFIX) or os.path.isfile(f"{child.path}/{METADATA}"):  # noqa: PTH113 -- for each of many
        return True
    with os.scandir(child.path) as arrays:
        return any(os.path.isfile(f"{array.path}/{METADATA}") for array in arrays)  # noqa: PTH113
