"""What numpy says of numbers, in float64, and statistics of joint episodes to hold it against."""

from dataclasses import fields
from pathlib import Path

import numpy as np

from robotrain.data.describe import statistics_of, take_moments
from robotrain.data.exact_stats import compute_stats
from robotrain.data.pipeline import Pipeline, build_pipeline
from robotrain.data.stats import Columns, Stats, StatsMode
from robotrain.embodiments.catalog import embodiment_of
from robotrain.embodiments.layout import Field, Layout
from robotrain.episodes.reader import Episode, open_episode
from tests.factories import write_joints


def describe(values: np.ndarray) -> Columns:
    """Return the statistics of each column of values (n, D), n at least 1: members (D,) float64."""
    found = np.stack([statistics_of(column, take_moments(column)) for column in np.sort(np.asarray(values).T, axis=-1)])
    return Columns(*found.T.copy())


def pipeline_of(episode: Episode, horizon: int, seconds: float | None = None, mode: str | None = None) -> Pipeline:
    embodiment = embodiment_of(episode.embodiment, episode.facts.attributes)
    return build_pipeline(embodiment, mode=mode, horizon=horizon, seconds=seconds)


def stats_of_joints(folder: Path, episodes: list[np.ndarray], horizon: int = 1) -> Stats:
    """Return the statistics of joint episodes; a chunk has one row a step."""
    opened = [open_episode(write_joints(folder / f"e{i:03d}.zarr", values)) for i, values in enumerate(episodes)]
    return compute_stats(opened, pipeline_of(opened[0], horizon, max(horizon - 1, 1e-3) / 30))


MODES: tuple[StatsMode, ...] = ("quantile", "minmax", "zscore")


def joints(width: int) -> Layout:
    return Layout((Field("arm", "joint", width, "", "rad"),))


def published(**told: float | list[float]) -> Columns:
    """Return columns of published numbers; what is not published is filled with what is."""
    values = {name: np.atleast_1d(np.asarray(value, np.float64)) for name, value in told.items()}
    spare = {"median": "mean", "q0001": "min", "q9999": "max", "outliers": "std"}
    return Columns(**{f.name: values[spare.get(f.name, f.name)] for f in fields(Columns)})


def expected_columns(values: np.ndarray) -> dict[str, np.ndarray]:
    """Return what numpy says of values (n, D), in float64."""
    values = np.asarray(values, np.float64)
    return {
        "mean": values.mean(axis=0),
        "std": values.std(axis=0),
        "min": values.min(axis=0),
        "max": values.max(axis=0),
        "median": np.median(values, axis=0),
        "q01": np.percentile(values, 1, axis=0),
        "q99": np.percentile(values, 99, axis=0),
        "q0001": np.percentile(values, 0.01, axis=0, method="lower"),
        "q9999": np.percentile(values, 99.99, axis=0, method="higher"),
        "outliers": outliers(values),
    }


def outliers(values: np.ndarray) -> np.ndarray:
    """Return the share of values (n, D) that are five times as far out as the quantiles, or more; bounds in float32."""
    low, high = np.percentile(values, (1, 99), axis=0)
    middle, reach = (low + high) / 2, 5 * (high - low) / 2
    return np.mean((values < np.float32(middle - reach)) | (values > np.float32(middle + reach)), axis=0)


def assert_columns(columns: Columns, values: np.ndarray) -> None:
    for name, expected in expected_columns(values).items():
        found = getattr(columns, name)
        if name in {"min", "max", "q0001", "q9999"}:
            np.testing.assert_array_equal(found, expected, err_msg=name)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13, err_msg=name)
