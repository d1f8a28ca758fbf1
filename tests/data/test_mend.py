"""The left-wrist mend (#655): asked for, refused where it is not due, the same for training and for a robot."""

from pathlib import Path

import numpy as np
import pytest

from robotrain.data.dataset import WindowDataset
from robotrain.data.pipeline import Pipeline, build_pipeline
from robotrain.embodiments.catalog import embodiment_of
from robotrain.episodes.left_wrist import mend_left_wrist
from robotrain.episodes.reader import open_episode
from robotrain.episodes.schema import read_facts
from robotrain.errors import ConfigError, EpisodeError
from robotrain.geometry.poses import transform_from_pose
from tests.damage import assign, change_rows, mirror_left_hand
from tests.factories import copy_sound, make_human_episode

HUMAN = embodiment_of("human_bimanual", {})
MODES = [
    ("keypoints_wristframe_6d", "left.obs_wrist_pose"),
    ("keypoints_headframe_ypr", "left.obs_wrist_pose"),
    ("cartesian_6d", "left.obs_ee_pose"),
    ("cartesian_wristframe_6d", "left.obs_ee_pose"),
]


def pipeline_of(mode: str, *, mend: bool) -> Pipeline:
    return build_pipeline(HUMAN, mode=mode, horizon=5, seconds=0.5, mend_left_wrist=mend)


def mend_in_place(rows: np.ndarray) -> None:
    rows[:] = mend_left_wrist(rows)


@pytest.fixture
def mirrored(tmp_path: Path) -> Path:
    path = copy_sound(tmp_path / "old.zarr", "mecka")
    mirror_left_hand(path)
    return path


@pytest.mark.parametrize(("mode", "array"), MODES)
def test_mended_as_it_is_read_is_as_if_it_had_been_converted_again(mirrored: Path, mode: str, array: str) -> None:
    pipeline = pipeline_of(mode, mend=True)
    episode = open_episode(mirrored)
    found = pipeline.encode(pipeline.gather(episode, np.arange(8)))
    change_rows(mirrored, array, mend_in_place)
    plain = pipeline_of(mode, mend=False)
    expected = plain.encode(plain.gather(open_episode(mirrored), np.arange(8)))
    np.testing.assert_array_equal(found.actions, expected.actions)
    np.testing.assert_array_equal(found.state, expected.state)
    np.testing.assert_array_equal(found.action_mask, expected.action_mask)


def test_the_right_hand_is_left_alone(mirrored: Path) -> None:
    episode = open_episode(mirrored)
    chunks = []
    for mend in (False, True):
        pipeline = pipeline_of("cartesian_6d", mend=mend)
        encoded = pipeline.encode(pipeline.gather(episode, np.arange(8)))
        chunks.append(pipeline.layouts.actions.split(encoded.actions))
    np.testing.assert_array_equal(chunks[0]["right.rot6d"], chunks[1]["right.rot6d"])
    np.testing.assert_array_equal(chunks[0]["left.xyz"], chunks[1]["left.xyz"])
    assert not np.allclose(chunks[0]["left.rot6d"], chunks[1]["left.rot6d"])


@pytest.mark.parametrize(("mode", "array"), MODES)
def test_what_is_decoded_is_as_the_episode_stores_it(mirrored: Path, mode: str, array: str) -> None:
    pipeline, episode = pipeline_of(mode, mend=True), open_episode(mirrored)
    window = pipeline.gather(episode, np.arange(3))
    decoded = pipeline.decode(pipeline.encode(window).actions, window)[array]
    stored = episode.numbers(array)[:3]
    np.testing.assert_allclose(transform_from_pose(decoded[:, 0]), transform_from_pose(stored), atol=1e-6)
    assert (decoded[..., 3] >= 0).all()
    arrays = {name: episode.numbers(name)[2] for name in pipeline.arrays(episode.facts)}
    observed = pipeline.observe(arrays)
    np.testing.assert_array_equal(pipeline.encode_state(observed)[0], pipeline.encode(window).state[2:])


def test_missing_rows_stay_missing(mirrored: Path) -> None:
    for array in ("left.obs_wrist_pose", "left.obs_keypoints"):
        change_rows(mirrored, array, assign(3, 0.0))
    numbers = pipeline_of("keypoints_wristframe_6d", mend=True).load(open_episode(mirrored))
    np.testing.assert_array_equal(np.flatnonzero(~numbers.action_present), [3])


@pytest.mark.parametrize(("mode", "array"), MODES)
def test_data_that_are_mended_already_are_refused_by_name(mirrored: Path, mode: str, array: str) -> None:
    change_rows(mirrored, array, mend_in_place)
    with pytest.raises(
        EpisodeError, match=rf"'old', array '{array}': its keypoints show that the left wrist is mended"
    ):
        WindowDataset([read_facts(mirrored)], pipeline_of(mode, mend=True), ())


def test_other_vendors_are_refused_by_name(tmp_path: Path) -> None:
    facts = read_facts(make_human_episode(tmp_path / "a.zarr", embodiment="aria_bimanual"))
    with pytest.raises(EpisodeError, match=r"'a': data.mend_left_wrist is for hands of Mecka, .* of 'aria_bimanual'"):
        WindowDataset([facts], pipeline_of("cartesian_6d", mend=True), ())


@pytest.mark.parametrize("name", ["eva_bimanual", "human_right_arm"])
def test_a_body_without_a_left_hand_has_nothing_to_mend(name: str) -> None:
    with pytest.raises(ConfigError, match=f"'{name}' has no left hand"):
        build_pipeline(embodiment_of(name, {}), horizon=3, mend_left_wrist=True)


def test_mended_numbers_have_statistics_of_their_own() -> None:
    recipes = [pipeline_of("cartesian_6d", mend=mend).recipe() for mend in (False, True)]
    assert recipes[0] != recipes[1]


@pytest.mark.parametrize(("mode", "array"), MODES)
def test_mirrored_hands_that_nobody_mends_are_told_once(tmp_path: Path, mode: str, array: str) -> None:
    facts = []
    for number in range(5):
        path = copy_sound(tmp_path / f"e{number}.zarr", "mecka")
        mirror_left_hand(path)
        if number == 1:
            change_rows(path, array, mend_in_place)
        facts.append(read_facts(path))
    expected = "the left wrists of 'e0', 'e2' are mirrored twice; data.mend_left_wrist=true mends them"
    assert WindowDataset(facts, pipeline_of(mode, mend=False), ()).remarks[0] == expected  # three are looked at
    mended = WindowDataset([facts[0], *facts[2:]], pipeline_of(mode, mend=True), ())
    assert not any("mirrored" in remark for remark in mended.remarks)
