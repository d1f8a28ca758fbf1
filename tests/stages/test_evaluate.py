"""Which episodes an evaluation scores, and what it refuses."""

import shutil
from pathlib import Path

import pytest

from robotrain.errors import CheckpointError, ConfigError, ManifestError, PinError, UnknownNameError
from robotrain.stages.evaluate import EvaluateConfig, resolve_config, run
from robotrain.stages.run_directory import load_split
from tests.factories import make_eva_episode


@pytest.fixture
def own_run(tiny_run: Path, tmp_path: Path) -> Path:
    """Return a copy of the tiny run that may be written to."""
    return Path(shutil.copytree(tiny_run, tmp_path / "run", symlinks=True))


def test_the_run_s_own_splits_are_those_it_recorded(own_run: Path) -> None:
    reports = run(EvaluateConfig(checkpoint=str(own_run), splits=("train", "valid", "all"), stride=4))
    split = load_split(own_run)
    found = {report.split: {each.episode for each in report.result.episodes} for report in reports}
    assert found == {"train": {*split.train}, "valid": {*split.valid}, "all": {*split.train, *split.valid}}
    for report in reports:
        assert report.metrics == own_run.resolve() / "eval" / "epoch=0000-step=0000002" / report.split / "metrics.json"
        assert report.metrics.is_file()
        assert not report.videos


def test_other_episodes_are_all_scored_under_their_own_name(own_run: Path, tmp_path: Path) -> None:
    for index in range(3):
        make_eva_episode(tmp_path / "others" / f"2026-03-0{index + 1}-00-00-00-000000.zarr", seed=index)
    (report,) = run(EvaluateConfig(checkpoint=str(own_run), data=str(tmp_path / "others"), episodes=2))
    assert (report.split, report.result.coverage.episodes) == ("others", 2)


def test_scores_on_training_episodes_are_called_flattering(
    own_run: Path, tiny_episodes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(EvaluateConfig(checkpoint=str(own_run), data=str(tiny_episodes), stride=6))
    assert "3 of the 4 episodes of 'episodes' were trained on" in " ".join(capsys.readouterr().err.split())


def test_a_lost_episode_is_not_passed_over(own_run: Path, tiny_episodes: Path, tmp_path: Path) -> None:
    # the checkpoint names the folder; a held-out episode that is gone must not shrink the split in silence
    split = load_split(own_run)
    path = tiny_episodes / f"{split.valid[0]}.zarr"
    path.rename(tmp_path / "aside")
    try:
        with pytest.raises(PinError, match=split.valid[0]):
            run(EvaluateConfig(checkpoint=str(own_run)))
    finally:
        (tmp_path / "aside").rename(path)


def test_a_held_out_episode_that_changed_is_not_scored_unless_asked(own_run: Path, tiny_episodes: Path) -> None:
    told = tiny_episodes / f"{load_split(own_run).valid[0]}.zarr" / "zarr.json"
    before = told.read_bytes()
    told.write_bytes(before.replace(b'"task_name": "', b'"task_nome": "'))  # of the same size
    try:
        with pytest.raises(ManifestError, match="1 episode of the run changed since it began"):
            run(EvaluateConfig(checkpoint=str(own_run)))
        assert run(EvaluateConfig(checkpoint=str(own_run), allow_changed=True))
    finally:
        told.write_bytes(before)


def test_a_checkpoint_without_its_run_needs_data(own_run: Path, tmp_path: Path, tiny_episodes: Path) -> None:
    alone = tmp_path / "alone.ckpt"
    shutil.copy(own_run / "checkpoints" / "last.ckpt", alone)
    with pytest.raises(CheckpointError, match="--data"):
        run(EvaluateConfig(checkpoint=str(alone)))
    (report,) = run(EvaluateConfig(checkpoint=str(alone), data=str(tiny_episodes), stride=6))
    assert report.metrics == tmp_path / "eval" / "alone" / "episodes" / "metrics.json"


def test_options_and_settings_are_not_mixed_up(own_run: Path) -> None:
    config = resolve_config(str(own_run), data=None, splits=("all",), videos=True, overrides=["stride=3", "seed=5"])
    assert (config.stride, config.seed, config.splits, config.videos) == (3, 5, ("all",), True)
    with pytest.raises(ConfigError, match="'data' is an option of its own"):
        resolve_config(str(own_run), data=None, splits=(), videos=False, overrides=["data=x"])
    with pytest.raises(ConfigError, match="stride must be at least 1"):
        resolve_config(str(own_run), data=None, splits=(), videos=False, overrides=["stride=0"])
    with pytest.raises(UnknownNameError, match="Did you mean 'valid'"):
        resolve_config(str(own_run), data=None, splits=("validd",), videos=False, overrides=[])
