"""Stage: a checkpoint against whole episodes. Reads checkpoint and episodes, writes metrics, predictions and videos."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from robotrain.config import Layer, compose, parse_overrides
from robotrain.console import say, warn
from robotrain.data.config import DataConfig
from robotrain.data.dataset import WindowDataset
from robotrain.episodes.left_wrist import is_mecka
from robotrain.episodes.manifest import MANIFEST
from robotrain.episodes.resolver import Selection, SelectionConfig, resolve_episodes, resolving_once
from robotrain.episodes.schema import EpisodeFacts
from robotrain.errors import CheckpointError, ConfigError, UnknownNameError
from robotrain.evaluation.baselines import compute_baselines
from robotrain.evaluation.predictor import LoadedPolicy, load_policy, predict_keys
from robotrain.evaluation.report import Report, score
from robotrain.files import write_json
from robotrain.predictions import save_predictions
from robotrain.stages.inputs import DiffersFrom, build_inputs, data_layers, with_root
from robotrain.stages.render import render_predictions
from robotrain.stages.run_directory import EVAL, changed_since, load_split, newest_run, run_of
from robotrain.training.checkpoint import resolve_checkpoint

SPLITS = ("train", "valid", "all")


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluateConfig:
    """What to score, on what."""

    checkpoint: str
    """A run directory, or a checkpoint."""
    data: str | None = None
    """Other episodes than the run's own: a folder, a name in configs/data or a YAML file."""
    splits: tuple[str, ...] = ()
    """Of train, valid, all; empty: valid of the run's own episodes, all of others."""
    videos: bool = False
    """Draw videos."""
    episodes: int | None = None
    """At most so many episodes a split, the first by hash; None takes all."""
    stride: int = 1
    """Every so many frames are scored."""
    batch_size: int = 64
    """Frames a forward pass."""
    num_videos: int = 8
    """At most so many videos a split, where the data config names no video_episodes."""
    seed: int = 0
    """Of the noise that chunks are sampled from."""
    allow_missing: int = 0
    """How many episodes may be left out because they are not there or cannot be read; more stop the evaluation."""
    allow_changed: bool = False
    """Evaluate on episodes of the run that have changed since."""

    def __post_init__(self) -> None:
        """Refuse numbers that score nothing."""
        for name in ("stride", "batch_size", "num_videos"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, found {getattr(self, name)}.")
        if self.episodes is not None and self.episodes < 1:
            raise ConfigError(f"episodes must be at least 1, found {self.episodes}.")
        for split in self.splits:
            if split not in SPLITS:
                raise UnknownNameError("split", split, SPLITS)


@dataclass(frozen=True)
class EvaluateReport:
    """The verdict on one split, and where it lies."""

    split: str
    result: Report
    metrics: Path
    predictions: Path
    videos: tuple[Path, ...]

    def to_plain(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "split": self.split,
            "files": {
                "metrics": str(self.metrics),
                "predictions": str(self.predictions),
                "videos": [str(path) for path in self.videos],
            },
            "result": self.result.to_plain(),
        }


def resolve_config(
    path: str | None, *, data: str | None, splits: tuple[str, ...], videos: bool, overrides: Sequence[str]
) -> EvaluateConfig:
    """Compose an evaluation's config; without a path it is the newest run's, and says which.

    Raises:
        MissingPathError: when there is no run.
        UnknownNameError, ConfigError: for a key or a value that does not fit.
    """
    if path is None:
        path = str(newest_run())
        say(f"Evaluating the newest run: {path}")
    options = {"checkpoint": path, "data": data, "splits": list(splits), "videos": videos}
    given = parse_overrides(overrides).values
    if twice := [name for name in options if name in given]:
        raise ConfigError(f"'{twice[0]}' is an option of its own, not a KEY=VALUE: see robotrain eval --help.")
    return compose(EvaluateConfig, (Layer("the options", options),), overrides=overrides)


@resolving_once()
def run(config: EvaluateConfig) -> tuple[EvaluateReport, ...]:
    """Predict, score and draw each split.

    Raises:
        RobotrainError: when checkpoint and data cannot be read, or do not belong together. Nothing is written then.
    """
    checkpoint = resolve_checkpoint(Path(config.checkpoint).expanduser()).resolve()
    loaded = load_policy(checkpoint)
    splits = config.splits or (("valid",) if config.data is None else ("all",))
    subjects = {split: _subject(config, loaded, checkpoint, split) for split in splits}
    return tuple(
        _evaluate(config, loaded, checkpoint, name, dataset, data) for name, dataset, data in subjects.values()
    )


def _subject(
    config: EvaluateConfig, loaded: LoadedPolicy, checkpoint: Path, split: str
) -> tuple[str, WindowDataset, DataConfig]:
    """Return the name, the episodes and the data config of a split."""
    data = _data_config(config, loaded)
    if config.data is None:
        selection, name = _own_split(config, data, checkpoint, split), split
    else:
        selection = resolve_episodes(replace(data.episodes, allow_missing=config.allow_missing))
        name = data.name if split == "all" else f"{data.name}-{split}"
    for remark in selection.remarks:
        warn(remark)
    parts = {"train": selection.train, "valid": selection.valid, "all": selection.all}
    facts = selection.require_valid() if split == "valid" else parts[split]
    facts = facts[: config.episodes] if config.episodes is not None else facts
    wanted = loaded.interface_of(facts[0].embodiment)
    inputs = build_inputs(selection, data, horizon=wanted.horizon)
    loaded.check(inputs.interface)
    run_dir = run_of(checkpoint)
    if config.data is None and run_dir is not None and not config.allow_changed:
        paths = [each.path for each in facts]
        changed_since(run_dir, selection.root, paths, allowed=False, setting="allow_changed")
    if config.data is not None:
        _warn_of_leak(loaded, run_dir, [each.hash for each in facts], name)
        _warn_of_wrists(loaded, data, facts)
    return name, WindowDataset(facts, inputs.pipeline, wanted.cameras, wanted.image_size), data


def _data_config(config: EvaluateConfig, loaded: LoadedPolicy) -> DataConfig:
    """Return the run's own data config, or the one named; mode, time, history and pictures are the checkpoint's."""
    if config.data is None:
        data = compose(DataConfig, (Layer("the checkpoint's config", loaded.config["data"]),))
    else:
        data = compose(DataConfig, data_layers(config.data))
    wanted = loaded.interface
    data = replace(data, mode=wanted.mode, seconds=wanted.seconds, cameras=wanted.cameras, history=wanted.history)
    return with_root(replace(data, image_size=wanted.image_size))


def _own_split(config: EvaluateConfig, data: DataConfig, checkpoint: Path, split: str) -> Selection:
    """Return the episodes that the run recorded, not what its config would select today.

    A folder may have grown since; an episode that was trained on must not count as held out.
    """
    run_dir = run_of(checkpoint)
    if run_dir is None:
        raise CheckpointError(
            checkpoint, "it does not lie in a run directory, so its split is not known; name episodes with --data."
        )
    recorded = load_split(run_dir)
    pins = {"train": recorded.train, "valid": recorded.valid, "all": (*recorded.train, *recorded.valid)}[split]
    if not pins:
        raise ConfigError("The run held out no episode to evaluate on; name others with --data, or --split train.")
    chosen = SelectionConfig(root=data.episodes.root, pins=pins, valid_ratio=0.0, allow_missing=config.allow_missing)
    found = resolve_episodes(chosen, differs=None if config.allow_changed else DiffersFrom(run_dir / MANIFEST))
    return replace(
        found,
        train=tuple(facts for facts in found.all if facts.hash in recorded.train),
        valid=tuple(facts for facts in found.all if facts.hash in recorded.valid),
    )


def _warn_of_leak(loaded: LoadedPolicy, run_dir: Path | None, hashes: Sequence[str], name: str) -> None:
    # Statistics that were given may rest on other episodes; without the run's directory they are all there is to go by.
    trained = set(hashes) & set(loaded.stats.episodes if run_dir is None else load_split(run_dir).train)
    if trained:
        warn(f"{len(trained)} of the {len(hashes)} episodes of '{name}' were trained on; the scores flatter the model")


def _warn_of_wrists(loaded: LoadedPolicy, data: DataConfig, facts: Sequence[EpisodeFacts]) -> None:
    """Tell when a policy's left wrists were mended and these are not, or the other way round."""
    if loaded.mends_left_wrist != data.mend_left_wrist and any(is_mecka(each.stored_embodiment) for each in facts):
        ours, theirs = ("mended", "as stored") if loaded.mends_left_wrist else ("as stored", "mended")
        warn(f"the policy was trained on left wrists {ours}, and those of '{data.name}' are {theirs}: is that meant?")


def _evaluate(
    config: EvaluateConfig, loaded: LoadedPolicy, checkpoint: Path, name: str, dataset: WindowDataset, data: DataConfig
) -> EvaluateReport:
    keys = [
        (episode, int(frame)) for episode in dataset.hashes for frame in dataset.frames_of(episode)[:: config.stride]
    ]
    origin = {"data": data.episodes.root, "split": name}
    predictions = predict_keys(loaded, dataset, keys, seed=config.seed, batch_size=config.batch_size, origin=origin)
    result = score(predictions, compute_baselines(predictions, loaded.stats))
    folder = (run_of(checkpoint) or checkpoint.parent) / EVAL / checkpoint.stem / name
    save_predictions(folder / "predictions.npz", predictions)
    write_json(folder / "metrics.json", result.to_plain())
    videos: tuple[Path, ...] = ()
    if config.videos:
        hashes = _drawn(config, dataset, data)
        videos = render_predictions(predictions, folder / "videos", hashes=hashes)
    return EvaluateReport(name, result, folder / "metrics.json", folder / "predictions.npz", videos)


def _drawn(config: EvaluateConfig, dataset: WindowDataset, data: DataConfig) -> tuple[str, ...]:
    """Return the episodes to draw: those that the data config pins for it, else the first of the split."""
    pinned = tuple(episode for episode in data.video_episodes if episode in dataset.hashes)
    if pinned:
        return pinned
    if (num := len(dataset.hashes)) > config.num_videos:
        say(f"Drawing {config.num_videos} of {num} episodes; num_videos={num} draws all.")
    return dataset.hashes[: config.num_videos]
