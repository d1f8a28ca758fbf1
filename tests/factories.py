"""Tiny episodes for tests, made by the product's own writer: smooth, seeded, in front of the camera."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from robotrain.embodiments.layout import Field, Layout
from robotrain.episodes.schema import (
    CMD_JOINTS,
    FIELDS,
    HEAD_POSE,
    OBS_JOINTS,
    SIDES,
    Side,
    cmd_ee_pose,
    cmd_gripper,
    obs_ee_pose,
    obs_gripper,
    obs_keypoints,
    obs_wrist_pose,
)
from robotrain.episodes.writer import EpisodeWriter
from robotrain.geometry.rotations import matrix_from_quaternion, matrix_from_ypr, quaternion_from_matrix

EVA_CAMERAS = ("front_1", "left_wrist", "right_wrist")
JOINTS = Layout(
    (
        Field("left_arm", "joint", 3, "", "rad"),
        Field("left_hand", "joint", 1, "", ""),
        Field("right_arm", "joint", 2, "", "rad"),
    )
)
"""What the joint robot of these tests can move: six joints in three groups."""


def make_eva_episode(
    path: Path,
    num_frames: int = 8,
    size: tuple[int, int] = (16, 12),
    seed: int = 0,
    cameras: Sequence[str] = EVA_CAMERAS,
    *,
    attributes: Mapping[str, Any] | None = None,
    embodiment: str = "eva_bimanual",
    fps: int = 30,
) -> Path:
    """Write a robot with two arms: poses in each arm's base, commands one row ahead, grippers in [0, 1]."""
    rng = np.random.default_rng(seed)
    with EpisodeWriter(
        path, embodiment=embodiment, fps=fps, task_name="pick_up", task_description="pick it up", attributes=attributes
    ) as writer:
        for side in SIDES:
            poses = smooth_poses(rng, num_frames + 1, centre=(0.3, 0.0, 0.2))
            grippers = np.clip(0.5 + smooth(rng, num_frames + 1, 1, scale=0.4), 0, 1)
            writer.add_numbers(
                {
                    obs_ee_pose(side): poses[:-1],
                    cmd_ee_pose(side): poses[1:],
                    obs_gripper(side): grippers[:-1],
                    cmd_gripper(side): grippers[1:],
                }
            )
        add_images(writer, rng, cameras, num_frames, size)
        add_halves(writer, num_frames)
    return path


def make_human_episode(
    path: Path,
    num_frames: int = 8,
    size: tuple[int, int] = (16, 12),
    seed: int = 0,
    missing: Mapping[Side, Sequence[int]] | None = None,
    attributes: Mapping[str, Any] | None = None,
    embodiment: str = "human_bimanual",
) -> Path:
    """Write two hands before a moving head, world frame; hands are rows of zeros where ``missing`` names frames."""
    rng = np.random.default_rng(seed)
    with EpisodeWriter(path, embodiment=embodiment, fps=30, task_name="fold_clothes", attributes=attributes) as writer:
        writer.add_numbers({HEAD_POSE: smooth_poses(rng, num_frames, centre=(0.0, 0.0, 0.0), turn=0.05)})
        for side, x in zip(SIDES, (-0.15, 0.15), strict=True):
            wrists = smooth_poses(rng, num_frames, centre=(x, 0.1, 0.5))
            hand = rng.normal(scale=0.04, size=(21, 3))
            hand[0] = 0.0  # the first point is the wrist
            turned = np.einsum("tij,kj->tki", matrix_from_quaternion(wrists[:, 3:]), hand)
            palms = wrists.copy()
            palms[:, :3] += 0.02
            rows = {
                obs_wrist_pose(side): wrists,
                obs_ee_pose(side): palms,
                obs_keypoints(side): (turned + wrists[:, None, :3]).reshape(num_frames, 63),
            }
            for values in rows.values():
                values[list((missing or {}).get(side, ()))] = 0.0
            writer.add_numbers(rows)
        add_images(writer, rng, ("front_1",), num_frames, size)
        add_halves(writer, num_frames)
    return path


