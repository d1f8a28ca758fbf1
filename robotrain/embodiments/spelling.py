"""Rotations as the fields of a layout spell them: six columns of a matrix, or three angles.

Knows how each spelling becomes a rotation and back, so that nobody adds, averages or compares the numbers of one: two
angles on either side of pi are neighbours, and their mean is not. Refuses to know frames.
"""

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

from robotrain.embodiments.layout import Kind
from robotrain.errors import UnknownNameError
from robotrain.geometry.rotations import matrix_from_rot6d, matrix_from_ypr, rot6d_from_matrix, ypr_from_matrix

RotationKind = Literal["rot6d", "ypr"]
IDENTITY: Mapping[Kind, tuple[float, ...]] = {"rot6d": (1.0, 0.0, 0.0, 0.0, 1.0, 0.0), "ypr": (0.0, 0.0, 0.0)}
"""By kind: the numbers of the rotation that turns nothing."""

_TO_MATRIX: Mapping[Kind, Callable[[np.ndarray], np.ndarray]] = {"rot6d": matrix_from_rot6d, "ypr": matrix_from_ypr}
_FROM_MATRIX: Mapping[Kind, Callable[[np.ndarray], np.ndarray]] = {"rot6d": rot6d_from_matrix, "ypr": ypr_from_matrix}


def matrix_from_rotation(kind: Kind, values: np.ndarray) -> np.ndarray:
    """Return rotation matrices (..., 3, 3) float64 of a rotation field's values (..., 6) or (..., 3).

    Raises:
        UnknownNameError: when the kind is no rotation's.
    """
    return _of(_TO_MATRIX, kind)(np.asarray(values, np.float64))


def rotation_from_matrix(kind: Kind, matrix: np.ndarray) -> np.ndarray:
    """Return the values of a rotation field, (..., 6) or (..., 3) rad in [-pi, pi], of matrices (..., 3, 3).

    Raises:
        UnknownNameError: when the kind is no rotation's.
    """
    return _of(_FROM_MATRIX, kind)(matrix)


def _of(functions: Mapping[Kind, Callable[[np.ndarray], np.ndarray]], kind: Kind) -> Callable[[np.ndarray], np.ndarray]:
    if kind not in functions:
        raise UnknownNameError("rotation kind", kind, tuple(functions))
    return functions[kind]
