"""How fast a folder of episodes is validated, the first time and again: python tests/benchmarks/validate.py [N]

Four tiny episodes of a robot with two arms are written by the product's writer; the others are copies of them, folder
by folder, with nothing changed but the name. N of them (2,000 unless told), and a quarter of N, are validated twice,
quick, each time in a fresh process, with one cache that is empty at first. Prints for each: seconds, without start-up;
episodes a second; how many files of the episodes were opened (groups and arrays: their zarr.json; and others), counted
in all processes by an audit hook; the peak memory of the process and of its largest worker. The bound is what listing
the same files takes, with os.scandir and stat and nothing else. Prints; asserts nothing.
"""

import argparse
import json
import multiprocessing
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from multiprocessing.sharedctypes import SynchronizedArray
from pathlib import Path

ROOT = Path(__file__).parents[2]
NUM_ORIGINALS = 4
NUM_FRAMES = 30
METADATA = "zarr.json"


def make_episodes(root: Path, num: int) -> None:
    """Write the originals, then copy their folders until there are enough."""
    sys.path.insert(0, str(ROOT))
    from tests.factories import make_eva_episode

    def name(index: int) -> Path:
        return root / f"2026-01-01-00-00-00-{index:06d}.zarr"

    for index in range(num):
        if index < NUM_ORIGINALS:
            make_eva_episode(name(index), num_frames=NUM_FRAMES, seed=index)
        else:
            shutil.copytree(name(index % NUM_ORIGINALS), name(index))


def count_opened(root: Path) -> "SynchronizedArray[int]":
    """Count from now on, in this process and those it forks, the files of episodes that are opened.

    Returns three numbers that grow: metadata of groups, metadata of arrays, other files.
    """
    counts = multiprocessing.get_context("fork").Array("q", 3)

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event != "open" or not isinstance(arguments[0], str | bytes):
            return
        path = Path(os.fsdecode(arguments[0]))
        if not path.is_relative_to(root) or len(parts := path.relative_to(root).parts) < 2:
            return
        with counts.get_lock():
            counts[2 if parts[-1] != METADATA else min(len(parts) - 2, 1)] += 1

    sys.addaudithook(hook)
    return counts


def validate_once(root: Path) -> None:
    """Validate a folder in this process and print what it took, as JSON."""
    from robotrain.stages.validate import ValidateConfig, run

    counts = count_opened(root)
    begin = time.perf_counter()
    report = run(ValidateConfig(data=(str(root),)))
    seconds = time.perf_counter() - begin
    peaks = [own_peak(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024]
    told = {"seconds": seconds, "opened": counts[:], "peaks": peaks, "errors": report.num_errors}
    print(json.dumps(told | {"episodes": report.num_episodes, "warnings": report.num_warnings}))


def own_peak() -> int:
    """Return the most memory that this program held, in bytes (Linux).

    Not from getrusage, which counts what the process was before it became this program.
    """
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def list_once(root: Path) -> None:
    """List a folder's files with their sizes and times in this process and print what it took, as JSON."""
    begin = time.perf_counter()
    folders, num_files = [os.fspath(root)], 0
    while folders:
        with os.scandir(folders.pop()) as children:
            for child in children:
                if child.is_dir():
                    folders.append(child.path)
                else:
                    child.stat()
                    num_files += 1
    print(json.dumps({"seconds": time.perf_counter() - begin, "files": num_files}))


def in_fresh_process(what: str, root: Path, cache: Path) -> dict:
    """Run this file again for one measurement and return what it printed."""
    command = [sys.executable, __file__, "--only", what, str(root)]
    environment = {**os.environ, "ROBOTRAIN_CACHE_DIR": str(cache)}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if result.returncode:
        sys.exit(result.stderr)
    return json.loads(result.stdout.splitlines()[-1])


def measure(num: int, folder: Path) -> list[dict]:
    """Validate a new folder of so many episodes twice, print a line for each, and return both."""
    root, cache = folder / f"episodes-{num}", folder / f"cache-{num}"
    make_episodes(root, num)
    in_fresh_process("list", root, cache)  # the system's own memory of the folders is warm for every run
    runs = []
    for label in ("first", "second"):
        took = in_fresh_process("validate", root, cache)
        own, worker = (f"{peak / 2**20:,.0f} MiB" for peak in took["peaks"])
        groups, arrays, others = took["opened"]
        print(
            f"{num:>7,} episodes, {label:<6} {took['seconds']:7.2f} s {num / took['seconds']:8,.0f} episodes/s; "
            f"opened: {groups:,} groups, {arrays:,} arrays, {others:,} other files; "
            f"peak {own}, worker {worker}; {took['errors']} errors, {took['warnings']} warnings"
        )
        runs.append(took)
    bound = in_fresh_process("list", root, cache)
    ratio = runs[1]["seconds"] / bound["seconds"]
    print(
        f"{num:>7,} episodes, bound  {bound['seconds']:7.2f} s {num / bound['seconds']:8,.0f} episodes/s; "
        f"{bound['files']:,} files listed; the second run takes {ratio:.1f} times as long"
    )
    cached = sum(path.stat().st_size for path in cache.rglob("*") if path.is_file())
    print(f"{num:>7,} episodes, cache  {cached / num:7,.0f} bytes an episode on disk")
    return runs


def main() -> None:
    """Measure at a quarter of N and at N, and print how memory grows between them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("num", metavar="N", nargs="?", type=int, default=2000, help="episodes")
    parser.add_argument("--only", nargs=2, metavar=("WHAT", "ROOT"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only:
        what, root = arguments.only
        {"validate": validate_once, "list": list_once}[what](Path(root))
        return
    few = arguments.num // 4
    if few < NUM_ORIGINALS:
        parser.error(f"N must be at least {4 * NUM_ORIGINALS}.")
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(f"{datetime.now(UTC).date()}, {machine}; episodes of {NUM_FRAMES} frames, {NUM_ORIGINALS} distinct")
    with tempfile.TemporaryDirectory(prefix="robotrain-validate-") as folder:
        small, large = (measure(num, Path(folder)) for num in (few, arguments.num))
    for label, less, more in zip(("first", "second"), small, large, strict=True):
        grown = more["peaks"][0] - less["peaks"][0]
        print(f"memory, {label:<6} {grown / (arguments.num - few):9,.0f} bytes for each episode more")


if __name__ == "__main__":
    main()
