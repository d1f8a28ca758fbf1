"""Stage: from episodes and an arch to a run directory. Knows the order of a training; every step lives elsewhere."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from robotrain.config import compose, save_config, to_plain, to_yaml
from robotrain.console import count, say, warn
from robotrain.data.bounds import bounds_of
from robotrain.data.config import DataConfig
from robotrain.data.datamodule import EpisodesDataModule
from robotrain.data.dataset import WindowDataset
from robotrain.data.replacement import ReplacedSamples
from robotrain.data.stats import Stats, StatsConfig, affine
from robotrain.episodes.resolver import resolving_once
from robotrain.episodes.schema import EpisodeFacts
from robotrain.errors import CheckpointError, ConfigError
from robotrain.files import write_json
from robotrain.models.registry import build_on_meta, count_parameters
from robotrain.stages.inputs import Inputs, resolve_inputs, with_root
from robotrain.stages.models import arch_schema
from robotrain.stages.recipe import TrainChoice, recipe_layers
from robotrain.stages.run_directory import (
    CONFIG,
    LAST,
    STATS,
    announced,
    announced_run,
    changed_since,
    create_run_directory,
    load_split,
    save_split,
)
from robotrain.stages.soundness import require_sound
from robotrain.stages.stats import load_stats
from robotrain.training.callbacks.bad_samples import BadSamples
from robotrain.training.checkpoint import load_checkpoint, resolve_checkpoint
from robotrain.training.module import PolicyModule, Subject, build_module
from robotrain.training.normalizer import Affine
from robotrain.training.provenance import save_provenance
from robotrain.training.trainer import TrainerConfig, build_trainer, check_resumable, fit


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainConfig:
    """Everything that decides a run. Saved as ``config.yaml`` in the run directory, and usable as a recipe."""

    name: str = ""
    """Folder of the run under ROBOTRAIN_LOG_DIR; empty takes the data's name."""
    description: str = ""
    """Beginning of the run directory's own name; empty takes the arch's name."""
    arch: Any = None
    """The policy: the config of a family in `models/registry.py`, picked by its ``family``."""
    data: DataConfig = field(default_factory=DataConfig)
    """Which episodes, and how they become batches."""
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    """How long, how precise, where."""


@dataclass(frozen=True)
class TrainPlan:
    """What a run would be: of ``--dry-run``."""

    config: TrainConfig
    parameters: Mapping[str, int]
    """By part of the policy."""

    @property
    def num_parameters(self) -> int:
        """Parameters of the whole policy."""
        return sum(self.parameters.values())

    @property
    def yaml(self) -> str:
        """The resolved config."""
        return to_yaml(self.config)

    def to_plain(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "config": to_plain(self.config),
            "parameters": dict(self.parameters),
            "num_parameters": self.num_parameters,
        }


@dataclass(frozen=True)
class TrainReport:
    """What a run left."""

    run_dir: Path
    checkpoint: Path
    step: int
    seconds: float
    is_first_process: bool = True
    """Whether this process speaks for the run; a training on several devices has several."""

    def to_plain(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "run_dir": str(self.run_dir),
            "checkpoint": str(self.checkpoint),
            "step": self.step,
            "seconds": self.seconds,
        }


def resolve_config(choice: TrainChoice) -> TrainConfig:
    """Compose a run's config: the recipe, then arch, data and trainer in place of its own, then ``KEY=VALUE``.

    Raises:
        UnknownNameError: for a name or a key that does not exist.
        ConfigError: for a contradiction.
    """
    return compose(TrainConfig, recipe_layers(choice), overrides=choice.overrides, schema_for={"arch": arch_schema})


def plan(config: TrainConfig) -> TrainPlan:
    """Resolve the data and build the policy's structure without a single weight."""
    inputs = resolve_inputs(config.data, horizon=config.arch.horizon)
    policy = build_on_meta(config.arch, [inputs.interface])
    return TrainPlan(replace(config, data=with_root(config.data)), count_parameters(policy))


