"""The Lightning module: raw batches in, a loss or raw actions out.

Knows normalizers, draws and the optimiser; refuses to know files, the trainer's callbacks and any device: what it makes
follows its inputs. `PolicyModule.predict` is the one place that inverts normalised actions.
"""

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor, nn

from robotrain.batch import Batch, Observation
from robotrain.draws import Draws, compute_draws
from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.errors import DivergedError, ShapeError, UnknownNameError
from robotrain.models.layers.naming import module_key
from robotrain.models.policy import Policy, masked_mean
from robotrain.models.registry import ArchConfig, build
from robotrain.training.augment import AugmentConfig, augment_images, prepare_images
from robotrain.training.checkpoint import RECORD_KEY, Checkpoint, Record
from robotrain.training.normalizer import Affine, Normalizer
from robotrain.training.optim import OptimConfig, build_optimizer

VALID_PASS = 0
"""The pass index of every validation: the same draws each time, so two validations can be compared."""

AnyBatch = Batch | Mapping[str, Batch]
"""One embodiment's batch, or a mixture's by embodiment."""


@dataclass(frozen=True, kw_only=True)
class Learning:
    """How a module learns."""

    optim: OptimConfig = field(default_factory=OptimConfig)
    augment: AugmentConfig = field(default_factory=AugmentConfig)
    max_steps: int = 1
    """Optimiser steps of the whole run: the schedule's length."""
    seed: int = 0
    """Of starting values, draws and dropout."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """One embodiment to train on."""

    interface: PolicyInterface
    affine: Affine
    stats: Mapping[str, Any]
    """Its statistics as plain data, for the record."""


class PolicyModule(pl.LightningModule):
    """A policy between its normalizers.

    Args:
        policy: sees normalised numbers only.
        normalizers: one an embodiment, with its interface.
        learning: optimiser, augmentation, seed.
        record: plain data that travels in every checkpoint.
    """

    def __init__(
        self, policy: Policy, normalizers: Sequence[Normalizer], *, learning: Learning, record: Record
    ) -> None:
        super().__init__()
        self.policy = policy
        self.normalizers = nn.ModuleDict({module_key(n.interface.embodiment): n for n in normalizers})
        self.interfaces = {n.interface.embodiment: n.interface for n in normalizers}
        self.learning = learning
        self.record = record

    def predict(self, observation: Observation, draws: Draws) -> Tensor:
        """Return predicted chunks (B, H, D) float32, in the interface's units and frames.

        Args:
            observation: raw: images uint8, state in its own units.
            draws: on the observation's device; only the noise is used.
        """
        with torch.no_grad():
            normalised = self.policy.sample(self._normalised(observation), draws)
            return self.normalizer(observation.embodiment).invert_actions(normalised)

    def draws(self, observation: Observation, *, seed: int, pass_index: int) -> Draws:
        """Return the draws of an observation's rows, computed on the CPU and brought to where the rows are."""
        interface = self._interface(observation.embodiment)
        horizon, width = interface.horizon, interface.actions.width
        draws = compute_draws(observation.keys, seed=seed, pass_index=pass_index, horizon=horizon, width=width)
        return draws.to(observation.state.device)

    def normalizer(self, embodiment: str) -> Normalizer:
        """Return an embodiment's normalizer.

        Raises:
            UnknownNameError: when the module was not built for it.
        """
        self._interface(embodiment)
        found = self.normalizers[module_key(embodiment)]
        if not isinstance(found, Normalizer):
            raise TypeError(f"{type(found).__name__} among the normalizers")
        return found

    def training_step(self, batch: AnyBatch, batch_idx: int) -> Tensor:
        """Return the loss of one micro-batch: the mean over its embodiments."""
        torch.manual_seed(_mixed_seed(self.learning.seed, self.global_step, self._place(batch_idx), self.global_rank))
        losses: dict[str, Tensor] = {}
        for part in _parts(batch):
            draws = self.draws(part.observation, seed=self.learning.seed, pass_index=self.global_step)
            losses[part.observation.embodiment] = self._loss(part, draws, training=True)
        loss = torch.stack(list(losses.values())).mean()
        if not bool(torch.isfinite(loss)):
            raise DivergedError(self.global_step, float(loss.detach()))
        self.log("train/loss", loss.detach(), on_step=True, on_epoch=False, batch_size=1)
        self.log(
            "train/lr", self.trainer.optimizers[0].param_groups[0]["lr"], on_step=True, on_epoch=False, batch_size=1
        )
        if len(losses) > 1:
            for name, value in losses.items():
                self.log(f"train/loss/{name}", value.detach(), on_step=True, on_epoch=False, batch_size=1)
        return loss

    def _place(self, batch_idx: int) -> int:
        """Return the place of a micro-batch in its epoch; Lightning's number counts from where a resumed run began."""
        micro = self.trainer.accumulate_grad_batches
        return int((self.global_step * micro + batch_idx % micro) % self.trainer.num_training_batches)

    def validation_step(self, batch: AnyBatch, batch_idx: int) -> None:  # noqa: ARG002  # Lightning passes it
        """Log the loss, and the mean squared error of sampled chunks, normalised; the same numbers at every call."""
        for part in _parts(batch):
            draws = self.draws(part.observation, seed=self.learning.seed, pass_index=VALID_PASS)
            normalizer = self.normalizer(part.observation.embodiment)
            predicted = normalizer.normalize_actions(self.predict(part.observation, draws))
            truth = normalizer.normalize_actions(part.actions)
            error = masked_mean((predicted - truth).square(), part.action_mask)
            num = len(part)
            self.log("valid/loss", self._loss(part, draws, training=False), batch_size=num, sync_dist=True)
            self.log("valid/action_mse", error, batch_size=num, sync_dist=True)

    def configure_optimizers(self) -> Any:
        """Return the optimiser, and its schedule stepped every optimiser step."""
        optimizer, schedule = build_optimizer(self.policy, self.learning.optim, self.learning.max_steps)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add the record: what the weights mean, as plain data."""
        checkpoint[RECORD_KEY] = self.record.to_plain()

    def _loss(self, batch: Batch, draws: Draws, *, training: bool) -> Tensor:
        """Return the policy's loss of a raw batch."""
        interface = self._interface(batch.observation.embodiment)
        # Said here, for torch would spread a chunk of one step or column over all of the policy's.
        _expect(interface, "actions", (len(batch), interface.horizon, interface.actions.width), batch.actions.shape)
        normalised = Batch(
            observation=self._normalised(batch.observation, draws if training else None),
            actions=self.normalizer(batch.observation.embodiment).normalize_actions(batch.actions),
            action_mask=batch.action_mask,
        )
        return self.policy.loss(normalised, draws).total

    def _normalised(self, observation: Observation, jitter: Draws | None = None) -> Observation:
        """Return the observation as the policy sees it; images are jittered by the draws when there are any.

        Raises:
            ShapeError: when it is not what the policy was built for.
        """
        interface = self._interface(observation.embodiment)
        _expect(interface, "state", (len(observation), interface.state.width), observation.state.shape)
        if not set(interface.views) <= observation.images.keys():
            wanted, found = (f"cameras {', '.join(names)}" for names in (interface.views, observation.images))
            _expect(interface, "images", wanted, found if observation.images else "none")
        state = self.normalizer(observation.embodiment).normalize_state(observation.state, observation.state_mask)
        images = {
            camera: prepare_images(image)
            if jitter is None
            else augment_images(image, jitter.augment, self.learning.augment)
            for camera, image in observation.images.items()
        }
        return dataclasses.replace(observation, images=images, state=state, state_history=self._past(observation))

    def _past(self, observation: Observation) -> Tensor | None:
        """Return the normalised history; every step has the statistics of the state."""
        states, mask = observation.state_history, observation.state_history_mask
        if states is None or mask is None:
            return None
        return self.normalizer(observation.embodiment).normalize_state(states, mask)

    def _interface(self, embodiment: str) -> PolicyInterface:
        if embodiment not in self.interfaces:
            raise UnknownNameError("embodiment", embodiment, tuple(self.interfaces), where="this policy")
        return self.interfaces[embodiment]


