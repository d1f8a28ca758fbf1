"""What an episode's attributes say about its cameras: intrinsics in four spellings, and where the camera stands.

Knows the attributes ``intrinsics`` (a map of 3x4 matrices, or Mecka's NeRF-style keys, perhaps as a JSON string),
``camera_intrinsics`` (Scale), ``calibration`` and ``extrinsics``; and, for episodes that tell none of these, the front
cameras of their vendors. Refuses to know where a camera stands by default: that is the embodiment's.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robotrain.embodiments.arms import FRONT_INTRINSICS
from robotrain.embodiments.sides import Side
from robotrain.episodes.schema import (
    CALIBRATION,
    CAMERA_INTRINSICS,
    EXTRINSICS,
    INTRINSICS,
    camera_of,
    canonical_embodiment,
)
from robotrain.errors import EpisodeError, GeometryError
from robotrain.geometry.cameras import Intrinsics
from robotrain.geometry.poses import invert

__all__ = [
    "Lens",
    "calibrated_cameras",
    "camera_places_from_attributes",
    "camera_pose_from_attributes",
    "intrinsics_from_attributes",
    "lens_from_attributes",
    "vendor_intrinsics",
]

_FRONT = "front"
_FIRST_CAMERA = "front_1"

_VENDOR_INTRINSICS = {
    "scale_": Intrinsics(214.134, 256.968, 324.593, 260.146, 640, 480),
    "mecka_": Intrinsics(752.47073528 / 3, 753.001598 / 3, 320.6083, 184.4153, 640, 360),
}
"""Front cameras by the beginning of the embodiment's stored name; all others of EgoVerse's share one."""
_BODIES = ("human_", "eva_")

_LENS_KEYS = ("k1", "k2", "p1", "p2", "k3", "k4")

# What reading an attribute of another form than expected raises.
_UNREADABLE = (
    GeometryError,
    AttributeError,
    IndexError,
    KeyError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True, slots=True)
class Lens:
    """What the attributes tell of how a camera bends straight lines."""

    model: str
    """PINHOLE, OPENCV or KANNALA_BRANDT; empty where coefficients stand without a model's name."""
    distortion: tuple[float, ...]
    """Coefficients, the first radial one first."""
    is_rectified: bool
    """Whether the stored pictures are said to be straightened already."""


def intrinsics_from_attributes(
    attributes: Mapping[str, Any], camera: str, size: tuple[int, int], episode: str
) -> Intrinsics | None:
    """Return a camera's intrinsics as the attributes tell them, for the picture size they were made for.

    Args:
        attributes: The episode's attributes.
        camera: Name of the camera. What is said without a camera's name counts for front cameras.
        size: Width and height of the stored pictures, pixels: meant where the attributes tell no size.
        episode: The episode's hash, for messages.

    Returns:
        The intrinsics, or None when the attributes tell nothing of this camera.

    Raises:
        EpisodeError: when what is told cannot be read as intrinsics.
    """
    try:
        told = _told_of(attributes, camera)
        return None if told is None else _intrinsics(told, size)
    except _UNREADABLE as problem:
        raise EpisodeError(episode, f"the intrinsics of camera '{camera}' cannot be read: {problem}") from None


def vendor_intrinsics(stored_embodiment: str, camera: str) -> Intrinsics | None:
    """Return the intrinsics of the camera that a vendor uses, for the picture size they were made for.

    Args:
        stored_embodiment: The embodiment as the episode spells it: a vendor's name tells the vendor.
        camera: Name of the camera; only front cameras are known.

    Returns:
        The intrinsics, or None for other cameras, and for robots that are not EgoVerse's.
    """
    name = stored_embodiment.strip().lower()
    if _FRONT not in camera or not canonical_embodiment(name).startswith(_BODIES):
        return None
    return next((known for vendor, known in _VENDOR_INTRINSICS.items() if name.startswith(vendor)), FRONT_INTRINSICS)


def lens_from_attributes(attributes: Mapping[str, Any], camera: str, episode: str) -> Lens | None:
    """Return what the attributes tell of a camera's lens, or None when they tell nothing of it.

    Raises:
        EpisodeError: when what is told cannot be read.
    """
    try:
        told = _told_of(attributes, camera)
        if not isinstance(told, Mapping):
            return None
        stated = told.get("distortion")
        if stated is None:
            stated = [told[key] for key in _LENS_KEYS if key in told]
        distortion = tuple(map(float, stated.values() if isinstance(stated, Mapping) else stated))
        model = str(told.get("model") or "").upper()
        return Lens(model, distortion, told.get("rectified") is True) if model or distortion else None
    except _UNREADABLE as problem:
        raise EpisodeError(episode, f"the lens of camera '{camera}' cannot be read: {problem}") from None


def calibrated_cameras(attributes: Mapping[str, Any], episode: str) -> tuple[str, ...]:
    """Return the cameras that the attribute ``calibration`` names.

    Raises:
        EpisodeError: when it cannot be read.
    """
    try:
        return tuple(_calibration_cameras(attributes))
    except _UNREADABLE as problem:
        raise EpisodeError(episode, f"the attribute '{CALIBRATION}' cannot be read: {problem}") from None


def camera_places_from_attributes(attributes: Mapping[str, Any], episode: str) -> dict[str, np.ndarray]:
    """Return where ``calibration`` puts cameras: by name, reference_from_camera (4, 4) float64, metres.

    A camera that is the reference itself is left out.

    Raises:
        EpisodeError: when it cannot be read.
    """
    try:
        reference = _reference(attributes)
        return {
            name: _transform(entry["ref_T_cam"])
            for name, entry in _calibration_cameras(attributes).items()
            if name != reference and isinstance(entry, Mapping) and entry.get("ref_T_cam") is not None
        }
    except _UNREADABLE as problem:
        raise EpisodeError(episode, f"the places of the cameras cannot be read: {problem}") from None


