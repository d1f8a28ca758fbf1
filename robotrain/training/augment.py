"""Where images become float: scaled, jittered in training, and shifted to zero mean.

Knows pixels and the draws that jitter them; refuses to know cameras.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)
"""Of ImageNet's training pictures: what pretrained image parts expect."""

BRIGHTNESS, CONTRAST = 0, 1
"""Columns of `Draws.augment`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AugmentConfig:
    """Jitter of training images; each row has its own, the same on all its cameras."""

    brightness: float = 0.1
    """Colours are multiplied by a factor from 1 - this to 1 + this."""
    contrast: float = 0.1
    """Distances from the image's mean are multiplied by a factor from 1 - this to 1 + this."""


def prepare_images(images: Tensor) -> Tensor:
    """Return network images (B, 3, h, w) float32 of stored ones (B, h, w, 3) uint8 RGB."""
    return _standardise(_as_float(images))


def augment_images(images: Tensor, uniform: Tensor, config: AugmentConfig) -> Tensor:
    """Return jittered network images (B, 3, h, w) float32 of stored ones (B, h, w, 3) uint8 RGB.

    Args:
        images: (B, h, w, 3) uint8 RGB.
        uniform: (B, NUM_AUGMENT) float32 in [0, 1): `Draws.augment`.
        config: how strong.
    """
    values = _as_float(images)
    factor = 2 * uniform[:, :, None, None, None] - 1
    values = values * (1 + config.brightness * factor[:, BRIGHTNESS])
    mean = values.mean((1, 2, 3), keepdim=True)
    values = mean + (values - mean) * (1 + config.contrast * factor[:, CONTRAST])
    return _standardise(values.clamp(0, 1))


def _as_float(images: Tensor) -> Tensor:
    return images.permute(0, 3, 1, 2).to(torch.float32) / 255


def _standardise(values: Tensor) -> Tensor:
    mean, std = (values.new_tensor(numbers)[:, None, None] for numbers in (MEAN, STD))
    return (values - mean) / std
