import subprocess
import sys
import time
from pathlib import Path

import pytest

CHILD = """
import multiprocessing
import os
import signal
import time

from robotrain.processes import die_with_parent


def sleep_long() -> None:
    die_with_parent()
    print(os.getpid(), flush=True)
    time.sleep(60)


if __name__ == "__main__":
    child = multiprocessing.get_context("fork").Process(target=sleep_long)
    child.start()
    time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills the children of a killed parent")
def test_a_child_dies_with_a_killed_parent(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(CHILD)
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()
        parent.wait()
    deadline = time.monotonic() + 5
    while _alive(child) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _alive(child)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
