import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robotrain.episodes.schema import (
    camera_of,
    canonical_embodiment,
    hash_of,
    image_array,
    missing_rows,
    read_facts,
    sides_of,
)
from robotrain.errors import EpisodeError, MissingPathError
from tests.factories import make_joint_episode


def write_metadata(path: Path, attributes: Any, **more: Any) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    metadata = {"attributes": attributes, "zarr_format": 3, "node_type": "group"} | more
    (path / "zarr.json").write_text(json.dumps(metadata))
    return path


GOOD = {"embodiment": "eva_bimanual", "total_frames": 5, "fps": 30}


@pytest.mark.parametrize(
    ("stored", "name"),
    [
        ("MECKA_BIMANUAL", "human_bimanual"),
        ("aria_right_arm", "human_right_arm"),
        ("scale_bimanual", "human_bimanual"),
        ("Lightwheel_Left_Arm", "human_left_arm"),
        ("yam_bimanual", "eva_bimanual"),
        ("eva_bimanual", "eva_bimanual"),
        (" toy_arm ", "toy_arm"),
    ],
)
def test_vendors_and_capitals_are_folded_into_one_name(stored: str, name: str) -> None:
    assert canonical_embodiment(stored) == name


def test_an_array_of_pictures_names_its_camera() -> None:
    assert image_array("front_1") == "images.front_1"
    assert camera_of("images.front_1") == "front_1"
    assert camera_of("left.obs_ee_pose") is None


@pytest.mark.parametrize("name", ["2025-12-26-18-07-46-296000", "2025-12-26-18-07-46-296000.zarr"])
def test_the_hash_is_the_folders_name_without_its_ending(name: str) -> None:
    assert hash_of(Path("/somewhere") / name) == "2025-12-26-18-07-46-296000"


@pytest.mark.parametrize(
    "array", ["left.obs_ee_pose", "right.obs_wrist_pose", "obs_head_pose", "left.obs_aria_keypoints"]
)
def test_rows_of_zeros_are_missing_in_poses_and_keypoints(array: str) -> None:
    rows = np.ones((4, 7))
    rows[1] = 0
    rows[2, 3] = 0
    assert missing_rows(array, rows).tolist() == [False, True, False, False]


@pytest.mark.parametrize(
    "array", ["left.gripper", "right.cmd_gripper", "left.obs_joints", "cmd_joints", "obs_eye_gaze"]
)
def test_a_row_of_zeros_is_data_in_grippers_joints_and_everything_else(array: str) -> None:
    assert not missing_rows(array, np.zeros((3, 2))).any()


@pytest.mark.parametrize("value", [1e9, 1e8, -1e9, np.nan, np.inf])
@pytest.mark.parametrize("array", ["left.obs_ee_pose", "left.gripper"])
def test_one_sentinel_marks_its_row_in_every_array(array: str, value: float) -> None:
    rows = np.ones((3, 7), np.float32)
    rows[1, 4] = value
    assert missing_rows(array, rows).tolist() == [False, True, False]


def test_facts_are_read_from_one_small_file_and_a_list_of_names(tmp_path: Path) -> None:
    path = make_joint_episode(tmp_path / "abc.zarr", num_frames=5)
    facts = read_facts(path)
    assert (facts.hash, facts.embodiment, facts.num_frames, facts.fps) == ("abc", "toy_arm", 5, Fraction(30))
    assert facts.arrays == ("annotations", "cmd_joints", "images.front_1", "obs_joints")
    assert facts.cameras == ("front_1",)
    assert facts.task_name == "wave"


def test_the_arrays_are_those_on_disk_whatever_the_attributes_list(tmp_path: Path) -> None:
    path = write_metadata(tmp_path / "e", GOOD | {"features": {"left.obs_ee_pose": {}}})
    for name in ("images.front_1", ".images.front_1.partial", "notes"):
        (path / name).mkdir()
    for name in ("images.front_1", ".images.front_1.partial"):
        (path / name / "zarr.json").write_text("{}")
    assert read_facts(path).arrays == ("images.front_1",)


