from pathlib import Path

import numpy as np
import pytest

from robotrain.data.numbers import IDENTITY_POSE, fill_missing
from robotrain.data.pipeline import build_pipeline
from robotrain.embodiments.catalog import embodiment_of
from robotrain.episodes.reader import Episode, open_episode
from robotrain.errors import EpisodeError
from tests.factories import make_eva_episode, make_human_episode, write_numbers


def test_a_missing_row_repeats_the_last_one_and_the_first_at_the_start() -> None:
    values = np.arange(6.0)[:, None]
    present = np.array([False, True, False, False, True, False])
    np.testing.assert_array_equal(fill_missing(values, present, np.zeros(1))[:, 0], [1, 1, 1, 1, 4, 4])


def test_an_array_that_was_never_recorded_is_filled_with_what_is_given() -> None:
    filled = fill_missing(np.zeros((3, 7)), np.zeros(3, bool), np.array(IDENTITY_POSE))
    np.testing.assert_array_equal(filled, np.tile(IDENTITY_POSE, (3, 1)))


@pytest.mark.parametrize("marker", [0.0, 1e9, np.nan])
def test_what_marks_a_missing_row_does_not_reach_the_numbers(tmp_path: Path, marker: float) -> None:
    whole = open_episode(make_human_episode(tmp_path / "whole.zarr"))
    arrays = {
        name: whole.numbers(name).copy() for name in whole.arrays if name not in {"images.front_1", "annotations"}
    }
    arrays["left.obs_wrist_pose"][3] = marker
    pipeline = build_pipeline(embodiment_of("human_bimanual", {}), horizon=4)
    numbers = pipeline.load(open_episode(write_numbers(tmp_path / "e.zarr", "human_bimanual", arrays)))
    np.testing.assert_array_equal(np.flatnonzero(~numbers.action_present), [3])
    np.testing.assert_array_equal(np.flatnonzero(~numbers.anchor_present), [3])
    np.testing.assert_array_equal(numbers.actions["left.pose"][3], arrays["left.obs_wrist_pose"][2])


def test_a_pose_whose_quaternion_has_no_length_is_named(tmp_path: Path) -> None:
    whole = open_episode(make_human_episode(tmp_path / "whole.zarr"))
    arrays = {
        name: whole.numbers(name).copy() for name in whole.arrays if name not in {"images.front_1", "annotations"}
    }
    arrays["right.obs_ee_pose"][5, 3:] = 0
    path = write_numbers(tmp_path / "e.zarr", "human_bimanual", arrays)
    pipeline = build_pipeline(embodiment_of("human_bimanual", {}), mode="cartesian_6d", horizon=4)
    with pytest.raises(EpisodeError, match=r"'e', array 'right.obs_ee_pose', frame 5: the quaternion"):
        pipeline.load(open_episode(path))


def test_every_array_is_read_once_and_no_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    episode = open_episode(make_eva_episode(tmp_path / "e.zarr"))
    read: list[str] = []
    original = Episode.numbers
    monkeypatch.setattr(Episode, "numbers", lambda self, array: (read.append(array), original(self, array))[1])
    monkeypatch.setattr(Episode, "jpeg", lambda *_: pytest.fail("a picture was read"))
    pipeline = build_pipeline(embodiment_of("eva_bimanual", {}), horizon=4)
    pipeline.load(episode)
    assert sorted(read) == sorted(pipeline.arrays(episode.facts))
    assert len(read) == len(set(read)) == 8
