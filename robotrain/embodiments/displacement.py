"""Chunks as displacements from the current pose: what the baselines are made of.

Knows what "stay where you are" looks like in each frame, and how far a chunk leads away from it: positions, keypoints,
grippers and joints by difference, rotations as the relative rotation. Refuses to know where the numbers come from.
"""

import numpy as np

from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.embodiments.layout import ROTATION_KINDS, Field, Layout
from robotrain.embodiments.spelling import IDENTITY, matrix_from_rotation, rotation_from_matrix
from robotrain.errors import LayoutError


def has_poses(layout: Layout) -> bool:
    """Tell whether a layout holds positions or rotations, so that a displacement in space means something."""
    return bool(layout.of_kind("xyz", *ROTATION_KINDS, "keypoints"))


def hold_sources(interface: PolicyInterface) -> dict[str, str | None]:
    """Return, for each field of the actions, the state field whose numbers say "stay"; None at the origin of a frame.

    A pose in the frame of its own wrist stays at zero and identity whatever the state is.

    Raises:
        LayoutError: when the state does not tell where a field of the actions stands now.
    """
    return {field.name: _hold_source(field, interface.state) for field in interface.actions.fields}


def _hold_source(field: Field, state: Layout) -> str | None:
    if field.kind in {"xyz", *ROTATION_KINDS} and field.frame == f"{field.limb}_wrist":
        return None
    for candidate in state.fields:
        same = (candidate.name, candidate.kind, candidate.width) == (field.name, field.kind, field.width)
        if same and candidate.frame == field.frame:
            return candidate.name
    raise LayoutError(f"The state has no field '{field.name}' in frame '{field.frame}': holding it is not defined.")


def hold_chunk(interface: PolicyInterface, state: np.ndarray) -> np.ndarray:
    """Return the chunks that stay at the current pose.

    Args:
        interface: gives both layouts and H.
        state: (N, S), raw units. A rotation of a missing hand (all zeros) counts as the identity.

    Returns:
        (N, H, D) float64, in the action layout's frames and units.

    Raises:
        LayoutError: when the state does not tell where a field of the actions stands now.
    """
    current = interface.state.split(np.asarray(state, np.float64))
    parts: dict[str, np.ndarray] = {}
    for field in interface.actions.fields:
        source = _hold_source(field, interface.state)
        origin = np.array(IDENTITY.get(field.kind, np.zeros(field.width)))
        value = np.broadcast_to(origin, (len(state), field.width)) if source is None else current[source]
        if field.kind in ROTATION_KINDS:
            value = np.where(np.any(value != 0, axis=-1, keepdims=True), value, origin)
        parts[field.name] = value
    held = interface.actions.join(parts)
    return np.repeat(held[:, None], interface.horizon, axis=1)


def displacement_from_chunk(interface: PolicyInterface, chunk: np.ndarray, state: np.ndarray) -> np.ndarray:
    """Return how far chunks lead away from the current pose: the inverse of `chunk_from_displacement`.

    Args:
        interface: gives both layouts and H.
        chunk: (N, H, D), raw units.
        state: (N, S), raw units.

    Returns:
        (N, H, D) float64: differences; rotations as R_hold^T R, spelled as their field is.
    """
    held, chunk = hold_chunk(interface, state), np.asarray(chunk, np.float64)
    moved = chunk - held
    for f in interface.actions.of_kind(*ROTATION_KINDS):
        columns = interface.actions.slices[f.name]
        hold_from_base = np.swapaxes(matrix_from_rotation(f.kind, held[:, :1, columns]), -1, -2)
        turned = hold_from_base @ matrix_from_rotation(f.kind, chunk[..., columns])
        moved[..., columns] = rotation_from_matrix(f.kind, turned)
    return moved


def chunk_from_displacement(interface: PolicyInterface, displacement: np.ndarray, state: np.ndarray) -> np.ndarray:
    """Return the chunks that a displacement makes of the current pose.

    Args:
        interface: gives both layouts and H.
        displacement: (H, D) or (N, H, D), as `displacement_from_chunk` gives it.
        state: (N, S), raw units.

    Returns:
        (N, H, D) float64, in the action layout's frames and units.
    """
    held, displacement = hold_chunk(interface, state), np.asarray(displacement, np.float64)
    chunk = held + displacement
    for f in interface.actions.of_kind(*ROTATION_KINDS):
        columns = interface.actions.slices[f.name]
        base_from_hold = matrix_from_rotation(f.kind, held[:, :1, columns])
        turned = base_from_hold @ matrix_from_rotation(f.kind, displacement[..., columns])
        chunk[..., columns] = rotation_from_matrix(f.kind, turned)
    return chunk
