"""One or two robot arms with grippers under one front camera (Eva).

Knows the layouts, cameras and default calibration of the body; refuses to know where an episode keeps its numbers.
"""

import numpy as np

from robotrain.embodiments.embodiment import Embodiment, ModeLayouts
from robotrain.embodiments.layout import Field, Layout
from robotrain.embodiments.modes import CARTESIAN_MODES, ModeRule
from robotrain.embodiments.sides import SIDES, Side
from robotrain.embodiments.spelling import IDENTITY, RotationKind
from robotrain.geometry.cameras import Intrinsics

FRONT_CAMERA = "front_1"
SECONDS = 44 / 30
"""From the first to the last of the 45 rows, 30 a second, that a chunk of this robot spans."""

FRONT_INTRINSICS = Intrinsics(fx=266.50860444, fy=266.50860444, cx=320.0, cy=240.0, width=640, height=480)
"""Of the wide front camera that Eva and the Aria glasses share, for 640 x 480 images."""

# Rigidly calibrated once for the rig; metres.
_LEFT_BASE_FROM_CAMERA = (
    (0.01329544, -0.71757193, 0.69635749, -0.04409191),
    (-0.99959782, -0.02698416, -0.00872107, -0.23221381),
    (0.02504862, -0.69596148, -0.7176421, 0.57323278),
    (0.0, 0.0, 0.0, 1.0),
)
_RIGHT_BASE_FROM_CAMERA = (
    (-0.04733948, -0.76631195, 0.64072222, -0.01998031),
    (-0.9983006, 0.05811952, -0.00424732, 0.32539554),
    (-0.0339837, -0.63983444, -0.76776103, 0.64809634),
    (0.0, 0.0, 0.0, 1.0),
)


def pose_fields(side: Side, frame: str, rotation: RotationKind) -> tuple[Field, Field]:
    """Return the fields of one pose in a frame: position (m), and rotation (rot6d, or ypr in rad)."""
    unit = "rad" if rotation == "ypr" else ""
    return (
        Field(f"{side}.xyz", "xyz", 3, frame, "m"),
        Field(f"{side}.{rotation}", rotation, len(IDENTITY[rotation]), frame, unit),
    )


def action_frame(rule: ModeRule, side: Side) -> str:
    """Return the frame that a mode's actions of one side stand in."""
    return f"{side}_wrist" if rule.frame == "wrist" else "camera"


def cartesian_modes(sides: tuple[Side, ...], seconds: float, *, grippers: bool) -> dict[str, ModeLayouts]:
    """Return the modes of one pose a side: xyz 3 + rot6d 6 (or ypr 3), and with grippers + 1.

    Args:
        sides: in the order of the columns.
        seconds: time that a chunk spans.
        grippers: whether each side has one.
    """
    modes: dict[str, ModeLayouts] = {}
    for name, rule in CARTESIAN_MODES.items():
        actions: list[Field] = []
        state: list[Field] = []
        for side in sides:
            gripper = [Field(f"{side}.gripper", "gripper", 1, "", "1")] if grippers else []
            actions += [*pose_fields(side, action_frame(rule, side), rule.rotation), *gripper]
            state += [*pose_fields(side, "camera", rule.rotation), *gripper]
        modes[name] = ModeLayouts(actions=Layout(tuple(actions)), state=Layout(tuple(state)), seconds=seconds)
    return modes


def build_eva(name: str = "eva_bimanual", sides: tuple[Side, ...] = SIDES) -> Embodiment:
    """Build an embodiment of these arms; its default mode tells poses in the front camera's frame, with rot6d."""
    poses = {"left": np.array(_LEFT_BASE_FROM_CAMERA), "right": np.array(_RIGHT_BASE_FROM_CAMERA)}
    return Embodiment(
        name=name,
        cameras=(FRONT_CAMERA, *(f"{side}_wrist" for side in sides)),
        modes=cartesian_modes(sides, SECONDS, grippers=True),
        sides=sides,
        intrinsics=FRONT_INTRINSICS,
        camera_poses={side: poses[side] for side in sides},
    )
