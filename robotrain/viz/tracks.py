"""From action chunks to what the camera sees of them: points in the camera's frame, then pixels.

Knows the frames that fields name; refuses to draw. A field in frame ``camera`` is there already; one in frame
``left_wrist`` or ``right_wrist`` goes through that wrist's pose in the camera's frame, which the state holds.
"""

from dataclasses import dataclass

import numpy as np

from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.embodiments.layout import POINT_KINDS, Kind, Layout
from robotrain.embodiments.spelling import matrix_from_rotation
from robotrain.errors import LayoutError
from robotrain.geometry.cameras import Intrinsics, project
from robotrain.geometry.poses import transform_points

CAMERA_FRAME = "camera"
_WRIST = "_wrist"


@dataclass(frozen=True)
class Track:
    """Where the points of one field go over the horizon, as the camera sees them."""

    name: str
    """The field's."""
    kind: Kind
    limb: str
    points: np.ndarray
    """(H, P, 3) float64, metres, camera frame; NaN where unknown."""
    pixels: np.ndarray
    """(H, P, 2) float64; NaN where the point is behind the camera or unknown."""
    visible: np.ndarray
    """(H, P) bool: in front of the camera, inside the image and of a real step."""


def compute_tracks(
    interface: PolicyInterface,
    chunk: np.ndarray,
    state: np.ndarray,
    intrinsics: Intrinsics,
    *,
    mask: np.ndarray | None = None,
    state_mask: np.ndarray | None = None,
) -> tuple[Track, ...]:
    """Return a track for each field of points in an action chunk.

    Args:
        interface: its action layout gives the fields and their frames, its state layout the wrist poses.
        chunk: (H, D), in the layout's units and frames, unnormalised.
        state: (S,) of the same frame, unnormalised.
        intrinsics: of the camera, for the size at which is drawn.
        mask: (H,) bool, False for steps that are not to be seen; all are where None.
        state_mask: (S,) bool, False where the state is unknown; points relative to an unknown wrist are not seen.

    Raises:
        LayoutError: when a field stands in a frame that neither is the camera's nor that of a wrist in the state.
    """
    found: list[Track] = []
    for name, points in camera_points(interface, chunk, state, state_mask=state_mask).items():
        field = interface.actions.field(name)
        pixels, visible = project(points, intrinsics)
        seen = visible if mask is None else visible & mask[:, None]
        found.append(Track(name, field.kind, field.limb, points, pixels, seen))
    return tuple(found)


def camera_points(
    interface: PolicyInterface, chunk: np.ndarray, state: np.ndarray, *, state_mask: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """Return the points of an action chunk by field name, each (H, P, 3) float64, metres, camera frame.

    Takes and raises what `compute_tracks` does. Points relative to an unknown wrist are NaN.
    """
    found: dict[str, np.ndarray] = {}
    for name, points in interface.actions.points(chunk).items():
        frame = interface.actions.field(name).frame
        if frame == CAMERA_FRAME:
            found[name] = points.astype(np.float64)
            continue
        camera_from_wrist = _camera_from_wrist(name, frame, interface.state, state, state_mask)
        found[name] = transform_points(camera_from_wrist, points)
    return found


def draws_points(layout: Layout) -> bool:
    """Return whether a layout holds points that a camera could see."""
    return bool(layout.of_kind(*POINT_KINDS))


def _camera_from_wrist(
    name: str, frame: str, layout: Layout, state: np.ndarray, state_mask: np.ndarray | None
) -> np.ndarray:
    """Return the wrist's pose in the camera's frame (4, 4), all NaN where the state does not know it."""
    limb = frame.removesuffix(_WRIST)
    fields = {f.kind: f for f in layout.fields if f.limb == limb and f.frame == CAMERA_FRAME and f.kind != "keypoints"}
    rotation = fields.get("rot6d") or fields.get("ypr")
    place = fields.get("xyz")
    if not frame.endswith(_WRIST) or rotation is None or place is None:
        raise LayoutError(
            f"Field '{name}' stands in frame '{frame}', and the state has no pose of it in the camera's frame: "
            f"{', '.join(f'{field.name} ({field.frame})' for field in layout.fields)}."
        )
    camera_from_wrist = np.full((4, 4), np.nan)
    columns = layout.slices
    known = state_mask is None or bool(state_mask[columns[rotation.name]].all() & state_mask[columns[place.name]].all())
    if known:
        camera_from_wrist = np.eye(4)
        camera_from_wrist[:3, :3] = matrix_from_rotation(rotation.kind, state[columns[rotation.name]])
        camera_from_wrist[:3, 3] = state[columns[place.name]]
    return camera_from_wrist
