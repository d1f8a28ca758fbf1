"""Checks of which arrays and files are there: what a body needs, what metadata promise, and what nobody asked for.

Knows metadata and the names of files; refuses to open an array.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from robotrain.embodiments.catalog import available, embodiment_of
from robotrain.episodes.fingerprint import list_files
from robotrain.episodes.schema import (
    ANNOTATIONS,
    CMD_JOINTS,
    EMBODIMENTS,
    FIELDS,
    HEAD_POSE,
    METADATA,
    OBS_JOINTS,
    canonical_embodiment,
    cmd_ee_pose,
    cmd_gripper_spellings,
    hash_of,
    holds_numbers,
    obs_ee_pose,
    obs_gripper_spellings,
    read_embodiment,
    sides_of,
    width_of,
)
from robotrain.episodes.storage import StoredArray, missing_chunk_files, missing_words, read_stored_array
from robotrain.episodes.validation.findings import Finding, build_finding
from robotrain.errors import EpisodeError, LayoutError, UnknownNameError, did_you_mean, listing


def check_embodiment(path: Path, attributes: Mapping[str, Any], arrays: tuple[str, ...]) -> Iterator[Finding]:
    """Check that the body is known, and that the arrays it cannot do without are there."""
    episode = hash_of(path)
    try:
        stored = read_embodiment(path, attributes)
    except EpisodeError:
        return  # told by `check_attributes`
    name = canonical_embodiment(stored)
    if name not in available() and FIELDS in attributes:
        yield from _check_fields(path, name, attributes, arrays)
        return
    for spellings in _needed_arrays(name):
        if not set(spellings) & set(arrays):
            text = f"An episode of {name} needs {' or '.join(spellings)}."
            yield build_finding("missing-array", episode, text, array=spellings[0])
    if name in available():
        return
    if name in EMBODIMENTS:
        text = f"No policy can be trained for '{name}' yet. There are: {listing(available())}."
        yield build_finding("unsupported-embodiment", episode, text)
    else:
        hint = did_you_mean(name, (*available(), *EMBODIMENTS))
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


def check_files(path: Path, arrays: tuple[str, ...]) -> Iterator[Finding]:
    """Check that every file belongs to an array, and that no array names chunks of no rows."""
    owners: dict[str, StoredArray | None] = {}
    for array in arrays:
        try:
            stored = read_stored_array(path, array)
        except EpisodeError:
            owners[array] = None  # told by `check_storage`; what it owns is unknown
            continue
        owners[array] = stored
        if 0 in stored.chunk_shape:
            text = f"Its shape is {stored.shape}, in chunks of {stored.chunk_shape}."
            yield build_finding("zero-chunk", hash_of(path), text, array=array)
    names = (os.fsdecode(file.name) for file in list_files(path))
    strays = [name for name in names if not _is_owned(name, owners)]
    if strays:
        more = f", and {len(strays) - 1} more, belong" if len(strays) > 1 else " belongs"
        yield build_finding("stray-file", hash_of(path), f"The file '{strays[0]}'{more} to no array.")


def _is_owned(name: str, owners: Mapping[str, StoredArray | None]) -> bool:
    array, _, rest = name.partition("/")
    if not rest:
        return array == METADATA
    if array not in owners:
        return False
    stored = owners[array]
    return stored is None or rest == METADATA or stored.owns(rest)


def _needed_arrays(name: str) -> Iterator[tuple[str, ...]]:
    """Return what a body cannot do without, each as the spellings that will do."""
    body = name.split("_", maxsplit=1)[0] if name in EMBODIMENTS else ""
    if body not in {"human", "eva"}:
        return
    for side in sides_of(name):
        yield (obs_ee_pose(side),)
        if body == "eva":
            yield (cmd_ee_pose(side),)
            yield obs_gripper_spellings(side)
            yield cmd_gripper_spellings(side)
    if body == "human":
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
    width = width_of(array)
    if holds_numbers(array) and width is None:
        return
    wanted = () if width is None else (width,)
    if stored.shape[1:] != wanted:
        text = f"Its rows are of shape {stored.shape[1:]}, and should be {wanted}."
        yield build_finding("wrong-width", hash_of(path), text, array=array)


def _check_files(path: Path, array: str, stored: StoredArray, num_rows: int) -> Iterator[Finding]:
    missing = missing_chunk_files(stored, num_rows)
    if not missing:
        return
    if {child.name for child in stored.folder.iterdir()} == {METADATA}:
        first = missing[0].relative_to(path).as_posix()
        text = f"Nothing of it was ever written or all was lost, such as '{first}'."
        yield build_finding("missing-or-all-fill", hash_of(path), text, array=array)
        return
    yield build_finding("missing-shard", hash_of(path), missing_words(missing, path), array=array)
