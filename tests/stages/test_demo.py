"""The demo in miniature: the same stages, three small episodes, two steps. The whole of it runs in test_examples."""

import json
from pathlib import Path

import pytest

from robotrain.episodes.digest import compute_digest
from robotrain.episodes.reader import open_episode
from robotrain.errors import ExistingPathError
from robotrain.stages.demo import DemoConfig, DemoReport, run
from robotrain.viz.video import probe_video
from tests.conftest import TINY_TRAINING


def tiny_demo(directory: Path) -> DemoReport:
    return run(
        DemoConfig(
            directory=str(directory), num_episodes=3, num_held_out=1, width=32, height=24, overrides=TINY_TRAINING
        )
    )


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> DemoReport:
    return tiny_demo(tmp_path_factory.mktemp("demo") / "new")


def test_it_ends_with_a_video_a_metrics_table_and_a_run_directory(first: DemoReport) -> None:
    (video,) = first.evaluation.videos
    drawn = open_episode(first.directory / "held-out" / f"{video.stem}.zarr")
    facts = probe_video(video)
    assert (facts.fps, facts.num_frames) == (drawn.fps, drawn.num_frames)
    assert first.evaluation.metrics.is_file()
    assert first.run_dir.parent == first.directory / "runs" / "demo"
    assert first.evaluation.result.score("xyz_error").ratio is not None


def test_it_scores_episodes_that_training_never_saw(first: DemoReport) -> None:
    scored = {each.episode for each in first.evaluation.result.episodes}
    manifest = json.loads((first.run_dir / "manifest.json").read_text())
    assert not scored & {*manifest["train"], *manifest["valid"]}


def test_a_second_demo_reuses_the_episodes_and_gives_the_same_numbers(first: DemoReport) -> None:
    episodes = sorted(first.directory.glob("episodes/*.zarr"))
    before = [(path.stat().st_mtime_ns, compute_digest(path)) for path in episodes]
    second = tiny_demo(first.directory)
    assert [(path.stat().st_mtime_ns, compute_digest(path)) for path in episodes] == before
    assert second.run_dir != first.run_dir
    told = [json.loads(report.evaluation.metrics.read_text()) for report in (first, second)]
    for each in told:
        del each["origin"]["checkpoint"]  # its path holds the time of the run
    assert told[0] == told[1]


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("all of it")
    with pytest.raises(ExistingPathError, match="something else"):
        tiny_demo(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
