"""Poses, and all that moves: quaternions that are none, jumps that no limb makes, sensors that gave nothing new.

Knows poses x y z qw qx qy qz, metres, and rows that follow one another; refuses to know what a camera sees.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from robotrain.episodes.reader import Episode
from robotrain.episodes.schema import HEAD_POSE, is_joints, is_keypoints, is_observed
from robotrain.episodes.validation.findings import Finding, build_finding
from robotrain.episodes.validation.scans.tracks import Track, moving, posed, rate_of, rows_following
from robotrain.geometry.poses import invert, transform_from_pose, transform_points
from robotrain.geometry.rotations import geodesic_angle, is_identity, is_unit, matrix_from_quaternion

_MAX_TURN = 45.0  # rad/s
_MAX_SPEED = 6.0  # m/s
_MAX_IDENTITY_SHARE = 0.01
_MIN_REPEATED_SHARE = 0.2
_SAME_PLACE = 1e-6  # metres
_ROUNDINGS = 8  # of stored numbers: two poses composed and compared add up to so many


def scan_poses(episode: Episode, tracks: Mapping[str, Track]) -> Iterator[Finding]:
    """Scan poses for what is no rotation and no motion, and all that is measured for what does not change."""
    rate = rate_of(episode)
    for track in posed(tracks):
        yield from _check_norms(episode, track)
        yield from _check_flips(episode, track)
        yield from _check_identity(episode, track)
        if rate is not None:
            yield from _check_jumps(episode, track, rate)
    head = tracks.get(HEAD_POSE)
    for track in moving(tracks):
        if is_observed(track.name):
            yield from _check_changes(episode, track, head)


def sound_rotations(track: Track) -> np.ndarray:
    """Return which rows (T,) bool of poses are data with a quaternion of norm 1."""
    return track.valid & is_unit(track.values[:, 3:])


def _check_norms(episode: Episode, track: Track) -> Iterator[Finding]:
    rows = np.flatnonzero(track.valid & ~sound_rotations(track))
    if len(rows):
        norms = np.linalg.norm(track.values[rows, 3:], axis=-1)
        worst = norms[np.argmax(np.abs(norms - 1.0))]
        text = (
            f"{len(rows)} of {int(track.valid.sum())} quaternions do not have norm 1 "
            f"(the worst has {worst:.4g}), the first at frame {rows[0]}."
        )
        yield build_finding("quaternion-norm", episode.hash, text, array=track.name, frame=int(rows[0]))


def _check_flips(episode: Episode, track: Track) -> Iterator[Finding]:
    rows = rows_following(sound_rotations(track))
    flips = rows[np.sum(track.values[rows, 3:] * track.values[rows - 1, 3:], axis=-1) < 0]
    if len(flips):
        text = f"The quaternion's sign flips {len(flips)} times, first from frame {flips[0] - 1} to {flips[0]}."
        yield build_finding("quaternion-flip", episode.hash, text, array=track.name, frame=int(flips[0]))


def _check_identity(episode: Episode, track: Track) -> Iterator[Finding]:
    rows = np.flatnonzero(track.valid)
    identical = is_identity(track.values[rows, 3:])
    share = float(identical.mean()) if len(rows) else 0.0
    if share > _MAX_IDENTITY_SHARE:
        rows = rows[identical]
        text = (
            f"{len(rows)} of {int(track.valid.sum())} rotations ({share:.1%}) are exactly the identity, "
            f"the first at frame {rows[0]}."
        )
        yield build_finding("degenerate-rotation", episode.hash, text, array=track.name, frame=int(rows[0]))


def _check_jumps(episode: Episode, track: Track, rate: float) -> Iterator[Finding]:
    rows = rows_following(sound_rotations(track))
    turned = matrix_from_quaternion(track.values[rows, 3:])
    speeds = geodesic_angle(matrix_from_quaternion(track.values[rows - 1, 3:]), turned) * rate
    yield from _tell_jumps(episode, track, "rotation-jump", rows, speeds)
    rows = track.following
    speeds = np.linalg.norm(track.values[rows, :3] - track.values[rows - 1, :3], axis=-1) * rate
    yield from _tell_jumps(episode, track, "position-jump", rows, speeds)


def _tell_jumps(episode: Episode, track: Track, code: str, rows: np.ndarray, speeds: np.ndarray) -> Iterator[Finding]:
    """Tell of rows (P,) whose speeds (P,) no limb has."""
    limit, unit = (_MAX_TURN, "rad/s") if code == "rotation-jump" else (_MAX_SPEED, "m/s")
    jumps = speeds > limit
    if jumps.any():
        first = int(rows[jumps][0])
        text = (
            f"{int(jumps.sum())} of {len(rows)} steps are faster than {limit:g} {unit} (up to {speeds.max():.3g}), "
            f"the first from frame {first - 1} to {first}."
        )
        yield build_finding(code, episode.hash, text, array=track.name, frame=first)


def _check_changes(episode: Episode, track: Track, head: Track | None) -> Iterator[Finding]:
    """Tell of a track that never changes, or of one in which many rows repeat the row before."""
    points, valid, tolerance = _comparable(track, head)
    rows, num = rows_following(valid), int(track.valid.sum())
    from_head = ", seen from the head," if points is not track.values else ""
    still = bool(from_head) and valid.sum() > 1 and bool(np.all(np.abs(points[valid] - points[valid][0]) <= tolerance))
    if track.unchanging() or still:
        first = int(np.argmax(track.valid))
        text = f"Its {num} rows{'' if track.unchanging() else from_head} are all the same, from frame {first} on."
        yield build_finding("frozen-track", episode.hash, text, array=track.name, frame=first)
        return
    repeats = rows[np.all(np.abs(points[rows] - points[rows - 1]) <= tolerance, axis=-1)]
    if len(repeats) and len(repeats) >= _MIN_REPEATED_SHARE * len(rows):
        text = (
            f"{len(repeats)} of {len(rows)} rows{from_head} repeat the row before ({len(repeats) / len(rows):.1%}), "
            f"the first at frame {repeats[0]}."
        )
        yield build_finding("repeated-rows", episode.hash, text, array=track.name, frame=int(repeats[0]))


def _is_hand(track: Track) -> bool:
    return track.name != HEAD_POSE and not is_joints(track.name)


def _comparable(track: Track, head: Track | None) -> tuple[np.ndarray, np.ndarray, float]:
    """Return values (T, D) to compare from row to row, which rows (T,) bool are valid, and how near is the same.

    Hands are measured by glasses on the head, and stored in the world: a measurement that was stored twice moves with
    the head, and is the same in the head's frame only. There its points are compared, and its rotation is not.
    """
    if head is None or not _is_hand(track):
        return track.values, track.valid, 0.0
    valid = track.valid & sound_rotations(head)
    columns = track.values[valid] if is_keypoints(track.name) else track.values[valid, :3]
    head_from_world = invert(transform_from_pose(head.values[valid]))
    points = np.zeros((len(valid), columns.shape[1]))
    moved = transform_points(head_from_world, columns.reshape(len(columns), columns.shape[1] // 3, 3))
    points[valid] = moved.reshape(columns.shape)
    return points, valid, max(_SAME_PLACE, _ROUNDINGS * max(track.resolution, head.resolution))
