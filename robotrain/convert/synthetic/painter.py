"""Pictures of the made-up world, drawn from the points that are stored.

Knows a scene, a camera and strokes of hands; refuses to know embodiments, time and files. Hands are drawn over
everything else, and each palm is a disc of a colour that nothing else has, so that it can be found again in the
picture: its centre is the projection of the palm, between pixels.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robotrain.canvas import draw_disc, draw_line, draw_polygon
from robotrain.convert.synthetic.world import TABLE_CORNERS, Color, Prism, Side
from robotrain.geometry.cameras import Intrinsics, project
from robotrain.geometry.poses import invert, transform_points

LEFT_HAND_COLOR: Color = (0, 235, 235)
RIGHT_HAND_COLOR: Color = (255, 0, 210)
HAND_COLORS: dict[Side, Color] = {"left": LEFT_HAND_COLOR, "right": RIGHT_HAND_COLOR}
PALM_RADIUS = 0.019
"""Of the disc on a palm, metres."""
BLANK_COLOR: Color = (127, 127, 127)
"""Every pixel of a picture that shows nothing."""

_FLOOR_FAR, _FLOOR_NEAR = np.array([150.0, 158.0, 170.0]), np.array([78.0, 84.0, 96.0])
_TABLE, _TABLE_RIM, _TABLE_GRAIN, _SHADOW = (198, 180, 158), (138, 116, 94), (189, 170, 147), (158, 140, 120)
_RIM = 0.022  # metres
_GRAIN = np.arange(-0.5, 0.4, 0.115)  # metres from the table's middle, lines between planks
_LIGHT = np.array([-0.45, -0.35, 0.82])  # towards the light, table frame
_NEAR = 0.05  # nothing nearer than this is drawn, metres along the view axis


@dataclass(frozen=True)
class Stroke:
    """A round bar between two points."""

    ends: np.ndarray
    """(2, 3) metres, table frame."""
    width: float
    """Metres."""
    color: Color


@dataclass(frozen=True)
class DrawnHand:
    """One hand as it is drawn."""

    side: Side
    palm: np.ndarray
    """(3,) metres, table frame."""
    strokes: tuple[Stroke, ...]
    """In the order of drawing."""


class Painter:
    """Draws one scene through one pinhole camera."""

    def __init__(self, prisms: Sequence[Prism], intrinsics: Intrinsics) -> None:
        self._prisms = tuple(prisms)
        self._intrinsics = intrinsics
        share = np.linspace(0.0, 1.0, intrinsics.height)[:, None, None]
        rows = _FLOOR_FAR + share * (_FLOOR_NEAR - _FLOOR_FAR)
        self._floor = np.broadcast_to(rows.round().astype(np.uint8), (intrinsics.height, intrinsics.width, 3))

    def draw(self, camera_from_table: np.ndarray, hands: Sequence[DrawnHand]) -> np.ndarray:
        """Return the picture (h, w, 3) uint8 RGB seen from a camera whose pose is given by (4, 4), metres."""
        image = self._floor.copy()
        self._draw_table(image, camera_from_table)
        for hand in hands:
            self._fill(image, camera_from_table, _ring(hand.palm[:2], 0.035), _SHADOW)
        eye = invert(camera_from_table)[:3, 3]
        ordered = sorted(self._prisms, key=lambda prism: -float(np.linalg.norm(prism.centre - eye[:2])))
        for prism in ordered:
            self._draw_shadow(image, camera_from_table, prism)
        for prism in ordered:
            self._draw_prism(image, camera_from_table, prism, eye)
        for hand in hands:
            for stroke in hand.strokes:
                self._draw_stroke(image, camera_from_table, stroke)
        for hand in hands:
            self._draw_palm(image, camera_from_table, hand)
        return image

    def blank(self) -> np.ndarray:
        """Return a picture (h, w, 3) uint8 of the same size that shows nothing."""
        shape = (self._intrinsics.height, self._intrinsics.width, 3)
        return np.full(shape, BLANK_COLOR, dtype=np.uint8)

    def _pixels(self, pose: np.ndarray, points: np.ndarray) -> np.ndarray:
        return project(transform_points(pose, points), self._intrinsics)[0]

    def _fill(self, image: np.ndarray, pose: np.ndarray, corners: np.ndarray, color: Color) -> None:
        draw_polygon(image, self._pixels(pose, corners), color)

    def _draw_table(self, image: np.ndarray, pose: np.ndarray) -> None:
        self._fill(image, pose, TABLE_CORNERS, _TABLE_RIM)
        inner = TABLE_CORNERS - _RIM * np.sign(TABLE_CORNERS)
        self._fill(image, pose, inner, _TABLE)
        ends = np.array([[[inner[0, 0], y, 0.0], [inner[1, 0], y, 0.0]] for y in _GRAIN])
        for start, end in self._pixels(pose, ends.reshape(-1, 3)).reshape(-1, 2, 2):
            draw_line(image, start, end, _TABLE_GRAIN)

    def _draw_shadow(self, image: np.ndarray, pose: np.ndarray, prism: Prism) -> None:
        """Darken where the prism stands between table and light: its footprint, swept away from the light."""
        reach = -_LIGHT[:2] / _LIGHT[2] * prism.height
        near = _on_table(prism.footprint)
        far = _on_table(prism.footprint + reach)
        for i in range(prism.sides):
            j = (i + 1) % prism.sides
            self._fill(image, pose, np.stack([near[i], near[j], far[j], far[i]]), _SHADOW)
        self._fill(image, pose, far, _SHADOW)

    def _draw_prism(self, image: np.ndarray, pose: np.ndarray, prism: Prism, eye: np.ndarray) -> None:
        low = _on_table(prism.footprint)
        high = low + np.array([0.0, 0.0, prism.height])
        for i in range(prism.sides):
            j = (i + 1) % prism.sides
            edge = low[j] - low[i]
            normal = np.array([edge[1], -edge[0], 0.0]) / np.linalg.norm(edge)
            if normal @ (eye - low[i]) > 0:
                self._fill(image, pose, np.stack([low[i], low[j], high[j], high[i]]), _lit(prism.color, normal))
        self._fill(image, pose, high, _lit(prism.color, np.array([0.0, 0.0, 1.0])))

    def _draw_stroke(self, image: np.ndarray, pose: np.ndarray, stroke: Stroke) -> None:
        ends = transform_points(pose, stroke.ends)
        if ends[:, 2].max() <= _NEAR:
            return
        behind = ends[:, 2] < _NEAR
        if behind.any():
            start, end = (ends[1], ends[0]) if behind[1] else (ends[0], ends[1])
            cut = start + (_NEAR - start[2]) / (end[2] - start[2]) * (end - start)
            ends = np.stack([cut, end])
        size = stroke.width * self._intrinsics.fx / float(ends[:, 2].mean())
        pixels = project(ends, self._intrinsics)[0]
        draw_line(image, pixels[0], pixels[1], stroke.color, max(1, round(size)))

    def _draw_palm(self, image: np.ndarray, pose: np.ndarray, hand: DrawnHand) -> None:
        palm = transform_points(pose, hand.palm[None])[0]
        centre = project(palm, self._intrinsics)[0]
        radius = max(1.6, PALM_RADIUS * self._intrinsics.fx / float(palm[2]))
        draw_disc(image, centre, 1.25 * radius, (24, 26, 30))
        draw_disc(image, centre, radius, HAND_COLORS[hand.side])


def _on_table(corners: np.ndarray) -> np.ndarray:
    return np.concatenate([corners, np.zeros((len(corners), 1))], axis=1)


def _ring(centre: np.ndarray, radius: float) -> np.ndarray:
    angles = np.linspace(0.0, 2 * np.pi, 12, endpoint=False)
    return _on_table(centre + radius * np.stack([np.cos(angles), np.sin(angles)], axis=-1))


def _lit(color: Color, normal: np.ndarray) -> Color:
    """Return a colour under the light, on a surface with a unit normal (3,), table frame."""
    share = 0.52 + 0.56 * max(0.0, float(normal @ _LIGHT) / float(np.linalg.norm(_LIGHT)))
    red, green, blue = (min(255, round(channel * share)) for channel in color)
    return red, green, blue
