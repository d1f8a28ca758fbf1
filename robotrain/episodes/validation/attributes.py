"""Checks of what an episode says about itself: its attributes, and what it lists.

Knows JSON; refuses to open an array.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from robotrain.episodes.schema import (
    ANNOTATIONS,
    DATA_STATUS,
    DURATION,
    FEATURES,
    FPS,
    KNOWN_SCHEMAS,
    SCHEMA_VERSION,
    STRUCTURAL_SAMPLE,
    canonical_embodiment,
    exact_number,
    hash_of,
    read_embodiment,
    read_fps,
    read_num_frames,
)
from robotrain.episodes.validation.findings import Finding, build_finding, finding_of_error
from robotrain.errors import EpisodeError

_NEEDED = (
    ("no-total-frames", read_num_frames),
    ("no-fps", read_fps),
    ("no-embodiment", read_embodiment),
)
_SHORT_S = 1
_DURATION_TOLERANCE = Fraction(5, 100)


def check_attributes(path: Path, attributes: Mapping[str, Any]) -> Iterator[Finding]:
    """Check that length, rate and body are told, and what is told of the recording as a whole."""
    for code, read in _NEEDED:
        try:
            read(path, attributes)
        except EpisodeError as problem:
            yield finding_of_error(code, problem)
    yield from _check_spelling(path, attributes)
    yield from _check_schema(path, attributes)
    yield from _check_seconds(path, attributes)


def check_features(path: Path, attributes: Mapping[str, Any], arrays: tuple[str, ...]) -> Iterator[Finding]:
    """Check the attribute `FEATURES` against the arrays on disk."""
    episode, features = hash_of(path), attributes.get(FEATURES)
    if not isinstance(features, Mapping):
        yield build_finding("no-features", episode, f"The attribute '{FEATURES}' is missing.")
        return
    for array in sorted(set(features) - set(arrays)):
        if array == ANNOTATIONS:
            text = "The annotations are listed and not on disk."
            yield build_finding("bad-annotations", episode, text, array=array)
        else:
            text = "It is listed in the attributes and not on disk."
            yield build_finding("missing-array", episode, text, array=array)
    for array in sorted(set(arrays) - set(features)):
        yield build_finding("unlisted-array", episode, "It is on disk and not listed in the attributes.", array=array)


def _check_spelling(path: Path, attributes: Mapping[str, Any]) -> Iterator[Finding]:
    try:
        stored = read_embodiment(path, attributes)
    except EpisodeError:
        return
    if stored != canonical_embodiment(stored):
        text = f"'{stored}' is read as '{canonical_embodiment(stored)}'."
        yield build_finding("embodiment-spelling", hash_of(path), text)


def _check_schema(path: Path, attributes: Mapping[str, Any]) -> Iterator[Finding]:
    if attributes.get(DATA_STATUS) == STRUCTURAL_SAMPLE:
        text = f"The attribute '{DATA_STATUS}' is '{STRUCTURAL_SAMPLE}'."
        yield build_finding("structural-sample", hash_of(path), text)
    version = attributes.get(SCHEMA_VERSION)
    if version is not None and f"v{str(version).removeprefix('v')}" not in KNOWN_SCHEMAS:
        text = f"The attribute '{SCHEMA_VERSION}' is {version!r}. Known are: {', '.join(KNOWN_SCHEMAS)}."
        yield build_finding("unknown-schema", hash_of(path), text)


def _check_seconds(path: Path, attributes: Mapping[str, Any]) -> Iterator[Finding]:
    """Check the length in seconds, where frames and rate are told."""
    try:
        num_frames, fps = read_num_frames(path, attributes), read_fps(path, attributes)
    except EpisodeError:
        return
    seconds = num_frames / fps
    if seconds < _SHORT_S:
        text = f"Its {num_frames} frames at {float(fps):g} a second last {float(seconds):.2f} s."
        yield build_finding("short-episode", hash_of(path), text)
    told = attributes.get(DURATION)
    if told is None:
        return
    try:
        stated = exact_number(told)
    except ValueError:
        text = f"The attribute '{DURATION}' is {told!r}, no number of seconds."
        yield build_finding("duration-mismatch", hash_of(path), text)
        return
    # From the first frame to the last is one frame less than frames / fps: both ways to count are in use.
    if abs(stated - seconds) > max(_DURATION_TOLERANCE * seconds, 1 / fps):
        text = (
            f"The attribute '{DURATION}' is {float(stated):.4g} s, and {num_frames} frames at '{FPS}' {float(fps):g} "
            f"last {float(seconds):.4g} s."
        )
        yield build_finding("duration-mismatch", hash_of(path), text)
