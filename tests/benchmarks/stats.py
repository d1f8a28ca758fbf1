"""How long statistics take, against what they are made of: python tests/benchmarks/stats.py [FRAMES].

For each embodiment, all frames, horizon 100, one set of numbers a step: the wall time of `compute_stats` with two
processes, and the bound: the transforms alone, and one float32 sort of the same values alone, in this run with the
same two processes. Each is measured in turn, RUNS times, and the fastest counts. Prints frames and values a second and
the peak memory, also where the samples are three times the memory that is allowed; asserts nothing.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np

from robotrain.data.exact_stats import FEW_VALUES, SORT_VALUES, compute_stats, encoded_blocks
from robotrain.data.pipeline import Pipeline, build_pipeline
from robotrain.data.shared_columns import SharedColumns, share_columns
from robotrain.data.stats import MEMORY_GIB
from robotrain.embodiments.catalog import embodiment_of
from robotrain.embodiments.layout import Field, Layout
from robotrain.episodes.reader import Episode, open_episode
from robotrain.processes import Workers

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.factories import make_eva_episode, make_human_episode, make_joint_episode

HORIZON = 100
NUM_PROCESSES = 2
RUNS = 3
NUM_FRAMES = 600
"""Of an episode: 20 s."""
JOINTS = Layout((Field("arms", "joint", 26, "", "rad"),))
MAKERS: dict[str, Callable[[Path, int], Path]] = {
    "eva": lambda path, seed: make_eva_episode(path, NUM_FRAMES, seed=seed, cameras=()),
    "human": lambda path, seed: make_human_episode(path, NUM_FRAMES, seed=seed),
    "joints": lambda path, seed: make_joint_episode(path, NUM_FRAMES, seed=seed, layout=JOINTS),
}


def make_episodes(root: Path, kind: str, num: int) -> None:
    """Write so many episodes, all distinct."""
    for index in range(num):
        MAKERS[kind](root / f"{index:05d}.zarr", index)


def open_all(root: Path) -> tuple[list[Episode], Pipeline]:
    """Return the episodes of a folder, and their pipeline."""
    episodes = [open_episode(path) for path in sorted(root.iterdir())]
    embodiment = embodiment_of(episodes[0].embodiment, episodes[0].facts.attributes)
    return episodes, build_pipeline(embodiment, horizon=HORIZON)


def transform_only(pipeline: Pipeline, episode: Episode) -> int:
    """Make all chunks of an episode and drop them."""
    return sum(len(encoded.actions) for _, encoded in encoded_blocks(Episode(episode.facts), pipeline))


def fill(pipeline: Pipeline, shared: SharedColumns, task: tuple[int, Episode]) -> None:
    """Write an episode's chunks where the sort finds them."""
    row, episode = task
    for start, encoded in encoded_blocks(Episode(episode.facts), pipeline):
        actions = np.where(encoded.action_mask[..., None], encoded.actions, np.float32(np.nan))
        first = row + start
        shared.block(0)[:, first : first + len(actions)] = actions.transpose(1, 2, 0).reshape(shared.num_columns, -1)


def pack(shared: SharedColumns, columns: range) -> list[int]:
    """Move the numbers of each column that count to its front, unsorted; return how many they are."""
    lengths = []
    for column in columns:
        values = shared.block(0)[column]
        real = values[~np.isnan(values)]
        values[: len(real)] = real
        lengths.append(len(real))
    return lengths


def sort_only(shared: SharedColumns, task: tuple[range, list[int]]) -> int:
    """Sort columns, and nothing else."""
    for column, length in zip(*task, strict=True):
        shared.block(0)[column, :length].sort()
    return len(task[0])


