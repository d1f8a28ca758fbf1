"""Stems: one for each thing an embodiment senses, each giving a fixed number of tokens and whether they are there.

Knows modalities; refuses to know the trunk that reads the tokens.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from robotrain.batch import Observation
from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.models.layers.attention import AttentionPool
from robotrain.models.layers.naming import module_key
from robotrain.models.layers.vision import ConvNet, Keypoints
from robotrain.models.layers.words import WordEmbedding, word_rows


@dataclass(frozen=True, kw_only=True, slots=True)
class StemsConfig:
    """Sizes of the stems."""

    state_tokens: int = 4
    """Tokens that the state is gathered into."""
    place_tokens: int = 4
    """Tokens that say where each camera's keypoints are."""
    image_tokens: int = 4
    """Tokens that what is seen at each camera's keypoints is gathered into."""
    image_channels: tuple[int, ...] = (16, 32)
    """Widths of the convolutions; each halves the picture."""
    keypoints: int = 16
    """Places that the picture is reduced to before it is gathered into tokens."""
    language: Literal["none", "words"] = "words"
    """`none` reads no prompt; `words` learns a vector a word from the training prompts."""
    language_tokens: int = 2
    """Tokens that the prompt is gathered into."""
    word_buckets: int = 1024
    """Rows of the table of words; words share rows by chance."""
    heads: int = 4
    """Heads of the gathering attention."""


class StateStem(nn.Module):
    """(B, S) normalised state to (B, tokens, E); a row without any valid column is absent."""

    def __init__(self, config: StemsConfig, state_width: int, width: int, dropout: float) -> None:
        super().__init__()
        self.project = nn.Sequential(nn.Linear(state_width, width), nn.SiLU(), nn.Linear(width, width))
        self.pool = AttentionPool(config.state_tokens, width, config.heads, dropout=dropout)

    def forward(self, observation: Observation) -> tuple[Tensor, Tensor]:
        """Return (tokens (B, N, E), present (B,) bool)."""
        tokens = self.pool(self.project(observation.state)[:, None])
        return tokens, observation.state_mask.any(1)


class ImageStem(nn.Module):
    """One camera's picture (B, 3, h, w) to (B, tokens, E), through keypoints: built to say where things are.

        picture -> convolutions -> keypoints --+-- places of all K, together -> feed-forward -> place tokens
                                               +-- place and features of each -> gathered -> pooled tokens

    All places enter one map together, because where a hand must go depends on several of them at once.
    """

    def __init__(self, config: StemsConfig, camera: str, width: int, dropout: float) -> None:
        super().__init__()
        self.camera = camera
        self.encoder = ConvNet(config.image_channels)
        channels = self.encoder.out_channels
        self.keypoints = Keypoints(channels, config.keypoints)
        self.places = nn.Sequential(
            nn.Linear(2 * config.keypoints, 2 * width), nn.SiLU(), nn.Linear(2 * width, config.place_tokens * width)
        )
        self.project = nn.Sequential(nn.Linear(channels + 2, width), nn.SiLU(), nn.Linear(width, width))
        self.pool = AttentionPool(config.image_tokens, width, config.heads, dropout=dropout)

    def forward(self, observation: Observation) -> tuple[Tensor, Tensor]:
        """Return (tokens (B, N, E), present (B,) bool)."""
        places, found = self.keypoints(self.encoder(observation.images[self.camera]))
        pooled = self.pool(self.project(torch.cat((places, found), -1)))
        together = self.places(places.flatten(1)).unflatten(1, (-1, pooled.shape[-1]))
        return torch.cat((together, pooled), 1), observation.image_mask[self.camera]


class LanguageStem(nn.Module):
    """Prompts to (B, tokens, E); an empty prompt is absent."""

    def __init__(self, config: StemsConfig, width: int, dropout: float) -> None:
        super().__init__()
        self.buckets = config.word_buckets
        self.words = WordEmbedding(config.word_buckets, width)
        self.project = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))
        self.pool = AttentionPool(config.language_tokens, width, config.heads, dropout=dropout)

    def forward(self, observation: Observation) -> tuple[Tensor, Tensor]:
        """Return (tokens (B, N, E), present (B,) bool)."""
        rows, mask = (part.to(observation.state.device) for part in word_rows(observation.prompts, self.buckets))
        present = mask.any(1)
        mask[:, 0] |= ~present  # attention needs something to look at; the result is left out by `present`
        return self.pool(self.project(self.words(rows)), mask), present


def build_stems(config: StemsConfig, interface: PolicyInterface, width: int, dropout: float) -> nn.ModuleDict:
    """Return the stems of one embodiment by modality, in the order of their tokens: state, cameras, language."""
    stems: dict[str, nn.Module] = {"state": StateStem(config, interface.state.width, width, dropout)}
    for camera in interface.views:
        stems[f"image_{module_key(camera)}"] = ImageStem(config, camera, width, dropout)
    if config.language == "words":
        stems["language"] = LanguageStem(config, width, dropout)
    return nn.ModuleDict(stems)
