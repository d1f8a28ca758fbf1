"""Attention, and the blocks made of it.

Knows tokens (B, N, E); refuses to know what they stand for.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional


class Attention(nn.Module):
    """Multi-head attention of queries on a context, with dropout on the attention weights.

    Args:
        width: E of queries and output.
        heads: number of heads; must divide E.
        context_width: E of the context, the queries' when None.
        dropout: share of attention weights dropped in training.
    """

    def __init__(self, width: int, heads: int, *, context_width: int | None = None, dropout: float = 0.0) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(context_width or width, 2 * width)
        self.out = nn.Linear(width, width)

    def forward(self, tokens: Tensor, context: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the attended values (B, N, E).

        Args:
            tokens: (B, N, E), the queries.
            context: (B, M, context width), what is looked at.
            mask: (B, M) bool, False for context tokens that are not there; every row needs one that is.
        """
        query = self._split(self.query(tokens))
        key, value = (self._split(part) for part in self.key_value(context).chunk(2, -1))
        seen = None if mask is None else mask[:, None, None, :]
        dropout = self.dropout if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=seen, dropout_p=dropout)
        return self.out(mixed.transpose(1, 2).flatten(2))

    def _split(self, tokens: Tensor) -> Tensor:
        return tokens.unflatten(2, (self.heads, -1)).transpose(1, 2)


class FeedForward(nn.Sequential):
    """Two linear maps with a GELU between them, `ratio` times wider inside."""

    def __init__(self, width: int, ratio: int) -> None:
        super().__init__(nn.Linear(width, ratio * width), nn.GELU(), nn.Linear(ratio * width, width))


class Block(nn.Module):
    """A pre-norm transformer block: self-attention, then a feed-forward map, each added to what came in."""

    def __init__(self, width: int, heads: int, *, ratio: int, dropout: float) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = Attention(width, heads, dropout=dropout)
        self.feed_norm = nn.LayerNorm(width)
        self.feed = FeedForward(width, ratio)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the tokens (B, N, E) after the block; `mask` (B, N) bool is False for tokens that are not there."""
        normed = self.attention_norm(tokens)
        tokens = tokens + self.attention(normed, normed, mask)
        return tokens + self.feed(self.feed_norm(tokens))


class CrossBlock(nn.Module):
    """A pre-norm block that looks at itself, then at a context, then thinks."""

    def __init__(self, width: int, heads: int, *, context_width: int, ratio: int, dropout: float) -> None:
        super().__init__()
        self.self_norm = nn.LayerNorm(width)
        self.self_attention = Attention(width, heads, dropout=dropout)
        self.cross_norm = nn.LayerNorm(width)
        self.cross_attention = Attention(width, heads, context_width=context_width, dropout=dropout)
        self.feed_norm = nn.LayerNorm(width)
        self.feed = FeedForward(width, ratio)

    def forward(self, tokens: Tensor, context: Tensor) -> Tensor:
        """Return the tokens (B, N, E) after the block, having looked at the context (B, M, context width)."""
        normed = self.self_norm(tokens)
        tokens = tokens + self.self_attention(normed, normed)
        tokens = tokens + self.cross_attention(self.cross_norm(tokens), context)
        return tokens + self.feed(self.feed_norm(tokens))


class AttentionPool(nn.Module):
    """Learned queries that gather any number of tokens into a fixed number, by one cross-attention."""

    def __init__(self, num: int, width: int, heads: int, *, dropout: float) -> None:
        super().__init__()
        self.queries = nn.Parameter(torch.empty(num, width))
        self.attention = Attention(width, heads, dropout=dropout)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return (B, num, E) gathered from tokens (B, N, E); `mask` (B, N) bool as in `Attention`."""
        queries = self.queries.expand(tokens.shape[0], -1, -1)
        return self.attention(queries, tokens, mask)
