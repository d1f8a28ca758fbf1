"""The two sides of a body. Knows their names and their order, left first, everywhere."""

from typing import Literal

Side = Literal["left", "right"]
SIDES: tuple[Side, ...] = ("left", "right")
