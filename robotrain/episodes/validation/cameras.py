"""Checks of what is told of cameras: that it can be read, fits the pictures, and is no placeholder.

Knows attributes and the size of the first picture; refuses to look at what a picture shows.
"""

from collections.abc import Iterator, Sequence
from math import isclose

import numpy as np

from robotrain.episodes.calibration import (
    calibrated_cameras,
    camera_places_from_attributes,
    intrinsics_from_attributes,
    lens_from_attributes,
    vendor_intrinsics,
)
from robotrain.episodes.reader import Episode
from robotrain.episodes.schema import CALIBRATION, image_array, sides_of
from robotrain.episodes.validation.findings import Finding, build_finding, finding_of_error
from robotrain.errors import EpisodeError
from robotrain.geometry.cameras import Intrinsics

_ASPECT_TOLERANCE = 0.02
_PLACEHOLDER_TOLERANCE = 1e-6

_FISHEYE = "KANNALA_BRANDT"
_MODELS = ("OPENCV", _FISHEYE)
_STRONG_K1 = 0.1
"""A radial coefficient without a lens model (Mecka's) is told only from here on. Such coefficients usually stand beside
pictures that are straightened already, or whose distortion everybody ignores: at 0.05 a point 25 degrees off the axis
lies astray by a hundredth of its distance from the centre."""


def check_cameras(episode: Episode, cameras: Sequence[str]) -> Iterator[Finding]:
    """Check that there are cameras, and what is told of them.

    Args:
        episode: The episode.
        cameras: Those of its cameras whose array is sound.
    """
    if not episode.cameras:
        yield build_finding("no-camera", episode.hash, "It has no pictures.")
    for camera in cameras:
        yield from _check_intrinsics(episode, camera)
    yield from _check_coverage(episode, cameras)
    yield from _check_places(episode)


def _check_intrinsics(episode: Episode, camera: str) -> Iterator[Finding]:
    array, attributes = image_array(camera), episode.facts.attributes
    try:
        size = episode.image_size(camera)
        told = intrinsics_from_attributes(attributes, camera, size, episode.hash)
        lens = lens_from_attributes(attributes, camera, episode.hash)
    except EpisodeError as problem:
        if not problem.array:  # a picture that cannot be read is told by the checks of pictures
            yield finding_of_error("bad-calibration", problem)
        return
    if told and _is_placeholder(told):
        text = f"They are {told.fx:g}, {told.fy:g}, {told.cx:g}, {told.cy:g} for {told.width}x{told.height}."
        yield build_finding("intrinsics-signature", episode.hash, text, array=array)
    meant = told or vendor_intrinsics(episode.facts.stored_embodiment, camera)
    if meant and abs(meant.width * size[1] / (meant.height * size[0]) - 1) > _ASPECT_TOLERANCE:
        whose = "its" if told else "its vendor's"
        text = f"Pictures are {size[0]}x{size[1]}, and {whose} intrinsics are for {meant.width}x{meant.height}."
        yield build_finding("aspect-ratio", episode.hash, text, array=array)
    if lens is None or lens.is_rectified:
        return
    if lens.model in _MODELS:
        bends = lens.model == _FISHEYE or any(lens.distortion)  # a fisheye bends lines with all its coefficients zero
    else:
        bends = not lens.model and abs(lens.distortion[0]) > _STRONG_K1
    if bends:
        named = f"the model {lens.model} with" if lens.model else "no model, but"
        text = f"Told are {named} coefficients {', '.join(f'{each:g}' for each in lens.distortion) or 'left out'}."
        yield build_finding("distorted-camera", episode.hash, text, array=array)


def _is_placeholder(told: Intrinsics) -> bool:
    pairs = ((told.fx, told.width), (told.fy, told.width), (told.cx, told.width / 2), (told.cy, told.height / 2))
    return all(isclose(value, made_up, rel_tol=_PLACEHOLDER_TOLERANCE) for value, made_up in pairs)


def _check_coverage(episode: Episode, cameras: Sequence[str]) -> Iterator[Finding]:
    """Check that a calibration which names cameras names every camera."""
    try:
        named = calibrated_cameras(episode.facts.attributes, episode.hash)
    except EpisodeError:
        return  # told by `_check_intrinsics` and `_check_places`
    for camera in cameras:
        if named and camera not in named:
            text = f"The attribute '{CALIBRATION}' names only: {', '.join(named)}."
            yield build_finding("uncalibrated-camera", episode.hash, text, array=image_array(camera))


def _check_places(episode: Episode) -> Iterator[Finding]:
    """Check the camera's pose in each arm's base, and where the calibration puts cameras.

    A human has no base: there the identity is how some vendors say so.
    """
    poses: dict[str, np.ndarray] = {}
    attributes = episode.facts.attributes
    try:
        for name, pose in camera_places_from_attributes(attributes, episode.hash).items():
            poses[f"the camera '{name}' in the reference frame"] = pose
        for side in sides_of(episode.embodiment):
            pose = episode.camera_pose(side)
            if pose is not None:
                poses[f"the front camera in the {side} arm's base"] = pose
    except EpisodeError as problem:
        yield finding_of_error("bad-calibration", problem)
    made_up = [what for what, pose in poses.items() if np.allclose(pose, np.eye(4), atol=_PLACEHOLDER_TOLERANCE)]
    if made_up and not episode.embodiment.startswith("human_"):
        text = f"The identity is the pose of {', of '.join(made_up)}."
        yield build_finding("identity-extrinsics", episode.hash, text)
