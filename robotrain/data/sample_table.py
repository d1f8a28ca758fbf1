"""How the numbers of all samples lie in memory, column by column, and which columns a pass over the episodes takes.

Knows shapes and bytes; refuses to compute statistics, and to own the memory.
"""

from dataclasses import dataclass

import numpy as np

from robotrain.data.windows import Encoded
from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.errors import StatsError

__all__ = ["SampleTable"]


@dataclass(frozen=True)
class SampleTable:
    """A column for each action step and channel, and one for each channel of the state.

    Columns that are described together are neighbours: all steps of a channel where the horizon is pooled.
    """

    interface: PolicyInterface
    num_rows: int
    """Frames of all episodes."""
    pool_horizon: bool

    @property
    def num_actions(self) -> int:
        """Columns of actions, which come first."""
        return self.interface.horizon * self.interface.actions.width

    @property
    def num_columns(self) -> int:
        """All columns."""
        return self.num_actions + self.interface.state.width

    @property
    def horizon_together(self) -> int:
        """Steps that are described together."""
        return self.interface.horizon if self.pool_horizon else 1

    def groups(self) -> list[slice]:
        """Return the columns that are described together, in order."""
        size = self.horizon_together
        actions = [slice(start, start + size) for start in range(0, self.num_actions, size)]
        return actions + [slice(column, column + 1) for column in range(self.num_actions, self.num_columns)]

    def passes(self, memory_gib: float, num_processes: int) -> list[list[slice]]:
        """Return the groups in portions that fit into some memory, beside the group that each process sorts.

        Raises:
            StatsError: when one group alone does not.
        """
        size = self.horizon_together
        most = int(memory_gib * 2**30 / (4 * max(self.num_rows, 1))) - (size * num_processes if size > 1 else 0)
        portions: list[list[slice]] = []
        for group in self.groups():
            if size > most:
                needed = 4 * size * self.num_rows * (num_processes + 1 if size > 1 else 1) / 2**30
                raise StatsError(
                    f"One column of numbers takes {needed:.3g} GiB, and data.stats.memory_gib allows {memory_gib:g}."
                )
            if not portions or group.stop - portions[-1][0].start > most:
                portions.append([])
            portions[-1].append(group)
        return portions

    def spread(self, encoded: Encoded, wanted: slice) -> np.ndarray:
        """Return the wanted columns (columns, n) of n samples, NaN where a step or a state does not count."""
        actions, real = encoded.actions, encoded.action_mask
        if not real.all():
            actions = np.where(real[..., None], actions, np.float32(np.nan))
        actions = actions.transpose((2, 1, 0) if self.pool_horizon else (1, 2, 0)).reshape(self.num_actions, -1)
        state = np.where(encoded.state_mask & real.any(axis=1, keepdims=True), encoded.state, np.float32(np.nan)).T
        if wanted.stop <= self.num_actions:
            return actions[wanted]
        behind = slice(max(wanted.start - self.num_actions, 0), wanted.stop - self.num_actions)
        return np.concatenate([actions[wanted.start :], state[behind]])

    def by_step(self, values: np.ndarray) -> np.ndarray:
        """Return what was found of each action column, in order, as (H, D)."""
        horizon, width = self.interface.horizon, self.interface.actions.width
        return values.reshape(width, horizon).T if self.pool_horizon else values.reshape(horizon, width)

    def shape_actions(self, values: np.ndarray) -> np.ndarray:
        """Return what was found of each group of action columns, in order, as (H, D)."""
        horizon, width = self.interface.horizon, self.interface.actions.width
        return np.tile(values, (horizon, 1)) if self.pool_horizon else values.reshape(horizon, width)
