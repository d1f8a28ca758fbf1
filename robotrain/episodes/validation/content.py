"""Checks of what arrays hold: three pictures of each camera, and the numbers.

Knows an opened episode; refuses to know metadata, which `structure` has checked before.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from robotrain.episodes.reader import Episode
from robotrain.episodes.schema import FEATURES, holds_numbers, image_array
from robotrain.episodes.validation.findings import Finding, build_finding
from robotrain.errors import EpisodeError


def check_pictures(episode: Episode, cameras: Sequence[str]) -> Iterator[Finding]:
    """Check that the first, the middle and the last picture of each camera decode, and are of one size."""
    for camera in cameras:
        sizes: dict[int, tuple[int, int]] = {}
        for frame in sorted({0, episode.num_frames // 2, episode.num_frames - 1}):
            try:
                height, width = episode.image(camera, frame).shape[:2]
            except EpisodeError as problem:
                text = problem.problem
                yield build_finding("bad-jpeg", episode.hash, text, array=image_array(camera), frame=frame)
                continue
            sizes[frame] = (width, height)
        yield from _check_sizes(episode, camera, sizes)


def check_numbers(episode: Episode, arrays: Sequence[str]) -> Iterator[Finding]:
    """Check that numeric arrays can be read and are finite, and tell how many of their rows are marked missing."""
    for array in arrays:
        if not holds_numbers(array):
            continue
        try:
            values = episode.numbers(array)
        except EpisodeError as problem:
            text = problem.problem
            yield build_finding("unreadable-array", episode.hash, text, array=array)
            continue
        sick = np.logical_not(np.all(np.isfinite(values), axis=-1))
        if sick.any():
            frame = int(np.argmax(sick))
            text = f"{int(sick.sum())} of {len(sick)} rows hold NaN or infinity, the first at frame {frame}."
            yield build_finding("non-finite", episode.hash, text, array=array, frame=frame)
        missing = episode.missing(array) & ~sick
        if missing.any():
            frame, share = int(np.argmax(missing)), missing.mean()
            text = (
                f"{int(missing.sum())} of {len(missing)} rows ({share:.1%}) are marked missing, first at frame {frame}."
            )
            yield build_finding("missing-rows", episode.hash, text, array=array, frame=frame)


def check_stated_size(episode: Episode, camera: str, size: tuple[int, int], frame: int) -> Iterator[Finding]:
    """Check the size (width, height), pixels, of a camera's picture at a frame against the attribute `FEATURES`."""
    width, height = size
    features = episode.facts.attributes.get(FEATURES)
    entry = features.get(image_array(camera)) if isinstance(features, dict) else None
    stated = entry.get("shape") if isinstance(entry, dict) else None
    if stated is not None and stated != [height, width, 3]:
        text = f"Pictures are {width}x{height}, and '{FEATURES}' states the shape {stated}."
        yield build_finding("stated-size", episode.hash, text, array=image_array(camera), frame=frame)


def _check_sizes(episode: Episode, camera: str, sizes: dict[int, tuple[int, int]]) -> Iterator[Finding]:
    """Check pictures' sizes (width, height), pixels, by frame against each other and against what is stated."""
    array = image_array(camera)
    if not sizes:
        return
    first, (width, height) = next(iter(sizes.items()))
    for frame, size in sizes.items():
        if size != (width, height):
            text = f"The picture is {size[0]}x{size[1]}, and the one of frame {first} is {width}x{height}."
            yield build_finding("image-size", episode.hash, text, array=array, frame=frame)
    yield from check_stated_size(episode, camera, (width, height), first)
