"""Exact statistics of all samples of some episodes, from their numeric arrays alone.

Every real step of every frame counts, once, in float64: two passes for the deviation, a full sort for the quantiles.
Knows encoded chunks; refuses to sample, to merge approximations, or to open an image.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from robotrain import console
from robotrain.data.numbers import nearest_filled
from robotrain.data.pipeline import Encoded, Pipeline
from robotrain.data.stats import Columns, Stats
from robotrain.embodiments.displacement import displacement_from_chunk, has_poses, hold_sources
from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.embodiments.layout import Layout
from robotrain.episodes.reader import Episode
from robotrain.errors import LayoutError, StatsError
from robotrain.geometry.rotations import matrix_from_rot6d, mean_rotation, rot6d_from_matrix

BLOCK = 1024
"""Frames that are encoded at a time, so that float64 rows never stand in memory for a whole long episode."""


@dataclass
class _Samples:
    """The samples of all episodes so far: N * H * (4 D + 1) bytes, which is what computing statistics takes."""

    actions: list[np.ndarray] = field(default_factory=list)
    """Blocks of (n, H, D) float32."""
    masks: list[np.ndarray] = field(default_factory=list)
    """Blocks of (n, H) bool."""
    states: list[np.ndarray] = field(default_factory=list)
    """Blocks of (n, S) float32."""
    state_masks: list[np.ndarray] = field(default_factory=list)
    """Blocks of (n, S) bool."""
    num_left_out: int = 0

    def add(self, encoded: Encoded) -> Encoded:
        """Keep the frames that have a real step, and return them."""
        keep = encoded.action_mask.any(axis=1)
        kept = Encoded(encoded.actions[keep], encoded.action_mask[keep], encoded.state[keep], encoded.state_mask[keep])
        self.num_left_out += int((~keep).sum())
        self.actions.append(kept.actions)
        self.masks.append(kept.action_mask)
        self.states.append(kept.state)
        self.state_masks.append(kept.state_mask)
        return kept


class _ChunkMean:
    """The running mean of chunks, per step; rotations by their chordal mean."""

    def __init__(self, layout: Layout, horizon: int) -> None:
        self.layout = layout
        self.sums = {f.name: np.zeros((horizon, 9 if f.kind == "rot6d" else f.width)) for f in layout.fields}
        self.weights = {f.name: np.zeros(horizon) for f in layout.fields}

    def add(self, chunks: np.ndarray, real: dict[str, np.ndarray]) -> None:
        """Add chunks (N, H, D) where a field's own mask (N, H) bool holds."""
        for f in self.layout.fields:
            values = np.asarray(chunks[..., self.layout.slices[f.name]], np.float64)
            if f.kind == "rot6d":
                values = matrix_from_rot6d(values).reshape(*values.shape[:-1], 9)
            self.sums[f.name] += np.where(real[f.name][..., None], values, 0.0).sum(axis=0)
            self.weights[f.name] += real[f.name].sum(axis=0)

    def mean(self) -> np.ndarray:
        """Return the mean chunk (H, D); a step that nothing was added to repeats the one before."""
        parts: dict[str, np.ndarray] = {}
        for f in self.layout.fields:
            mean = self.sums[f.name] / np.maximum(self.weights[f.name], 1)[:, None]
            mean = mean[nearest_filled(self.weights[f.name] > 0)]
            if f.kind == "rot6d":
                mean = rot6d_from_matrix(mean_rotation(mean.reshape(1, -1, 3, 3)))
            parts[f.name] = mean
        return self.layout.join(parts)


def compute_stats(
    episodes: Sequence[Episode],
    pipeline: Pipeline,
    cameras: tuple[str, ...] | None = None,
    *,
    pool_horizon: bool = False,
) -> Stats:
    """Compute the statistics of all samples of some episodes.

    Steps that are not real do not count, per step and channel. Frames without any real step are no samples and are
    counted. No image is read. Memory: N * H * (4 D + 1) bytes for N samples.

    Args:
        episodes: the training episodes.
        pipeline: makes chunks of their arrays.
        cameras: what the interface names; the numbers do not depend on them.
        pool_horizon: one set of action numbers a channel over all steps, repeated H times.

    Raises:
        StatsError: when a value is not finite, or there is no real step at all.
        EpisodeError: when an episode cannot be read by this pipeline.
    """
    interface = pipeline.interface(cameras)
    samples = _Samples()
    means = _ChunkMean(interface.actions, interface.horizon)
    moves = _ChunkMean(interface.actions, interface.horizon) if _can_hold(interface) else None
    ordered = sorted(episodes, key=lambda episode: episode.hash)
    for episode in console.track(ordered, "Statistics", total=len(ordered), unit="episodes"):
        _check_finite(episode, pipeline)
        for encoded in _blocks(episode, pipeline):
            kept = samples.add(encoded)
            means.add(kept.actions, dict.fromkeys(interface.actions.names, kept.action_mask))
            if moves is not None:
                moved = displacement_from_chunk(interface, kept.actions, kept.state)
                moves.add(moved, _comparable(interface, kept))
    counts = sum((mask.sum(axis=0) for mask in samples.masks), np.zeros(interface.horizon, np.int64))
    if not counts.any():
        raise StatsError(f"There is no real step in {len(ordered)} episodes: nothing to compute statistics of.")
    state, state_counts = _state_columns(samples)
    return Stats(
        interface=interface,
        actions=_action_columns(samples, interface.horizon, pool_horizon=pool_horizon),
        state=state,
        mean_chunk=means.mean(),
        mean_displacement=None if moves is None else moves.mean(),
        action_counts=counts,
        state_counts=state_counts,
        episodes=tuple(episode.hash for episode in ordered),
        num_samples=sum(len(mask) for mask in samples.masks),
        num_left_out=samples.num_left_out,
        num_masked=sum(int((~mask).sum()) for mask in samples.masks),
        pool_horizon=pool_horizon,
    )


