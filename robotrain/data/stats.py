"""Statistics of actions and states: what they are, and the normalisation they give.

Knows plain numbers by timestep and channel; refuses to know torch, zarr and how the numbers were computed (that is
`data/exact_stats.py`), so that a laptop and a cache hit read them at no cost.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

import numpy as np

from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.embodiments.layout import BOUNDED_KINDS, Kind, Layout
from robotrain.errors import ConfigError, StatsError, UnknownNameError

SCHEMA_VERSION = 2
MIN_SPREAD = 1e-4
"""A column whose spread is below this is constant: it normalises to 0, and 0 inverts to its centre."""
NEARLY_CONSTANT = 1e-3
"""A spread below this (1 mm, 0.06 degrees) says little: a column is constant too when it is also less than this share
of where the column stands, and its quantiles say nothing when the standard deviation exceeds them."""
MEMORY_GIB = 4.0
"""Half of a laptop's memory, and room for 70,000 frames of the widest chunks (100 steps of 144) in one pass."""

StatsMode = Literal["quantile", "minmax", "zscore"]


Modes = StatsMode | tuple[StatsMode, ...]
"""One mode for all columns, or one for each of the D columns of a layout."""
GROUPS = ("actions", "state")
_PARTS = {
    "actions": "fields of the actions",
    "state": "fields of the state",
    "plan": "arrays or transforms",
    "mask_rules": "rules of what counts",
}
"""What a recipe's keys are called, where their values are too long to show."""
FAR_OUT = 5.0
"""A value is an outlier when it lies so many times as far from the middle as the 1 % and 99 % quantiles do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StatsConfig:
    """How numbers are normalised."""

    mode: StatsMode = "quantile"
    """quantile: 1 % and 99 % become -1 and 1; minmax: the extremes do; zscore: mean 0, standard deviation 1."""
    modes: dict[str, str] = field(default_factory=dict)
    """Another mode for some fields: by name (``left.gripper``), kind (``gripper``) or group (``actions``, ``state``);
    of these, the first that is named here counts. Rotations are bounded, and never normalised."""
    pool_horizon: bool = False
    """True: one set of numbers a channel over all steps of the chunk; False: one a step and channel."""
    memory_gib: float = MEMORY_GIB
    """Most that all samples together may take while statistics are computed; more samples take more passes."""
    file: str | None = None
    """Statistics that were computed before: a ``stats.json``, a file of the cache or a checkpoint. They must have been
    made by the same transforms. None computes those of the training split."""

    def __post_init__(self) -> None:
        """Refuse modes that do not exist, and memory that holds nothing."""
        for key, mode in self.modes.items():
            if not isinstance(mode, str):
                raise ConfigError(
                    f"data.stats.modes.{key} is no mode. A name with dots: data.stats.modes={{NAME: MODE}}."
                )
            if mode not in get_args(StatsMode):
                raise UnknownNameError("mode", mode, get_args(StatsMode), where=f"data.stats.modes.{key}")
            if key in BOUNDED_KINDS:
                raise ConfigError(f"data.stats.modes names '{key}': rotations are bounded, and never normalised.")
        if not self.memory_gib > 0:
            raise ConfigError(f"data.stats.memory_gib must be above 0, found {self.memory_gib}.")

    def modes_of(self, group: str, layout: Layout) -> tuple[StatsMode, ...]:
        """Return the mode of every column of ``actions`` or ``state``."""
        words = ((self.modes.get(f.name) or self.modes.get(f.kind) or self.modes.get(group)) for f in layout.fields)
        chosen: list[Any] = [word or self.mode for word in words]
        return tuple(mode for f, mode in zip(layout.fields, chosen, strict=True) for _ in range(f.width))

    def check(self, interface: PolicyInterface) -> None:
        """Check that everything that ``modes`` names is there.

        Raises:
            UnknownNameError: when it is no field, kind or group.
        """
        there = {f for layout in (interface.actions, interface.state) for f in layout.fields}
        known = (*GROUPS, *sorted({f.kind for f in there} - set(BOUNDED_KINDS)), *sorted({f.name for f in there}))
        for key in self.modes:
            if key not in {*known, *get_args(Kind)}:
                raise UnknownNameError("field, kind or group", key, known, where="data.stats.modes")


@dataclass(frozen=True)
class Columns:
    """Statistics of every column of an array: members are (H, D) for actions, (S,) for a state; float64, raw units."""

    mean: np.ndarray
    std: np.ndarray
    """Of the population (divided by n)."""
    min: np.ndarray
    max: np.ndarray
    median: np.ndarray
    q01: np.ndarray
    """1 % quantile, linear between neighbours, as numpy's default."""
    q99: np.ndarray
    q0001: np.ndarray
    """0.01 % quantile, the lower neighbour: a bound for outliers."""
    q9999: np.ndarray
    """99.99 % quantile, the upper neighbour."""
    outliers: np.ndarray
    """Share of the values that are outliers, see `FAR_OUT`."""

    def to_plain(self) -> dict[str, Any]:
        """Return nested lists for JSON and checkpoints."""
        return {column.name: getattr(self, column.name).tolist() for column in fields(self)}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Columns":
        """Build the columns of `to_plain`'s data."""
        return cls(**{column.name: np.asarray(plain[column.name], np.float64) for column in fields(cls)})


