"""Stage: the statistics of the training split.

Reads episodes, writes the cache; a hit imports neither torch nor zarr.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from robotrain.config import Layer, compose, load_named
from robotrain.console import warn
from robotrain.data.cached_stats import CacheResult, load_or_compute_stats
from robotrain.data.config import DataConfig
from robotrain.data.stats import Columns, Stats, StatsConfig, remarks
from robotrain.embodiments.layout import Layout
from robotrain.stages.inputs import Inputs, arch_horizon, data_layers, resolve_inputs
from robotrain.stages.recipe import DEFAULT_RECIPE


@dataclass(frozen=True, kw_only=True, slots=True)
class StatsRequest:
    """Which statistics."""

    data: str | None = None
    """A folder of episodes, a name in configs/data or a YAML file; None: ROBOTRAIN_DATA_DIR."""
    arch: str | None = None
    """Whose horizon; None takes the default recipe's arch."""
    allow_missing: int | None = None
    """How many episodes may be left out because they cannot be used; None takes the data config's."""
    recompute: bool = False
    """Compute again, even where the cache has them."""


@dataclass(frozen=True)
class StatsReport:
    """Statistics, and where they lie."""

    stats: Stats
    config: StatsConfig
    cache: CacheResult
    arch: str
    """Whose horizon they have: a name, or a YAML file."""

    def rows(self, group: str) -> list[tuple[str, str, int, float, float, float]]:
        """Return a table row a field of ``actions`` or ``state``: name, unit, width, 1 %, 99 %, largest std."""
        interface = self.stats.interface
        layout, columns = (
            (interface.actions, self.stats.actions) if group == "actions" else (interface.state, self.stats.state)
        )
        return _field_rows(layout, columns)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a person should know before training."""
        return remarks(self.stats, self.config.mode)

    def to_plain(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        cache = {"hit": self.cache.hit, "path": str(self.cache.path), "key": self.cache.key}
        return {"arch": self.arch, "cache": cache, "remarks": list(self.remarks), "stats": self.stats.to_plain()}


def run(request: StatsRequest) -> StatsReport:
    """Compute or load the statistics that a training of this data and arch would use.

    Raises:
        RobotrainError: when the data cannot be resolved, or a number is not finite (naming its episode).
    """
    overrides = () if request.allow_missing is None else (f"episodes.allow_missing={request.allow_missing}",)
    data = compose(DataConfig, data_layers(request.data), overrides=overrides)
    arch = load_named("arch", request.arch) if request.arch else _default_arch()
    inputs = resolve_inputs(data, horizon=arch_horizon(arch))
    for remark in inputs.selection.remarks:
        warn(remark)
    stats, cache = load_stats(inputs, data.stats, recompute=request.recompute)
    return StatsReport(stats, data.stats, cache, request.arch or arch.values["name"])


def load_stats(inputs: Inputs, config: StatsConfig, *, recompute: bool = False) -> tuple[Stats, CacheResult]:
    """Return the statistics of the training split, from the cache where it has them."""
    return load_or_compute_stats(
        inputs.selection.train,
        inputs.pipeline,
        inputs.interface.cameras,
        pool_horizon=config.pool_horizon,
        recompute=recompute,
    )


def _default_arch() -> Layer:
    recipe = load_named("recipe", DEFAULT_RECIPE)
    return Layer(recipe.where, recipe.values["arch"])


def _field_rows(layout: Layout, columns: Columns) -> list[tuple[str, str, int, float, float, float]]:
    rows = []
    for field in layout.fields:
        part = layout.slices[field.name]
        low, high, std = (np.asarray(values)[..., part] for values in (columns.q01, columns.q99, columns.std))
        rows.append((field.name, field.unit, field.width, float(low.min()), float(high.max()), float(std.max())))
    return rows
