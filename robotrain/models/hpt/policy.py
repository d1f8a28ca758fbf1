"""HPT: learned action tokens in front of what the stems sensed, through one transformer, to a flow-matching head.

Knows the trunk; stems, heads and the loss are the chassis's.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.errors import ConfigError
from robotrain.models.chassis import Chassis, Trunk
from robotrain.models.heads import FlowHead
from robotrain.models.hpt.config import HptConfig
from robotrain.models.layers.attention import Block
from robotrain.models.layers.embeddings import sinusoid
from robotrain.models.stems import build_stems


class HptTrunk(Trunk):
    """Action tokens [A] before stem tokens [N]; the action tokens' last values are the conditioning.

    [a a a a | state | camera | prompt] + positions -> blocks -> [a a a a] (B, A, E)
    """

    def __init__(self, config: HptConfig) -> None:
        super().__init__()
        self.action_tokens = nn.Parameter(torch.empty(config.action_tokens, config.width))
        self.blocks = nn.ModuleList(
            Block(config.width, config.heads, ratio=config.mlp_ratio, dropout=config.dropout)
            for _ in range(config.depth)
        )

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return conditioning (B, A, E) of stem tokens (B, N, E); `mask` (B, N) bool is False for absent ones."""
        num = self.action_tokens.shape[0]
        front = self.action_tokens.expand(tokens.shape[0], -1, -1)
        sequence = torch.cat((front, tokens), 1)
        sequence = sequence + sinusoid(sequence.shape[1], sequence.shape[2], sequence)
        present = torch.cat((mask.new_ones(mask.shape[0], num), mask), 1)
        for block in self.blocks:
            sequence = block(sequence, present)
        return sequence[:, :num]


def build_hpt(config: HptConfig, interfaces: Sequence[PolicyInterface]) -> Chassis:
    """Return the structure of an HPT policy for these embodiments.

    Raises:
        ConfigError: when the data has a history, which the stems do not read; when a width is no multiple of its heads,
            or of 4 as sines and cosines need it; when a size is below 1.
    """
    _refuse_empty(config, "arch")
    for interface in interfaces:
        if (steps := interface.history.steps) > 1:
            raise ConfigError(
                f"Arch '{config.name}' reads one state, but the data of '{interface.embodiment}' has histories of "
                f"{steps}. Leave data.history.steps at 1."
            )
    if not 0 <= config.dropout < 1:
        raise ConfigError(f"arch.dropout must be at least 0 and below 1, found {config.dropout}.")
    for what, width, heads in (
        ("the trunk", config.width, config.heads),
        ("the stems", config.width, config.stems.heads),
        ("the head", config.head.width, config.head.heads),
    ):
        if width % heads or width % 4:
            raise ConfigError(
                f"Arch '{config.name}': {what} is {width} wide with {heads} heads; "
                "a width must be a multiple of its heads and of 4."
            )
    return Chassis(
        interfaces,
        stems={
            interface.embodiment: build_stems(config.stems, interface, config.width, config.dropout)
            for interface in interfaces
        },
        trunk=HptTrunk(config),
        heads={
            interface.embodiment: FlowHead(
                config.head,
                horizon=interface.horizon,
                action_width=interface.actions.width,
                context_width=config.width,
                dropout=config.dropout,
            )
            for interface in interfaces
        },
        flow=config.flow,
    )


def _refuse_empty(config: Any, where: str) -> None:
    """Refuse a whole number below 1 anywhere in a config: each of them is a size or a count."""
    for field in dataclasses.fields(config):
        value, name = getattr(config, field.name), f"{where}.{field.name}"
        if dataclasses.is_dataclass(value):
            _refuse_empty(value, name)
        if value == ():
            raise ConfigError(f"{name} must hold at least 1 number.")
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, int) and number < 1:
                raise ConfigError(f"{name} must be at least 1, found {number}.")
