"""Flow matching: the straight road between noise and action (Lipman et al. 2023; times as in pi0, Black et al. 2024).

Knows the road and how to walk it; refuses to know what predicts the direction. Time 1 is noise, time 0 is action.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Network = Callable[[Tensor, Tensor], Tensor]
"""(x (B, H, D), time (B,)) -> (B, H, D): what a head answers at a point of the road."""

EARLIEST = 0.001
"""The least time that is trained on, so that no point of the road is without noise."""
BETA = 1.5
"""First parameter of the Beta distribution of times: most are near the noise."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowConfig:
    """What is learnt of the road, and how it is walked."""

    predicts: Literal["direction", "action"] = "direction"
    """`direction`: noise - action, as pi0 and EgoVerse do. `action`: where the road ends; the same error weighted by
    time squared (Salimans and Ho 2022, section 4), learnt in a fraction of the steps when the observation all but
    decides the action, because the network need not undo the noise."""
    num_steps: int = 10
    """Euler steps from noise to action when sampling."""


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


def flow_error(network: Network, actions: Tensor, noise: Tensor, time: Tensor, config: FlowConfig) -> Tensor:
    """Return the squared error (B, H, D) of what a network answers at one point of each road.

    Args:
        network: the head, conditioned on its observations.
        actions: (B, H, D) float, normalised.
        noise: (B, H, D) float, standard normal.
        time: (B,) float.
        config: what the network answers.
    """
    x, direction = flow_point(actions, noise, time)
    return (network(x, time) - (direction if config.predicts == "direction" else actions)).square()


def flow_sample(network: Network, noise: Tensor, config: FlowConfig) -> Tensor:
    """Walk from noise to action by Euler's method, directions taken at times 1, 1 - 1/n, ..., 1/n.

    Args:
        network: the head, conditioned on its observations.
        noise: (B, H, D) float: where the walk starts.
        config: what the network answers, and n.
    """
    x = noise
    for step in range(config.num_steps):
        time = torch.full_like(x[:, 0, 0], 1 - step / config.num_steps)
        answer = network(x, time)
        direction = answer if config.predicts == "direction" else (x - answer) / time[:, None, None]
        x = x - direction / config.num_steps
    return x
