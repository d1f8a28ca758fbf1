"""The smallest honest reading of language: a learned vector a word.

Knows words by a hash of their letters, so there is no vocabulary to carry; two words may share a row. It learns only
words that training shows it, and knows nothing of grammar beyond their order.
"""

import re
import zlib
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from robotrain.models.layers.embeddings import sinusoid

MAX_WORDS = 32
"""Words of a prompt that are read; later ones are left out."""


def word_rows(prompts: Sequence[str], buckets: int) -> tuple[Tensor, Tensor]:
    """Return (rows (B, N) int64, mask (B, N) bool) of the first 32 words of each prompt, on the CPU.

    A word is a run of letters and digits, in lower case; its row is the CRC-32 of its UTF-8 bytes, modulo the buckets.
    Every prompt has at least one row, so that an empty one is a masked token rather than a shape of its own.
    """
    words = [re.findall(r"\w+", prompt.lower())[:MAX_WORDS] for prompt in prompts]
    longest = max(1, *(len(row) for row in words))
    rows = torch.zeros(len(words), longest, dtype=torch.int64)
    mask = torch.zeros(len(words), longest, dtype=torch.bool)
    for i, row in enumerate(words):
        rows[i, : len(row)] = torch.tensor([zlib.crc32(word.encode()) % buckets for word in row], dtype=torch.int64)
        mask[i, : len(row)] = True
    return rows, mask


class WordEmbedding(nn.Module):
    """A table of `buckets` learned vectors, with position codes added."""

    def __init__(self, buckets: int, width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(buckets, width)

    def forward(self, rows: Tensor) -> Tensor:
        """Return tokens (B, N, E) of rows (B, N) int64."""
        tokens = self.table(rows)
        return tokens + sinusoid(tokens.shape[1], tokens.shape[2], tokens)