def test_the_older_name_of_the_embodiment_is_understood(tmp_path: Path) -> None:
    path = write_metadata(tmp_path / "e", {"robot_type": "Aria_Bimanual", "total_frames": 5, "fps": 30})
    facts = read_facts(path)
    assert (facts.stored_embodiment, facts.embodiment) == ("Aria_Bimanual", "human_bimanual")


@pytest.mark.parametrize(
    ("stored", "fps"),
    [(30, Fraction(30)), (29.97002997002997, Fraction(30000, 1001)), (12.5, Fraction(25, 2)), ("60", Fraction(60))],
)
def test_rates_are_exact_fractions(tmp_path: Path, stored: Any, fps: Fraction) -> None:
    assert read_facts(write_metadata(tmp_path / "e", GOOD | {"fps": stored})).fps == fps


@pytest.mark.parametrize(
    ("attribute", "value", "words"),
    [
        ("total_frames", None, "'total_frames' is missing"),
        ("total_frames", 0, "not a positive whole number"),
        ("total_frames", -3, "not a positive whole number"),
        ("total_frames", 4.5, "not a positive whole number"),
        ("total_frames", True, "not a positive whole number"),
        ("total_frames", "7", "not a positive whole number"),
        ("total_frames", float("nan"), "not a positive whole number"),
        ("total_frames", 10**7 + 1, "above 10,000,000: no episode is so long"),
        ("total_frames", 1e300, "above 10,000,000"),
        ("total_frames", 10**400, "above 10,000,000"),
        ("fps", None, "'fps' is missing"),
        ("fps", 10**400, "not a positive number"),
        ("fps", "1e999999999", "not a positive number"),
        ("fps", "1/0", "not a positive number"),
        ("fps", 0, "not a positive number"),
        ("fps", True, "not a positive number"),
        ("fps", float("inf"), "not a positive number"),
        ("fps", "fast", "not a positive number"),
        ("fps", [30], "not a positive number"),
        ("embodiment", None, "'embodiment' is missing"),
        ("embodiment", "", "'embodiment' is missing"),
        ("embodiment", 6, "'embodiment' is missing"),
    ],
)
def test_what_must_be_said_and_is_not_is_refused_by_name(
    tmp_path: Path, attribute: str, value: Any, words: str
) -> None:
    path = write_metadata(tmp_path / "e", GOOD | {attribute: value})
    with pytest.raises(EpisodeError, match=words):
        read_facts(path)


DEEP, HALF = "[" * 100_000, '{"zarr_format": 3, "node_type": "group", "attributes": {"embodiment": "\\ud800"}}'


@pytest.mark.parametrize("content", ["", "{", "[]", '{"zarr_format": 2}', "\xff\xfe", DEEP, HALF])
def test_broken_metadata_are_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "e"
    path.mkdir()
    (path / "zarr.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(EpisodeError, match=r"Episode 'e'"):
        read_facts(path)


def test_an_array_or_an_empty_folder_or_nothing_is_no_episode(tmp_path: Path) -> None:
    with pytest.raises(EpisodeError, match="no Zarr group"):
        read_facts(write_metadata(tmp_path / "array", GOOD, node_type="array"))
    with pytest.raises(EpisodeError, match="no Zarr group"):
        read_facts(write_metadata(tmp_path / "listed", ["embodiment"]))
    (tmp_path / "empty").mkdir()
    with pytest.raises(EpisodeError, match="missing"):
        read_facts(tmp_path / "empty")
    with pytest.raises(MissingPathError):
        read_facts(tmp_path / "nothing")
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "zarr.json")
    with pytest.raises(EpisodeError, match="missing"):
        read_facts(tmp_path / "pipe")


@pytest.mark.parametrize(
    ("embodiment", "sides"),
    [
        ("human_left_arm", ("left",)),
        ("SCALE_RIGHT_ARM", ("right",)),
        ("eva_bimanual", ("left", "right")),
        ("left_arm_robot", ("left", "right")),
    ],
)
def test_a_bodys_name_tells_its_sides(embodiment: str, sides: tuple[str, ...]) -> None:
    assert sides_of(embodiment) == sides
