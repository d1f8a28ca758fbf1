"""One episode, or a folder of them, checked: which checks run, and in which order.

Knows that nothing is found by crashing: what is too broken for one check is left out of it, and was told by another.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from robotrain.episodes import resolver
from robotrain.episodes.reader import Episode
from robotrain.episodes.resolver import SelectionConfig, find_episodes, twin_hashes
from robotrain.episodes.schema import (
    EpisodeFacts,
    camera_of,
    canonical_embodiment,
    hash_of,
    list_arrays,
    read_attributes,
    read_embodiment,
    read_num_frames,
)
from robotrain.episodes.validation.content import (
    check_annotations,
    check_calibration,
    check_numbers,
    check_pictures,
)
from robotrain.episodes.validation.findings import Finding, build_finding, finding_of_error
from robotrain.episodes.validation.structure import (
    check_attributes,
    check_embodiment,
    check_features,
    check_storage,
)
from robotrain.errors import EpisodeError

__all__ = ["check_pins", "check_twins", "validate_data", "validate_episode"]


def validate_episode(path: Path | str) -> tuple[Finding, ...]:
    """Return everything that is wrong with an episode, as far as a quick look tells.

    Reads metadata, names of files, three pictures of each camera, and the numeric arrays.

    Raises:
        MissingPathError: when there is no such folder.
    """
    path = Path(path)
    try:
        attributes = read_attributes(path)
    except EpisodeError as problem:
        return (finding_of_error("not-an-episode", problem),)
    arrays = list_arrays(path)
    findings = [
        *check_attributes(path, attributes),
        *check_features(path, attributes, arrays),
        *check_embodiment(path, attributes, arrays),
    ]
    try:
        num_frames = read_num_frames(path, attributes)
    except EpisodeError:
        return tuple(findings)  # without a length, no array can be judged
    storage = tuple(check_storage(path, arrays, num_frames))
    broken = {finding.array for finding in storage if finding.severity == "error"}
    sound = tuple(array for array in arrays if array not in broken)
    cameras = tuple(camera for array in sound if (camera := camera_of(array)) is not None)
    episode = Episode(_facts(path, attributes, arrays, num_frames))
    findings += storage
    findings += check_pictures(episode, cameras)
    findings += check_numbers(episode, sound)
    findings += check_annotations(episode)
    findings += check_calibration(episode, cameras)
    return tuple(findings)


def validate_data(root: Path | str) -> Iterator[tuple[str, tuple[Finding, ...]]]:
    """Check every episode of a folder, one after the other: its hash, and what is wrong with it.

    Raises:
        MissingPathError: when there is no such folder.
        NoEpisodesError: when there is no episode in it.
    """
    paths = find_episodes(root)
    twins = check_twins(paths)
    for path in paths:
        of_folder = tuple(finding for finding in twins if finding.episode == hash_of(path))
        yield hash_of(path), of_folder + validate_episode(path)


def check_twins(paths: Sequence[Path]) -> tuple[Finding, ...]:
    """Return a finding for every hash that two of these folders stand for."""
    text = "Two folders stand for it, with and without '.zarr'."
    return tuple(build_finding("duplicate-hash", each, text) for each in twin_hashes(paths))


def check_pins(config: SelectionConfig, root: Path | str) -> tuple[Finding, ...]:
    """Return a finding for every pinned episode that is not there or cannot be used.

    Raises:
        MissingPathError: when there is no such folder.
        NoEpisodesError: when there is no episode in it.
    """
    paths = find_episodes(root)
    there = {hash_of(path) for path in paths}
    problems = resolver.check_pins(paths, config.pins, config.embodiment)
    return tuple(
        build_finding("unusable-pin" if hash_of(pin) in there else "missing-pin", hash_of(pin), problem)
        for pin, problem in problems.items()
    )


def _facts(path: Path, attributes: Mapping[str, Any], arrays: tuple[str, ...], num_frames: int) -> EpisodeFacts:
    """Return facts good enough to read arrays with, where rate or body may be unknown."""
    try:
        stored = read_embodiment(path, attributes)
    except EpisodeError:
        stored = ""
    return EpisodeFacts(
        path=path,
        hash=hash_of(path),
        embodiment=canonical_embodiment(stored),
        stored_embodiment=stored,
        num_frames=num_frames,
        fps=Fraction(1),
        task_name="",
        task_description="",
        arrays=arrays,
        attributes=attributes,
    )
