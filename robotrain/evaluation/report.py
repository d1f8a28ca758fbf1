"""The verdict on predictions: every metric beside every baseline, over all samples and by episode.

Knows numbers; refuses to know policies and files: `Report.to_plain` is what metrics.json holds.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from robotrain.embodiments.layout import Layout
from robotrain.errors import PredictionError
from robotrain.metrics import Measurement, measure, measure_fields, primary_metric
from robotrain.predictions import Predictions

SCHEMA_VERSION = 1

_Measure = Callable[[np.ndarray, np.ndarray, np.ndarray, Layout], dict[str, Measurement]]


@dataclass(frozen=True)
class Score:
    """One metric of the policy beside that of each baseline. Lower is better; None means nothing was measured."""

    metric: str
    unit: str
    model: float | None
    baselines: Mapping[str, float | None]
    samples: int
    """Frames that the numbers are the mean of."""

    @property
    def best_baseline(self) -> str | None:
        """Name of the baseline that is hardest to beat, or None when there is none."""
        known = {name: value for name, value in self.baselines.items() if value is not None}
        return min(known, key=lambda name: known[name]) if known else None

    @property
    def ratio(self) -> float | None:
        """The policy's number over the best baseline's, or None where that is 0 or missing; below 1 the policy wins."""
        best = None if self.best_baseline is None else self.baselines[self.best_baseline]
        return None if self.model is None or not best else self.model / best

    def to_plain(self) -> dict[str, Any]:
        """Return plain data for JSON, without the metric's name."""
        return {
            "unit": self.unit,
            "model": self.model,
            "baselines": dict(self.baselines),
            "best_baseline": self.best_baseline,
            "ratio": self.ratio,
            "samples": self.samples,
        }


@dataclass(frozen=True)
class Coverage:
    """What the numbers rest on."""

    episodes: int
    frames: int
    """Frames predicted."""
    frames_measured: int
    """Those with at least one real step."""
    steps: int
    """Steps predicted."""
    steps_real: int
    """Those that were measured: neither past the episode's end nor with a missing hand."""


@dataclass(frozen=True)
class EpisodeScores:
    """The verdict on one episode."""

    episode: str
    """Hash."""
    frames: int
    scores: tuple[Score, ...]


@dataclass(frozen=True)
class Report:
    """The verdict on predictions of one embodiment."""

    predictions: Predictions
    primary: str
    """The metric to look at first."""
    coverage: Coverage
    scores: tuple[Score, ...]
    """By metric, over all samples."""
    fields: tuple[Score, ...]
    """By field, over all samples and the whole horizon."""
    episodes: tuple[EpisodeScores, ...]

    def score(self, metric: str) -> Score:
        """Return the score of a metric that the layout has."""
        return next(score for score in self.scores if score.metric == metric)

    def to_plain(self) -> dict[str, Any]:
        """Return the content of metrics.json. Where there was nothing to measure it holds null, never NaN."""
        interface = self.predictions.interface
        return {
            "schema_version": SCHEMA_VERSION,
            "embodiment": interface.embodiment,
            "mode": interface.mode,
            "horizon": interface.horizon,
            "seconds": interface.seconds,
            "origin": dict(self.predictions.origin),
            "coverage": asdict(self.coverage),
            "primary": self.primary,
            "metrics": _by_metric(self.scores),
            "fields": _by_metric(self.fields),
            "episodes": {
                episode.episode: {"frames": episode.frames, "metrics": _by_metric(episode.scores)}
                for episode in self.episodes
            },
        }


def score(predictions: Predictions, baselines: Mapping[str, np.ndarray]) -> Report:
    """Return the verdict on predictions.

    Args:
        predictions: N chunks with their truth.
        baselines: by name, (N, H, D): chunks to compare with, from `compute_baselines`.

    Raises:
        PredictionError: when there is no prediction, or one is not finite: a policy that diverged has no score.
    """
    _check_finite(predictions)
    mask = predictions.mask
    candidates = {None: predictions.predicted, **baselines}
    measured = {name: _measure(measure, chunks, predictions) for name, chunks in candidates.items()}
    by_field = {name: _measure(measure_fields, chunks, predictions) for name, chunks in candidates.items()}
    rows = predictions.episode_rows()
    coverage = Coverage(
        episodes=len(rows),
        frames=len(predictions),
        frames_measured=int(mask.any(1).sum()),
        steps=mask.size,
        steps_real=int(mask.sum()),
    )
    return Report(
        predictions=predictions,
        primary=primary_metric(predictions.interface.actions),
        coverage=coverage,
        scores=_scores(measured, None),
        fields=_scores(by_field, None),
        episodes=tuple(EpisodeScores(episode, len(index), _scores(measured, index)) for episode, index in rows.items()),
    )


def _measure(function: _Measure, chunks: np.ndarray, predictions: Predictions) -> dict[str, Measurement]:
    return function(chunks, predictions.truth, predictions.mask, predictions.interface.actions)


def _scores(measured: Mapping[str | None, dict[str, Measurement]], rows: np.ndarray | None) -> tuple[Score, ...]:
    """Return a score for each metric; the key None is the policy, the others are baselines."""
    return tuple(
        Score(
            metric=name,
            unit=measurement.unit,
            model=measurement.mean(rows),
            baselines={who: found[name].mean(rows) for who, found in measured.items() if who is not None},
            samples=measurement.count(rows),
        )
        for name, measurement in measured[None].items()
    )


def _by_metric(scores: tuple[Score, ...]) -> dict[str, Any]:
    return {score.metric: score.to_plain() for score in scores}


def _check_finite(predictions: Predictions) -> None:
    if not len(predictions):
        raise PredictionError("There is no prediction to score.")
    broken = ~np.isfinite(predictions.predicted).all(axis=(1, 2))
    if broken.any():
        first = int(np.flatnonzero(broken)[0])
        raise PredictionError(
            f"The policy predicts numbers that are not finite in {int(broken.sum())} of {len(predictions)} frames, "
            f"first in episode '{predictions.hashes[first]}', frame {predictions.frames[first]}."
        )
