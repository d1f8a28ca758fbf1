"""What every policy is: two methods with two names.

A policy sees normalised numbers only, owns no random state and stores no device: what it allocates follows its
inputs. Its constructor gives the whole structure, on whatever device is the default; `initialise` gives values.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

from torch import Tensor, nn

from robotrain.batch import Batch, Observation
from robotrain.draws import Draws


@dataclass(frozen=True)
class LossTerms:
    """A loss and the parts it is made of, for the log."""

    total: Tensor
    """Scalar: what is minimised."""
    parts: Mapping[str, Tensor] = field(default_factory=dict)
    """By name: scalars, detached."""


class Policy(nn.Module, ABC):
    """A trainable map from observations to action chunks."""

    @abstractmethod
    def initialise(self) -> None:
        """Give every parameter its starting value, from torch's global generator; pretrained parts are skipped."""

    @abstractmethod
    def loss(self, batch: Batch, draws: Draws) -> LossTerms:
        """Return the training loss of a batch of normalised numbers.

        Masked steps do not count: the loss is the mean over real entries within a sample, then over samples.
        """

    @abstractmethod
    def sample(self, observation: Observation, draws: Draws) -> Tensor:
        """Return predicted chunks (B, H, D), normalised, a deterministic function of observation and draws."""


def masked_mean(error: Tensor, mask: Tensor) -> Tensor:
    """Return the mean of an error (B, H, D) over real steps within a sample, then over samples that have any.

    Args:
        error: (B, H, D), any unit.
        mask: (B, H) bool, True for real steps.
    """
    weight = mask.to(error.dtype)
    steps = weight.sum(1)
    per_sample = (error.mean(2) * weight).sum(1) / steps.clamp(min=1)
    return per_sample.sum() / (steps > 0).sum().clamp(min=1)
