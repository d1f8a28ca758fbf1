"""Checks of what an episode says about itself and which files are there: JSON and the names of files, no data read.

Knows what metadata promise; refuses to open an array.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from robotrain.embodiments.catalog import available, embodiment_of
from robotrain.episodes.schema import (
    ANNOTATIONS,
    CMD_JOINTS,
    EMBODIMENTS,
    FEATURES,
    FIELDS,
    HEAD_POSE,
    METADATA,
    OBS_JOINTS,
    SIDES,
    camera_of,
    canonical_embodiment,
    cmd_ee_pose,
    cmd_gripper_spellings,
    hash_of,
    is_gripper,
    is_keypoints,
    is_pose,
    obs_ee_pose,
    obs_gripper_spellings,
    read_embodiment,
    read_fps,
    read_num_frames,
)
from robotrain.episodes.storage import StoredArray, missing_chunk_files, read_stored_array
from robotrain.episodes.validation.findings import Finding, build_finding, finding_of_error
from robotrain.errors import EpisodeError, LayoutError, UnknownNameError, listing, nearest

_ATTRIBUTES = (
    ("no-total-frames", read_num_frames),
    ("no-fps", read_fps),
    ("no-embodiment", read_embodiment),
)


def check_attributes(path: Path, attributes: Mapping[str, Any]) -> Iterator[Finding]:
    """Check that length, rate and body are told."""
    for code, read in _ATTRIBUTES:
        try:
            read(path, attributes)
        except EpisodeError as problem:
            yield finding_of_error(code, problem)


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
            yield build_finding(
                "missing-array", episode, "It is listed in the attributes and not on disk.", array=array
            )
    for array in sorted(set(arrays) - set(features)):
        yield build_finding("unlisted-array", episode, "It is on disk and not listed in the attributes.", array=array)


def check_embodiment(path: Path, attributes: Mapping[str, Any], arrays: tuple[str, ...]) -> Iterator[Finding]:
    """Check that the body is known, and that the arrays it cannot do without are there."""
    episode = hash_of(path)
    try:
        stored = read_embodiment(path, attributes)
    except EpisodeError:
        return  # told by `check_attributes`
    name = canonical_embodiment(stored)
    if name in available():
        for spellings in _needed_arrays(name):
            if not set(spellings) & set(arrays):
                text = f"An episode of {name} needs {' or '.join(spellings)}."
                yield build_finding("missing-array", episode, text, array=spellings[0])
    elif FIELDS in attributes:
        yield from _check_fields(path, name, attributes, arrays)
    elif name in EMBODIMENTS:
        text = f"No policy can be trained for '{name}' yet. There are: {listing(available())}."
        yield build_finding("unsupported-embodiment", episode, text)
    else:
        close = nearest(name, (*available(), *EMBODIMENTS))
        hint = f" Did you mean '{close}'?" if close else ""
        yield build_finding("unknown-embodiment", episode, f"The embodiment '{stored}' is not known.{hint}")


def check_storage(path: Path, arrays: tuple[str, ...], num_frames: int) -> Iterator[Finding]:
    """Check of every array that its metadata can be read, it is long and wide enough, and its files are there."""
    for array in arrays:
        try:
            stored = read_stored_array(path, array)
        except EpisodeError as problem:
            text = problem.problem
            yield build_finding("broken-array", hash_of(path), text, array=array)
            continue
        num_rows = stored.shape[0] if array == ANNOTATIONS else num_frames
        if stored.shape[0] < num_rows:
            text = f"It has {stored.shape[0]} rows, and the episode {num_frames} frames."
            yield build_finding("short-array", hash_of(path), text, array=array)
        yield from _check_width(path, array, stored)
        yield from _check_files(path, array, stored, num_rows)


def _needed_arrays(name: str) -> Iterator[tuple[str, ...]]:
    """Return what a body cannot do without, each as the spellings that will do."""
    for side in SIDES:
        yield (obs_ee_pose(side),)
        if name == "eva_bimanual":
            yield (cmd_ee_pose(side),)
            yield obs_gripper_spellings(side)
            yield cmd_gripper_spellings(side)
    if name == "human_bimanual":
        yield (HEAD_POSE,)


def _check_fields(path: Path, name: str, attributes: Mapping[str, Any], arrays: tuple[str, ...]) -> Iterator[Finding]:
    episode = hash_of(path)
    try:
        layouts = embodiment_of(name, attributes).mode(None)
    except (LayoutError, UnknownNameError) as problem:
        yield build_finding("bad-fields", episode, str(problem))
        return
    for array, layout in ((OBS_JOINTS, layouts.state), (CMD_JOINTS, layouts.actions)):
        if array not in arrays:
            yield build_finding("missing-array", episode, f"An episode of {name} needs it.", array=array)
            continue
        try:
            shape = read_stored_array(path, array).shape
        except EpisodeError:
            continue  # told by `check_storage`
        if shape[1:] != (layout.width,):
            text = f"'{FIELDS}' describes {layout.width} columns, and the array's shape is {shape}."
            yield build_finding("bad-fields", episode, text, array=array)


def _check_width(path: Path, array: str, stored: StoredArray) -> Iterator[Finding]:
    if camera_of(array) is not None or array == ANNOTATIONS:
        wanted: tuple[int, ...] | None = ()
    elif is_pose(array):
        wanted = (7,)
    elif is_keypoints(array):
        wanted = (63,)
    else:
        wanted = (1,) if is_gripper(array) else None
    if wanted is not None and stored.shape[1:] != wanted:
        text = f"Its rows are of shape {stored.shape[1:]}, and should be {wanted}."
        yield build_finding("wrong-width", hash_of(path), text, array=array)


def _check_files(path: Path, array: str, stored: StoredArray, num_rows: int) -> Iterator[Finding]:
    missing = missing_chunk_files(stored, num_rows)
    if not missing:
        return
    first = missing[0].relative_to(path).as_posix()
    if {child.name for child in stored.folder.iterdir()} == {METADATA}:
        text = f"Nothing of it was ever written or all was lost, such as '{first}'."
        yield build_finding("missing-or-all-fill", hash_of(path), text, array=array)
        return
    more = f", and {len(missing) - 1} more," if len(missing) > 1 else ""
    text = f"The file '{first}'{more} is missing or empty."
    yield build_finding("missing-shard", hash_of(path), text, array=array)
