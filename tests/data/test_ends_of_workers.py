"""How processes of the real loader end when something goes wrong: soon, with a clear word, and all of them."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.factories import make_human_episode

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks for processes as Linux tells of them"),
]

SCRIPT = """
import sys
import time
from pathlib import Path
from robotrain.data.datamodule import EpisodesDataModule
from robotrain.data.dataset import WindowDataset
from robotrain.data.pipeline import Pipeline, build_pipeline
from robotrain.embodiments.catalog import embodiment_of
from robotrain.episodes.schema import read_facts
from robotrain.errors import GeometryError, RobotrainError

HOW = sys.argv[2]
encode, calls = Pipeline.encode, 0

def broken(self, window, *where):
    global calls
    calls += 1
    if calls > 4 and HOW == "mistake":
        raise ZeroDivisionError("a transform of ours")
    if calls > 4 and HOW == "pose":
        raise GeometryError("The rotation of 'left.wrist' is none.")
    if calls > 4 and HOW == "hangs":
        time.sleep(600)
    return encode(self, window, *where)

if __name__ == "__main__":
    pipeline = build_pipeline(embodiment_of("human_bimanual", {}), horizon=4)
    dataset = WindowDataset([read_facts(sys.argv[1])], pipeline)
    Pipeline.encode = broken
    module = EpisodesDataModule(dataset, None, batch_size=2, num_workers=2, seed=0, steps_per_epoch=10**6)
    batches = iter(module.train_dataloader())
    next(batches)
    print(*[worker.pid for worker in batches.batches._workers], flush=True)
    try:
        for _ in batches:
            pass
    except RobotrainError as problem:
        sys.exit(f"{type(problem).__name__}: {problem}")
"""


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    episode = make_human_episode(tmp_path / "e.zarr")
    script = tmp_path / "load.py"
    script.write_text(SCRIPT)
    return [sys.executable, str(script), str(episode)]


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def left_of(workers: list[int], seconds: float = 3) -> list[str]:
    """Return what is left of processes after some seconds: those that live, and shared memory that bears their name."""
    deadline = time.monotonic() + seconds
    while any(map(is_alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    memory = [file.name for file in Path("/dev/shm").iterdir() for pid in workers if f"_{pid}_" in file.name]
    return [f"process {pid}" for pid in workers if is_alive(pid)] + memory


def start(command: list[str]) -> tuple[subprocess.Popen[str], list[int]]:
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    workers = [int(word) for word in parent.stdout.readline().split()]
    assert len(workers) == 2
    return parent, workers


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("mistake", "ZeroDivisionError: a transform of ours"),
        ("pose", "GeometryError: The rotation of 'left.wrist' is none."),
    ],
)
def test_an_exception_in_a_transform_ends_all_processes_with_its_own_words(
    command: list[str], how: str, said: str
) -> None:
    parent, workers = start([*command, how])
    begin = time.monotonic()
    with parent:
        _, told = parent.communicate(timeout=30)
    assert parent.returncode == 1
    assert time.monotonic() - begin < 10
    assert said in told
    if how == "pose":  # an error of ours is one line, wherever it was raised
        assert told.strip() == said
    else:  # a mistake in the code keeps the place where it was made
        assert "load.py" in told
        assert "in broken" in told
    assert left_of(workers) == []


@pytest.mark.parametrize(
    ("how", "name"), [("hangs", signal.SIGKILL), ("busy", signal.SIGTERM), ("busy", signal.SIGINT)]
)
def test_nothing_outlives_a_parent_that_is_ended_whatever_its_workers_do(
    command: list[str], how: str, name: signal.Signals
) -> None:
    parent, workers = start([*command, how])
    with parent:
        time.sleep(0.5)  # in the midst of loading, or of a transform that does not end
        assert parent.poll() is None
        assert all(map(is_alive, workers))
        parent.send_signal(name)
        parent.wait(timeout=20)
        assert left_of(workers) == []
