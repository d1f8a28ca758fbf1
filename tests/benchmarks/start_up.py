"""How long a user waits for help, and for the first line of each command: python tests/benchmarks/start_up.py.

Prints medians of five runs, with the machine and the date; asserts nothing.
"""

import os
import platform
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime

RUNS = 5
COMMANDS = (("--help",), ("train", "--help"), ("models", "--help"), ("models",), ("train", "--arch", "nothing"))


def seconds(arguments: tuple[str, ...]) -> float:
    """Return how long one run takes, in seconds."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-m", "robotrain.cli", *arguments], capture_output=True, check=False)
    return time.perf_counter() - begin


def main() -> None:
    """Time every command and print a line for each."""
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(f"{datetime.now(UTC).date()}, {machine}, median of {RUNS}")
    for arguments in COMMANDS:
        times = [seconds(arguments) for _ in range(RUNS)]
        print(f"robotrain {' '.join(arguments):<24} {statistics.median(times):6.2f} s  (fastest {min(times):.2f})")


if __name__ == "__main__":
    main()
