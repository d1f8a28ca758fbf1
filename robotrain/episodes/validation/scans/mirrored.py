"""A left hand whose rotation was mirrored twice: the finding. How it is told is `episodes/left_wrist.py`'s."""

from collections.abc import Iterator, Mapping

import numpy as np

from robotrain.episodes.left_wrist import (
    POSE_ARRAYS,
    HandConvention,
    hand_convention,
    is_mecka,
    is_mirrored,
    mirrored_frames,
)
from robotrain.episodes.reader import Episode
from robotrain.episodes.schema import obs_keypoints
from robotrain.episodes.validation.findings import Finding, build_finding
from robotrain.episodes.validation.scans.tracks import Track
from robotrain.geometry.rotations import geodesic_angle


def check_mirrored(episode: Episode, tracks: Mapping[str, Track]) -> Iterator[Finding]:
    """Tell when the left hand's rotation is turned by 180 degrees about its z axis against the right hand's."""
    if not is_mecka(episode.facts.stored_embodiment):
        return
    for left_array, right_array in POSE_ARRAYS.items():
        left = _convention(tracks.get(left_array), tracks.get(obs_keypoints("left")))
        right = _convention(tracks.get(right_array), tracks.get(obs_keypoints("right")))
        if left is None or right is None or not is_mirrored(left, right):
            continue
        agreeing = mirrored_frames(left, right)
        apart = np.rad2deg(geodesic_angle(left.mean, right.mean))
        text = (
            f"In {int(agreeing.sum())} of {len(agreeing)} frames, first {left.frames[agreeing][0]}, the left hand "
            f"lies turned about z in its stored rotation, {apart:.0f} degrees from how the right lies in its own."
        )
        frame = int(left.frames[agreeing][0])
        yield build_finding("mirrored-left-wrist", episode.hash, text, array=left_array, frame=frame)


def _convention(pose: Track | None, keypoints: Track | None) -> HandConvention | None:
    if pose is None or keypoints is None:
        return None
    return hand_convention(pose.values, pose.valid, keypoints.values, keypoints.valid)
