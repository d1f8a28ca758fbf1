"""Turning pictures into tokens that say what is where.

Knows convolutions and keypoints; refuses to know which camera took the picture.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from robotrain.models.layers.embeddings import grid_coordinates

SHARPNESS = 5.0
"""Factor of the heat maps, so that a keypoint starts on a few cells rather than on the whole picture."""


class ConvNet(nn.Module):
    """Strided convolutions, each halving the picture, then one that keeps its size.

    Coordinates are put in beside colour.

    Args:
        channels: width of each halving convolution, from the picture on.
    """

    def __init__(self, channels: Sequence[int]) -> None:
        super().__init__()
        self.out_channels = channels[-1]
        layers: list[nn.Module] = []
        last = 5  # red, green, blue, x, y
        for i, width in enumerate(channels):
            kernel = 5 if i == 0 else 3
            layers += [nn.Conv2d(last, width, kernel, stride=2, padding=kernel // 2), nn.ReLU()]
            last = width
        layers += [nn.Conv2d(last, last, 3, padding=1), nn.ReLU()]
        self.layers = nn.Sequential(*layers)

    def forward(self, images: Tensor) -> Tensor:
        """Return features (B, C, h', w') of images (B, 3, h, w)."""
        place = grid_coordinates(images.shape[2], images.shape[3], images)
        seen = torch.cat((images, place.expand(images.shape[0], -1, -1, -1)), 1)
        return self.layers(seen.contiguous(memory_format=torch.channels_last))  # a third faster on a CPU


class Keypoints(nn.Module):
    """Spatial softmax: K places that matter and the features found there (Levine et al. 2016, section 5.1).

    Each keypoint owns a heat map; its softmax gives the expected place, finer than a cell, and the expected features.

    Args:
        channels: C of the feature map.
        num: K.
    """

    def __init__(self, channels: int, num: int) -> None:
        super().__init__()
        self.heat = nn.Conv2d(channels, num, 1)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Return (places (B, K, 2), found (B, K, C)) of features (B, C, h, w); places are x, y from -1 to 1."""
        grid = grid_coordinates(features.shape[2], features.shape[3], features).flatten(1)
        weight = (SHARPNESS * self.heat(features)).flatten(2).softmax(-1)
        return weight @ grid.T, weight @ features.flatten(2).transpose(1, 2)
