import gc
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch

from robotrain.batch import Batch
from robotrain.data.datamodule import EpisodesDataModule
from robotrain.data.dataset import WindowDataset
from robotrain.data.pipeline import build_pipeline
from robotrain.embodiments.catalog import embodiment_of
from robotrain.episodes.schema import read_facts
from robotrain.errors import ConfigError, EpisodeError, UnknownNameError, WorkerDiedError
from tests.factories import make_human_episode

HUMAN = build_pipeline(embodiment_of("human_bimanual", {}), horizon=4)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> WindowDataset:
    folder = tmp_path_factory.mktemp("episodes")
    paths = [make_human_episode(folder / f"e{i}.zarr", num_frames=9, size=(8, 8), seed=i) for i in range(2)]
    return WindowDataset([read_facts(path) for path in paths], HUMAN)


def module_of(dataset: WindowDataset, num_workers: int = 0, valid: WindowDataset | None = None) -> EpisodesDataModule:
    return EpisodesDataModule(dataset, valid, batch_size=4, num_workers=num_workers, seed=5, steps_per_epoch=3)


def epochs(module: EpisodesDataModule, numbers: tuple[int, ...]) -> list[Batch]:
    """Return the training batches of these epochs, from one loader."""
    loader = module.train_dataloader()
    batches = []
    for epoch in numbers:
        loader.batch_sampler.set_epoch(epoch)  # type: ignore[union-attr]
        batches += list(loader)
    return batches


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on fewer cores than that
@pytest.mark.parametrize("num_workers", [1, 4])
def test_workers_change_nothing_and_batches_are_whole(dataset: WindowDataset, num_workers: int) -> None:
    alone, helped = epochs(module_of(dataset), (0, 1)), epochs(module_of(dataset, num_workers), (0, 1))
    assert len(alone) == len(helped) == 6
    for one, other in zip(alone, helped, strict=True):
        assert one.observation.keys == other.observation.keys
        assert torch.equal(one.actions, other.actions)
        assert torch.equal(one.observation.images["front_1"], other.observation.images["front_1"])
        assert len(one) == 4


def test_an_epoch_resumed_is_the_epoch_it_would_have_been(dataset: WindowDataset) -> None:
    through = [batch.observation.keys for batch in epochs(module_of(dataset), (0, 1, 2))]
    resumed = [batch.observation.keys for batch in epochs(module_of(dataset), (2,))]
    assert resumed == through[6:]


def test_loading_leaves_torchs_random_numbers_alone(dataset: WindowDataset) -> None:
    """A loader that draws from torch's generator gives a resumed run other dropout masks."""
    torch.manual_seed(3)
    before = torch.get_rng_state()
    list(module_of(dataset).train_dataloader())
    assert torch.equal(torch.get_rng_state(), before)


def test_validation_sees_every_sample_once(dataset: WindowDataset) -> None:
    loader = module_of(dataset, valid=dataset).val_dataloader()
    keys = [key for batch in loader for key in batch.observation.keys]
    assert sorted(keys) == sorted(dataset.keys(index) for index in range(len(dataset)))
    assert module_of(dataset).val_dataloader() == []


class Recorder(pl.LightningModule):
    """A model of one number that writes down what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(()))
        self.seen: list[tuple[int, object]] = []

    def training_step(self, batch: Batch, _: int) -> torch.Tensor:
        self.seen.append((self.current_epoch, batch.observation.keys))
        return self.weight * batch.actions.sum()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.0)


def test_lightning_moves_the_order_on_from_epoch_to_epoch(dataset: WindowDataset, tmp_path: Path) -> None:
    model = Recorder()
    trainer = pl.Trainer(
        max_epochs=2,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
        default_root_dir=tmp_path,
        log_every_n_steps=1,
    )
    with warnings.catch_warnings():  # Lightning's advice on workers and validation
        warnings.simplefilter("ignore")
        trainer.fit(model, datamodule=module_of(dataset))
    expected = [batch.observation.keys for batch in epochs(module_of(dataset), (0, 1))]
    assert [keys for _, keys in model.seen] == expected
    assert [epoch for epoch, _ in model.seen] == [0] * 3 + [1] * 3


@pytest.mark.parametrize("name", ["batch_size", "steps_per_epoch"])
def test_numbers_that_make_no_sense_are_refused(dataset: WindowDataset, name: str) -> None:
    numbers: dict[str, Any] = {"batch_size": 1, "num_workers": 0, "seed": 0, "steps_per_epoch": 1, name: 0}
    with pytest.raises(ConfigError, match=f"{name} must be at least 1, found 0"):
        EpisodesDataModule(dataset, None, **numbers)


SCRIPT = """
import sys
import time
import warnings
from robotrain.data.datamodule import EpisodesDataModule
from robotrain.data.dataset import WindowDataset
from robotrain.data.pipeline import build_pipeline
from robotrain.embodiments.catalog import embodiment_of
from robotrain.episodes.schema import read_facts