def _expect(interface: PolicyInterface, field: str, expected: Sequence[int] | str, found: Sequence[int] | str) -> None:
    """Refuse what differs from what a policy was built for, naming both."""
    if expected != found:
        whose = f"the policy's for '{interface.embodiment}' in mode '{interface.mode}'"
        raise ShapeError(field, f"{expected}, {whose}", found)


def build_module(
    arch: ArchConfig, subjects: Sequence[Subject], *, learning: Learning, config: Mapping[str, Any]
) -> PolicyModule:
    """Return a module with fresh values, on the CPU; torch's global generator is left as it was.

    Args:
        arch: the policy's config.
        subjects: the embodiments it will serve.
        learning: optimiser, augmentation, seed of the starting values.
        config: the run's whole config as plain data, for the record.
    """
    interfaces = [subject.interface for subject in subjects]
    with torch.random.fork_rng(devices=[]):
        policy = build(arch, interfaces)
        torch.manual_seed(learning.seed)
        policy.initialise()
    record = Record(
        arch=dataclasses.asdict(arch),
        config=config,
        interfaces={interface.embodiment: interface.to_plain() for interface in interfaces},
        stats={subject.interface.embodiment: subject.stats for subject in subjects},
    )
    normalizers = [Normalizer(subject.interface, subject.affine) for subject in subjects]
    return PolicyModule(policy, normalizers, learning=learning, record=record)


def restore_module(checkpoint: Checkpoint) -> PolicyModule:
    """Return the module of a checkpoint, on the CPU, in evaluation mode.

    Raises:
        CheckpointError: when the weights do not fit the recorded arch and interfaces.
    """
    interfaces = checkpoint.interfaces
    policy = build(checkpoint.arch_config(), list(interfaces.values()))
    normalizers = [Normalizer(interface) for interface in interfaces.values()]
    module = PolicyModule(policy, normalizers, learning=Learning(), record=checkpoint.record)
    checkpoint.fill(module)
    return module.eval()


def _parts(batch: AnyBatch) -> tuple[Batch, ...]:
    return (batch,) if isinstance(batch, Batch) else tuple(batch.values())


def _mixed_seed(*numbers: int) -> int:
    """Return a seed of 63 bits in which every number counts."""
    digest = hashlib.sha256("/".join(str(number) for number in numbers).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1
