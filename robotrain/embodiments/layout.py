"""What each column of an action or a state means.

A layout is the only thing that gives a number its meaning: nothing in robotrain guesses from a width.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from robotrain.errors import LayoutError, UnknownNameError

Kind = Literal["xyz", "rot6d", "ypr", "gripper", "keypoints", "joint"]
POINT_KINDS: tuple[Kind, ...] = ("xyz", "keypoints")
"""Kinds whose columns are points in space, three columns a point."""
ROTATION_KINDS: tuple[Kind, ...] = ("rot6d", "ypr")
"""Kinds that spell a rotation: they are compared, averaged and composed as rotations (`embodiments/spelling.py`)."""
BOUNDED_KINDS: tuple[Kind, ...] = ROTATION_KINDS
"""Kinds that are bounded by construction and are never normalised (TRI LBM and UMI do the same for rot6d). Angles are
not either: quantiles of an angle that crosses pi say nothing, since its two ends are neighbours."""


@dataclass(frozen=True, slots=True)
class Field:
    """A run of columns with one meaning."""

    name: str
    """Unique in its layout; what stands before the first dot groups fields of one limb: ``left.xyz``."""
    kind: Kind
    width: int
    """Number of columns."""
    frame: str
    """Frame of points and rotations: ``camera``; ``left_wrist`` and ``right_wrist``, that side's pose at the current
    frame (a wrist's, a palm's or a tool's, whichever the mode tells); empty where none applies."""
    unit: str
    """``m``, ``rad``, ``1`` for a ratio; empty where the source does not say."""

    def __post_init__(self) -> None:
        """Refuse an unknown kind and a width that the kind does not allow."""
        if self.kind not in get_args(Kind):
            raise UnknownNameError("field kind", self.kind, get_args(Kind), where=f"field '{self.name}'")
        fixed = {"xyz": 3, "rot6d": 6, "ypr": 3}.get(self.kind)
        wrong_points = self.kind == "keypoints" and self.width % 3 != 0
        if self.width < 1 or (fixed is not None and self.width != fixed) or wrong_points:
            raise LayoutError(f"Field '{self.name}': a {self.kind} field cannot be {self.width} columns wide.")

    @property
    def limb(self) -> str:
        """The part of the name before the first dot: the arm, hand or group that the field belongs to."""
        return self.name.split(".", 1)[0]


@dataclass(frozen=True)
class Layout:
    """An ordered set of fields: the meaning of the D columns of an array (..., D)."""

    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        """Refuse two fields of one name."""
        names = self.names
        if twice := {name for name in names if names.count(name) > 1}:
            raise LayoutError(f"A layout names these fields twice: {', '.join(sorted(twice))}.")

    @property
    def names(self) -> tuple[str, ...]:
        """Field names, in column order."""
        return tuple(field.name for field in self.fields)

    @cached_property
    def width(self) -> int:
        """Number of columns, D."""
        return sum(field.width for field in self.fields)

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Columns of each field, by name."""
        ends = np.cumsum([field.width for field in self.fields]).tolist()
        return {f.name: slice(end - f.width, end) for f, end in zip(self.fields, ends, strict=True)}

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """A name for each column: the field's, numbered where the field is wider than one."""
        return tuple(
            field.name if field.width == 1 else f"{field.name}[{i}]"
            for field in self.fields
            for i in range(field.width)
        )

    def field(self, name: str) -> Field:
        """Return the field of that name.

        Raises:
            UnknownNameError: when there is none.
        """
        for field in self.fields:
            if field.name == name:
                return field
        raise UnknownNameError("field", name, self.names)

    def of_kind(self, *kinds: Kind) -> tuple[Field, ...]:
        """Return the fields of these kinds, in column order."""
        return tuple(field for field in self.fields if field.kind in kinds)

    def columns_of_kind(self, *kinds: Kind) -> np.ndarray:
        """Return a mask (D,) bool of the columns of these kinds."""
        return np.concatenate([np.full(field.width, field.kind in kinds) for field in self.fields])

    def split(self, values: np.ndarray) -> dict[str, np.ndarray]:
        """Return views of an array (..., D) by field name, each (..., width).

        Raises:
            LayoutError: when the array is not D wide.
        """
        if values.shape[-1] != self.width:
            raise LayoutError(f"A layout of {self.width} columns cannot split an array of shape {values.shape}.")
        return {name: values[..., columns] for name, columns in self.slices.items()}

    def join(self, parts: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the array (..., D) of the named parts: the inverse of `split`."""
        return np.concatenate([parts[name] for name in self.names], axis=-1)

    def points(self, values: np.ndarray) -> dict[str, np.ndarray]:
        """Return an array's (..., D) points by field name: each (..., P, 3), in the field's own frame and unit."""
        parts = self.split(values)
        return {f.name: parts[f.name].reshape(*values.shape[:-1], -1, 3) for f in self.of_kind(*POINT_KINDS)}

    def to_plain(self) -> list[dict[str, Any]]:
        """Return plain data for JSON and checkpoints."""
        return [asdict(field) for field in self.fields]

    @classmethod
    def from_plain(cls, plain: Sequence[Mapping[str, Any]]) -> "Layout":
        """Build a layout from `to_plain`'s data.

        Raises:
            LayoutError: when a key is missing or unknown.
        """
        for field in plain:
            words = (field.get("name"), field.get("kind"), field.get("frame"), field.get("unit"))
            if not all(isinstance(word, str) for word in words) or type(field.get("width")) is not int:
                raise LayoutError(f"These are not the fields of a layout: {dict(field)}.")
        try:
            return cls(tuple(Field(**field) for field in plain))
        except TypeError as problem:
            raise LayoutError(f"These are not the fields of a layout: {problem}.") from None
