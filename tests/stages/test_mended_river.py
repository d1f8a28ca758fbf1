"""Left wrists that are mended, angles and earlier pictures, from the command line to what a robot calls."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from robotrain.cli.app import app
from robotrain.episodes.left_wrist import mend_left_wrist
from robotrain.episodes.reader import open_episode
from robotrain.evaluation.predictor import load_policy
from robotrain.predictions import load_predictions
from tests.conftest import TINY_TRAINING
from tests.damage import change_rows, mirror_left_hand
from tests.factories import copy_sound

ASKED = ("data.mend_left_wrist=true", "data.mode=cartesian_ypr", "data.history.image_seconds=0.2")
PALM = "left.obs_ee_pose"


def robotrain(*arguments: object, exit_code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == exit_code, result.output
    return " ".join(result.output.split())


def _mend(rows: np.ndarray) -> None:
    rows[:] = mend_left_wrist(rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return three episodes of Mecka's older converter, the same three mended, and a run on the first."""
    folder = tmp_path_factory.mktemp("mended")
    for kind in ("old", "new"):
        for number in range(3):
            path = copy_sound(folder / kind / f"2026-01-0{number + 1}-00-00-00-000000.zarr", "mecka")
            mirror_left_hand(path)
            if kind == "new":
                change_rows(path, PALM, _mend)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROBOTRAIN_LOG_DIR", str(folder / "runs"))
        patch.setenv("ROBOTRAIN_CACHE_DIR", str(folder / "cache"))
        told = robotrain("train", "--arch", "hpt_tiny", "--data", folder / "old", *TINY_TRAINING, *ASKED)
    assert "mirrored" not in told
    (run,) = (folder / "runs" / "old").iterdir()
    (folder / "run").symlink_to(run)
    return folder


def test_a_robot_is_given_what_its_episodes_store(folder: Path) -> None:
    told = robotrain("eval", folder / "run")
    assert "rotation_error" in told
    predictions = load_predictions(next((folder / "run").rglob("predictions.npz")))
    episode, frame = open_episode(folder / "old" / f"{predictions.hashes[9]}.zarr"), int(predictions.frames[9])
    loaded = load_policy(folder / "run")
    assert loaded.mends_left_wrist
    pipeline = loaded.pipeline()
    arrays = {name: episode.numbers(name)[frame] for name in pipeline.arrays(episode.facts)}
    back = pipeline.interface().history.image_stride(episode.fps)
    pictures = {"front_1": episode.image("front_1", frame), "front_1.before": episode.image("front_1", frame - back)}
    found = loaded.act(arrays, pictures, prompt=episode.prompt(frame), key=(episode.hash, frame))
    window = pipeline.gather(episode, np.array([frame]))
    wanted = pipeline.decode(predictions.predicted[9:10], window)
    for array, chunk in found.items():
        np.testing.assert_allclose(chunk, wanted[array][0], atol=1e-4)


def test_other_data_are_told_where_their_left_wrists_are_taken_otherwise(folder: Path) -> None:
    told = robotrain("eval", folder / "run", "--data", folder / "new")
    assert "the policy was trained on left wrists mended, and those of 'new' are as stored" in told


def test_data_that_are_sound_are_refused(folder: Path) -> None:
    told = robotrain("train", "--arch", "hpt_tiny", "--data", folder / "new", *TINY_TRAINING, *ASKED, exit_code=1)
    assert f"array '{PALM}': its keypoints show that the left wrist is mended already" in told


def test_training_on_mirrored_hands_says_how_they_are_mended(folder: Path) -> None:
    told = robotrain("train", "--arch", "hpt_tiny", "--data", folder / "old", *TINY_TRAINING)
    assert "are mirrored twice; data.mend_left_wrist=true mends them" in told
