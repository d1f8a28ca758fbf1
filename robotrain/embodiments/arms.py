"""Two robot arms with grippers under one front camera (Eva).

Knows the layouts, cameras and default calibration of the body; refuses to know where an episode keeps its numbers.
"""

import numpy as np

from robotrain.embodiments.embodiment import Embodiment, ModeLayouts
from robotrain.embodiments.layout import Field, Layout
from robotrain.geometry.cameras import Intrinsics

ARMS = ("left", "right")
CAMERAS = ("front_1", "left_wrist", "right_wrist")
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


def arm_pose_fields(arm: str, frame: str) -> tuple[Field, Field]:
    """Return the fields of one pose, position (m) and rotation, in a frame."""
    return (
        Field(f"{arm}.xyz", "xyz", 3, frame, "m"),
        Field(f"{arm}.rot6d", "rot6d", 6, frame, ""),
    )


def build_eva() -> Embodiment:
    """Build the embodiment ``eva_bimanual``: per arm xyz 3 + rot6d 6 + gripper 1, in the front camera's frame."""
    fields: list[Field] = []
    for arm in ARMS:
        fields += [*arm_pose_fields(arm, "camera"), Field(f"{arm}.gripper", "gripper", 1, "", "1")]
    layout = Layout(tuple(fields))
    return Embodiment(
        name="eva_bimanual",
        cameras=CAMERAS,
        modes={"cartesian_6d": ModeLayouts(actions=layout, state=layout, seconds=SECONDS)},
        intrinsics=FRONT_INTRINSICS,
        camera_poses={"left": np.array(_LEFT_BASE_FROM_CAMERA), "right": np.array(_RIGHT_BASE_FROM_CAMERA)},
    )
