"""Turning pictures into tokens that say what is where.

Knows convolutions and keypoints; refuses to know which camera took the picture.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from robotrain.models.layers.embeddings import grid_coordinates


class ConvNet(nn.Module):
    """Strided convolutions, each halving the picture, then one that keeps its size; coordinates are put in beside colour.

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
            layers += [nn.Conv2d(last, width, kernel, stride=2, padding=kernel // 2), nn.SiLU()]
            last = width
        layers += [nn.Conv2d(last, last, 3, padding=1), nn.SiLU()]
        self.layers = nn.Sequential(*layers)

    def forward(self, images: Tensor) -> Tensor:
        """Return features (B, C, h', w') of images (B, 3, h, w)."""
        place = grid_coordinates(images.shape[2], images.shape[3], images)
        return self.layers(torch.cat((images, place.expand(images.shape[0], -1, -1, -1)), 1))


class Keypoints(nn.Module):
    """Spatial softmax: K places where the picture matters, and the features found there (Levine et al. 2016, section 5.1).

    Each keypoint owns a heat map; its softmax gives the expected place, finer than a cell, and the expected features.

    Args:
        channels: C of the feature map.
        num: K.
        width: E of the tokens.
    """

    def __init__(self, channels: int, num: int, width: int) -> None:
        super().__init__()
        self.heat = nn.Conv2d(channels, num, 1)
        self.project = nn.Linear(channels + 2, width)
        self.identity = nn.Parameter(torch.empty(num, width))

    def forward(self, features: Tensor) -> Tensor:
        """Return tokens (B, K, E) of features (B, C, h, w)."""
        place = grid_coordinates(features.shape[2], features.shape[3], features)
        values = torch.cat((features, place.expand(features.shape[0], -1, -1, -1)), 1).flatten(2)
        weight = self.heat(features).flatten(2).softmax(-1)
        return self.project(weight @ values.transpose(1, 2)) + self.identity
