"""One batch: what a policy reads. Shapes are checked here, once, and trusted everywhere else.

Shape legend of the whole package:
    B batch, H horizon (steps of an action chunk), D action width, S state width, T frames of an episode, N tokens or
    samples, E embed width, K keypoints or the steps of a history, P points, V views, h w pixels.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from robotrain.errors import ShapeError

Keys = tuple[tuple[str, int], ...]
"""(hash, frame) of every row."""


@dataclass(frozen=True, kw_only=True)
class Observation:
    """What a robot sees at one frame, B rows of one embodiment."""

    embodiment: str
    images: Mapping[str, Tensor]
    """By camera: (B, h, w, 3) uint8 RGB as decoded; `training/augment.py` turns it into (B, 3, h, w) float32."""
    image_mask: Mapping[str, Tensor]
    """By camera: (B,) bool, False where the row has no such image."""
    state: Tensor
    """(B, S) float32, in the interface's state layout; normalised once `training/module.py` has seen it."""
    state_mask: Tensor
    """(B, S) bool, False where a hand is missing; such columns hold zeros."""
    prompts: tuple[str, ...]
    """Language, B texts, empty where the frame has none."""
    keys: Keys
    state_history: Tensor | None = None
    """(B, K, S) float32, the states of K steps, the current one last; None where a policy reads the current one only.
    Steps before the episode's first frame repeat the first."""
    state_history_mask: Tensor | None = None
    """(B, K, S) bool, False where a hand is missing; such columns hold zeros. None together with the history."""
    history_mask: Tensor | None = None
    """(B, K) bool, False for steps before the episode's first frame. None together with the history."""

    def __post_init__(self) -> None:
        """Check every field against the state's batch size."""
        if self.state.ndim != 2:
            raise ShapeError("state", "(B, S)", self.state.shape)
        num = self.state.shape[0]
        if self.state_mask.shape != self.state.shape:
            raise ShapeError("state_mask", f"{tuple(self.state.shape)}, the state's", self.state_mask.shape)
        if self.images.keys() != self.image_mask.keys():
            raise ShapeError("image_mask", f"cameras {sorted(self.images)}", f"cameras {sorted(self.image_mask)}")
        for camera, image in self.images.items():
            channel = -1 if image.dtype == torch.uint8 else 1
            if image.ndim != 4 or image.shape[0] != num or image.shape[channel] != 3:
                raise ShapeError(
                    f"images['{camera}']", f"({num}, h, w, 3) uint8 or ({num}, 3, h, w) float", image.shape
                )
            if self.image_mask[camera].shape != (num,):
                raise ShapeError(f"image_mask['{camera}']", f"({num},)", self.image_mask[camera].shape)
        self._check_history(num)
        for name, rows in (("prompts", self.prompts), ("keys", self.keys)):
            if len(rows) != num:
                raise ShapeError(name, f"{num} rows", f"{len(rows)} rows")

    def _check_history(self, num: int) -> None:
        """Check that the history is whole and fits the state."""
        history, columns, steps = self.state_history, self.state_history_mask, self.history_mask
        if history is None:
            for name, mask in (("state_history_mask", columns), ("history_mask", steps)):
                if mask is not None:
                    raise ShapeError(name, "None, as there is no state_history", mask.shape)
            return
        width = self.state.shape[1]
        if history.ndim != 3 or history.shape[0] != num or history.shape[1] < 1 or history.shape[2] != width:
            raise ShapeError("state_history", f"({num}, K, {width})", history.shape)
        if columns is None or columns.shape != history.shape:
            found = "None" if columns is None else columns.shape
            raise ShapeError("state_history_mask", f"{tuple(history.shape)}, the history's", found)
        if steps is None or steps.shape != history.shape[:2]:
            found = "None" if steps is None else steps.shape
            raise ShapeError("history_mask", f"{tuple(history.shape[:2])}, the history's (B, K)", found)

    def __len__(self) -> int:
        return self.state.shape[0]

    def to(self, target: torch.device | str) -> "Observation":
        """Return the observation with every tensor on ``target``. Lightning calls this; nothing else needs to."""
        return replace(
            self,
            images={camera: image.to(target) for camera, image in self.images.items()},
            image_mask={camera: mask.to(target) for camera, mask in self.image_mask.items()},
            state=self.state.to(target),
            state_mask=self.state_mask.to(target),
            **{name: None if part is None else part.to(target) for name, part in self._history.items()},
        )

    def pin_memory(self) -> "Observation":
        """Return the observation in page-locked memory, for the loader."""
        return replace(
            self,
            images={camera: image.pin_memory() for camera, image in self.images.items()},
            image_mask={camera: mask.pin_memory() for camera, mask in self.image_mask.items()},
            state=self.state.pin_memory(),
            state_mask=self.state_mask.pin_memory(),
            **{name: None if part is None else part.pin_memory() for name, part in self._history.items()},
        )

    @property
    def _history(self) -> dict[str, Tensor | None]:
        names = ("state_history", "state_history_mask", "history_mask")
        return {name: getattr(self, name) for name in names}


def history_fields(states: np.ndarray, columns: np.ndarray, steps: np.ndarray) -> dict[str, Tensor | None]:
    """Return the history fields of an observation: (B, K, S), (B, K, S) and (B, K); all None where K is 0."""
    arrays = {"state_history": states, "state_history_mask": columns, "history_mask": steps}
    return {name: torch.from_numpy(array) if states.shape[1] else None for name, array in arrays.items()}


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Observations with the action chunks that followed them."""

    observation: Observation
    actions: Tensor
    """(B, H, D) float32, in the interface's action layout and its frames; normalised once the module has seen it."""
    action_mask: Tensor
    """(B, H) bool, True for real steps, False for the repeated tail and for steps with a missing hand."""

    def __post_init__(self) -> None:
        """Check chunk and mask against the observation."""
        if self.actions.ndim != 3 or self.actions.shape[0] != len(self.observation):
            raise ShapeError("actions", f"({len(self.observation)}, H, D)", self.actions.shape)
        if self.action_mask.shape != self.actions.shape[:2]:
            raise ShapeError(
                "action_mask", f"{tuple(self.actions.shape[:2])}, the actions' (B, H)", self.action_mask.shape
            )

    def __len__(self) -> int:
        return len(self.observation)

    def to(self, target: torch.device | str) -> "Batch":
        """Return the batch with every tensor on ``target``. Lightning calls this; nothing else needs to."""
        return Batch(
            observation=self.observation.to(target),
            actions=self.actions.to(target),
            action_mask=self.action_mask.to(target),
        )

    def pin_memory(self) -> "Batch":
        """Return the batch in page-locked memory, for the loader."""
        return Batch(
            observation=self.observation.pin_memory(),
            actions=self.actions.pin_memory(),
            action_mask=self.action_mask.pin_memory(),
        )
