"""One or two human hands seen from a head-worn camera.

Knows the 21 keypoints of a hand and how hands are laid out; refuses to know which glasses recorded them.
"""

from robotrain.embodiments.arms import FRONT_CAMERA, FRONT_INTRINSICS, action_frame, cartesian_modes, pose_fields
from robotrain.embodiments.embodiment import Embodiment, ModeLayouts
from robotrain.embodiments.layout import Field, Layout
from robotrain.embodiments.modes import KEYPOINT_MODES
from robotrain.embodiments.sides import SIDES, Side
from robotrain.embodiments.spelling import RotationKind

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


def _hand_fields(side: Side, pose_frame: str, keypoint_frame: str, rotation: RotationKind) -> tuple[Field, ...]:
    keypoints = Field(f"{side}.keypoints", "keypoints", 3 * NUM_KEYPOINTS, keypoint_frame, "m")
    return (*pose_fields(side, pose_frame, rotation), keypoints)


def keypoint_modes(sides: tuple[Side, ...], seconds: float) -> dict[str, ModeLayouts]:
    """Return the modes of hands with keypoints: per hand wrist xyz 3 + rot6d 6 (or ypr 3) + keypoints 21 x 3.

    In the wrist's frame, actions stand in the frame of the wrist at the current frame; the state has the wrist in the
    camera's frame and the keypoints in the wrist's. In the head's frame all of it stands in the camera's.
    """
    modes: dict[str, ModeLayouts] = {}
    for name, rule in KEYPOINT_MODES.items():
        actions: list[Field] = []
        state: list[Field] = []
        for side in sides:
            frame = action_frame(rule, side)
            actions += _hand_fields(side, frame, frame, rule.rotation)
            state += _hand_fields(side, "camera", frame, rule.rotation)
        modes[name] = ModeLayouts(actions=Layout(tuple(actions)), state=Layout(tuple(state)), seconds=seconds)
    return modes


def build_human(name: str = "human_bimanual", sides: tuple[Side, ...] = SIDES) -> Embodiment:
    """Build an embodiment of these hands; its default mode tells keypoints in the wrists' frames, with rot6d."""
    return Embodiment(
        name=name,
        cameras=(FRONT_CAMERA,),
        modes={**keypoint_modes(sides, SECONDS), **cartesian_modes(sides, SECONDS, grippers=False)},
        sides=sides,
        intrinsics=FRONT_INTRINSICS,
        edges=hand_edges(),
    )
