"""Numbers that tell a network where and when: position codes and the time of a flow.

Knows formulas only; nothing here is learned and nothing is kept, so a module on the meta device loses no table.
"""

import math

import torch
from torch import Tensor

SHORTEST_PERIOD = 4e-3
LONGEST_PERIOD = 4.0
"""Of the sines of a flow's time, which runs from 0 to 1 (as in pi0)."""


def sinusoid(num: int, width: int, like: Tensor) -> Tensor:
    """Return position codes (num, width), interleaved sine and cosine (Vaswani et al. 2017, section 3.5).

    Args:
        num: N, positions 0 ... N-1.
        width: E, even.
        like: gives dtype and placement.
    """
    position = torch.arange(num, dtype=torch.float32, device=like.device)[:, None]
    pair = torch.arange(0, width, 2, dtype=torch.float32, device=like.device)
    angle = position * torch.exp(pair * (-math.log(10000.0) / width))
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1).to(like.dtype)


def time_embedding(time: Tensor, width: int) -> Tensor:
    """Return codes (B, width) of flow times (B,): sines, then cosines, of periods spread geometrically.

    Args:
        time: (B,) float, in [0, 1].
        width: E, even; E/2 periods from 4e-3 to 4.
    """
    fraction = torch.linspace(0.0, 1.0, width // 2, dtype=torch.float32, device=time.device)
    period = SHORTEST_PERIOD * (LONGEST_PERIOD / SHORTEST_PERIOD) ** fraction
    angle = 2 * math.pi * time.to(torch.float32)[:, None] / period
    return torch.cat((angle.sin(), angle.cos()), -1).to(time.dtype)


def grid_coordinates(height: int, width: int, like: Tensor) -> Tensor:
    """Return the centres of an image grid's cells (2, h, w), x then y, from -1 at one edge to 1 at the other.

    Args:
        height: h, cells.
        width: w, cells.
        like: gives dtype and placement.
    """
    x = (2 * torch.arange(width, dtype=torch.float32, device=like.device) + 1) / width - 1
    y = (2 * torch.arange(height, dtype=torch.float32, device=like.device) + 1) / height - 1
    return torch.stack((x[None, :].expand(height, width), y[:, None].expand(height, width))).to(like.dtype)
