"""Robots described by data: an embodiment built from the fields that an episode's attributes name.

Knows how joint fields become layouts; refuses to know any particular robot.
"""

from collections.abc import Mapping
from typing import Any

from robotrain.embodiments.arms import FRONT_CAMERA, SECONDS
from robotrain.embodiments.embodiment import Embodiment, ModeLayouts
from robotrain.embodiments.layout import Layout
from robotrain.embodiments.modes import JOINTS
from robotrain.errors import LayoutError

FIELDS_ATTRIBUTE = "fields"
"""Group attribute of an episode: by joint array, the fields of its columns (`Layout.to_plain`)."""
STATE_ARRAY = "obs_joints"
ACTION_ARRAY = "cmd_joints"
FEATURES_ATTRIBUTE = "features"
"""Group attribute of an episode: what it stores, by array."""
IMAGE_PREFIX = "images."
"""Of the arrays of pictures; the camera's name follows."""


def build_joint_robot(name: str, attributes: Mapping[str, Any]) -> Embodiment:
    """Build the embodiment of a robot that describes itself.

    Args:
        name: the embodiment's name.
        attributes: the episode's group attributes. ``fields`` gives the layouts of both joint arrays; the image
            features give the cameras, front cameras first, then by name: the first one is drawn on.

    Raises:
        LayoutError: when the fields of one of the two joint arrays are missing or are no layout.
    """
    described = attributes.get(FIELDS_ATTRIBUTE)
    layouts = {array: _layout(name, described, array) for array in (STATE_ARRAY, ACTION_ARRAY)}
    mode = ModeLayouts(actions=layouts[ACTION_ARRAY], state=layouts[STATE_ARRAY], seconds=SECONDS)
    return Embodiment(name=name, cameras=_cameras(attributes), modes={JOINTS: mode})


def _layout(name: str, described: Any, array: str) -> Layout:
    fields = described.get(array) if isinstance(described, Mapping) else None
    if not isinstance(fields, list | tuple) or not all(isinstance(field, Mapping) for field in fields) or not fields:
        raise LayoutError(
            f"Embodiment '{name}': attribute '{FIELDS_ATTRIBUTE}' must list the fields of '{array}' "
            "(name, kind, width, frame, unit)."
        )
    return Layout.from_plain(fields)


def _cameras(attributes: Mapping[str, Any]) -> tuple[str, ...]:
    features = attributes.get(FEATURES_ATTRIBUTE)
    names = features if isinstance(features, Mapping) else ()
    cameras = (name.removeprefix(IMAGE_PREFIX) for name in names if name.startswith(IMAGE_PREFIX))
    return tuple(sorted(cameras, key=lambda camera: (camera != FRONT_CAMERA, "front" not in camera, camera)))