@resolving_once()
def run(config: TrainConfig, *, resume: Path | None = None, log_dir: Path | None = None) -> TrainReport:
    """Check the episodes, compute or load their statistics, train, and leave a run directory.

    Nothing is written before everything is known to fit.

    Args:
        config: from `resolve_config`.
        resume: the run directory to go on with.
        log_dir: where run directories go; None: ROBOTRAIN_LOG_DIR.

    Raises:
        RobotrainError: for anything in config or data that does not fit.
    """
    begin = time.monotonic()
    config = replace(config, data=with_root(config.data))
    inputs = resolve_inputs(config.data, horizon=config.arch.horizon)
    sound = require_sound(inputs.selection, config.data)
    inputs = replace(inputs, selection=sound.selection)
    for remark in inputs.selection.remarks:
        warn(remark)
    if not inputs.selection.valid:
        is_alone = len(inputs.selection.all) == 1
        warn(f"{'only one episode: it is trained on, and ' if is_alone else ''}nothing is held out to validate with")
    stats, _ = load_stats(inputs, config.data.stats)
    module = _build(config, inputs, stats)
    loaders = _data_module(config, inputs, stats)
    checkpoint = _checkpoint_to_resume(resume, inputs, config)
    if checkpoint is not None:
        check_resumable(checkpoint, module)
    shared = announced_run()
    differs = dict(sound.differs)
    if resume is not None and shared is None:
        paths, allowed = [facts.path for facts in inputs.selection.all], config.data.allow_changed
        root = inputs.selection.root
        differs |= changed_since(resume, root, paths, allowed=allowed, setting="data.allow_changed")
    run_dir = (
        resume
        or shared
        or create_run_directory(config.name or config.data.name, config.description or config.arch.name, log_dir)
    )
    if shared is None:
        _describe(run_dir, config, stats)
        save_split(run_dir, sound.selection, differs)
    say(f"Training {config.arch.name} on {count(len(inputs.selection.train), 'episode')}: {run_dir}")
    try:
        with announced(run_dir):
            callbacks = () if loaders.replaced is None else (BadSamples(loaders),)
            fit(build_trainer(config.trainer, run_dir, callbacks=callbacks), module, loaders, resume=checkpoint)
    except KeyboardInterrupt:
        if (run_dir / LAST).exists():
            say(f"To go on from the last checkpoint: robotrain train --resume {run_dir}")
        raise
    seconds = time.monotonic() - begin
    if shared is not None:
        return TrainReport(run_dir, run_dir / LAST, config.trainer.max_steps, seconds, is_first_process=False)
    last = resolve_checkpoint(run_dir)
    return TrainReport(run_dir, last, load_checkpoint(last).step, seconds)


def _checkpoint_to_resume(resume: Path | None, inputs: Inputs, config: TrainConfig) -> Path | None:
    """Return the checkpoint to go on from; refuse other episodes than the run began with, and a run that is done."""
    if resume is None:
        return None
    path = resolve_checkpoint(resume)
    if load_split(resume).train != tuple(facts.hash for facts in inputs.selection.train):
        raise CheckpointError(path, f"the training episodes in '{inputs.selection.root}' are not those it began with.")
    step = load_checkpoint(path).step
    if step >= config.trainer.max_steps:
        raise ConfigError(f"'{resume}' has done its {step} steps. To go on: trainer.max_steps={2 * step}, say.")
    return path


def _build(config: TrainConfig, inputs: Inputs, stats: Stats) -> PolicyModule:
    subject = Subject(interface=inputs.interface, affine=affine_of(stats, config.data.stats), stats=stats.to_plain())
    return build_module(config.arch, [subject], learning=config.trainer.learning, config=to_plain(config))


def affine_of(stats: Stats, config: StatsConfig) -> Affine:
    """Return the normalisation that statistics give."""
    (action_centre, action_scale), (state_centre, state_scale) = (
        affine(columns, layout, config.modes_of(group, layout))
        for group, columns, layout in (
            ("actions", stats.actions, stats.interface.actions),
            ("state", stats.state, stats.interface.state),
        )
    )
    return Affine(
        action_centre=action_centre, action_scale=action_scale, state_centre=state_centre, state_scale=state_scale
    )


def _data_module(config: TrainConfig, inputs: Inputs, stats: Stats) -> EpisodesDataModule:
    train = _samples(inputs, inputs.selection.train)
    valid = _samples(inputs, inputs.selection.valid) if inputs.selection.valid else None
    for remark in (*train.remarks, *(valid.remarks if valid else ())):
        warn(remark)
    seed, bounds = config.trainer.seed, config.data.bounds
    return EpisodesDataModule(
        train,
        valid,
        batch_size=config.data.batch_size,
        num_workers=config.data.num_workers,
        seed=seed,
        steps_per_epoch=config.trainer.batches_per_epoch,
        replaced=ReplacedSamples(train, bounds_of(stats, bounds.slack), bounds, seed) if bounds.replace else None,
    )


def _samples(inputs: Inputs, facts: Sequence[EpisodeFacts]) -> WindowDataset:
    return WindowDataset(facts, inputs.pipeline, inputs.interface.cameras, inputs.interface.image_size)


def _describe(run_dir: Path, config: TrainConfig, stats: Stats) -> None:
    save_config(run_dir / CONFIG, config)
    save_provenance(run_dir)
    write_json(run_dir / STATS, stats.to_plain())
