"""The optimiser and its schedule, stepped once an optimiser step.

Knows parameters by shape; refuses to know which layer they belong to.
"""

import math
from dataclasses import dataclass

from torch import nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR

from robotrain.errors import ConfigError


@dataclass(frozen=True, kw_only=True, slots=True)
class OptimConfig:
    """AdamW with linear warm-up and a cosine down."""

    lr: float = 1e-3
    """Highest learning rate."""
    final_fraction: float = 0.01
    """The learning rate at the last step, as a share of the highest."""
    warmup_steps: int = 50
    """Optimiser steps from nothing to the highest rate."""
    weight_decay: float = 1e-4
    """Decay of matrices and kernels; vectors (biases, norms) have none."""
    beta1: float = 0.9
    """Memory of the gradient's mean."""
    beta2: float = 0.95
    """Memory of the gradient's square."""

    def __post_init__(self) -> None:
        """Refuse numbers that no optimiser takes; nan is in no range."""
        for name in ("lr", "weight_decay", "warmup_steps"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ConfigError(f"trainer.optim.{name} must be at least 0 and finite, found {getattr(self, name)}.")
        if not 0 <= self.final_fraction <= 1:
            raise ConfigError(f"trainer.optim.final_fraction must be from 0 to 1, found {self.final_fraction}.")
        for name in ("beta1", "beta2"):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(f"trainer.optim.{name} must be at least 0 and below 1, found {getattr(self, name)}.")


def rate_factor(step: int, config: OptimConfig, max_steps: int) -> float:
    """Return the learning rate of an optimiser step (0 is the first) as a share of the highest."""
    if step < config.warmup_steps:
        return (step + 1) / config.warmup_steps
    progress = min(1.0, (step - config.warmup_steps) / max(1, max_steps - config.warmup_steps))
    return config.final_fraction + (1 - config.final_fraction) * (1 + math.cos(math.pi * progress)) / 2


def build_optimizer(module: nn.Module, config: OptimConfig, max_steps: int) -> tuple[AdamW, LambdaLR]:
    """Return the optimiser of a module's trainable parameters, and its schedule over `max_steps` optimiser steps."""
    trainable = [parameter for parameter in module.parameters() if parameter.requires_grad]
    groups = [
        {"params": [p for p in trainable if p.ndim > 1], "weight_decay": config.weight_decay},
        {"params": [p for p in trainable if p.ndim <= 1], "weight_decay": 0.0},
    ]
    optimizer = AdamW(groups, lr=config.lr, betas=(config.beta1, config.beta2))
    return optimizer, LambdaLR(optimizer, lambda step: rate_factor(step, config, max_steps))
