"""Flow matching: the straight road between noise and action (Lipman et al. 2023; times as in pi0, Black et al. 2024).

Knows the road and how to walk it; refuses to know what predicts the direction. Time 1 is noise, time 0 is action.
"""

from collections.abc import Callable

import torch
from torch import Tensor

EARLIEST = 0.001
BETA = 1.5


def flow_times(uniform: Tensor) -> Tensor:
    """Return times (B,) in [0.001, 1) distributed as 0.001 + 0.999 * Beta(1.5, 1), from uniform numbers (B,).

    Beta(a, 1) has the distribution function x^a, so its inverse is u^(1/a). The mean is 0.6004.
    """
    return EARLIEST + (1 - EARLIEST) * uniform ** (1 / BETA)


def flow_point(actions: Tensor, noise: Tensor, time: Tensor) -> tuple[Tensor, Tensor]:
    """Return (x_t, target), each (B, H, D): the point on the road and its direction, noise - action.

    Args:
        actions: (B, H, D) float, normalised.
        noise: (B, H, D) float, standard normal.
        time: (B,) float.
    """
    t = time[:, None, None]
    return t * noise + (1 - t) * actions, noise - actions


def integrate(velocity: Callable[[Tensor, Tensor], Tensor], noise: Tensor, num_steps: int) -> Tensor:
    """Walk from noise to action by Euler's method, velocities taken at times 1, 1 - 1/n, ..., 1/n.

    Args:
        velocity: (x (B, H, D), time (B,)) -> (B, H, D).
        noise: (B, H, D) float: where the walk starts.
        num_steps: n.
    """
    x = noise
    for step in range(num_steps):
        time = torch.full_like(x[:, 0, 0], 1 - step / num_steps)
        x = x - velocity(x, time) / num_steps
    return x
