"""Pictures of the made-up world, drawn from the points that are stored.

Knows a scene, a camera and strokes of hands; refuses to know embodiments, time and files. Hands are drawn over
everything else, and each palm is a disc of a colour that nothing else has, so that it can be found again in the
picture: its centre is the projection of the palm, between pixels.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robotrain.canvas import Color, draw_disc, draw_line, draw_polygon
from robotrain.convert.synthetic.world import TABLE_CORNERS, Prism
from robotrain.embodiments.sides import Side
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
_NEAR = 0.05  # no bar nearer than this is drawn, metres along the view axis


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


@dataclass(frozen=True)
class _Face:
    """A flat polygon that never moves."""

    corners: np.ndarray
    """(N, 3) metres, table frame."""
    color: Color
    normal: np.ndarray | None = None
    """(3,) of a face that is seen from one side only."""


class Painter:
    """Draws one scene through one pinhole camera."""

    def __init__(self, prisms: Sequence[Prism], intrinsics: Intrinsics) -> None:
        self._intrinsics = intrinsics
        share = np.linspace(0.0, 1.0, intrinsics.height)[:, None, None]
        rows = _FLOOR_FAR + share * (_FLOOR_NEAR - _FLOOR_FAR)
        self._floor = np.broadcast_to(rows.round().astype(np.uint8), (intrinsics.height, intrinsics.width, 3))
        inner = TABLE_CORNERS - _RIM * np.sign(TABLE_CORNERS)
        self._table = _Faces([_Face(TABLE_CORNERS, _TABLE_RIM), _Face(inner, _TABLE)])
        self._grain = np.array([[[inner[0, 0], y, 0.0], [inner[1, 0], y, 0.0]] for y in _GRAIN])
        self._shadows = _Faces([face for prism in prisms for face in _shadow_faces(prism)])
        self._solids = [(prism.centre, _Faces(_prism_faces(prism))) for prism in prisms]

    def draw(self, camera_from_table: np.ndarray, hands: Sequence[DrawnHand]) -> np.ndarray:
        """Return the picture (h, w, 3) uint8 RGB seen from a camera whose pose is given by (4, 4), metres."""
        image = self._floor.copy()
        self._fill(image, camera_from_table, self._table)
        for start, end in self._pixels(camera_from_table, self._grain):
            draw_line(image, start, end, _TABLE_GRAIN)
        self._fill(image, camera_from_table, _Faces([_Face(_ring(hand.palm[:2]), _SHADOW) for hand in hands]))
        self._fill(image, camera_from_table, self._shadows)
        eye = invert(camera_from_table)[:3, 3]
        for _, faces in sorted(self._solids, key=lambda solid: -float(np.linalg.norm(solid[0] - eye[:2]))):
            self._fill(image, camera_from_table, faces, eye)
        for hand in hands:
            self._draw_strokes(image, camera_from_table, hand.strokes)
        for hand in hands:
            self._draw_palm(image, camera_from_table, hand)
        return image

    def blank(self) -> np.ndarray:
        """Return a picture (h, w, 3) uint8 of the same size that shows nothing."""
        shape = (self._intrinsics.height, self._intrinsics.width, 3)
        return np.full(shape, BLANK_COLOR, dtype=np.uint8)

    def _pixels(self, pose: np.ndarray, points: np.ndarray) -> np.ndarray:
        return project(transform_points(pose, points), self._intrinsics)[0]

    def _fill(self, image: np.ndarray, pose: np.ndarray, faces: "_Faces", eye: np.ndarray | None = None) -> None:
        if not len(faces.points):
            return
        pixels = self._pixels(pose, faces.points)
        for face, columns in zip(faces.faces, faces.slices, strict=True):
            if eye is None or face.normal is None or face.normal @ (eye - face.corners[0]) > 0:
                draw_polygon(image, pixels[columns], face.color)

    def _draw_strokes(self, image: np.ndarray, pose: np.ndarray, strokes: Sequence[Stroke]) -> None:
        all_ends = transform_points(pose, np.stack([stroke.ends for stroke in strokes]))
        for ends in all_ends:
            _cut_near(ends)
        pixels = project(all_ends, self._intrinsics)[0]
        sizes = self._intrinsics.fx / all_ends[:, :, 2].mean(axis=1)
        for stroke, (start, end), size in zip(strokes, pixels, sizes.tolist(), strict=True):
            draw_line(image, start, end, stroke.color, max(1, round(stroke.width * size)) if np.isfinite(size) else 1)

    def _draw_palm(self, image: np.ndarray, pose: np.ndarray, hand: DrawnHand) -> None:
        palm = transform_points(pose, hand.palm[None])[0]
        centre = project(palm, self._intrinsics)[0]
        radius = max(1.6, PALM_RADIUS * self._intrinsics.fx / float(palm[2]))
        draw_disc(image, centre, 1.25 * radius, (24, 26, 30))
        draw_disc(image, centre, radius, HAND_COLORS[hand.side])


class _Faces:
    """Faces whose corners are projected together."""

    def __init__(self, faces: Sequence[_Face]) -> None:
        self.faces = tuple(faces)
        ends = np.cumsum([len(face.corners) for face in faces], dtype=int).tolist()
        self.slices = [slice(end - len(face.corners), end) for face, end in zip(faces, ends, strict=True)]
        self.points = np.concatenate([face.corners for face in faces]) if faces else np.zeros((0, 3))


def _shadow_faces(prism: Prism) -> list[_Face]:
    """Return where the prism stands between table and light: its footprint, swept away from the light."""
    near = _on_table(prism.footprint)
    far = _on_table(prism.footprint - _LIGHT[:2] / _LIGHT[2] * prism.height)
    sides = [_Face(np.stack([near[i - 1], near[i], far[i], far[i - 1]]), _SHADOW) for i in range(prism.sides)]
    return [*sides, _Face(far, _SHADOW)]


def _prism_faces(prism: Prism) -> list[_Face]:
    """Return the sides, then the top, each lit."""
    low = _on_table(prism.footprint)
    high = low + np.array([0.0, 0.0, prism.height])
    faces: list[_Face] = []
    for i in range(prism.sides):
        edge = low[i] - low[i - 1]
        normal = np.array([edge[1], -edge[0], 0.0]) / np.linalg.norm(edge)
        corners = np.stack([low[i - 1], low[i], high[i], high[i - 1]])
        faces.append(_Face(corners, _lit(prism.color, normal), normal))
    up = np.array([0.0, 0.0, 1.0])
    return [*faces, _Face(high, _lit(prism.color, up), up)]


def _cut_near(ends: np.ndarray) -> None:
    """Shorten a bar (2, 3), camera frame, in place, to what lies ahead of the camera; one wholly behind becomes nan."""
    behind = ends[:, 2] < _NEAR
    if behind.all():
        ends[:] = np.nan
    elif behind.any():
        start, end = (0, 1) if behind[0] else (1, 0)
        ends[start] += (_NEAR - ends[start, 2]) / (ends[end, 2] - ends[start, 2]) * (ends[end] - ends[start])


def _on_table(corners: np.ndarray) -> np.ndarray:
    return np.concatenate([corners, np.zeros((len(corners), 1))], axis=1)


def _ring(centre: np.ndarray) -> np.ndarray:
    """Return a hand's shadow (12, 3) on the table, metres."""
    angles = np.linspace(0.0, 2 * np.pi, 12, endpoint=False)
    return _on_table(centre + 0.035 * np.stack([np.cos(angles), np.sin(angles)], axis=-1))


def _lit(color: Color, normal: np.ndarray) -> Color:
    """Return a colour under the light, on a surface with a unit normal (3,), table frame."""
    share = 0.52 + 0.56 * max(0.0, float(normal @ _LIGHT) / float(np.linalg.norm(_LIGHT)))
    red, green, blue = (min(255, round(channel * share)) for channel in color)
    return red, green, blue
