"""The affine map between raw numbers and the numbers a policy sees.

Knows centres and scales of one embodiment; refuses to know where they come from.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.errors import StatsError


@dataclass(frozen=True, kw_only=True)
class Affine:
    """Centre and scale of every column; a scale of 0 marks a column that never changes."""

    action_centre: np.ndarray
    """(H, D) float."""
    action_scale: np.ndarray
    """(H, D) float, not negative."""
    state_centre: np.ndarray
    """(S,) float."""
    state_scale: np.ndarray
    """(S,) float, not negative."""


class Normalizer(nn.Module):
    """Normalised = (raw - centre) / scale; a column with scale 0 normalises to 0 and inverts to its centre.

    The numbers are buffers, so they travel in the checkpoint and are placed with the policy.

    Args:
        interface: gives the shapes.
        affine: the numbers; None leaves them for a checkpoint to fill.
    """

    action_centre: Tensor
    action_scale: Tensor
    state_centre: Tensor
    state_scale: Tensor

    def __init__(self, interface: PolicyInterface, affine: Affine | None = None) -> None:
        super().__init__()
        self.interface = interface
        chunk, state = (interface.horizon, interface.actions.width), (interface.state.width,)
        shapes = {"action_centre": chunk, "action_scale": chunk, "state_centre": state, "state_scale": state}
        for name, shape in shapes.items():
            values = np.zeros(shape) if affine is None else np.asarray(getattr(affine, name))
            if values.shape != shape:
                raise StatsError(
                    f"Statistics of '{interface.embodiment}': {name} has shape {values.shape}, expected {shape}."
                )
            if not np.isfinite(values).all() or (name.endswith("scale") and (values < 0).any()):
                raise StatsError(f"Statistics of '{interface.embodiment}': {name} has a number that cannot be used.")
            self.register_buffer(name, torch.tensor(values, dtype=torch.float32))

    def normalize_actions(self, actions: Tensor) -> Tensor:
        """Return normalised chunks (B, H, D) of raw ones, float32."""
        return _normalise(actions, self.action_centre, self.action_scale)

    def invert_actions(self, actions: Tensor) -> Tensor:
        """Return raw chunks (B, H, D) of normalised ones, float32, in the layout's units and frames."""
        return actions.to(torch.float32) * self.action_scale + self.action_centre

    def normalize_state(self, state: Tensor, mask: Tensor) -> Tensor:
        """Return the normalised state (B, S) of a raw one, 0 where the mask (B, S) bool is False; so of (B, K, S)."""
        return torch.where(mask, _normalise(state, self.state_centre, self.state_scale), 0.0)


def _normalise(raw: Tensor, centre: Tensor, scale: Tensor) -> Tensor:
    constant = scale == 0
    return torch.where(constant, 0.0, (raw - centre) / torch.where(constant, 1.0, scale))
