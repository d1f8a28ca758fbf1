"""Pictures decoded at a reduced size, from the command line to what a policy is shown, in every stage."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from robotrain.batch import Batch
from robotrain.cli.app import app
from robotrain.data.dataset import WindowDataset
from robotrain.data.windows import Encoded
from robotrain.episodes.jpegs import decode_picture
from robotrain.evaluation.predictor import load_policy
from robotrain.stages import bench_loader
from tests.conftest import TINY_TRAINING
from tests.factories import make_eva_episode

HALF = (24, 32)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> set[tuple[int, ...]]:
    """Return a set that fills with the sizes of the pictures in batches."""
    sizes: set[tuple[int, ...]] = set()
    batch_of = WindowDataset.batch

    def spy(self: WindowDataset, keys: Sequence[tuple[str, int]], *, encoded: Encoded | None = None) -> Batch:
        batch = batch_of(self, keys, encoded=encoded)
        sizes.update(image.shape[1:3] for image in batch.observation.images.values())
        return batch

    monkeypatch.setattr(WindowDataset, "batch", spy)
    return sizes


def robotrain(*arguments: object, exit_code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == exit_code, result.output
    return " ".join(result.output.split())


def test_training_and_evaluation_read_what_the_config_asks_for(
    tmp_path: Path, read: set[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROBOTRAIN_LOG_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("ROBOTRAIN_CACHE_DIR", str(tmp_path / "cache"))
    for number in range(3):
        make_eva_episode(tmp_path / "data" / f"e{number}.zarr", num_frames=12, size=(64, 48), seed=number)
    data = ("--data", tmp_path / "data")
    robotrain("train", "--arch", "hpt_tiny", *data, *TINY_TRAINING, "data.image_size=[20,20]")
    assert read == {HALF}
    loaded = load_policy(next((tmp_path / "runs").rglob("last.ckpt")))
    assert loaded.interface.image_size == (20, 20)
    read.clear()
    robotrain("eval")
    robotrain("eval", *data)  # whose config asks for whole pictures; the policy does not
    assert read == {HALF}


def test_the_benchmark_loads_and_decodes_at_that_size(
    tmp_path: Path, read: set[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_eva_episode(tmp_path / "e0.zarr", num_frames=12, size=(64, 48))
    decoded: set[tuple[int, ...]] = set()

    def spy(encoded: bytes, *, least: tuple[int, int]) -> None:
        decoded.add(decode_picture(encoded, least=least).shape[:2])

    monkeypatch.setattr(bench_loader, "decode_picture", spy)
    asked = ("image_size=[20,20]", "batch_size=2")
    bench_loader.run(
        bench_loader.BenchRequest(data=str(tmp_path), horizon=4, samples=4, rounds=1, workers=(0,), overrides=asked)
    )
    assert read == decoded == {HALF}


def test_a_size_that_is_none_is_one_line(tmp_path: Path) -> None:
    make_eva_episode(tmp_path / "data" / "e0.zarr")
    told = robotrain("train", "--data", tmp_path / "data", "data.image_size=[240]", "--dry-run", exit_code=1)
    assert "data.image_size must be a height and a width of at least 1 pixel, found [240]" in told