def _blocks(episode: Episode, pipeline: Pipeline) -> Iterator[Encoded]:
    numbers = pipeline.load(episode)
    for start in range(0, numbers.num_frames, BLOCK):
        frames = np.arange(start, min(start + BLOCK, numbers.num_frames))
        yield pipeline.encode(pipeline.gather(numbers, frames))


def _check_finite(episode: Episode, pipeline: Pipeline) -> None:
    for array in pipeline.arrays(episode.facts):
        broken = ~np.isfinite(episode.numbers(array)).all(axis=-1)
        if broken.any():
            raise StatsError(
                f"Episode '{episode.hash}', array '{array}': {int(broken.sum())} rows hold values that are not finite, "
                f"the first at frame {int(np.argmax(broken))}. Mend the episode or leave it out."
            )


def _can_hold(interface: PolicyInterface) -> bool:
    """Tell whether a mean displacement means something: poses, and a state that says where they stand now."""
    try:
        hold_sources(interface)
    except LayoutError:
        return False
    return has_poses(interface.actions)


def _comparable(interface: PolicyInterface, encoded: Encoded) -> dict[str, np.ndarray]:
    """Return, by field, the steps (N, H) bool that are real and whose current pose is known."""
    real: dict[str, np.ndarray] = {}
    for name, source in hold_sources(interface).items():
        known = slice(0, 0) if source is None else interface.state.slices[source]
        real[name] = encoded.action_mask & np.all(encoded.state_mask[:, known], axis=1, keepdims=True)
    return real


def _action_columns(samples: _Samples, horizon: int, *, pool_horizon: bool) -> Columns:
    if pool_horizon:
        width = samples.actions[0].shape[-1]
        pooled = [
            describe(
                np.concatenate([a[..., d][m] for a, m in zip(samples.actions, samples.masks, strict=True)])[:, None]
            )
            for d in range(width)
        ]
        joined = {f.name: np.concatenate([getattr(one, f.name) for one in pooled]) for f in fields(Columns)}
        return Columns(**{name: np.tile(values, (horizon, 1)) for name, values in joined.items()})
    filled = np.any([mask.any(axis=0) for mask in samples.masks], axis=0)
    steps: dict[int, Columns] = {}
    for step in np.flatnonzero(filled):
        values = [a[m[:, step], step] for a, m in zip(samples.actions, samples.masks, strict=True)]
        steps[int(step)] = describe(np.concatenate(values))
    source = nearest_filled(filled)
    return Columns(
        **{f.name: np.stack([getattr(steps[int(step)], f.name) for step in source]) for f in fields(Columns)}
    )


def _state_columns(samples: _Samples) -> tuple[Columns, np.ndarray]:
    states, masks = np.concatenate(samples.states), np.concatenate(samples.state_masks)
    counts = masks.sum(axis=0)
    columns = [
        describe(states[masks[:, column], column][:, None] if counts[column] else np.zeros((1, 1)))
        for column in range(states.shape[1])
    ]
    joined = {f.name: np.concatenate([getattr(one, f.name) for one in columns]) for f in fields(Columns)}
    return Columns(**joined), counts


def describe(values: np.ndarray) -> Columns:
    """Return the statistics of each column of values (n, D), n at least 1: members (D,) float64."""
    ordered = np.sort(np.ascontiguousarray(values.T), axis=-1).astype(np.float64)  # (D, n)
    mean = ordered.mean(axis=-1)
    return Columns(
        mean=mean,
        std=np.sqrt(np.square(ordered - mean[:, None]).mean(axis=-1)),
        min=ordered[:, 0],
        max=ordered[:, -1],
        median=_quantile(ordered, 0.5),
        q01=_quantile(ordered, 0.01),
        q99=_quantile(ordered, 0.99),
        q0001=ordered[:, int(np.floor(0.0001 * (ordered.shape[1] - 1)))],
        q9999=ordered[:, int(np.ceil(0.9999 * (ordered.shape[1] - 1)))],
    )


def _quantile(ordered: np.ndarray, q: float) -> np.ndarray:
    """Return the quantile of sorted rows (D, n), linear between neighbours, rounded as numpy does it."""
    place = q * (ordered.shape[1] - 1)
    below = int(np.floor(place))
    low, high = ordered[:, below], ordered[:, min(below + 1, ordered.shape[1] - 1)]
    part = place - below
    return low + (high - low) * part if part < 0.5 else high - (high - low) * (1 - part)
