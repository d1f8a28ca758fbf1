"""The left hand whose rotation older Mecka converters mirrored twice: told from its own keypoints, and mended.

Knows how a palm lies among its keypoints and what that converter did; refuses to know why, and to decide who is asked.

Every hand's keypoints give it axes that need no convention: along the hand (wrist to middle knuckle), and the palm's
normal, index x little finger, which points out of the palm of one hand and out of the back of the other: it mirrors of
itself. Turned into the stored rotation's own frame, these axes are that rotation's convention, and a sound converter
has one for both hands. The older one turned the left by 180 degrees about its own z axis on top. Other vendors' hands
may differ in just that way by intent (x right, y down in both), so that nothing is said of them.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from robotrain.episodes.reader import Episode
from robotrain.episodes.schema import missing_rows, obs_ee_pose, obs_keypoints, obs_wrist_pose
from robotrain.geometry.rotations import (
    geodesic_angle,
    is_identity,
    is_unit,
    matrix_from_quaternion,
    mean_rotation,
)

Verdict = Literal["mirrored", "sound", "unknown"]
POSE_ARRAYS = {obs_ee_pose("left"): obs_ee_pose("right"), obs_wrist_pose("left"): obs_wrist_pose("right")}
"""The left hand's poses that may be mirrored, and the right hand's that tell."""

_VENDOR = "mecka_"
_WRIST, _INDEX, _MIDDLE, _LITTLE = 0, 5, 9, 17
_MIN_FRAMES = 10
_MAX_IDENTITY_SHARE = 0.01
_AGREEMENT = np.deg2rad(37.0)  # cosines of 0.8: far from any other convention, and 180 degrees from the other case
_MIN_AGREEING = 0.9
_MIN_LENGTH = 1e-6  # metres and square metres: of what a direction is taken from
_DOUBLE_MIRROR = np.diag([-1.0, -1.0, 1.0])


def is_mecka(stored_embodiment: str) -> bool:
    """Say whether an embodiment, as the episode spells it, is of the vendor whose left hands may be mirrored twice."""
    return stored_embodiment.strip().lower().startswith(_VENDOR)


def mend_left_wrist(poses: np.ndarray) -> np.ndarray:
    """Return poses (..., 7) turned by 180 degrees about their own z axis; places and missing rows are left as they are.

    The stored rotation is multiplied on the right by diag(-1, -1, 1), the quaternion by (0, 0, 0, 1); doing it twice
    gives the rotation back.
    """
    poses = np.asarray(poses, np.float64)
    rows = poses.reshape(-1, poses.shape[-1])
    w, x, y, z = np.moveaxis(rows[:, 3:], -1, 0)
    turned = np.concatenate([rows[:, :3], np.stack([-z, y, -x, w], axis=-1)], axis=-1)
    missing = missing_rows(obs_wrist_pose("left"), rows)
    return np.where(missing[:, None], rows, turned).reshape(poses.shape)


@dataclass(frozen=True, slots=True, eq=False)
class HandConvention:
    """How a hand lies in the frame of its stored rotation."""

    axes: np.ndarray
    """(N, 3, 3) stored_from_palm, of each frame in which both are known."""
    mean: np.ndarray
    """(3, 3) of all frames."""
    frames: np.ndarray
    """(N,) those frames."""


def hand_convention(
    poses: np.ndarray, has_pose: np.ndarray, keypoints: np.ndarray, has_keypoints: np.ndarray
) -> HandConvention | None:
    """Return how a hand lies in its stored rotation, or None when too little is known or it does not lie still.

    Args:
        poses: (T, 7), metres, of one hand.
        has_pose: (T,) bool, rows that are data.
        keypoints: (T, 63), metres, in the same frame.
        has_keypoints: (T,) bool.
    """
    rotations = poses[has_pose, 3:]
    if len(rotations) and is_identity(rotations).mean() > _MAX_IDENTITY_SHARE:
        return None  # placeholders tell nothing
    frames = np.flatnonzero(has_pose & is_unit(poses[:, 3:]) & has_keypoints)
    world_from_palm, known = _palm_axes(keypoints[frames].reshape(-1, 21, 3))
    frames, world_from_palm = frames[known], world_from_palm[known]
    if len(frames) < _MIN_FRAMES:
        return None
    axes = np.swapaxes(matrix_from_quaternion(poses[frames, 3:]), -1, -2) @ world_from_palm
    mean = mean_rotation(axes)
    rigid = geodesic_angle(axes, mean) < _AGREEMENT
    return HandConvention(axes, mean, frames) if rigid.mean() >= _MIN_AGREEING else None


def mirrored_frames(left: HandConvention, right: HandConvention) -> np.ndarray:
    """Return in which of the left hand's frames (N,) bool it lies turned about z against the right hand's mean."""
    return geodesic_angle(left.axes, _DOUBLE_MIRROR @ right.mean) < _AGREEMENT


def is_mirrored(left: HandConvention, right: HandConvention) -> bool:
    """Say whether nine frames in ten of the left hand were mirrored twice."""
    return bool(mirrored_frames(left, right).mean() >= _MIN_AGREEING)


def judge_left_wrist(episode: Episode, array: str) -> Verdict:
    """Tell from an episode's own keypoints whether the left hand's rotation is mirrored, sound, or cannot be told.

    Args:
        episode: of any vendor; both hands and their keypoints are needed for a verdict.
        array: one of `POSE_ARRAYS`.

    Raises:
        EpisodeError: when an array cannot be read.
    """
    found: list[HandConvention] = []
    for names in ((array, obs_keypoints("left")), (POSE_ARRAYS[array], obs_keypoints("right"))):
        if not set(names) <= set(episode.arrays):
            return "unknown"
        poses, keypoints = (np.asarray(episode.numbers(name), np.float64) for name in names)
        has_pose, has_keypoints = (~episode.missing(name) for name in names)
        convention = hand_convention(poses, has_pose, keypoints, has_keypoints)
        if convention is None:
            return "unknown"
        found.append(convention)
    left, right = found
    if is_mirrored(left, right):
        return "mirrored"
    agrees = geodesic_angle(left.axes, right.mean) < _AGREEMENT
    return "sound" if agrees.mean() >= _MIN_AGREEING else "unknown"


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
