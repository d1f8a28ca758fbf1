"""Stage: the statistics of the training split.

Reads episodes, writes the cache; a hit imports neither torch nor zarr.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robotrain.config import compose
from robotrain.console import warn
from robotrain.data.cached_stats import CacheResult, load_or_compute_stats
from robotrain.data.config import DataConfig
from robotrain.data.outside import Outside, compute_outside
from robotrain.data.stats import GROUPS, Stats, StatsConfig, degenerate_columns, remarks
from robotrain.embodiments.layout import BOUNDED_KINDS, Field, Layout
from robotrain.errors import ConfigError
from robotrain.stages.given_stats import load_given_stats
from robotrain.stages.inputs import Inputs, arch_horizon, data_layers, resolve_inputs
from robotrain.stages.recipe import arch_layer

FieldRow = tuple[str, str, str, str, str, str, str, str, str]
"""Field, unit, smallest, 1 %, 99 %, largest, share of constant cells, of missing values, of outliers."""
OutsideRow = tuple[str, str, str, str]
"""Field, unit, share of values outside, the column with the largest and its share."""


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
    plot: Path | None = None
    """Folder for a picture per field of the actions; None draws none."""


@dataclass(frozen=True)
class StatsReport:
    """Statistics, and where they lie."""

    stats: Stats
    config: StatsConfig
    cache: CacheResult
    arch: str
    """Whose horizon they have: a name, or a YAML file."""
    pictures: tuple[Path, ...] = ()

    def rows(self, group: str) -> list[FieldRow]:
        """Return a table row a field of ``actions`` or ``state``."""
        return [_field_row(self.stats, self.config, group, field) for field in _layout(self.stats, group).fields]

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a person should know before training."""
        return remarks(self.stats, self.config)

    def to_plain(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        cache = {"hit": self.cache.hit, "path": str(self.cache.path), "key": self.cache.key}
        return {
            "arch": self.arch,
            "cache": cache,
            "remarks": list(self.remarks),
            "pictures": [str(picture) for picture in self.pictures],
            "stats": self.stats.to_plain(),
        }


@dataclass(frozen=True)
class CheckReport:
    """How well given statistics fit some data."""

    stats: Stats
    outside: Outside
    file: Path
    num_episodes: int

    def rows(self, group: str) -> list[OutsideRow]:
        """Return a table row a field of ``actions`` or ``state``; rotations are never normalised and left out."""
        layout, shares = _layout(self.stats, group), getattr(self.outside, group)
        rows: list[OutsideRow] = []
        for field in layout.fields:
            if field.kind in BOUNDED_KINDS:
                continue
            columns = layout.slices[field.name]
            worst = columns.start + int(np.argmax(shares[columns]))
            told = f"{layout.columns[worst]} {_percent(shares[worst])}" if field.width > 1 else ""
            rows.append((field.name, field.unit, _percent(shares[columns].mean()), told))
        return rows

    def to_plain(self) -> dict[str, Any]:
        """Return plain data for JSON: shares by column."""
        shares = {
            group: dict(zip(_layout(self.stats, group).columns, getattr(self.outside, group).tolist(), strict=True))
            for group in GROUPS
        }
        return {"file": str(self.file), "num_episodes": self.num_episodes, "outside": shares}


def run(request: StatsRequest) -> StatsReport:
    """Compute or load the statistics that a training of this data and arch would use.

    Raises:
        RobotrainError: when the data cannot be resolved, or a number is not finite (naming its episode).
    """
    data, inputs, arch = _resolve(request)
    stats, cache = load_stats(inputs, data.stats, recompute=request.recompute)
    pictures: tuple[Path, ...] = ()
    if request.plot is not None:
        from robotrain.stages.plots import plot_stats  # matplotlib, for nothing else

        pictures = plot_stats(stats, request.plot)
    return StatsReport(stats, data.stats, cache, arch, pictures)


def check(request: StatsRequest, file: Path) -> CheckReport:
    """Say how many values of all these episodes given statistics normalise to outside -1 to 1.

    Raises:
        StatsError: when the statistics were made otherwise than these data, naming what differs.
    """
    data, inputs, _ = _resolve(request)
    data.stats.check(inputs.interface)
    stats = load_given_stats(file, inputs, data.stats)
    outside = compute_outside(inputs.selection.all, inputs.pipeline, stats, data.stats)
    return CheckReport(stats, outside, file, len(inputs.selection.all))


def load_stats(inputs: Inputs, config: StatsConfig, *, recompute: bool = False) -> tuple[Stats, CacheResult]:
    """Return the statistics that a data config asks for: of its file, else of the training split, cached.

    Raises:
        StatsError: when those of the file were made otherwise, or there is nothing to compute any of.
        ConfigError: when both a file is named and computing is asked for.
    """
    config.check(inputs.interface)
    if config.file is not None:
        if recompute:
            raise ConfigError("There is nothing to compute: data.stats.file names statistics. Leave one of them out.")
        path = Path(config.file).expanduser()
        return load_given_stats(path, inputs, config), CacheResult(hit=True, path=path, key="", seconds=0.0)
    return load_or_compute_stats(
        inputs.selection.train,
        inputs.pipeline,
        inputs.interface.cameras,
        pool_horizon=config.pool_horizon,
        memory_gib=config.memory_gib,
        recompute=recompute,
    )


def _resolve(request: StatsRequest) -> tuple[DataConfig, Inputs, str]:
    """Return the data config, its inputs, and the name of the arch whose horizon they have."""
    overrides = () if request.allow_missing is None else (f"episodes.allow_missing={request.allow_missing}",)
    data = compose(DataConfig, data_layers(request.data), overrides=overrides)
    arch = arch_layer(request.arch)
    inputs = resolve_inputs(data, horizon=arch_horizon(arch))
    for remark in inputs.selection.remarks:
        warn(remark)
    return data, inputs, request.arch or arch.values["name"]


def _layout(stats: Stats, group: str) -> Layout:
    return stats.interface.actions if group == "actions" else stats.interface.state


def _field_row(stats: Stats, config: StatsConfig, group: str, field: Field) -> FieldRow:
    layout, columns = _layout(stats, group), getattr(stats, group)
    part = layout.slices[field.name]
    if group == "actions":
        weights = np.broadcast_to(stats.action_counts[:, None], columns.mean.shape)[..., part]
    else:
        weights = stats.state_counts[part]
    possible = stats.num_samples * weights.size
    constant = degenerate_columns(columns, config.modes_of(group, layout))[..., part]
    outliers = (columns.outliers[..., part] * weights).sum() / max(weights.sum(), 1)
    return (
        field.name,
        field.unit,
        *_numbers([columns.min, columns.q01, columns.q99, columns.max], part),
        "-" if field.kind in BOUNDED_KINDS else _percent(constant.mean()),
        _percent(1 - weights.sum() / max(possible, 1)),
        _percent(outliers),
    )


def _numbers(bounds: Sequence[np.ndarray], part: slice) -> tuple[str, str, str, str]:
    """Return the least of the lower bounds and the greatest of the upper ones, in three digits."""
    lowest, low, high, highest = (values[..., part] for values in bounds)
    first, second, third, fourth = lowest.min(), low.min(), high.max(), highest.max()
    return f"{first:.3g}", f"{second:.3g}", f"{third:.3g}", f"{fourth:.3g}"


def _percent(share: float) -> str:
    """Return a share in two digits: ``1.9 %``, ``0``, ``<0.01 %``."""
    if share <= 0:
        return "0"
    return "<0.01 %" if share < 1e-4 else f"{100 * share:.2g} %" if share < 0.995 else "100 %"
