"""The modes of bodies with arms or hands: what an action says, in which frame, and how it spells rotations.

Knows names and what they stand for; refuses to know which arrays they are made of. The numbers follow EgoVerse's
modes of the same names; its quaternion modes are left out, since a quaternion and its negative are one rotation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from robotrain.embodiments.spelling import RotationKind


@dataclass(frozen=True, kw_only=True, slots=True)
class ModeRule:
    """What a mode's name stands for."""

    keypoints: bool
    """True: wrists and the 21 points of each hand; False: one pose a side (a palm's, or a tool's and its gripper)."""
    frame: Literal["camera", "wrist"]
    """Of the actions: the front camera at the current frame, or each side's own pose at the current frame. The state
    tells poses in the camera's frame always, and keypoints where the actions do."""
    rotation: RotationKind


def _spelled(stem: str, frame: Literal["camera", "wrist"]) -> dict[str, ModeRule]:
    keypoints = stem.startswith("keypoints")
    spellings: tuple[tuple[str, RotationKind], ...] = (("6d", "rot6d"), ("ypr", "ypr"))
    return {f"{stem}_{suffix}": ModeRule(keypoints=keypoints, frame=frame, rotation=kind) for suffix, kind in spellings}


CARTESIAN_MODES: Mapping[str, ModeRule] = {
    **_spelled("cartesian", "camera"),
    **_spelled("cartesian_wristframe", "wrist"),
}
"""Of robots with arms and of human hands; the first is the robots' default."""

KEYPOINT_MODES: Mapping[str, ModeRule] = {
    **_spelled("keypoints_wristframe", "wrist"),
    **_spelled("keypoints_headframe", "camera"),
}
"""Of human hands; the first is their default. The head is the camera."""

MODE_RULES: Mapping[str, ModeRule] = {**CARTESIAN_MODES, **KEYPOINT_MODES}
JOINTS = "joints"
"""The mode of robots that describe themselves: commanded joints as the episode's attributes name them."""
MODES: tuple[str, ...] = (*MODE_RULES, JOINTS)
