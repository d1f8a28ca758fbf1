"""How long a user waits for help, and for the first line of each command: python tests/benchmarks/start_up.py.

The last command shows statistics that the cache has, of eight episodes. Prints medians of five runs, with the machine
and the date; asserts nothing.
"""

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.factories import make_eva_episode

RUNS = 5
COMMANDS = (("--help",), ("train", "--help"), ("models", "--help"), ("models",), ("train", "--arch", "nothing"))


def seconds(arguments: tuple[str, ...], cache: str) -> float:
    """Return how long one run takes, in seconds."""
    environment = {**os.environ, "ROBOTRAIN_CACHE_DIR": cache}
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "robotrain.cli", *arguments], capture_output=True, check=False, env=environment
    )
    return time.perf_counter() - begin


def main() -> None:
    """Time every command and print a line for each."""
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(f"{datetime.now(UTC).date()}, {machine}, median of {RUNS}")
    with tempfile.TemporaryDirectory(prefix="robotrain-start-up-") as folder:
        episodes = Path(folder) / "episodes"
        for index in range(8):
            make_eva_episode(episodes / f"{index}.zarr", 300, seed=index, cameras=())
        cached = ("norm-stats", str(episodes))
        seconds(cached, folder)
        for arguments in (*COMMANDS, cached):
            times = [seconds(arguments, folder) for _ in range(RUNS)]
            shown = " ".join(arguments).replace(str(episodes), "EPISODES")
            print(f"robotrain {shown:<24} {statistics.median(times):6.2f} s  (fastest {min(times):.2f})")


if __name__ == "__main__":
    main()
