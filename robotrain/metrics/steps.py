"""How far one predicted step lies from the true one, for each kind of field.

Knows numbers, units and rotations; refuses to know horizons, masks and samples. Every function takes M steps of one
field and returns M rows of errors, one column for each thing compared (a point, a rotation, a number).
"""

import numpy as np

from robotrain.embodiments.layout import Field
from robotrain.embodiments.spelling import matrix_from_rotation
from robotrain.geometry.rotations import geodesic_angle


def point_errors(predicted: np.ndarray, truth: np.ndarray, field: Field) -> np.ndarray:
    """Return the distance between each predicted point and the true one.

    Args:
        predicted: (M, 3 P), in the field's unit and frame.
        truth: (M, 3 P), likewise.
        field: of kind ``xyz`` or ``keypoints``.

    Returns:
        (M, P) float64, in the field's unit. A rigid motion of both leaves it as it is.
    """
    num_points = field.width // 3
    difference = (predicted.astype(np.float64) - truth).reshape(-1, num_points, 3)
    return np.linalg.norm(difference, axis=-1)


def rotation_errors(predicted: np.ndarray, truth: np.ndarray, field: Field) -> np.ndarray:
    """Return the angle of the rotation that leads from the true orientation to the predicted one.

    Args:
        predicted: (M, 6) or (M, 3), of any scale where it is ``rot6d``: it is orthonormalised first.
        truth: likewise.
        field: of kind ``rot6d`` or ``ypr``.

    Returns:
        (M, 1) float64, in degrees, in [0, 180]. A common rotation of both leaves it as it is.
    """
    angle = geodesic_angle(matrix_from_rotation(field.kind, predicted), matrix_from_rotation(field.kind, truth))
    return np.rad2deg(angle)[:, None]


def absolute_errors(predicted: np.ndarray, truth: np.ndarray, field: Field) -> np.ndarray:  # noqa: ARG001
    """Return the absolute difference of each column (M, width) float64, in the field's unit."""
    return np.abs(predicted.astype(np.float64) - truth)


def squared_errors(predicted: np.ndarray, truth: np.ndarray, field: Field) -> np.ndarray:
    """Return the squared difference of each column (M, width) float64, in the field's unit squared.

    Angles differ by the shorter way round: of ypr, pi - 0.1 and 0.1 - pi differ by 0.2.
    """
    difference = predicted.astype(np.float64) - truth
    if field.kind == "ypr":
        difference = np.mod(difference + np.pi, 2 * np.pi) - np.pi
    return np.square(difference)
