"""What every test stands on: a clean environment, the tiers, and where real recordings lie."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TIERS = {"slow": "--all", "slurm": "--all", "gpu": "--gpu", "nightly": "--everything"}
"""By marker: the option without which its tests are skipped (--everything includes --all)."""

TINY_TRAINING = ("trainer.max_steps=2", "trainer.steps_per_epoch=2", "data.batch_size=4", "trainer.accelerator=cpu")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("robotrain tiers")
    group.addoption("--all", action="store_true", help="run the slow and slurm tests too")
    group.addoption("--everything", action="store_true", help="run the slow, slurm and nightly tests too")
    group.addoption("--gpu", action="store_true", help="run the tests that need a GPU too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the upper tiers out unless they are asked for, by an option or by -m.

    Deselected rather than skipped, so that a skip in the summary is always one to read.
    """
    if config.getoption("markexpr"):
        return
    wanted = {option for option in TIERS.values() if config.getoption(option)}
    wanted |= {"--all"} if "--everything" in wanted else set()
    out = {marker for marker, option in TIERS.items() if option not in wanted}
    left = [item for item in items if out & {mark.name for mark in item.iter_markers()}]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in set(left)]


def _isolate(patch: pytest.MonkeyPatch, own: Path) -> None:
    for name in [name for name in os.environ if name.startswith("ROBOTRAIN_") and name != "ROBOTRAIN_REAL_DATA"]:
        patch.delenv(name)
    patch.setenv("ROBOTRAIN_CACHE_DIR", str(own / "cache"))
    patch.setenv("ROBOTRAIN_LOG_DIR", str(own / "runs"))


@pytest.fixture(scope="session", autouse=True)
def clean_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep fixtures of the whole session away from the user's cache, runs and settings too."""
    # A job in the background of a shell ignores Ctrl-C, and so would every process that a test starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.MonkeyPatch.context() as patch:
        _isolate(patch, tmp_path_factory.mktemp("session"))
        yield


@pytest.fixture(autouse=True)
def clean_environment(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every test its own cache and runs, and none of the user's settings."""
    _isolate(monkeypatch, tmp_path_factory.mktemp("robotrain"))


@pytest.fixture(scope="session")
def tiny_episodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of four tiny episodes of a robot with two arms. Read only."""
    from tests.factories import make_eva_episode

    root = tmp_path_factory.mktemp("tiny") / "episodes"
    for index in range(4):
        make_eva_episode(root / f"2026-01-0{index + 1}-00-00-00-000000.zarr", num_frames=12, seed=index)
    return root


@pytest.fixture(scope="session")
def tiny_run(tiny_episodes: Path) -> Path:
    """Return the directory of a run of two steps on the tiny episodes. Read only."""
    from robotrain.stages.recipe import TrainChoice
    from robotrain.stages.train import resolve_config, run

    choice = TrainChoice(arch="hpt_tiny", data=str(tiny_episodes), overrides=TINY_TRAINING)
    return run(resolve_config(choice), log_dir=tiny_episodes.parent / "runs").run_dir


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Return the folder of real recordings: ROBOTRAIN_REAL_DATA, else ../shared/real-data beside the checkout."""
    named = os.environ.get("ROBOTRAIN_REAL_DATA")
    path = Path(named) if named else ROOT.parent / "shared" / "real-data"
    if not path.is_dir():
        pytest.skip(f"no real recordings at {path}; set ROBOTRAIN_REAL_DATA to their folder")
    return path
