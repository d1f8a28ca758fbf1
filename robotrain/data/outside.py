"""How well given statistics fit some episodes: the share of their values that normalise to outside -1 to 1.

Knows encoded chunks and the affine map of statistics; refuses to say how much is too much.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from robotrain import console
from robotrain.data.exact_stats import check_finite, encoded_blocks
from robotrain.data.pipeline import Encoded, Pipeline
from robotrain.data.stats import GROUPS, NEARLY_CONSTANT, Stats, StatsConfig, affine
from robotrain.episodes.reader import Episode
from robotrain.episodes.schema import EpisodeFacts
from robotrain.processes import Workers

__all__ = ["Outside", "compute_outside"]

_ROUNDING = 1e-6
"""What float32 may add to a value that lies on a bound."""


@dataclass
class _Count:
    """Values that are real, and those of them that lie outside: (H, D) or (S,), int64."""

    real: np.ndarray
    outside: np.ndarray

    def share(self) -> np.ndarray:
        return self.outside / np.maximum(self.real, 1)


@dataclass(frozen=True)
class Outside:
    """Shares of values outside -1 to 1."""

    actions: np.ndarray
    """(D,): over all real steps."""
    state: np.ndarray
    """(S,)."""
    num_samples: int


@dataclass(frozen=True)
class _Bounds:
    centre: np.ndarray
    reach: np.ndarray

    @classmethod
    def of(cls, stats: Stats, config: StatsConfig, group: str) -> "_Bounds":
        layout = getattr(stats.interface, group)
        centre, scale = affine(getattr(stats, group), layout, config.modes_of(group, layout))
        # A column that the statistics call constant normalises to 0 whatever it does: here it counts when it moves.
        return cls(centre, np.where(scale == 0, NEARLY_CONSTANT, scale) * (1 + _ROUNDING))

    def count(self, values: np.ndarray, real: np.ndarray) -> _Count:
        """Count values (N, ...) where a mask of their shape, or of (N, H, 1), holds."""
        outside = (np.abs(values - self.centre) > self.reach) & real
        return _Count(np.broadcast_to(real, values.shape).sum(axis=0), outside.sum(axis=0))


def compute_outside(
    facts: Sequence[EpisodeFacts],
    pipeline: Pipeline,
    stats: Stats,
    config: StatsConfig,
    *,
    num_processes: int | None = None,
) -> Outside:
    """Return the share of the values of some episodes that given statistics normalise to outside -1 to 1.

    A column that the statistics call constant counts where it moves by more than `NEARLY_CONSTANT`.

    Args:
        facts: the episodes.
        pipeline: makes chunks of their arrays; of the recipe of the statistics.
        stats: the given statistics.
        config: how they normalise.
        num_processes: how many share the work, None for as many as there are cores.

    Raises:
        StatsError: when a value is not finite.
        EpisodeError: when an episode cannot be read by this pipeline.
    """
    bounds = [_Bounds.of(stats, config, group) for group in GROUPS]
    work = partial(_count_episode, pipeline, bounds)
    interface, num = stats.interface, 0
    shapes = ((interface.horizon, interface.actions.width), (interface.state.width,))
    totals = [_Count(np.zeros(shape, np.int64), np.zeros(shape, np.int64)) for shape in shapes]
    with Workers(num_processes) as workers:
        done = workers.map(work, facts, portion=1)
        for counts, samples in console.track(done, "Check", total=len(facts), unit="episodes"):
            num += samples
            for total, count in zip(totals, counts, strict=True):
                total.real += count.real
                total.outside += count.outside
    actions, state = totals
    pooled = _Count(actions.real.sum(axis=0), actions.outside.sum(axis=0))
    return Outside(pooled.share(), state.share(), num)


def _count_episode(pipeline: Pipeline, bounds: Sequence[_Bounds], facts: EpisodeFacts) -> tuple[list[_Count], int]:
    episode = Episode(facts)
    check_finite(episode, pipeline)
    parts = [_count(bounds, encoded) for _, encoded in encoded_blocks(episode, pipeline)]
    counts = [
        _Count(np.sum([each.real for each in group], axis=0), np.sum([each.outside for each in group], axis=0))
        for group in zip(*(counts for counts, _ in parts), strict=True)
    ]
    return counts, sum(num for _, num in parts)


def _count(bounds: Sequence[_Bounds], encoded: Encoded) -> tuple[list[_Count], int]:
    samples = np.asarray(encoded.action_mask.any(axis=1))
    actions = bounds[0].count(encoded.actions, encoded.action_mask[..., None])
    state = bounds[1].count(encoded.state, encoded.state_mask & samples[:, None])
    return [actions, state], int(samples.sum())
