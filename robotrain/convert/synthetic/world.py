"""The made-up world: a table in front of a camera, blocks on it, and where each hand starts and goes.

Knows places, in the table's frame; refuses to know time, cameras' pixels and files.

Table frame: origin on the table where the nominal camera looks, +x right, +y away from the camera, +z up, metres.
What a hand reaches for can be seen and cannot be known otherwise: the way from start to goal is drawn independently of
the start, equally in all directions, so neither the mean chunk nor the current pose tells it.
"""

from dataclasses import dataclass

import numpy as np

from robotrain.canvas import Color
from robotrain.embodiments.sides import SIDES, Side

CAMERA_TILT = np.deg2rad(48.0)
"""Angle of the nominal view axis below the horizon, in rad; that of the real Eva head is 46 to 50 degrees."""
CAMERA_DISTANCE = 0.62
"""From the camera to the table along the nominal view axis, in metres."""
TABLE_CORNERS = np.array([[-0.80, -0.62, 0.0], [0.80, -0.62, 0.0], [0.80, 0.42, 0.0], [-0.80, 0.42, 0.0]])
"""(4, 3) metres, table frame."""

TARGET_COLORS: dict[Side, Color] = {"left": (205, 48, 42), "right": (52, 84, 200)}
TARGET_NAMES: dict[Side, str] = {"left": "red", "right": "blue"}
DISTRACTOR_COLORS: tuple[Color, ...] = ((96, 158, 78), (226, 186, 70), (214, 206, 190), (92, 90, 98))

_START_CENTRE = {"left": np.array([-0.17, 0.01]), "right": np.array([0.17, 0.01])}
_START_EXTENT = np.array([0.17, 0.14])  # half sizes of the box of starts, metres
_START_HEIGHT = (0.105, 0.140)
_REACH = (0.15, 0.30)  # nearest and farthest goal from the start, metres along the table
_GOAL_LOW, _GOAL_HIGH = np.array([-0.46, -0.25]), np.array([0.46, 0.30])
_CLEARANCE = 0.020  # of the palm above the top of a block at the end, metres
_APART = 0.14  # least distance between blocks, and between hands, metres


@dataclass(frozen=True)
class Prism:
    """An upright solid with a regular footprint: a block has 4 sides, a can 12."""

    centre: np.ndarray
    """(2,) of the footprint, metres, table frame."""
    radius: float
    """From the centre to a corner of the footprint, metres."""
    height: float
    sides: int
    yaw: float
    """Turn about the vertical, rad."""
    color: Color

    @property
    def footprint(self) -> np.ndarray:
        """Corners (sides, 2) of the footprint, counter-clockwise seen from above, metres, table frame."""
        angles = self.yaw + np.arange(self.sides) * (2 * np.pi / self.sides)
        return self.centre + self.radius * np.stack([np.cos(angles), np.sin(angles)], axis=-1)


@dataclass(frozen=True)
class Reach:
    """Where one hand starts and where it goes."""

    side: Side
    start: np.ndarray
    """(3,) palm, metres, table frame."""
    goal: np.ndarray
    """(3,) palm, metres, table frame: just above its block."""


@dataclass(frozen=True)
class Scene:
    """One arrangement of the table."""

    prisms: tuple[Prism, ...]
    """The two targets, left one first, then the distractors."""
    reaches: tuple[Reach, Reach]
    """Of the left hand, of the right hand."""


def camera_from_table(tilt: float = CAMERA_TILT, distance: float = CAMERA_DISTANCE) -> np.ndarray:
    """Return the table's pose in the camera frame, (4, 4), metres."""
    sin, cos = np.sin(tilt), np.cos(tilt)
    pose = np.eye(4)
    pose[:3, 0] = 1.0, 0.0, 0.0
    pose[:3, 1] = 0.0, -sin, cos
    pose[:3, 2] = 0.0, -cos, -sin
    pose[:3, 3] = 0.0, 0.0, distance
    return pose


def draw_scene(rng: np.random.Generator, num_distractors: int) -> Scene:
    """Draw an arrangement: both reaches first, then their blocks, then distractors where there is room."""
    starts, goals = _draw_places(rng)
    targets = [
        _block(rng, goals[side], side=rng.uniform(0.062, 0.070), color=TARGET_COLORS[name])
        for side, name in enumerate(SIDES)
    ]
    reaches = tuple(
        Reach(
            name,
            np.append(starts[side], rng.uniform(*_START_HEIGHT)),
            np.append(goals[side], targets[side].height + _CLEARANCE),
        )
        for side, name in enumerate(SIDES)
    )
    return Scene((*targets, *_draw_distractors(rng, goals, num_distractors)), (reaches[0], reaches[1]))


def _draw_places(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw starts (2, 2) and goals (2, 2) along the table, metres; the left hand stays left of the right one."""
    while True:
        starts = np.stack([_START_CENTRE[side] + rng.uniform(-1, 1, 2) * _START_EXTENT for side in SIDES])
        angles = rng.uniform(0, 2 * np.pi, 2)
        lengths = rng.uniform(*_REACH, 2)
        goals = starts + lengths[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
        visible = bool(np.all(goals > _GOAL_LOW) and np.all(goals < _GOAL_HIGH))
        if visible and all(_side_by_side(places) for places in (starts, goals)):
            return starts, goals


def _side_by_side(places: np.ndarray) -> bool:
    return bool(places[0, 0] + 0.03 < places[1, 0] and np.linalg.norm(places[1] - places[0]) > _APART)


def _block(rng: np.random.Generator, centre: np.ndarray, side: float, color: Color) -> Prism:
    return Prism(centre, side / np.sqrt(2), side, 4, rng.uniform(0, np.pi / 2), color)


def _draw_distractors(rng: np.random.Generator, taken: np.ndarray, num: int) -> list[Prism]:
    prisms: list[Prism] = []
    places = list(taken)
    for color in rng.permutation(np.array(DISTRACTOR_COLORS))[:num].tolist():
        for _ in range(50):  # a crowded table may have no room for one more
            place = rng.uniform(_GOAL_LOW, _GOAL_HIGH)
            if min(float(np.linalg.norm(place - other)) for other in places) > 0.11:
                is_can = bool(rng.random() < 0.4)
                side, height = rng.uniform(0.04, 0.065), rng.uniform(0.02, 0.07)
                yaw = rng.uniform(0, np.pi / 2)
                shade = (color[0], color[1], color[2])
                prisms.append(Prism(place, side / np.sqrt(2), height, 14 if is_can else 4, yaw, shade))
                places.append(place)
                break
    return prisms
