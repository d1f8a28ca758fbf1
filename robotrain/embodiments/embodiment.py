"""What a body is: its cameras, its skeleton, and what a policy for it reads and writes.

An embodiment is its name, a string, from disk to video. It tells numbers and names; it reads no file and draws nothing.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from robotrain.embodiments.history import BEFORE, NO_HISTORY, History
from robotrain.embodiments.layout import Layout
from robotrain.embodiments.sides import Side
from robotrain.errors import LayoutError, UnknownNameError
from robotrain.geometry.cameras import Intrinsics


@dataclass(frozen=True)
class ModeLayouts:
    """The layouts of one mode, and how far it looks ahead."""

    actions: Layout
    state: Layout
    seconds: float
    """Time that an action chunk spans, in seconds; becomes rows through the episode's own rate."""


@dataclass(frozen=True)
class Embodiment:
    """One body. Sizes of images are never part of it: they are read from the episode."""

    name: str
    cameras: tuple[str, ...]
    """Camera names; the store keeps camera ``front_1`` in array ``images.front_1``. The first one is drawn on."""
    modes: Mapping[str, ModeLayouts]
    """By mode; the first one is the default."""
    sides: tuple[Side, ...] = ()
    """Arms or hands that it has; empty where it describes itself by joints."""
    intrinsics: Intrinsics | None = None
    """Of the first camera as the body was designed; None when unknown (joint robots). Episodes have their own."""
    camera_poses: Mapping[str, np.ndarray] | None = None
    """By arm: base_from_camera (4, 4), the first camera's pose in that arm's base, where an episode brings none."""
    edges: tuple[tuple[int, int], ...] = ()
    """Skeleton of a hand: pairs of keypoint indices to join when drawing."""

    @property
    def default_mode(self) -> str:
        """The mode used when a config names none."""
        return next(iter(self.modes))

    def mode(self, name: str | None) -> ModeLayouts:
        """Return the layouts of a mode, the default one for None.

        Raises:
            UnknownNameError: when this embodiment has no such mode.
        """
        chosen = name or self.default_mode
        if chosen not in self.modes:
            raise UnknownNameError("mode", chosen, tuple(self.modes), where=f"embodiment '{self.name}'")
        return self.modes[chosen]


@dataclass(frozen=True)
class PolicyInterface:
    """All that a policy and its data must agree on for one embodiment. Travels in the checkpoint as plain data."""

    embodiment: str
    mode: str
    actions: Layout
    state: Layout
    horizon: int
    """Steps of an action chunk, H."""
    seconds: float
    """Time from the first to the last step of the chunk, in seconds."""
    cameras: tuple[str, ...]
    history: History = NO_HISTORY
    """The states and earlier pictures that the policy reads."""
    image_size: tuple[int, int] | None = None
    """Height and width in pixels that are enough: of each picture the smallest of a half, a quarter and an eighth is
    read that is at least this large, see `episodes/jpegs.py`. None reads whole pictures."""

    @property
    def views(self) -> tuple[str, ...]:
        """The pictures that the policy sees: one a camera, and where the history has it an earlier one of each."""
        earlier = [f"{camera}{BEFORE}" for camera in self.cameras if self.history.image_seconds is not None]
        return (*self.cameras, *earlier)

    def to_plain(self) -> dict[str, Any]:
        """Return plain data for JSON and checkpoints."""
        return {
            "embodiment": self.embodiment,
            "mode": self.mode,
            "actions": self.actions.to_plain(),
            "state": self.state.to_plain(),
            "horizon": self.horizon,
            "seconds": self.seconds,
            "cameras": list(self.cameras),
            "history": asdict(self.history),
            "image_size": None if self.image_size is None else list(self.image_size),
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "PolicyInterface":
        """Build an interface from `to_plain`'s data.

        Raises:
            LayoutError: when a key is missing.
            ConfigError: when the history makes no sense.
        """
        try:
            return cls(
                embodiment=plain["embodiment"],
                mode=plain["mode"],
                actions=Layout.from_plain(plain["actions"]),
                state=Layout.from_plain(plain["state"]),
                horizon=plain["horizon"],
                seconds=plain["seconds"],
                cameras=tuple(plain["cameras"]),
                history=History(**plain["history"]),
                image_size=None if plain["image_size"] is None else tuple(plain["image_size"]),
            )
        except KeyError as missing:
            raise LayoutError(f"These are not the facts of a policy's interface: {missing} is missing.") from None