def make_joint_episode(
    path: Path,
    num_frames: int = 8,
    size: tuple[int, int] = (16, 12),
    seed: int = 0,
    fps: Fraction | float = 30,
    embodiment: str = "toy_arm",
    layout: Layout = JOINTS,
) -> Path:
    """Write a robot that is described by its own attributes: joints measured and commanded, one camera."""
    rng = np.random.default_rng(seed)
    fields = {OBS_JOINTS: layout.to_plain(), CMD_JOINTS: layout.to_plain()}
    with EpisodeWriter(path, embodiment=embodiment, fps=fps, task_name="wave", attributes={FIELDS: fields}) as writer:
        joints = smooth(rng, num_frames + 1, layout.width, scale=0.8).astype(np.float32)
        writer.add_numbers({OBS_JOINTS: joints[:-1], CMD_JOINTS: joints[1:]})
        add_images(writer, rng, ("front_1",), num_frames, size)
    return path


def write_numbers(
    path: Path,
    embodiment: str,
    numbers: Mapping[str, np.ndarray],
    fps: Fraction | float = 30,
    attributes: Mapping[str, Any] | None = None,
) -> Path:
    """Write an episode of given numeric arrays, each (T, D), and no picture."""
    with EpisodeWriter(path, embodiment=embodiment, fps=fps, attributes=attributes) as writer:
        writer.add_numbers(numbers)
    return path


def write_joints(path: Path, actions: np.ndarray, state: np.ndarray | None = None, fps: float = 30) -> Path:
    """Write an episode of a robot with one group of joints, (T, D) commanded and measured, and no picture."""
    layout = Layout((Field("arm", "joint", actions.shape[1], "", "rad"),)).to_plain()
    numbers = {CMD_JOINTS: actions, OBS_JOINTS: actions if state is None else state}
    return write_numbers(path, "toy_arm", numbers, fps, {FIELDS: {CMD_JOINTS: layout, OBS_JOINTS: layout}})


def smooth(rng: np.random.Generator, num_rows: int, width: int, scale: float) -> np.ndarray:
    """Return values (num_rows, width) that swing slowly within +-scale."""
    phase = rng.uniform(0, 2 * np.pi, size=width)
    speed = rng.uniform(0.02, 0.1, size=width)
    return scale * np.sin(phase + speed * np.arange(num_rows)[:, None])


def smooth_poses(
    rng: np.random.Generator, num_rows: int, centre: tuple[float, float, float], turn: float = 0.4
) -> np.ndarray:
    """Return poses (num_rows, 7) that wander around a place, metres."""
    places = np.asarray(centre) + smooth(rng, num_rows, 3, scale=0.05)
    rotations = matrix_from_ypr(smooth(rng, num_rows, 3, scale=turn))
    return np.concatenate([places, quaternion_from_matrix(rotations)], axis=-1)


def add_images(
    writer: EpisodeWriter,
    rng: np.random.Generator,
    cameras: Sequence[str],
    num_frames: int,
    size: tuple[int, int],
) -> None:
    """Add pictures of size (width, height) that differ from frame to frame and from camera to camera."""
    width, height = size
    ramp = np.linspace(0, 120, width)[None, :, None] + np.linspace(0, 80, height)[:, None, None]
    for camera in cameras:
        tint = rng.uniform(0, 40, size=3)
        for frame in range(num_frames):
            writer.add_image(camera, np.clip(ramp + tint + frame % 16, 0, 255).astype(np.uint8))


def add_halves(writer: EpisodeWriter, num_frames: int) -> None:
    """Add a text for the first half and one for the second; an episode of one frame gets only the first."""
    half = max(1, num_frames // 2)
    writer.add_span("reach for it", 0, half)
    if num_frames > half:
        writer.add_span("lift it", half, num_frames)
