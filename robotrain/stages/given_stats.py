"""Statistics that a user hands in: read from where runs leave them, and refused where the data are made otherwise.

Knows the three places that hold statistics; refuses to compute any.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from robotrain.data.stats import Stats, StatsConfig, differences
from robotrain.errors import MissingPathError, StatsError, UnknownNameError
from robotrain.stages.inputs import Inputs
from robotrain.stages.run_directory import STATS

__all__ = ["load_given_stats", "read_stats"]

_CHECKPOINT = ".ckpt"


def load_given_stats(path: Path, inputs: Inputs, config: StatsConfig) -> Stats:
    """Return the statistics of a file, for data that are made by the same recipe.

    Args:
        path: see `read_stats`.
        inputs: the data that they are to serve.
        config: how numbers are normalised.

    Raises:
        StatsError: when they were made otherwise, naming what differs.
    """
    stats = read_stats(path, inputs.interface.embodiment)
    if differ := differences(stats, inputs.pipeline.recipe(), pool_horizon=config.pool_horizon):
        raise StatsError(f"The statistics in '{path}' were made otherwise than these data are: {'; '.join(differ)}.")
    return replace(stats, interface=inputs.interface)


def read_stats(path: Path, embodiment: str) -> Stats:
    """Read statistics.

    Args:
        path: a ``stats.json``, a run directory that holds one, a file of the cache, or a checkpoint.
        embodiment: whose; of a checkpoint that knows several.

    Raises:
        MissingPathError: when there is nothing.
        StatsError: when it holds no statistics.
        UnknownNameError: when a checkpoint does not know the embodiment.
    """
    if not path.exists():
        raise MissingPathError(path, "The file of statistics")
    if path.suffix == _CHECKPOINT:
        return Stats.from_plain(_of_checkpoint(path, embodiment))
    file = path / STATS if path.is_dir() else path
    try:
        told = json.loads(file.read_bytes())
    except FileNotFoundError:
        raise MissingPathError(file, "The file of statistics") from None
    except (OSError, ValueError, RecursionError) as problem:
        raise StatsError(f"The statistics in '{file}' cannot be read: {problem}.") from None
    if not isinstance(told, dict):
        raise StatsError(f"'{file}' holds no statistics of robotrain.")
    inner = told.get("stats")  # the cache keeps them beside their key
    try:
        return Stats.from_plain(inner if isinstance(inner, dict) else told)
    except StatsError as problem:
        raise StatsError(f"'{file}': {problem}") from None


def _of_checkpoint(path: Path, embodiment: str) -> Any:
    from robotrain.training.checkpoint import load_checkpoint  # torch, for nothing else

    stats = load_checkpoint(path).stats
    if embodiment not in stats:
        raise UnknownNameError("embodiment", embodiment, tuple(stats), where=f"checkpoint '{path}'")
    return stats[embodiment]
