"""Exact statistics of all samples of some episodes, from their numeric arrays alone.

Every real step of every frame counts, once: sums in float64, a full sort for the quantiles.
Processes encode whole episodes and sort columns in memory that they share, and what they hand back is put together in
the order of the hashes, so that any number of them gives the same bytes. Where the columns are more than the memory
that is allowed, they are made in several passes over the episodes, which gives the same bytes too: no sketch does.
Refuses to sample, to merge approximations, or to open an image.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from robotrain import console
from robotrain.data.chunk_sums import ChunkSums, Sums
from robotrain.data.describe import sort_present, statistics_of, take_moments
from robotrain.data.numbers import nearest_filled
from robotrain.data.pipeline import Encoded, Pipeline
from robotrain.data.sample_table import SampleTable
from robotrain.data.shared_columns import SharedColumns, share_columns
from robotrain.data.stats import MEMORY_GIB, Columns, Stats
from robotrain.episodes.reader import Episode
from robotrain.episodes.schema import EpisodeFacts
from robotrain.errors import StatsError
from robotrain.processes import Workers, num_cores

__all__ = ["check_finite", "compute_stats", "encoded_blocks"]

BLOCK_VALUES = 1 << 20
"""Values of chunks that are encoded at a time: bounds what a process needs (about 100 MB), however long an episode."""
SORT_VALUES = 1 << 22
"""Values that a process sorts before it asks for more."""
FEW_VALUES = 1 << 22
"""So many values are computed before other processes have started."""


@dataclass(frozen=True)
class _Described:
    """What was found of columns that are described together."""

    numbers: np.ndarray
    """Statistics in the order of `Columns`, float64."""
    count: int
    totals: np.ndarray
    """(columns,) float64: the sum of each column alone."""


@dataclass(frozen=True)
class _Task:
    """What a process does with one episode."""

    facts: EpisodeFacts
    first_row: int


@dataclass
class _Tally:
    """What is counted and summed beside the columns, of one episode or of several."""

    counts: np.ndarray
    """(H,) int64: real steps."""
    chunks: Sums
    moves: Sums | None
    num_samples: int = 0
    num_left_out: int = 0

    @classmethod
    def empty(cls, sums: ChunkSums) -> "_Tally":
        moves = None if sums.held is None else sums.empty()
        return cls(np.zeros(sums.interface.horizon, np.int64), sums.empty(), moves)

    def add(self, other: "_Tally") -> None:
        self.counts += other.counts
        self.num_samples += other.num_samples
        self.num_left_out += other.num_left_out
        self.chunks.add(other.chunks)
        if self.moves is not None and other.moves is not None:
            self.moves.add(other.moves)


def compute_stats(
    episodes: Sequence[Episode],
    pipeline: Pipeline,
    cameras: tuple[str, ...] | None = None,
    *,
    pool_horizon: bool = False,
    memory_gib: float = MEMORY_GIB,
    num_processes: int | None = None,
) -> Stats:
    """Compute the statistics of all samples of some episodes.

    Steps that are not real do not count, per step and channel. Frames without any real step are no samples and are
    counted. No image is read.

    Args:
        episodes: the training episodes.
        pipeline: makes chunks of their arrays.
        cameras: what the interface names; the numbers do not depend on them.
        pool_horizon: one set of action numbers a channel over all steps, repeated H times.
        memory_gib: most that the samples may take at a time, all processes together; the numbers do not depend on it.
        num_processes: how many share the work, None for as many as there are cores; the numbers do not depend on it.

    Raises:
        StatsError: when a value is not finite, there is no real step at all, or one column does not fit in memory.
        EpisodeError: when an episode cannot be read by this pipeline.
    """
    ordered = sorted((episode.facts for episode in episodes), key=lambda facts: facts.hash)
    rows = np.cumsum([0, *(facts.num_frames for facts in ordered)]).tolist()
    table = SampleTable(pipeline.interface(cameras), rows[-1], pool_horizon)
    tasks = [_Task(facts, row) for facts, row in zip(ordered, rows, strict=False)]
    if num_processes is None:
        num_processes = 1 if table.num_rows * table.num_columns < FEW_VALUES else num_cores()
    portions = table.passes(memory_gib, num_processes)
    widest = max(groups[-1].stop - groups[0].start for groups in portions)
    if len(portions) > 1:
        needed = 4 * table.num_rows * table.num_columns / 2**30
        console.say(
            f"The samples take {needed:.3g} GiB, and data.stats.memory_gib allows {memory_gib:g}: "
            f"{len(portions)} passes over the episodes."
        )
    tally = _Tally.empty(ChunkSums(table.interface))
    found: list[_Described] = []
    ends = [task.first_row + end for task in tasks for end in _ends(pipeline, task.facts.num_frames)[:-1]]
    with share_columns(widest, [*ends, table.num_rows]) as shared, Workers(num_processes) as workers:
        for number, groups in enumerate(portions):
            label = "Statistics" + (f", pass {number + 1} of {len(portions)}" if len(portions) > 1 else "")
            work = partial(_encode_episode, pipeline, table, shared, slice(groups[0].start, groups[-1].stop))
            done = workers.map(partial(work, is_first=number == 0), tasks, portion=1)
            for part in console.track(done, label, total=len(tasks), unit="episodes"):
                if part is not None:
                    tally.add(part)
            if not tally.counts.any():
                raise StatsError(f"There is no real step in {len(ordered)} episodes: nothing to compute statistics of.")
            for part in workers.map(partial(_sort_groups, shared), _sorting(groups, table.num_rows), portion=1):
                found += part
    return _stats(table, tally, found, tuple(facts.hash for facts in ordered), pipeline.recipe())


def _stats(
    table: SampleTable,
    tally: _Tally,
    found: Sequence[_Described],
    episodes: tuple[str, ...],
    recipe: Mapping[str, Any],
) -> Stats:
    """Put together what was found of each group of columns, in order."""
    interface = table.interface
    numbers = np.stack([each.numbers for each in found])  # (groups, statistics)
    counts = np.array([each.count for each in found], np.int64)
    num_states = interface.state.width
    filled = nearest_filled(tally.counts > 0)
    actions = Columns(*(table.shape_actions(column)[filled] for column in numbers[:-num_states].T))
    sums = ChunkSums(interface)
    totals = table.by_step(np.concatenate([each.totals for each in found[:-num_states]]))
    return Stats(
        interface=interface,
        actions=actions,
        state=Columns(*numbers[-num_states:].T.copy()),
        mean_chunk=sums.mean(tally.chunks, totals),
        mean_displacement=None if tally.moves is None else sums.mean(tally.moves, totals),
        action_counts=tally.counts,
        state_counts=counts[-num_states:],
        episodes=episodes,
        num_samples=tally.num_samples,
        num_left_out=tally.num_left_out,
        num_masked=tally.num_samples * interface.horizon - int(tally.counts.sum()),
        pool_horizon=table.pool_horizon,
        recipe=recipe,
    )


def _encode_episode(
    pipeline: Pipeline, table: SampleTable, shared: SharedColumns, wanted: slice, task: _Task, *, is_first: bool
) -> _Tally | None:
    """Write the wanted columns of an episode where they belong; the first time, return what else there is to it."""
    episode = Episode(task.facts)
    if is_first:
        check_finite(episode, pipeline)
    sums = ChunkSums(table.interface)
    tally = _Tally.empty(sums) if is_first else None
    for start, encoded in encoded_blocks(episode, pipeline):
        first = task.first_row + start
        shared.block(first)[: wanted.stop - wanted.start] = table.spread(encoded, wanted)
        if tally is not None:
            keep = encoded.action_mask.any(axis=1)
            chunks, moves = sums.of(encoded)
            tally.add(_Tally(encoded.action_mask.sum(axis=0), chunks, moves, int(keep.sum()), int((~keep).sum())))
    return tally


def encoded_blocks(episode: Episode, pipeline: Pipeline) -> Iterator[tuple[int, Encoded]]:
    """Yield all frames of an episode, encoded, in portions that bound memory: the first frame of each, and the frames.

    Raises:
        EpisodeError: when it cannot be read by this pipeline.
    """
    pipeline = pipeline.without_history()
    numbers = pipeline.load(episode)
    ends = _ends(pipeline, numbers.num_frames)
    for start, stop in pairwise(ends):
        yield start, pipeline.encode(pipeline.gather(numbers, np.arange(start, stop)))


def _ends(pipeline: Pipeline, num_frames: int) -> list[int]:
    """Return where the portions end that an episode is encoded in, from 0 to the number of frames."""
    block = max(1, BLOCK_VALUES // (pipeline.horizon * pipeline.layouts.actions.width))
    return [*range(0, num_frames, block), num_frames]


def check_finite(episode: Episode, pipeline: Pipeline) -> None:
    """Refuse an episode whose numbers are not finite.

    Raises:
        StatsError: naming the array, how many rows and the first.
    """
    for array in pipeline.arrays(episode.facts):
        broken = ~np.isfinite(episode.numbers(array)).all(axis=-1)
        if broken.any():
            raise StatsError(
                f"Episode '{episode.hash}', array '{array}': {int(broken.sum())} rows hold values that are not finite, "
                f"the first at frame {int(np.argmax(broken))}. Mend the episode or leave it out."
            )


def _sorting(groups: Sequence[slice], num_rows: int) -> list[tuple[slice, ...]]:
    """Return groups of columns in portions, counted from the first that is in memory."""
    size = groups[0].stop - groups[0].start
    each = max(1, SORT_VALUES // max(size * num_rows, 1))
    first = groups[0].start
    moved = [slice(group.start - first, group.stop - first) for group in groups]
    return [tuple(moved[start : start + each]) for start in range(0, len(moved), each)]


def _sort_groups(shared: SharedColumns, groups: Sequence[slice]) -> list[_Described]:
    """Return what there is to say of each group of columns."""
    described: list[_Described] = []
    first = groups[0].start
    gathered = shared.gather(slice(first, groups[-1].stop))
    for group in groups:
        columns = gathered[group.start - first : group.stop - first]
        alone = [sort_present(column) for column in columns]
        moments = [take_moments(ordered) for ordered in alone]
        ordered, together = alone[0], moments[0]
        if len(columns) > 1:
            ordered = sort_present(columns.reshape(-1))
            together = take_moments(ordered)
        totals = np.array([each.total for each in moments])
        described.append(_Described(statistics_of(ordered, together), len(ordered), totals))
    return described
