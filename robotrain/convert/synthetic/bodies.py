"""What each body records of a scene: stored arrays, and the very same points as strokes to draw.

Knows the frames that EgoVerse keeps its numbers in: a robot arm's base, a human's world. Refuses to know pixels and
files. T rows; poses are x y z qw qx qy qz, metres.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from robotrain.convert.synthetic.hand import (
    FINGER_CHAINS,
    NUM_KEYPOINTS,
    gripper_in_hand,
    keypoints_in_hand,
)
from robotrain.convert.synthetic.motion import HandMotion, move_hand, shoulder, smooth_noise
from robotrain.convert.synthetic.painter import DrawnHand, Stroke
from robotrain.convert.synthetic.world import CAMERA_DISTANCE, CAMERA_TILT, Color, Scene, camera_from_table
from robotrain.embodiments.catalog import embodiment_of
from robotrain.episodes.schema import (
    HEAD_POSE,
    cmd_ee_pose,
    cmd_gripper,
    obs_ee_pose,
    obs_gripper,
    obs_keypoints,
    obs_wrist_pose,
)
from robotrain.geometry.poses import invert, pose_from_transform, transform_points
from robotrain.geometry.rotations import matrix_from_ypr

_ARM: Color = (112, 118, 130)
_ARM_LIGHT: Color = (172, 178, 188)
_FINGER: Color = (40, 42, 50)
_SKIN: Color = (214, 160, 130)
_SKIN_LIGHT: Color = (236, 188, 160)


@dataclass(frozen=True)
class Clock:
    """When the rows of an episode are, and how long a reach takes."""

    num_frames: int
    fps: float
    reach_seconds: float

    @property
    def seconds(self) -> np.ndarray:
        """(T + 1,) times of the rows and of the one after the last, s."""
        return np.arange(self.num_frames + 1) / self.fps


@dataclass(frozen=True)
class Recording:
    """One episode, still in memory."""

    arrays: Mapping[str, np.ndarray]
    """By stored name: (T, D) float64."""
    camera_from_table: np.ndarray
    """(T, 4, 4) metres: the table's pose in the front camera."""
    hands: tuple[tuple[DrawnHand, ...], ...]
    """By row: the hands that are seen."""


def record_eva(scene: Scene, clock: Clock, noise: float, rng: np.random.Generator) -> Recording:
    """Record two robot arms under a fixed camera; the commanded pose is where the arm should be one row later.

    Args:
        scene: what is on the table, and where the hands go.
        clock: times of the rows.
        noise: standard deviation of the measured positions around the commanded way, metres.
        rng: draws the noise.
    """
    bases = embodiment_of("eva_bimanual", {}).camera_poses or {}
    camera = camera_from_table()
    arrays: dict[str, np.ndarray] = {}
    motions: list[HandMotion] = []
    for reach in scene.reaches:
        progress = clock.seconds / clock.reach_seconds
        shake = smooth_noise(rng, clock.seconds, 3, noise)
        wanted, moved = move_hand(reach, progress, np.zeros_like(shake)), move_hand(reach, progress, shake)
        base_from_table = bases[reach.side] @ camera
        arrays[obs_ee_pose(reach.side)] = pose_from_transform(base_from_table @ _transforms(moved)[:-1])
        arrays[cmd_ee_pose(reach.side)] = pose_from_transform(base_from_table @ _transforms(wanted)[1:])
        arrays[obs_gripper(reach.side)] = moved.opening[:-1, None]
        arrays[cmd_gripper(reach.side)] = wanted.opening[1:, None]
        motions.append(moved)
    hands = tuple(tuple(_drawn_gripper(motion, row) for motion in motions) for row in range(clock.num_frames))
    return Recording(arrays, np.broadcast_to(camera, (clock.num_frames, 4, 4)), hands)


