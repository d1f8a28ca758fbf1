"""Heads: the doors out of a trunk, from conditioning tokens to action chunks.

Knows one embodiment's chunk shape; refuses to know what the columns mean.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from robotrain.models.layers.attention import CrossBlock
from robotrain.models.layers.embeddings import sinusoid, time_embedding


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowHeadConfig:
    """Size of the flow-matching head."""

    width: int = 128
    """E of its tokens, one a step of the chunk: half action, half time."""
    depth: int = 3
    """Blocks."""
    heads: int = 4
    """Heads of each attention."""
    mlp_ratio: int = 4
    """How much wider the feed-forward maps are inside."""


class FlowHead(nn.Module):
    """Answers at a noisy chunk what the flow asks for, looking at the trunk's conditioning tokens.

    x_t (B, H, D) -> linear E/2 + position --+
                                             +-- concat -> [self, cross, feed-forward] x depth -> norm -> linear D
    time (B,) -> sines and cosines E/2 ------+                     ^
                                          conditioning (B, N, C) --+
    """

    def __init__(
        self, config: FlowHeadConfig, *, horizon: int, action_width: int, context_width: int, dropout: float
    ) -> None:
        super().__init__()
        half = config.width // 2
        self.time_width = config.width - half
        self.actions_in = nn.Linear(action_width, half)
        self.position = nn.Parameter(torch.empty(horizon, half))
        self.blocks = nn.ModuleList(
            CrossBlock(config.width, config.heads, context_width=context_width, ratio=config.mlp_ratio, dropout=dropout)
            for _ in range(config.depth)
        )
        self.norm = nn.LayerNorm(config.width)
        self.actions_out = nn.Linear(config.width, action_width)

    def forward(self, x: Tensor, time: Tensor, conditioning: Tensor) -> Tensor:
        """Return the answer (B, H, D): a direction or an action, see `models/flow.py`.

        Args:
            x: (B, H, D) float, the noisy normalised chunk.
            time: (B,) float, flow time.
            conditioning: (B, N, C) from the trunk.
        """
        codes = sinusoid(x.shape[1], self.position.shape[1], x)
        actions = self.actions_in(x) + self.position + codes
        times = time_embedding(time, self.time_width)[:, None].expand(-1, x.shape[1], -1)
        tokens = torch.cat((actions, times), -1)
        for block in self.blocks:
            tokens = block(tokens, conditioning)
        return self.actions_out(self.norm(tokens))
