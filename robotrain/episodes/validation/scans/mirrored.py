"""A left hand whose rotation was mirrored twice, told from its own keypoints.

Knows how a palm lies among its keypoints and what Mecka's older converter did; refuses to know why.

Every hand's keypoints give it axes that need no convention: along the hand (wrist to middle knuckle), and the palm's
normal, index x little finger, which points out of the palm of one hand and out of the back of the other: it mirrors of
itself. Turned into the stored rotation's own frame, these axes are that rotation's convention, and a sound converter
has one for both hands. The older one turned the left by 180 degrees about its own z axis on top. Other vendors' hands
may differ in just that way by intent (x right, y down in both), so that nothing is said of them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from robotrain.episodes.reader import Episode
from robotrain.episodes.schema import obs_ee_pose, obs_keypoints, obs_wrist_pose
from robotrain.episodes.validation.findings import Finding, build_finding
from robotrain.episodes.validation.scans.poses import identity_share, sound_rotations
from robotrain.episodes.validation.scans.tracks import Track
from robotrain.geometry.rotations import geodesic_angle, matrix_from_quaternion, mean_rotation

_VENDOR = "mecka_"
_WRIST, _INDEX, _MIDDLE, _LITTLE = 0, 5, 9, 17
_MIN_FRAMES = 10
_MAX_IDENTITY_SHARE = 0.01
_AGREEMENT = np.deg2rad(37.0)  # cosines of 0.8: far from any other convention, and 180 degrees from the other case
_MIN_AGREEING = 0.9
_MIN_LENGTH = 1e-6  # metres and square metres: of what a direction is taken from
_DOUBLE_MIRROR = np.diag([-1.0, -1.0, 1.0])


@dataclass(frozen=True, slots=True, eq=False)
class _Convention:
    """How a hand lies in the frame of its stored rotation."""

    axes: np.ndarray
    """(N, 3, 3) stored_from_palm, of each frame in which both are known."""
    mean: np.ndarray
    """(3, 3) of all frames."""
    frames: np.ndarray
    """(N,) those frames."""


def check_mirrored(episode: Episode, tracks: Mapping[str, Track]) -> Iterator[Finding]:
    """Tell when the left hand's rotation is turned by 180 degrees about its z axis against the right hand's."""
    if not episode.facts.stored_embodiment.strip().lower().startswith(_VENDOR):
        return
    for name_of in (obs_ee_pose, obs_wrist_pose):
        left = _convention(tracks.get(name_of("left")), tracks.get(obs_keypoints("left")))
        right = _convention(tracks.get(name_of("right")), tracks.get(obs_keypoints("right")))
        if left is None or right is None:
            continue
        turned = _DOUBLE_MIRROR @ right.mean
        agreeing = geodesic_angle(left.axes, turned) < _AGREEMENT
        if agreeing.mean() >= _MIN_AGREEING:
            apart = np.rad2deg(geodesic_angle(left.mean, right.mean))
            text = (
                f"In {int(agreeing.sum())} of {len(agreeing)} frames, first {left.frames[agreeing][0]}, the left hand "
                f"lies turned about z in its stored rotation, {apart:.0f} degrees from how the right lies in its own."
            )
            frame = int(left.frames[agreeing][0])
            yield build_finding("mirrored-left-wrist", episode.hash, text, array=name_of("left"), frame=frame)


def _convention(pose: Track | None, keypoints: Track | None) -> _Convention | None:
    """Return how a hand lies in its stored rotation, or None when too little is known or it does not lie still."""
    if pose is None or keypoints is None or identity_share(pose) > _MAX_IDENTITY_SHARE:
        return None
    frames = np.flatnonzero(sound_rotations(pose) & keypoints.valid)
    points = keypoints.values[frames].reshape(-1, 21, 3)
    world_from_palm, known = _palm_axes(points)
    frames, world_from_palm = frames[known], world_from_palm[known]
    if len(frames) < _MIN_FRAMES:
        return None
    axes = np.swapaxes(matrix_from_quaternion(pose.values[frames, 3:]), -1, -2) @ world_from_palm
    mean = mean_rotation(axes)
    rigid = geodesic_angle(axes, mean) < _AGREEMENT
    return _Convention(axes, mean, frames) if rigid.mean() >= _MIN_AGREEING else None


def _palm_axes(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return world_from_palm (N, 3, 3) of hands (N, 21, 3), metres, and which of them (N,) bool tell it.

    Columns: along the hand, the palm's normal made square to it, and their cross product.
    """
    along = points[:, _MIDDLE] - points[:, _WRIST]
    normal = np.cross(points[:, _INDEX] - points[:, _WRIST], points[:, _LITTLE] - points[:, _WRIST])
    length = np.linalg.norm(along, axis=-1, keepdims=True)
    along = along / np.maximum(length, _MIN_LENGTH)
    normal = normal - np.sum(normal * along, axis=-1, keepdims=True) * along
    size = np.linalg.norm(normal, axis=-1, keepdims=True)
    normal = normal / np.maximum(size, _MIN_LENGTH)
    known = (length > _MIN_LENGTH)[:, 0] & (size > _MIN_LENGTH)[:, 0]
    return np.stack([along, normal, np.cross(along, normal)], axis=-1), known