if __name__ == "__main__":
    pipeline = build_pipeline(embodiment_of("human_bimanual", {}), horizon=4)
    dataset = WindowDataset([read_facts(sys.argv[1])], pipeline)
    module = EpisodesDataModule(dataset, None, batch_size=2, num_workers=2, seed=0, steps_per_epoch=100)
    batches = iter(module.train_dataloader())
    next(batches)
    print(*[worker.pid for worker in batches.batches._workers], flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills the children of a killed parent")
def test_workers_do_not_outlive_a_killed_parent(tmp_path: Path) -> None:
    episode = make_human_episode(tmp_path / "e.zarr")
    script = tmp_path / "load.py"
    script.write_text(SCRIPT)
    with subprocess.Popen([sys.executable, script, episode], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        workers = [int(word) for word in parent.stdout.readline().split()]
        assert len(workers) == 2
        assert all(_alive(worker) for worker in workers)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    deadline = time.monotonic() + 3  # torch's own watchdog looks every 5 s
    while any(_alive(worker) for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [worker for worker in workers if _alive(worker)]


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


class Spy:
    """A data set that tells about the process that it is read in."""

    def __getitems__(self, _: list[int]) -> tuple[int, list[bool]]:
        ignored = [signal.getsignal(name) is signal.SIG_IGN for name in (signal.SIGINT, signal.SIGUSR2)]
        return torch.get_num_threads(), ignored


def test_a_worker_has_one_thread_and_leaves_interrupts_to_its_parent(dataset: WindowDataset) -> None:
    loader = module_of(dataset, 1)._loader(Spy(), [[0]])
    assert next(iter(loader)) == (1, [True, True])
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


class Failing:
    """Samples that end badly, in one way or another."""

    sample_bytes = 64

    def __init__(self, how: str) -> None:
        self.how = how

    def __len__(self) -> int:
        return 8

    def __getitems__(self, indices: list[int]) -> Batch:
        if self.how == "episode":
            raise EpisodeError("e7", "the picture is no sound JPEG: it ends.", array="images.front_1", frame=3)
        if self.how == "name":
            raise UnknownNameError("camera", "frnt", ["front_1"])
        if self.how == "mistake":
            raise ZeroDivisionError("a transform of ours")
        os.kill(os.getpid(), signal.SIGKILL)
        return Batch(**dict.fromkeys(indices))  # pyright: ignore[reportCallIssue]  # never comes here


PICTURE = ("episode", EpisodeError, "Episode 'e7', array 'images.front_1', frame 3: the picture is no sound JPEG")
NAME = ("name", UnknownNameError, "Unknown camera 'frnt'. Did you mean 'front_1'?")
MISTAKE = ("mistake", ZeroDivisionError, "a transform of ours")


@pytest.mark.parametrize(
    ("how", "kind", "message", "num_workers"),
    [(*PICTURE, 0), (*PICTURE, 1), (*NAME, 1), (*MISTAKE, 0), pytest.param(*MISTAKE, 1, marks=pytest.mark.slow)],
)
def test_an_error_is_itself_wherever_it_happens(
    dataset: WindowDataset, how: str, kind: type[Exception], message: str, num_workers: int
) -> None:
    module = EpisodesDataModule(
        Failing(how),  # pyright: ignore[reportArgumentType]
        None,
        batch_size=2,
        num_workers=num_workers,
        seed=0,
        steps_per_epoch=4,
    )
    with pytest.raises(kind, match=re.escape(message)) as caught:
        next(iter(module.train_dataloader()))
    if isinstance(caught.value, EpisodeError):
        assert (caught.value.episode, caught.value.frame) == ("e7", 3)


@pytest.mark.slow
def test_a_worker_that_is_killed_is_one_clear_error_within_seconds() -> None:
    module = EpisodesDataModule(
        Failing("killed"),  # pyright: ignore[reportArgumentType]
        None,
        batch_size=2,
        num_workers=2,
        seed=0,
        steps_per_epoch=4,
    )
    begin, others = time.monotonic(), set(multiprocessing.active_children())
    loader = module.train_dataloader()
    with pytest.raises(WorkerDiedError, match="A worker process was killed"):
        next(iter(loader))  # it may be gone before all workers were told what to do
    assert time.monotonic() - begin < 10
    workers = [worker.pid for worker in set(multiprocessing.active_children()) - others if worker.pid]
    del loader, module
    gc.collect()
    deadline = time.monotonic() + 3
    while any(_alive(worker) for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [worker for worker in workers if _alive(worker)]


MEMORY_SCRIPT = """
import os
import sys
from pathlib import Path
from robotrain.data.datamodule import EpisodesDataModule
from robotrain.data.dataset import WindowDataset
from robotrain.data.pipeline import build_pipeline
from robotrain.embodiments.catalog import embodiment_of
from robotrain.episodes.schema import read_facts

def resident(pid):
    return int(Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()[0])

if __name__ == "__main__":
    pipeline = build_pipeline(embodiment_of("human_bimanual", {}), horizon=100)
    dataset = WindowDataset([read_facts(path) for path in sorted(Path(sys.argv[1]).iterdir())], pipeline)
    workers = int(sys.argv[2])
    module = EpisodesDataModule(dataset, None, batch_size=16, num_workers=workers, seed=0, steps_per_epoch=60)
    loader = module.train_dataloader()
    for epoch in range(4):  # the first is for what is read once and kept
        loader.batch_sampler.set_epoch(epoch)
        batches = iter(loader)
        for batch in batches:
            pass
        told = getattr(batches.batches, "_workers", [])
        print(sum(resident(pid) for pid in (os.getpid(), *(each.pid for each in told))), flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of a process as Linux tells it")
@pytest.mark.parametrize("num_workers", [0, 2])
def test_three_epochs_take_no_more_memory(tmp_path: Path, num_workers: int) -> None:
    for index in range(6):
        make_human_episode(tmp_path / "data" / f"e{index}.zarr", num_frames=80, size=(160, 120), seed=index)
    script = tmp_path / "epochs.py"
    script.write_text(MEMORY_SCRIPT)
    command = [sys.executable, str(script), str(tmp_path / "data"), str(num_workers)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    warm, *later = (int(line) for line in told.split())
    assert len(later) == 3
    assert max(later) < 1.05 * warm
