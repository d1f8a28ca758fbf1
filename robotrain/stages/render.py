"""Stage: videos from predictions on disk, or the truth of episodes alone. Imports neither torch nor a model."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robotrain.config import compose
from robotrain.console import track
from robotrain.data.config import DataConfig
from robotrain.data.pipeline import build_pipeline
from robotrain.embodiments.catalog import embodiment_of
from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.episodes.reader import Episode, open_episode
from robotrain.episodes.resolver import SelectionConfig, resolve_episodes
from robotrain.errors import ConfigError
from robotrain.predictions import Predictions, load_predictions
from robotrain.stages.inputs import data_layers, with_root
from robotrain.viz.render import EpisodeRows, render_episode, view_of

PREDICTIONS_SUFFIX = ".npz"


@dataclass(frozen=True, kw_only=True, slots=True)
class RenderConfig:
    """What to draw."""

    source: str
    """A predictions file, or DATA: a folder of episodes, a name in configs/data, a YAML file."""
    out: str
    """Folder of the videos, ``<hash>.mp4`` each."""
    data: str | None = None
    """Where the episodes of the predictions lie; None: where they lay at the evaluation."""


@dataclass(frozen=True)
class RenderReport:
    """What was drawn."""

    videos: tuple[Path, ...]

    def to_plain(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"videos": [str(path) for path in self.videos]}


def run(config: RenderConfig) -> RenderReport:
    """Draw one video an episode, of its own rate and number of frames.

    Raises:
        RobotrainError: when predictions or episodes cannot be read, or do not belong together.
    """
    out = Path(config.out).expanduser()
    if config.source.endswith(PREDICTIONS_SUFFIX):
        predictions = load_predictions(Path(config.source).expanduser())
        return RenderReport(render_predictions(predictions, out, data=config.data))
    if config.data is not None:
        raise ConfigError("--data says where the episodes of predictions lie; without predictions, name DATA alone.")
    return RenderReport(_render_truth(config.source, out))


def render_predictions(
    predictions: Predictions, out: Path, *, data: str | None = None, hashes: tuple[str, ...] | None = None
) -> tuple[Path, ...]:
    """Draw truth and prediction over the episodes of predictions.

    Args:
        predictions: from the file or from memory.
        out: folder of the videos.
        data: where the episodes lie; None: where the predictions say.
        hashes: which episodes; None draws all.
    """
    chosen = tuple(predictions.episode_rows()) if hashes is None else hashes
    root = _episodes_root(predictions, data)
    facts = resolve_episodes(SelectionConfig(root=root, pins=chosen)).all
    paths = []
    for each in track(facts, "draw", total=len(facts), unit="videos"):
        episode = open_episode(each.path)
        rows = EpisodeRows.of(predictions, each.hash)
        paths.append(_draw(episode, predictions.interface, rows, out))
    return tuple(paths)


def _render_truth(spec: str, out: Path) -> tuple[Path, ...]:
    data = with_root(compose(DataConfig, data_layers(spec)))
    facts = resolve_episodes(data.episodes).all
    paths = []
    for each in track(facts, "draw", total=len(facts), unit="videos"):
        episode = open_episode(each.path)
        interface, rows = _true_rows(episode, data)
        paths.append(_draw(episode, interface, rows, out))
    return tuple(paths)


def _true_rows(episode: Episode, data: DataConfig) -> tuple[PolicyInterface, EpisodeRows]:
    """Return the true chunk of every frame, one step a stored row."""
    embodiment = embodiment_of(episode.embodiment, episode.facts.attributes)
    seconds = embodiment.mode(data.mode).seconds if data.seconds is None else data.seconds
    horizon = round(seconds * float(episode.fps)) + 1
    pipeline = build_pipeline(embodiment, mode=data.mode, horizon=horizon, seconds=seconds)
    frames = np.arange(episode.num_frames)
    encoded = pipeline.encode(pipeline.gather(episode, frames))
    rows = EpisodeRows(
        frames=frames,
        truth=encoded.actions,
        predicted=None,
        mask=encoded.action_mask,
        state=encoded.state,
        state_mask=encoded.state_mask,
    )
    return pipeline.interface(), rows


def _draw(episode: Episode, interface: PolicyInterface, rows: EpisodeRows, out: Path) -> Path:
    view = view_of(episode, embodiment_of(episode.embodiment, episode.facts.attributes))
    path = out / f"{episode.hash}.mp4"
    render_episode(episode, interface, rows, view, path)
    return path


def _episodes_root(predictions: Predictions, data: str | None) -> str:
    if data is not None:
        root = with_root(compose(DataConfig, data_layers(data))).episodes.root
    else:
        root = predictions.origin.get("data")
    if not isinstance(root, str):
        raise ConfigError("The predictions do not say where their episodes lie; name the folder with --data.")
    return root
