"""One episode, or a folder of them, checked: which checks run, and in which order.

Knows that nothing is found by crashing: what is too broken for one check is left out of it, and was told by another.
"""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from robotrain.episodes.choice.pins import ABSENT
from robotrain.episodes.folder import EpisodePaths, twin_hashes
from robotrain.episodes.reader import Episode
from robotrain.episodes.resolver import SelectionConfig, find_pin_problems
from robotrain.episodes.schema import (
    EpisodeFacts,
    camera_of,
    canonical_embodiment,
    hash_of,
    list_arrays,
    read_attributes,
    read_embodiment,
    read_fps,
    read_num_frames,
)
from robotrain.episodes.validation.annotations import check_annotations
from robotrain.episodes.validation.attributes import check_attributes, check_features
from robotrain.episodes.validation.cameras import check_cameras
from robotrain.episodes.validation.content import check_numbers, check_pictures
from robotrain.episodes.validation.findings import Finding, build_finding, finding_of_error
from robotrain.episodes.validation.scans import scan_episode
from robotrain.episodes.validation.structure import check_embodiment, check_files, check_storage
from robotrain.errors import EpisodeError

__all__ = ["check_pins", "check_twins", "validate_episode"]

_UNKNOWN_FPS = Fraction(1)
"""Stands for a rate that is not said, which another check has told; no check may judge by it."""


def validate_episode(path: Path | str, *, deep: bool = False) -> tuple[Finding, ...]:
    """Return everything that is wrong with an episode, also what is off by default.

    A quick look reads metadata, names of files, the numeric arrays, and three pictures of each camera.

    Args:
        path: The episode's folder.
        deep: Look at every picture, and judge the numbers as motion, in place of the three pictures.

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
        *check_files(path, arrays),
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
    numbers = tuple(check_numbers(episode, sound))
    findings += (*storage, *numbers)
    findings += check_annotations(episode)
    findings += check_cameras(episode, cameras)
    if deep:
        unreadable = {finding.array for finding in numbers if finding.code == "unreadable-array"}
        findings += scan_episode(episode, tuple(array for array in sound if array not in unreadable), cameras)
    else:
        findings += check_pictures(episode, cameras)
    return tuple(findings)


def check_twins(paths: EpisodePaths) -> tuple[Finding, ...]:
    """Return a finding for every hash that two of these folders stand for."""
    text = "Two folders stand for it, with and without '.zarr'."
    return tuple(build_finding("duplicate-hash", each, text) for each in twin_hashes(paths))


def check_pins(config: SelectionConfig, root: Path | str) -> tuple[Finding, ...]:
    """Return a finding for every pinned episode that is not there or cannot be used.

    Raises:
        MissingPathError: when there is no such folder.
        NoEpisodesError: when there is no episode in it.
    """
    return tuple(
        build_finding("missing-pin" if problem.kind == ABSENT else "unusable-pin", problem.hash, problem.message)
        for problem in find_pin_problems(config, Path(root))
    )


def _facts(path: Path, attributes: Mapping[str, Any], arrays: tuple[str, ...], num_frames: int) -> EpisodeFacts:
    """Return facts good enough to read arrays with, where rate or body may be unknown."""
    try:
        stored = read_embodiment(path, attributes)
    except EpisodeError:
        stored = ""
    try:
        fps = read_fps(path, attributes)
    except EpisodeError:
        fps = _UNKNOWN_FPS
    return EpisodeFacts(
        path=path,
        hash=hash_of(path),
        embodiment=canonical_embodiment(stored),
        stored_embodiment=stored,
        num_frames=num_frames,
        fps=fps,
        task_name="",
        task_description="",
        arrays=arrays,
        attributes=attributes,
    )
