"""Checks of what arrays hold: three pictures of each camera, the numbers, the texts, and the cameras' calibration.

Knows an opened episode; refuses to know metadata, which `structure` has checked before.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from robotrain.embodiments.catalog import available, embodiment_of
from robotrain.episodes.calibration import intrinsics_from_attributes
from robotrain.episodes.reader import Episode
from robotrain.episodes.schema import ANNOTATIONS, FEATURES, SIDES, camera_of, image_array
from robotrain.episodes.validation.findings import Finding, build_finding, finding_of_error
from robotrain.errors import EpisodeError
from robotrain.geometry.cameras import Intrinsics

_ASPECT_TOLERANCE = 0.02


def check_pictures(episode: Episode, cameras: Sequence[str]) -> Iterator[Finding]:
    """Check that the first, the middle and the last picture of each camera decode, and are of one size."""
    if not episode.cameras:
        yield build_finding("no-camera", episode.hash, "It has no pictures.")
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
        if camera_of(array) is not None or array == ANNOTATIONS:
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


def check_annotations(episode: Episode) -> Iterator[Finding]:
    """Check that the texts can be read and lie within the episode; a last frame given inclusively is no fault."""
    if episode.annotations_problem is not None:
        text = episode.annotations_problem
        yield build_finding("bad-annotations", episode.hash, text, array=ANNOTATIONS)
    for span in episode.spans:
        if not 0 <= span.start < span.end <= episode.num_frames:
            text = f"'{span.text}' spans frames {span.start} to {span.end} of {episode.num_frames}."
            yield build_finding("bad-annotations", episode.hash, text, array=ANNOTATIONS)


def check_calibration(episode: Episode, cameras: Sequence[str]) -> Iterator[Finding]:
    """Check that what is told of cameras can be read, and that pictures have the shape their intrinsics are for."""
    for camera in cameras:
        try:
            size = episode.image_size(camera)
            told = intrinsics_from_attributes(episode.facts.attributes, camera, size, episode.hash)
        except EpisodeError as problem:
            if not problem.array:  # a picture that cannot be read is told by `check_pictures`
                yield finding_of_error("bad-calibration", problem)
            continue
        meant = told or _default_intrinsics(episode, camera)
        if meant and abs(meant.width * size[1] / (meant.height * size[0]) - 1) > _ASPECT_TOLERANCE:
            whose = "its" if told else "its embodiment's"
            text = f"Pictures are {size[0]}x{size[1]}, and {whose} intrinsics are for {meant.width}x{meant.height}."
            yield build_finding("aspect-ratio", episode.hash, text, array=image_array(camera))
    for side in SIDES:
        try:
            episode.camera_pose(side)
        except EpisodeError as problem:
            yield finding_of_error("bad-calibration", problem)


def _check_sizes(episode: Episode, camera: str, sizes: dict[int, tuple[int, int]]) -> Iterator[Finding]:
    """Check pictures' sizes (width, height) by frame against each other and against the attribute `FEATURES`."""
    array = image_array(camera)
    if not sizes:
        return
    first, (width, height) = next(iter(sizes.items()))
    for frame, size in sizes.items():
        if size != (width, height):
            text = f"The picture is {size[0]}x{size[1]}, and the one of frame {first} is {width}x{height}."
            yield build_finding("image-size", episode.hash, text, array=array, frame=frame)
    features = episode.facts.attributes.get(FEATURES)
    entry = features.get(array) if isinstance(features, dict) else None
    stated = entry.get("shape") if isinstance(entry, dict) else None
    if stated is not None and stated != [height, width, 3]:
        text = f"Pictures are {width}x{height}, and '{FEATURES}' states the shape {stated}."
        yield build_finding("stated-size", episode.hash, text, array=array)


def _default_intrinsics(episode: Episode, camera: str) -> Intrinsics | None:
    if episode.embodiment not in available():
        return None
    embodiment = embodiment_of(episode.embodiment, episode.facts.attributes)
    return embodiment.intrinsics if camera == embodiment.cameras[0] else None
