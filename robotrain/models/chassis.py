"""The chassis: stems in, a trunk that is handed to it, heads out; each embodiment has its own stems and head.

Knows which embodiment a batch is of, and the flow-matching loss; refuses to know what is inside the trunk.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from robotrain.batch import Batch, Observation
from robotrain.draws import Draws
from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.errors import UnknownNameError
from robotrain.models.flow import FlowConfig, Network, flow_error, flow_sample, flow_times
from robotrain.models.layers.naming import module_key
from robotrain.models.layers.values import initialise_module
from robotrain.models.policy import LossTerms, Policy, masked_mean


class Trunk(nn.Module, ABC):
    """What all embodiments share: it turns their tokens into conditioning."""

    @abstractmethod
    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return conditioning (B, M, E) of stem tokens (B, N, E); `mask` (B, N) bool is False for absent ones."""


class Chassis(Policy):
    """A policy made of stems, a trunk and flow-matching heads.

        state  -> stem --+
        camera -> stem --+-- tokens (B, N, E) -> trunk -> conditioning (B, M, E) -> head -> (B, H, D)
        prompt -> stem --+

    Args:
        interfaces: of every embodiment the policy serves.
        stems: by embodiment, in the order of the interfaces: modules by modality, each giving (tokens, present).
        trunk: shared by all.
        heads: by embodiment: (x, time, conditioning) -> (B, H, D).
        flow: what the heads answer, and how a chunk is sampled.
    """

    def __init__(
        self,
        interfaces: Sequence[PolicyInterface],
        *,
        stems: Mapping[str, nn.ModuleDict],
        trunk: Trunk,
        heads: Mapping[str, nn.Module],
        flow: FlowConfig,
    ) -> None:
        super().__init__()
        self.embodiments = tuple(interface.embodiment for interface in interfaces)
        self.flow = flow
        self.stems = nn.ModuleDict({module_key(name): stems[name] for name in self.embodiments})
        self.trunk = trunk
        self.heads = nn.ModuleDict({module_key(name): heads[name] for name in self.embodiments})

    def initialise(self) -> None:
        """Give every parameter its starting value, from torch's global generator."""
        initialise_module(self)

    def loss(self, batch: Batch, draws: Draws) -> LossTerms:
        """Return the flow-matching loss: the squared error of what the head answers, over real steps."""
        network = self._network(batch.observation)
        error = flow_error(network, batch.actions, draws.noise, flow_times(draws.time), self.flow)
        total = masked_mean(error, batch.action_mask)
        return LossTerms(total, {f"flow/{batch.observation.embodiment}": total.detach()})

    def sample(self, observation: Observation, draws: Draws) -> Tensor:
        """Return chunks (B, H, D), normalised, walked from the draws' noise."""
        return flow_sample(self._network(observation), draws.noise, self.flow)

    def conditioning(self, observation: Observation) -> Tensor:
        """Return what the trunk makes of an observation, (B, M, E)."""
        stems = cast("nn.ModuleDict", self._of(self.stems, observation))
        sensed = [stem(observation) for stem in stems.values()]
        tokens = torch.cat([tokens for tokens, _ in sensed], 1)
        mask = torch.cat([present[:, None].expand(-1, tokens.shape[1]) for tokens, present in sensed], 1)
        return self.trunk(tokens, mask)

    def _network(self, observation: Observation) -> Network:
        head, conditioning = self._of(self.heads, observation), self.conditioning(observation)
        return lambda x, time: head(x, time, conditioning)

    def _of(self, parts: nn.ModuleDict, observation: Observation) -> nn.Module:
        if observation.embodiment not in self.embodiments:
            raise UnknownNameError("embodiment", observation.embodiment, self.embodiments, where="this policy")
        return parts[module_key(observation.embodiment)]
