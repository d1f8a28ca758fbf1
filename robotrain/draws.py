"""The random numbers handed to a policy.

Each row's numbers are a function of (seed, pass, hash, frame) alone, so a result does not depend on which batch,
worker or rank computed it. A policy owns no random state.
"""

import hashlib
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from robotrain.batch import Keys

NUM_AUGMENT = 8
"""Uniform numbers a row for augmentation; `training/augment.py` gives each its meaning."""


@dataclass(frozen=True)
class Draws:
    """Random numbers for B rows."""

    noise: Tensor
    """(B, H, D) float32, standard normal: where the flow starts."""
    time: Tensor
    """(B,) float32, uniform in [0, 1): the flow turns it into its own distribution of times."""
    augment: Tensor
    """(B, NUM_AUGMENT) float32, uniform in [0, 1)."""

    def to(self, target: torch.device | str) -> "Draws":
        """Return the draws with every tensor on ``target``."""
        return Draws(noise=self.noise.to(target), time=self.time.to(target), augment=self.augment.to(target))


def compute_draws(keys: Keys, *, seed: int, pass_index: int, horizon: int, width: int) -> Draws:
    """Return the draws of these rows, on the CPU.

    Args:
        keys: (hash, frame) of each of the B rows.
        seed: the run's or the evaluation's seed.
        pass_index: optimiser step in training, pass in evaluation: another one gives other numbers.
        horizon: H.
        width: D.
    """
    noise = np.empty((len(keys), horizon, width), np.float32)
    uniform = np.empty((len(keys), 1 + NUM_AUGMENT), np.float32)
    for row, (episode, frame) in enumerate(keys):
        name = f"{seed}/{pass_index}/{episode}/{frame}".encode()
        words = np.frombuffer(hashlib.sha256(name).digest(), np.uint64)
        generator = np.random.Generator(np.random.Philox(key=words[:2], counter=words))
        generator.random(out=uniform[row], dtype=np.float32)
        generator.standard_normal(out=noise[row], dtype=np.float32)
    return Draws(
        noise=torch.from_numpy(noise),
        time=torch.from_numpy(np.ascontiguousarray(uniform[:, 0])),
        augment=torch.from_numpy(np.ascontiguousarray(uniform[:, 1:])),
    )
