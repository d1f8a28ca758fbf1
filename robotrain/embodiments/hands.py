"""Two human hands seen from a head-worn camera.

Knows the 21 keypoints of a hand and how both hands are laid out; refuses to know which glasses recorded them.
"""

from robotrain.embodiments.arms import FRONT_INTRINSICS, arm_pose_fields
from robotrain.embodiments.embodiment import Embodiment, ModeLayouts
from robotrain.embodiments.layout import Field, Layout

HANDS = ("left", "right")
CAMERAS = ("front_1",)
SECONDS = 29 / 30
"""From the first to the last of the 30 rows, 30 a second, of a human's chunk: people move faster than robots."""

NUM_KEYPOINTS = 21
FINGERS = ("thumb", "index", "middle", "ring", "pinky")
KEYPOINT_NAMES = ("wrist", *(f"{finger}_{joint}" for finger in FINGERS for joint in range(1, 5)))
"""MANO order: the wrist, then four joints a finger from the palm to the tip."""


def hand_edges() -> tuple[tuple[int, int], ...]:
    """Return the bones of a hand as pairs of keypoint indices: each finger is a chain that starts at the wrist."""
    edges: list[tuple[int, int]] = []
    for finger in range(len(FINGERS)):
        first = 1 + 4 * finger
        edges += [(0, first), *((joint, joint + 1) for joint in range(first, first + 3))]
    return tuple(edges)


def _hand_fields(hand: str, pose_frame: str, keypoint_frame: str) -> tuple[Field, ...]:
    keypoints = Field(f"{hand}.keypoints", "keypoints", 3 * NUM_KEYPOINTS, keypoint_frame, "m")
    return (*arm_pose_fields(hand, pose_frame), keypoints)


def build_human() -> Embodiment:
    """Build the embodiment ``human_bimanual``.

    Mode ``keypoints_wristframe_6d`` has per hand wrist xyz 3 + rot6d 6 + keypoints 21 x 3. Its actions stand in the
    frame of the wrist at the current frame; its state has the wrist in the camera's frame (the head is the camera) and
    the keypoints in the wrist's. Mode ``cartesian_6d`` has per hand palm xyz 3 + rot6d 6 in the camera's frame.
    """
    relative = tuple(field for hand in HANDS for field in _hand_fields(hand, f"{hand}_wrist", f"{hand}_wrist"))
    current = tuple(field for hand in HANDS for field in _hand_fields(hand, "camera", f"{hand}_wrist"))
    palms = Layout(tuple(field for hand in HANDS for field in arm_pose_fields(hand, "camera")))
    return Embodiment(
        name="human_bimanual",
        cameras=CAMERAS,
        modes={
            "keypoints_wristframe_6d": ModeLayouts(actions=Layout(relative), state=Layout(current), seconds=SECONDS),
            "cartesian_6d": ModeLayouts(actions=palms, state=palms, seconds=SECONDS),
        },
        intrinsics=FRONT_INTRINSICS,
        edges=hand_edges(),
    )