@dataclass(frozen=True)
class Stats:
    """Everything that training and the baselines need to know about the numbers of one set of episodes."""

    interface: PolicyInterface
    actions: Columns
    """(H, D) each."""
    state: Columns
    """(S,) each."""
    mean_chunk: np.ndarray
    """(H, D) float64: the mean action chunk, never pooled over steps; rotations as their chordal mean."""
    mean_displacement: np.ndarray | None
    """(H, D) float64: the mean displacement from the current pose; None for layouts without poses."""
    action_counts: np.ndarray
    """(H,) int64: real steps that the numbers of each step rest on."""
    state_counts: np.ndarray
    """(S,) int64: rows that the numbers of each state column rest on."""
    episodes: tuple[str, ...]
    """Hashes of the episodes, sorted."""
    num_samples: int
    """Frames that have at least one real step."""
    num_left_out: int
    """Frames without any: both hands' futures are missing."""
    num_masked: int
    """Steps of the samples that did not count: past the episode's end, or with a missing hand."""
    pool_horizon: bool
    recipe: Mapping[str, Any]
    """What made the numbers, as plain data: of `Pipeline.recipe`."""
    schema_version: int = SCHEMA_VERSION

    def to_plain(self) -> dict[str, Any]:
        """Return plain data for JSON and checkpoints."""
        displacement = self.mean_displacement
        return {
            "schema_version": self.schema_version,
            "interface": self.interface.to_plain(),
            "actions": self.actions.to_plain(),
            "state": self.state.to_plain(),
            "mean_chunk": self.mean_chunk.tolist(),
            "mean_displacement": None if displacement is None else displacement.tolist(),
            "action_counts": self.action_counts.tolist(),
            "state_counts": self.state_counts.tolist(),
            "episodes": list(self.episodes),
            "num_samples": self.num_samples,
            "num_left_out": self.num_left_out,
            "num_masked": self.num_masked,
            "pool_horizon": self.pool_horizon,
            "recipe": dict(self.recipe),
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Stats":
        """Build stats from `to_plain`'s data.

        Raises:
            StatsError: when a key is missing, a shape is wrong, or the schema is another.
        """
        version = plain.get("schema_version")
        if version != SCHEMA_VERSION:
            raise StatsError(f"These stats have schema {version}; this robotrain reads {SCHEMA_VERSION}.")
        try:
            displacement = plain["mean_displacement"]
            stats = cls(
                interface=PolicyInterface.from_plain(plain["interface"]),
                actions=Columns.from_plain(plain["actions"]),
                state=Columns.from_plain(plain["state"]),
                mean_chunk=np.asarray(plain["mean_chunk"], np.float64),
                mean_displacement=None if displacement is None else np.asarray(displacement, np.float64),
                action_counts=np.asarray(plain["action_counts"], np.int64),
                state_counts=np.asarray(plain["state_counts"], np.int64),
                episodes=tuple(plain["episodes"]),
                num_samples=int(plain["num_samples"]),
                num_left_out=int(plain["num_left_out"]),
                num_masked=int(plain["num_masked"]),
                pool_horizon=plain["pool_horizon"],
                recipe=dict(plain["recipe"]),
            )
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as problem:
            raise StatsError(f"These are not stats of robotrain: {problem!r}.") from None
        stats.check_shapes()
        return stats

    def check_shapes(self) -> None:
        """Check that every array fits the interface.

        Raises:
            StatsError: naming the first that does not.
        """
        chunk = (self.interface.horizon, self.interface.actions.width)
        state = (self.interface.state.width,)
        arrays: dict[str, tuple[np.ndarray, tuple[int, ...]]] = {
            "mean_chunk": (self.mean_chunk, chunk),
            "action_counts": (self.action_counts, chunk[:1]),
            "state_counts": (self.state_counts, state),
        }
        if self.mean_displacement is not None:
            arrays["mean_displacement"] = (self.mean_displacement, chunk)
        for column in fields(Columns):
            arrays[f"actions.{column.name}"] = (getattr(self.actions, column.name), chunk)
            arrays[f"state.{column.name}"] = (getattr(self.state, column.name), state)
        for name, (array, expected) in arrays.items():
            if array.shape != expected:
                raise StatsError(f"Stats '{name}': expected shape {expected}, found {array.shape}.")


def differences(stats: Stats, recipe: Mapping[str, Any], *, pool_horizon: bool) -> tuple[str, ...]:
    """Return, in words, how statistics were made otherwise than a recipe says; none where they may be used with it."""
    told = {**stats.recipe, "pool_horizon": stats.pool_horizon}
    wanted = {**recipe, "pool_horizon": pool_horizon}
    lines: list[str] = []
    for name in dict.fromkeys((*wanted, *told)):
        there, here = told.get(name), wanted.get(name)
        if there == here:
            continue
        plain = all(isinstance(value, str | int | float | bool | None) for value in (there, here))
        lines.append(f"{name} is {there} there and {here} here" if plain else f"other {_PARTS.get(name, name)}")
    return tuple(lines)


def _is_mode(mode: Modes, name: StatsMode) -> np.ndarray:
    """Return whether a mode is the named one, bool: a single one, or one for each column."""
    return np.array(mode == name if isinstance(mode, str) else [each == name for each in mode])


def _bounds(columns: Columns, mode: Modes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return centre, scale and spread of every column by the mode's own rule."""
    by_extremes, by_deviation = _is_mode(mode, "minmax"), _is_mode(mode, "zscore")
    low = np.where(by_extremes, columns.min, columns.q01)
    high = np.where(by_extremes, columns.max, columns.q99)
    centre = np.where(by_deviation, columns.mean, (low + high) / 2)
    scale = np.where(by_deviation, columns.std, (high - low) / 2)
    return centre, scale, np.where(by_deviation, columns.std, high - low)


def sparse_columns(columns: Columns, mode: Modes) -> np.ndarray:
    """Return a mask of the columns that move so rarely that their quantiles miss it: they take mean and std instead.

    A column is sparse when its quantiles call it nearly constant, yet its standard deviation is wider than their range
    (a normal distribution's is a fifth of it): by quantiles the rare values would normalise to thousands. A column that
    does move is left to its quantiles, however far a few outliers lie: those are what quantiles are for.
    """
    spread = columns.q99 - columns.q01
    return (
        _is_mode(mode, "quantile") & (spread < NEARLY_CONSTANT) & (spread < columns.std) & (columns.std >= MIN_SPREAD)
    )


def degenerate_columns(columns: Columns, mode: Modes) -> np.ndarray:
    """Return a mask of the columns that are constant, by the mode's own measure of spread.

    The spread is below `MIN_SPREAD`, or below `NEARLY_CONSTANT` and below that share of the centre: a joint that stands
    at 1.569 and quivers by 0.001 (openpi#814), whose scale would throw a 0 to -3200.
    """
    centre, _, spread = _bounds(columns, mode)
    least = np.clip(NEARLY_CONSTANT * np.abs(centre), MIN_SPREAD, NEARLY_CONSTANT)
    return (spread < least) & ~sparse_columns(columns, mode)


def affine(columns: Columns, layout: Layout, mode: Modes) -> tuple[np.ndarray, np.ndarray]:
    """Return the centre and scale that normalise an array: ``(x - centre) / scale``; back is ``y * scale + centre``.

    No epsilon is added, so the inverse is exact. A constant column has scale 0: it normalises to 0 and inverts to its
    centre. Rotations (rot6d) are bounded already and pass untouched, with centre 0 and scale 1. A sparse column
    (`sparse_columns`) takes its mean and standard deviation.

    Args:
        columns: statistics, (H, D) or (S,).
        layout: the meaning of the last axis.
        mode: which statistics; one for all columns, or one for each of the last axis.

    Returns:
        centre and scale, float64, shaped as the columns.
    """
    centre, scale, _ = _bounds(columns, mode)
    sparse, constant = sparse_columns(columns, mode), degenerate_columns(columns, mode)
    centre = np.where(sparse, columns.mean, centre)
    scale = np.where(constant, 0.0, np.where(sparse, columns.std, scale))
    bounded = layout.columns_of_kind(*BOUNDED_KINDS)
    return np.where(bounded, 0.0, centre), np.where(bounded, 1.0, scale)


def normalise(values: np.ndarray, centre: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return ``(values - centre) / scale``, 0 where the scale is 0."""
    return np.where(scale == 0, 0.0, (values - centre) / np.where(scale == 0, 1.0, scale))


def invert_normalise(values: np.ndarray, centre: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return ``values * scale + centre``: the inverse of `normalise`, the centre where the scale is 0."""
    return values * scale + centre


def remarks(stats: Stats, config: StatsConfig) -> tuple[str, ...]:
    """Return what a person should know about the columns before training: constant ones, sparse ones, unseen ones."""
    lines: list[str] = []
    groups = (("actions", stats.actions, stats.interface.actions), ("state", stats.state, stats.interface.state))
    for name, columns, layout in groups:
        mode = config.modes_of(name, layout)
        movable = ~layout.columns_of_kind(*BOUNDED_KINDS)
        constant = _named(degenerate_columns(columns, mode) & movable, layout)
        sparse = _named(sparse_columns(columns, mode) & movable, layout)
        if constant:
            lines.append(f"{name}: constant, so normalised to 0: {constant}")
        if sparse:
            lines.append(f"{name}: moves too rarely for quantiles, so normalised by mean and std: {sparse}")
    if unseen := int((stats.action_counts == 0).sum()):
        lines.append(f"actions: {unseen} steps have no real sample and take the numbers of the step before")
    if (stats.state_counts == 0).any():
        lines.append(f"state: never seen: {_named(stats.state_counts == 0, stats.interface.state)}")
    return tuple(lines)


def _named(mask: np.ndarray, layout: Layout) -> str:
    """Spell the columns of a mask (D,) or (H, D) by field, with the number of cells out of all."""
    words: list[str] = []
    for name, columns in layout.slices.items():
        part = mask[..., columns]
        if part.all():
            words.append(name)
        elif part.any():
            words.append(f"{name} ({int(part.sum())} of {part.size} cells)")
    return ", ".join(words)