def record_human(scene: Scene, clock: Clock, noise: float, missing_rate: float, rng: np.random.Generator) -> Recording:
    """Record two human hands seen from a head that sways, in a world with an origin of its own.

    Args:
        scene: what is on the table, and where the hands go.
        clock: times of the rows.
        noise: standard deviation of the palms' positions around their way, metres.
        missing_rate: share of the rows in which a hand is not seen: its rows are zero and it is not drawn.
        rng: draws noise, sway, world and missing rows.
    """
    world_from_table = _draw_world(rng)
    camera = _draw_head(rng, clock)
    arrays: dict[str, np.ndarray] = {HEAD_POSE: pose_from_transform(world_from_table @ invert(camera))}
    hands: list[list[DrawnHand]] = [[] for _ in range(clock.num_frames)]
    for reach in scene.reaches:
        seconds = clock.seconds[:-1]
        motion = move_hand(reach, seconds / clock.reach_seconds, smooth_noise(rng, seconds, 3, noise))
        seen = ~_draw_missing(rng, clock.num_frames, missing_rate)
        in_hand = keypoints_in_hand(reach.side, motion.opening)
        palms = _transforms(motion)
        points = transform_points(palms, in_hand)
        wrists = palms.copy()
        wrists[:, :3, 3] = points[:, 0]
        stored = {
            obs_ee_pose(reach.side): pose_from_transform(world_from_table @ palms),
            obs_wrist_pose(reach.side): pose_from_transform(world_from_table @ wrists),
            obs_keypoints(reach.side): transform_points(world_from_table, points).reshape(-1, 3 * NUM_KEYPOINTS),
        }
        arrays |= {name: np.where(seen[:, None], rows, 0.0) for name, rows in stored.items()}
        for row in np.flatnonzero(seen):
            hands[row].append(_drawn_hand(motion, int(row), points[row]))
    return Recording(arrays, camera, tuple(map(tuple, hands)))


def _transforms(motion: HandMotion) -> np.ndarray:
    """Return table_from_hand (T, 4, 4)."""
    pose = np.tile(np.eye(4), (len(motion.positions), 1, 1))
    pose[:, :3, :3], pose[:, :3, 3] = motion.rotations, motion.positions
    return pose


def _draw_world(rng: np.random.Generator) -> np.ndarray:
    """Draw world_from_table (4, 4): the world's vertical is the table's, its origin and heading are anything."""
    pose = np.eye(4)
    pose[:3, :3] = matrix_from_ypr(np.array([rng.uniform(-np.pi, np.pi), 0.0, 0.0]))
    pose[:3, 3] = rng.uniform(-1.5, 1.5, 3)
    return pose


def _draw_head(rng: np.random.Generator, clock: Clock) -> np.ndarray:
    """Draw camera_from_table (T, 4, 4) of a head that looks at the table from about the same place, and sways."""
    seconds = clock.seconds[:-1]
    looking = camera_from_table(CAMERA_TILT + rng.uniform(-0.03, 0.03), CAMERA_DISTANCE + rng.uniform(-0.02, 0.03))
    sway = np.tile(np.eye(4), (clock.num_frames, 1, 1))
    sway[:, :3, :3] = matrix_from_ypr(smooth_noise(rng, seconds, 3, 0.012))
    sway[:, :3, 3] = smooth_noise(rng, seconds, 3, 0.007)
    return sway @ looking


def _draw_missing(rng: np.random.Generator, num_frames: int, rate: float) -> np.ndarray:
    """Draw which rows (T,) bool miss a hand, in runs of about a tenth of a second."""
    runs = rng.random(-(-num_frames // 3)) < rate
    return np.repeat(runs, 3)[:num_frames]


def _arm(motion: HandMotion, start: np.ndarray, width: float, colors: tuple[Color, Color]) -> tuple[Stroke, Stroke]:
    ends = np.stack([shoulder(motion.side), start])
    return Stroke(ends, width, colors[0]), Stroke(ends, 0.35 * width, colors[1])


def _drawn_gripper(motion: HandMotion, row: int) -> DrawnHand:
    palm = motion.positions[row]
    parts = palm + gripper_in_hand(float(motion.opening[row])) @ motion.rotations[row].T
    fingers = tuple(Stroke(part, 0.013, _FINGER) for part in parts)
    return DrawnHand(motion.side, palm, (*_arm(motion, parts[0, 0], 0.026, (_ARM, _ARM_LIGHT)), *fingers))


def _drawn_hand(motion: HandMotion, row: int, points: np.ndarray) -> DrawnHand:
    bones = [
        Stroke(points[[start, end]], 0.020 if start == 0 else 0.013, _SKIN if start == 0 else _SKIN_LIGHT)
        for chain in FINGER_CHAINS
        for start, end in pairwise(chain)
    ]
    arm = _arm(motion, points[0], 0.030, (_SKIN, _SKIN_LIGHT))
    return DrawnHand(motion.side, motion.positions[row], (*arm, *bones))