def camera_pose_from_attributes(attributes: Mapping[str, Any], arm: Side, episode: str) -> np.ndarray | None:
    """Return base_from_camera (4, 4) float64: the front camera's pose in an arm's base, metres, or None when not told.

    Raises:
        EpisodeError: when what is told is no pose.
    """
    try:
        calibration = _decoded(attributes.get(CALIBRATION)) or {}
        base = (_decoded(calibration.get("arm_bases")) or {}).get(arm)
        reference_from_camera = _reference_from_camera(attributes)
        if base is not None and reference_from_camera is not None:
            reference_from_base = _transform(base["ref_T_armbase"] if isinstance(base, Mapping) else base)
            return invert(reference_from_base) @ reference_from_camera
        told = (_decoded(attributes.get(EXTRINSICS)) or {}).get(arm)
        return None if told is None else _transform(told)
    except _UNREADABLE as problem:
        raise EpisodeError(episode, f"the camera's pose for the {arm} arm cannot be read: {problem}") from None


def _decoded(value: Any) -> Any:
    """Return an attribute's value; Mecka stores JSON as a string."""
    return json.loads(value) if isinstance(value, str) and value.strip() else value


def _calibration_cameras(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the calibration tells, by camera; cameras may be named by their arrays."""
    calibration = _decoded(attributes.get(CALIBRATION)) or {}
    return {camera_of(name) or name: entry for name, entry in (_decoded(calibration.get("cameras")) or {}).items()}


def _told_of(attributes: Mapping[str, Any], camera: str) -> Any:
    """Return the first of the attributes' entries that tells of a camera, or None."""
    for attribute in (CALIBRATION, INTRINSICS, CAMERA_INTRINSICS):
        told = _calibration_cameras(attributes) if attribute == CALIBRATION else _decoded(attributes.get(attribute))
        if told and (found := _camera_entry(told, camera)) is not None:
            return found
    return None


def _camera_entry(told: Mapping[str, Any], camera: str) -> Any:
    """Return what is told of a camera: by name, else what is told of the front one or of one without a name."""
    if _flat(told):
        return told if _FRONT in camera else None
    by_name = {camera_of(name) or name: entry for name, entry in told.items()}
    if camera in by_name:
        return by_name[camera]
    fronts = [entry for name, entry in by_name.items() if _FRONT in name]
    return fronts[0] if _FRONT in camera and len(fronts) == 1 else None


def _flat(told: Mapping[str, Any]) -> bool:
    return "fx" in told or "fl_x" in told


def _intrinsics(told: Any, size: tuple[int, int]) -> Intrinsics:
    """Read one camera's intrinsics: NeRF keys, plain keys, a matrix, or a calibration's entry."""
    if not isinstance(told, Mapping):
        return _from_matrix(told, size)
    if "K" in told:
        return _from_matrix(told["K"], told.get("resolution") or size)
    keys = ("fl_x", "fl_y", "cx", "cy", "w", "h") if "fl_x" in told else ("fx", "fy", "cx", "cy", "width", "height")
    fx, fy, cx, cy = (float(told[key]) for key in keys[:4])
    width, height = (int(told.get(key) or stored) for key, stored in zip(keys[4:], size, strict=True))
    return Intrinsics(fx, fy, cx, cy, width, height)


def _from_matrix(told: Sequence[Sequence[float]], size: Sequence[int]) -> Intrinsics:
    matrix = np.asarray(told, dtype=np.float64)
    if matrix.shape not in {(3, 3), (3, 4)} or not np.isfinite(matrix).all():
        raise ValueError(f"expected a finite 3x3 or 3x4 matrix, found shape {matrix.shape}.")
    fx, fy, cx, cy = (float(matrix[row, column]) for row, column in ((0, 0), (1, 1), (0, 2), (1, 2)))
    return Intrinsics(fx, fy, cx, cy, int(size[0]), int(size[1]))


def _reference_from_camera(attributes: Mapping[str, Any]) -> np.ndarray | None:
    cameras, reference = _calibration_cameras(attributes), _reference(attributes)
    fronts = [name for name in cameras if _FRONT in name]
    ordered = [name for name in (reference, _FIRST_CAMERA) if name in cameras] + fronts + list(cameras)
    if not ordered:
        return None
    told = cameras[ordered[0]].get("ref_T_cam")
    if told is None:
        return np.eye(4) if ordered[0] == reference else None
    return _transform(told)


def _reference(attributes: Mapping[str, Any]) -> str:
    """Return the camera whose frame is the calibration's reference; another name where it is no camera's."""
    calibration = _decoded(attributes.get(CALIBRATION)) or {}
    name = str(calibration.get("reference_frame") or "").removeprefix("camera:")
    return camera_of(name) or name


def _transform(told: Any) -> np.ndarray:
    matrix = np.asarray(told, dtype=np.float64)
    if matrix.shape == (3, 4):
        matrix = np.concatenate([matrix, [[0.0, 0.0, 0.0, 1.0]]])
    if matrix.shape != (4, 4) or not np.isfinite(matrix).all() or not _is_rotation(matrix[:3, :3]):
        raise ValueError(f"expected a rigid 4x4 transform, found shape {matrix.shape}.")
    return matrix


def _is_rotation(matrix: np.ndarray) -> bool:
    if np.abs(matrix).max() > 2:  # far from one, and perhaps too large to be multiplied
        return False
    return np.allclose(matrix @ matrix.T, np.eye(3), atol=1e-3) and bool(np.linalg.det(matrix) > 0)
