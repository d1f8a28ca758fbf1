"""Every embodiment by name.

Knows which bodies are written by hand and that any other must describe itself; guesses nothing from a width.
"""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from robotrain.embodiments.arms import build_eva
from robotrain.embodiments.embodiment import Embodiment
from robotrain.embodiments.hands import build_human
from robotrain.embodiments.joints import FIELDS_ATTRIBUTE, build_joint_robot
from robotrain.embodiments.sides import SIDES
from robotrain.errors import UnknownNameError

_WRITTEN: Mapping[str, Callable[[], Embodiment]] = {
    "eva_bimanual": build_eva,
    "human_bimanual": build_human,
    **{f"eva_{side}_arm": partial(build_eva, f"eva_{side}_arm", (side,)) for side in SIDES},
    **{f"human_{side}_arm": partial(build_human, f"human_{side}_arm", (side,)) for side in SIDES},
}


def available() -> tuple[str, ...]:
    """Return the names of the embodiments that need no description in the data."""
    return tuple(_WRITTEN)


def embodiment_of(name: str, attributes: Mapping[str, Any]) -> Embodiment:
    """Return the embodiment of a canonical name.

    Args:
        name: lower-case name, vendor aliases already replaced (`episodes.schema.canonical_embodiment`).
        attributes: the episode's group attributes; read only where the name is not in the catalog.

    Raises:
        UnknownNameError: when the name is neither in the catalog nor described by the attributes.
        LayoutError: when the description is incomplete.
    """
    if name in _WRITTEN:
        return _written(name)
    if FIELDS_ATTRIBUTE not in attributes:
        raise UnknownNameError(
            "embodiment", name, available(), where=f"the catalog, and no attribute '{FIELDS_ATTRIBUTE}' describes it"
        )
    return build_joint_robot(name, attributes)


@cache
def _written(name: str) -> Embodiment:
    return _WRITTEN[name]()