def measure_bound(root: Path) -> dict[str, float]:
    """Return the seconds of the transforms alone and of the sort alone."""
    episodes, pipeline = open_all(root)
    width = HORIZON * pipeline.layouts.actions.width
    num = sum(episode.num_frames for episode in episodes)
    rows = np.cumsum([0, *(episode.num_frames for episode in episodes)]).tolist()
    with share_columns(width, [0, num]) as shared, Workers(NUM_PROCESSES) as workers:
        list(workers.map(partial(pack, shared), [range(0), range(0)], portion=1))  # the processes are there
        begin = time.perf_counter()
        list(workers.map(partial(transform_only, pipeline), episodes, portion=1))
        transforms = time.perf_counter() - begin
        list(workers.map(partial(fill, pipeline, shared), list(zip(rows, episodes, strict=False)), portion=1))
        each = max(1, SORT_VALUES // num)
        portions = [range(start, min(start + each, width)) for start in range(0, width, each)]
        lengths = list(workers.map(partial(pack, shared), portions, portion=1))
        begin = time.perf_counter()
        list(workers.map(partial(sort_only, shared), list(zip(portions, lengths, strict=True)), portion=1))
        return {"transforms": transforms, "sort": time.perf_counter() - begin, "values": sum(map(sum, lengths))}


def measure_stats(root: Path, memory_gib: float) -> dict[str, float]:
    """Return the seconds of the statistics, and the peak memory of this process and of its largest child, MiB."""
    episodes, pipeline = open_all(root)
    begin = time.perf_counter()
    stats = compute_stats(episodes, pipeline, memory_gib=memory_gib, num_processes=NUM_PROCESSES)
    seconds = time.perf_counter() - begin
    peaks = [resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {"seconds": seconds, "samples": stats.num_samples, "own": peaks[0], "worker": peaks[1]}


def in_fresh_process(what: str, root: Path, memory_gib: float = MEMORY_GIB) -> dict[str, float]:
    """Measure something where nothing else has been done."""
    command = [sys.executable, __file__, "--only", what, str(root), "--memory", str(memory_gib)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    """Measure every embodiment and print its lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("frames", metavar="FRAMES", nargs="?", type=int, default=24_000, help="of each embodiment")
    parser.add_argument("--only", nargs=2, metavar=("WHAT", "ROOT"), help=argparse.SUPPRESS)
    parser.add_argument("--memory", type=float, default=MEMORY_GIB, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only:
        what, root = arguments.only
        took = measure_bound(Path(root)) if what == "bound" else measure_stats(Path(root), arguments.memory)
        print(json.dumps(took))
        return
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(f"{datetime.now(UTC).date()}, {machine}; {NUM_PROCESSES} processes, horizon {HORIZON}, all frames")
    assert arguments.frames * HORIZON * 26 > FEW_VALUES
    with tempfile.TemporaryDirectory(prefix="robotrain-stats-") as folder:
        for kind in MAKERS:
            root = Path(folder) / kind
            make_episodes(root, kind, arguments.frames // NUM_FRAMES)
            in_fresh_process("stats", root)  # the system's own memory of the files is warm
            pairs = [(in_fresh_process("bound", root), in_fresh_process("stats", root)) for _ in range(RUNS)]
            bound = {name: min(each[name] for each, _ in pairs) for name in pairs[0][0]}
            took = min((each for _, each in pairs), key=lambda each: each["seconds"])
            least = bound["transforms"] + bound["sort"]
            print(
                f"{kind:<7} {took['samples']:7,.0f} frames {took['seconds']:6.2f} s "
                f"{took['samples'] / took['seconds']:8,.0f} frames/s "
                f"{bound['values'] / took['seconds'] / 1e6:6.1f} million values/s; "
                f"bound {bound['transforms']:.2f} + {bound['sort']:.2f} s: {took['seconds'] / least:.2f}x; "
                f"peak {took['own']:,.0f} MiB, worker {took['worker']:,.0f} MiB"
            )
            gib = 4 * bound["values"] / 2**30 / 3
            small = in_fresh_process("stats", root, gib)
            print(
                f"{'':<7} in {gib:.3f} GiB: {small['seconds']:6.2f} s; "
                f"peak {small['own']:,.0f} MiB, worker {small['worker']:,.0f} MiB"
            )


if __name__ == "__main__":
    main()
