"""Hands and tools: how much of them was seen, whether the camera sees them, whether both follow one convention.

Knows points in a camera and a hand's rotation beside its keypoints; refuses to know speeds.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from robotrain.embodiments.catalog import available, embodiment_of
from robotrain.embodiments.embodiment import Embodiment
from robotrain.embodiments.sides import Side
from robotrain.episodes.reader import Episode
from robotrain.episodes.schema import HEAD_POSE, is_keypoints, is_observed, is_pose, obs_ee_pose
from robotrain.episodes.validation.findings import Finding, build_finding
from robotrain.episodes.validation.scans.mirrored import check_mirrored
from robotrain.episodes.validation.scans.poses import sound_rotations
from robotrain.episodes.validation.scans.tracks import Track
from robotrain.errors import EpisodeError
from robotrain.geometry.cameras import project
from robotrain.geometry.poses import invert, transform_from_pose, transform_points

_MOSTLY = 0.5
_MIN_SEEN_SHARE = 0.2


def scan_hands(episode: Episode, tracks: Mapping[str, Track], cameras: Sequence[str]) -> Iterator[Finding]:
    """Scan hands and tools for rows that are missing, places that no camera sees, and a mirrored left hand."""
    yield from _check_missing(episode, tracks)
    yield from _check_in_picture(episode, tracks, cameras)
    yield from check_mirrored(episode, tracks)


def _check_missing(episode: Episode, tracks: Mapping[str, Track]) -> Iterator[Finding]:
    limbs = [track for name, track in tracks.items() if is_pose(name) and is_observed(name) and name != HEAD_POSE]
    if limbs and not any(track.valid.any() for track in limbs):
        text = f"All {episode.num_frames} frames are missing in {', '.join(track.name for track in limbs)}."
        yield build_finding("no-real-rows", episode.hash, text, array=limbs[0].name, frame=0)
        return  # that most of them are missing goes without saying
    for name, track in tracks.items():
        missing = ~track.valid
        if (is_pose(name) or is_keypoints(name)) and missing.mean() > _MOSTLY:
            first = int(np.argmax(missing))
            text = (
                f"{int(missing.sum())} of {len(missing)} rows ({missing.mean():.1%}) are missing, "
                f"the first at frame {first}."
            )
            yield build_finding("mostly-missing", episode.hash, text, array=name, frame=first)


def _check_in_picture(episode: Episode, tracks: Mapping[str, Track], cameras: Sequence[str]) -> Iterator[Finding]:
    """Tell when palms or tools lie outside the front camera's picture, both sides counted together."""
    if episode.embodiment not in available():
        return
    embodiment = embodiment_of(episode.embodiment, episode.facts.attributes)
    camera = embodiment.cameras[0]
    if camera not in cameras:
        return
    try:
        intrinsics = episode.intrinsics(camera)
        points = {side: _points_in_camera(episode, embodiment, tracks, side) for side in embodiment.sides}
    except EpisodeError:
        return  # a picture or a calibration that cannot be read: other checks tell of it
    if intrinsics is None:
        return
    seen = {side: project(places, intrinsics)[1] for side, (_, places) in points.items()}
    num, num_seen = sum(map(len, seen.values())), sum(int(each.sum()) for each in seen.values())
    if num and num_seen < _MIN_SEEN_SHARE * num:
        side: Side = min(embodiment.sides, key=lambda side: seen[side].mean() if len(seen[side]) else 2.0)
        first = int(points[side][0][np.argmin(seen[side])])
        text = (
            f"{num - num_seen} of {num} places of hands or tools lie outside the picture of {camera} "
            f"({intrinsics.width}x{intrinsics.height} pixels), the first at frame {first}."
        )
        yield build_finding("palm-outside", episode.hash, text, array=obs_ee_pose(side), frame=first)


def _points_in_camera(
    episode: Episode, embodiment: Embodiment, tracks: Mapping[str, Track], side: Side
) -> tuple[np.ndarray, np.ndarray]:
    """Return frames (N,) and the places (N, 3) of a palm or a tool in the front camera there, metres; perhaps none."""
    track, head = tracks.get(obs_ee_pose(side)), tracks.get(HEAD_POSE)
    poses = embodiment.camera_poses
    none = np.zeros(0, dtype=np.int64), np.zeros((0, 3))
    if track is None:
        return none
    if poses is not None:
        base_from_camera = episode.camera_pose(side)
        frames = np.flatnonzero(track.valid)
        camera_from_reference = invert(poses[side] if base_from_camera is None else base_from_camera)
    elif head is not None:
        frames = np.flatnonzero(track.valid & sound_rotations(head))
        camera_from_reference = invert(transform_from_pose(head.values[frames]))
    else:
        return none
    return frames, transform_points(camera_from_reference, track.values[frames, None, :3])[:, 0]
