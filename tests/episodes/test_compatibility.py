"""The compatibility checklist: whatever EgoVerse's writers of any age left on disk is read, and means what it meant.

One class a line of the list. `test_reader` reads episodes of EgoVerse's own writer beside it.
"""

import json
import shutil
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from zarr.errors import UnstableSpecificationWarning

from robotrain.data.pipeline import build_pipeline
from robotrain.embodiments.arms import FRONT_INTRINSICS
from robotrain.embodiments.catalog import embodiment_of
from robotrain.episodes.reader import Episode, Span, open_episode
from robotrain.episodes.schema import (
    HEAD_POSE,
    SIDES,
    TIMESTAMPS,
    Side,
    cmd_gripper,
    gripper,
    obs_ee_pose,
    obs_gripper,
    obs_joints,
    obs_keypoints,
    obs_wrist_pose,
)
from robotrain.episodes.validation import validate_episode
from robotrain.geometry.cameras import Intrinsics
from robotrain.geometry.poses import invert, transform_from_pose
from tests.damage import add_array, drop_texts, edit, picture, read_rows, set_rows, set_texts, without
from tests.factories import (
    SOUND_FRAMES,
    copy_sound,
    make_eva_episode,
    make_human_episode,
    make_joint_episode,
    write_numbers,
)

MATRIX = [[20.0, 0.0, 16.0, 0.0], [0.0, 21.0, 12.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
NERF = {"fl_x": 20.0, "fl_y": 21.0, "cx": 16.0, "cy": 12.0, "w": 32, "h": 24, "k1": 0.05}
PLAIN = {"fx": 20.0, "fy": 21.0, "cx": 16.0, "cy": 12.0, "width": 32, "height": 24}
HALVED = Intrinsics(10.0, 10.5, 8.0, 6.0, 16, 12)
"""The camera of all four spellings, told for pictures twice as large as the stored ones."""
PLACE = transform_from_pose(np.array([0.1, 0.2, 0.3, 0.5, 0.5, 0.5, 0.5]))
BASE = transform_from_pose(np.array([0.0, -0.2, 0.1, 1.0, 0.0, 0.0, 0.2]))


@pytest.fixture
def eva(tmp_path: Path) -> Path:
    return copy_sound(tmp_path / "eva")


def errors(path: Path) -> list[str]:
    return [finding.code for finding in validate_episode(path, deep=True) if finding.severity == "error"]


def store_anew(path: Path, array: str, **layout: Any) -> np.ndarray:
    """Store an array's real rows again in another way; return them."""
    values = read_rows(path, array)
    without(path, array)
    dtype: Any = "variable_length_bytes" if values.dtype == object else values.dtype
    with warnings.catch_warnings(action="ignore", category=UnstableSpecificationWarning):  # of bytes
        stored = zarr.create_array(path / array, shape=values.shape, dtype=dtype, **layout)
    stored[:] = values
    return values


class TestNames:
    def test_a_folder_is_named_with_or_without_its_ending(self, tmp_path: Path) -> None:
        name = "2025-12-26-18-07-46-296000"
        plain, ending = copy_sound(tmp_path / "a" / name), copy_sound(tmp_path / "b" / f"{name}.zarr")
        assert open_episode(plain).hash == open_episode(ending).hash == name
        assert [finding.episode for finding in validate_episode(ending)] == []

    @pytest.mark.parametrize(
        ("stored", "canonical"),
        [
            ("aria_bimanual", "human_bimanual"),
            ("MECKA_BIMANUAL", "human_bimanual"),
            ("Scale_Bimanual", "human_bimanual"),
            ("lightwheel_bimanual", "human_bimanual"),
            ("human_bimanual", "human_bimanual"),
            ("EVA_BIMANUAL", "eva_bimanual"),
            ("yam_bimanual", "eva_bimanual"),
        ],
    )
    def test_vendors_names_and_capitals_stand_for_the_body(self, tmp_path: Path, stored: str, canonical: str) -> None:
        make = make_human_episode if canonical.startswith("human") else make_eva_episode
        path = make(tmp_path / "e", 30, embodiment=stored)
        episode = open_episode(path)
        assert (episode.embodiment, episode.facts.stored_embodiment) == (canonical, stored)
        assert build_pipeline(embodiment_of(canonical, {}), horizon=5).load(episode).num_frames == 30
        assert errors(path) == []

    def test_the_older_attribute_of_the_body_is_read(self, eva: Path) -> None:
        edit(eva, embodiment=None, robot_type="eva_bimanual")
        assert open_episode(eva).embodiment == "eva_bimanual"
        assert errors(eva) == []


class TestLength:
    def test_total_frames_is_the_length_and_what_follows_is_never_read(self, eva: Path) -> None:
        for array in (obs_ee_pose("left"), obs_gripper("left")):
            set_rows(eva, array, slice(SOUND_FRAMES, 100), np.nan)
        set_rows(eva, "images.front_1", slice(SOUND_FRAMES, 100), b"no JPEG")
        episode = open_episode(eva)
        assert episode.num_frames == SOUND_FRAMES
        assert episode.numbers(obs_ee_pose("left")).shape == (SOUND_FRAMES, 7)
        assert np.isfinite(episode.numbers(obs_gripper("left"))).all()
        assert len(list(episode.jpegs("front_1"))) == SOUND_FRAMES
        numbers = build_pipeline(embodiment_of("eva_bimanual", {}), horizon=5).load(episode)
        assert all(np.isfinite(values).all() for values in numbers.actions.values())
        assert errors(eva) == []

    def test_arrays_may_be_padded_to_different_lengths(self, eva: Path) -> None:
        values = store_anew(eva, obs_ee_pose("left"), chunks=(4, 7))  # trimmed, beside others of 100 rows
        np.testing.assert_array_equal(open_episode(eva).numbers(obs_ee_pose("left")), values)
        assert errors(eva) == []


class TestStorage:
    @pytest.mark.parametrize(
        "layout",
        [
            {"chunks": (4, 7)},
            {"chunks": (SOUND_FRAMES, 7)},
            {"chunks": (4, 3)},
            {"chunks": (5, 7), "shards": (15, 7)},
            {"chunks": (5, 7), "shards": (10, 7)},
            {"chunks": (4, 7), "compressors": None},
            {"chunks": (4, 7), "chunk_key_encoding": {"name": "v2", "separator": "."}},
        ],
        ids=str,
    )
    def test_numbers_are_read_however_they_are_cut(self, eva: Path, layout: dict[str, Any]) -> None:
        values = store_anew(eva, obs_ee_pose("left"), **layout)
        np.testing.assert_array_equal(open_episode(eva).numbers(obs_ee_pose("left")), values)
        assert errors(eva) == []

    def test_pictures_are_read_from_one_file_a_frame(self, eva: Path) -> None:
        before = [picture(eva, "front_1", frame) for frame in range(SOUND_FRAMES)]
        store_anew(eva, "images.front_1", chunks=(1,))
        episode = open_episode(eva)
        assert [episode.jpeg("front_1", frame) for frame in range(SOUND_FRAMES)] == before
        assert errors(eva) == []
        (eva / "images.front_1" / "c" / "9").unlink()
        assert errors(eva) == ["missing-shard"]

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_numbers_keep_their_precision(self, tmp_path: Path, dtype: type[np.floating]) -> None:
        values = np.linspace(0.1, 0.9, 30, dtype=dtype)[:, None]
        path = write_numbers(tmp_path / "e", "toy_arm", {obs_gripper("left"): values})
        read = open_episode(path).numbers(obs_gripper("left"))
        assert read.dtype == dtype
        np.testing.assert_array_equal(read, values)

    def test_what_features_say_wrong_or_not_at_all_hides_no_array(self, eva: Path) -> None:
        for features in (None, {}, {"images.front_1": {"dtype": "float64", "shape": [7]}}, "none"):
            edit(eva, features=features)
            episode = open_episode(eva)
            assert episode.cameras == ("front_1", "left_wrist", "right_wrist")
            assert episode.image("front_1", 3).shape == (12, 16, 3)
            assert episode.numbers(obs_ee_pose("left")).shape == (SOUND_FRAMES, 7)
            assert errors(eva) == []


class TestGrippers:
    def test_one_array_a_gripper_stands_for_both_the_measured_and_the_commanded(self, eva: Path) -> None:
        pipeline = build_pipeline(embodiment_of("eva_bimanual", {}), horizon=5)
        for side in SIDES:
            shutil.copytree(eva / obs_gripper(side), eva / cmd_gripper(side), dirs_exist_ok=True)
        newer = pipeline.load(open_episode(eva))
        for side in SIDES:
            (eva / obs_gripper(side)).rename(eva / gripper(side))
            without(eva, cmd_gripper(side))
        edit(eva, features=None)
        older = pipeline.load(open_episode(eva))
        for part in (f"{side}.gripper" for side in SIDES):
            np.testing.assert_array_equal(older.now.state[part], newer.now.state[part])
            np.testing.assert_array_equal(older.actions[part], newer.actions[part])
        assert errors(eva) == []


class TestAnnotations:
    def test_none_at_all(self, eva: Path) -> None:
        without(eva, "annotations")
        edit(eva, features=None)
        assert open_episode(eva).prompt(0) == "pick it up"
        assert errors(eva) == []

    def test_an_empty_array_in_chunks_of_no_rows(self, eva: Path) -> None:
        drop_texts(eva)
        episode = open_episode(eva)
        assert (episode.spans, episode.annotations_problem) == ((), None)
        assert episode.prompt(0) == "pick it up"
        assert [finding.code for finding in validate_episode(eva)] == ["zero-chunk", "annotation-coverage"]

    def test_half_open_spans_meet_without_overlap(self, eva: Path) -> None:
        set_texts(eva, ("reach", 0, 7), ("lift", 7, 15))
        episode = open_episode(eva)
        assert [episode.prompts(frame) for frame in (0, 6, 7, 14)] == [("reach",), ("reach",), ("lift",), ("lift",)]
        assert validate_episode(eva) == ()

    def test_inclusive_spans_are_read_as_half_open_and_named(self, eva: Path) -> None:
        set_texts(eva, ("reach", 0, 6), ("lift", 7, 14))
        episode = open_episode(eva)
        assert episode.spans == (Span("reach", 0, 6), Span("lift", 7, 14))
        assert episode.prompt(6) == "pick it up"
        assert [finding.code for finding in validate_episode(eva)] == ["inclusive-spans", "annotation-coverage"]

    def test_all_texts_that_hold_are_told_and_the_first_is_read(self, eva: Path) -> None:
        set_texts(eva, ("reach", 0, 9), ("with the left hand", 3, 15))
        episode = open_episode(eva)
        assert episode.prompts(5) == ("reach", "with the left hand")
        assert episode.prompt(5) == "reach"


class TestIntrinsics:
    @pytest.mark.parametrize(
        "attributes",
        [
            {"intrinsics": NERF},
            {"intrinsics": json.dumps(NERF)},
            {"camera_intrinsics": PLAIN},
            {"calibration": {"cameras": {"front_1": {"K": MATRIX, "resolution": [32, 24]}}}},
            {"calibration": {"cameras": {"images.front_1": {"K": MATRIX, "resolution": [32, 24]}}}},
            {"intrinsics": {"front_1": [[10, 0, 8, 0], [0, 10.5, 6, 0], [0, 0, 1, 0]]}},
            {"intrinsics": {"images.front_1": [[10, 0, 8], [0, 10.5, 6], [0, 0, 1]]}},
            {"intrinsics": {"front_img_1": [[10, 0, 8], [0, 10.5, 6], [0, 0, 1]]}},
        ],
        ids=lambda attributes: str(attributes)[:40],
    )
    def test_all_spellings_are_scaled_to_the_stored_pictures(self, eva: Path, attributes: dict[str, Any]) -> None:
        edit(eva, **attributes)
        assert open_episode(eva).intrinsics("front_1") == HALVED
        assert open_episode(eva).intrinsics("left_wrist") is None
        assert errors(eva) == []

    @pytest.mark.parametrize(
        ("stored", "expected"),
        [
            ("aria_bimanual", Intrinsics(266.50860444, 266.50860444, 320, 240, 640, 480)),
            ("human_bimanual", Intrinsics(266.50860444, 266.50860444, 320, 240, 640, 480)),
            ("eva_bimanual", Intrinsics(266.50860444, 266.50860444, 320, 240, 640, 480)),
            ("yam_right_arm", Intrinsics(266.50860444, 266.50860444, 320, 240, 640, 480)),
            ("scale_bimanual", Intrinsics(214.134, 256.968, 324.593, 260.146, 640, 480)),
            ("SCALE_LEFT_ARM", Intrinsics(214.134, 256.968, 324.593, 260.146, 640, 480)),
            ("MECKA_BIMANUAL", Intrinsics(250.8236, 251.0005, 320.6083, 184.4153, 640, 360)),
        ],
    )
    @pytest.mark.parametrize("told", [{}, {"intrinsics": None, "extrinsics": None}])
    def test_an_episode_that_tells_none_has_its_vendors(
        self, tmp_path: Path, stored: str, expected: Intrinsics, told: dict[str, Any]
    ) -> None:
        path = make_human_episode(tmp_path / "e", 1, (32, 24), embodiment=stored, attributes=told)
        found = open_episode(path).intrinsics("front_1")
        assert found is not None
        scaled = expected.scaled_to(32, 24)
        for name in ("fx", "fy", "cx", "cy", "width", "height"):
            assert getattr(found, name) == pytest.approx(getattr(scaled, name), rel=1e-6)

    def test_what_the_episode_tells_goes_before_the_vendors(self, tmp_path: Path) -> None:
        path = make_human_episode(
            tmp_path / "e", 1, embodiment="mecka_bimanual", attributes={"camera_intrinsics": PLAIN}
        )
        assert open_episode(path).intrinsics("front_1") == HALVED

    def test_a_robot_of_another_kind_and_a_wrist_camera_have_none(self, eva: Path, tmp_path: Path) -> None:
        assert open_episode(make_joint_episode(tmp_path / "toy", 1)).intrinsics("front_1") is None
        assert open_episode(eva).intrinsics("left_wrist") is None
        assert open_episode(eva).intrinsics("front_1") == FRONT_INTRINSICS.scaled_to(16, 12)


class TestCalibration:
    @pytest.mark.parametrize("version", ["v3.0", "v3.1"])
    def test_arms_stand_in_the_reference_frame_and_so_does_the_camera(self, eva: Path, version: str) -> None:
        front = {"K": MATRIX, "model": "PINHOLE", "distortion": [], "resolution": [32, 24], "rectified": True}
        wrist = {"K": MATRIX, "resolution": [32, 24]}
        edit(
            eva,
            schema_version=version,
            morphology="bimanual",
            data_status="complete",
            calibration={
                "reference_frame": "robot_base",
                "cameras": {
                    "left_wrist": wrist,
                    "right_wrist": wrist,
                    "front_1": front | {"ref_T_cam": PLACE.tolist()},
                },
                "arm_bases": {"left": BASE.tolist(), "right": np.eye(4).tolist()},
            },
        )
        episode = open_episode(eva)
        np.testing.assert_allclose(_pose(episode, "left"), invert(BASE) @ PLACE)
        np.testing.assert_allclose(_pose(episode, "right"), PLACE)
        for camera in episode.cameras:
            assert episode.intrinsics(camera) == HALVED
        assert validate_episode(eva) == ()

    def test_the_reference_camera_is_its_own_origin(self, eva: Path) -> None:
        cameras = {"front_2": {"K": MATRIX}, "front_1": {"K": MATRIX, "ref_T_cam": PLACE.tolist()}}
        calibration = {
            "reference_frame": "camera:front_2",
            "cameras": cameras,
            "arm_bases": {side: BASE.tolist() for side in SIDES},
        }
        edit(eva, calibration=calibration)
        np.testing.assert_allclose(_pose(open_episode(eva), "left"), invert(BASE))
        edit(eva, calibration=calibration | {"reference_frame": "robot_base"})
        np.testing.assert_allclose(_pose(open_episode(eva), "left"), invert(BASE) @ PLACE)

    def test_the_older_extrinsics_are_read_where_there_is_no_calibration(self, eva: Path) -> None:
        edit(eva, extrinsics={"left": PLACE.tolist()})
        np.testing.assert_allclose(_pose(open_episode(eva), "left"), PLACE)
        assert open_episode(eva).camera_pose("right") is None


def _pose(episode: Episode, side: Side) -> np.ndarray:
    pose = episode.camera_pose(side)
    assert pose is not None
    return pose


class TestMissingRows:
    @pytest.mark.parametrize("mark", [0.0, 1e8, 1e9, -1e9, np.nan, np.inf])
    @pytest.mark.parametrize("array", [obs_ee_pose("left"), obs_wrist_pose("left"), obs_keypoints("left"), HEAD_POSE])
    def test_poses_and_keypoints_are_marked_by_zeros_and_by_sentinels(
        self, tmp_path: Path, array: str, mark: float
    ) -> None:
        path = copy_sound(tmp_path / "e", "human")
        set_rows(path, array, slice(4, 7), mark)
        assert np.flatnonzero(open_episode(path).missing(array)).tolist() == [4, 5, 6]

    @pytest.mark.parametrize(("mark", "rows"), [(0.0, []), (1e9, [4, 5, 6]), (-1e8, [4, 5, 6]), (np.nan, [4, 5, 6])])
    def test_a_closed_gripper_is_zero_and_there(self, eva: Path, mark: float, rows: list[int]) -> None:
        set_rows(eva, obs_gripper("left"), slice(4, 7), mark)
        assert np.flatnonzero(open_episode(eva).missing(obs_gripper("left"))).tolist() == rows

    def test_joints_at_home_are_zero_and_there(self, tmp_path: Path) -> None:
        values = {obs_joints("left"): np.zeros((3, 6)), obs_ee_pose("left"): np.zeros((3, 7))}
        episode = open_episode(write_numbers(tmp_path / "e", "eva_left_arm", values))
        assert not episode.missing(obs_joints("left")).any()
        assert episode.missing(obs_ee_pose("left")).all()

    def test_capture_times_are_large_and_there(self, eva: Path) -> None:
        times = 1_700_000_000_000_000_007 + 66_666_667 * np.arange(SOUND_FRAMES, dtype=np.int64)
        add_array(eva, TIMESTAMPS, times)
        episode = open_episode(eva)
        np.testing.assert_array_equal(episode.numbers(TIMESTAMPS)[:, 0], times)
        assert not episode.missing(TIMESTAMPS).any()
        assert validate_episode(eva, deep=True) == ()


class TestOneArm:
    @pytest.mark.parametrize("embodiment", ["human_left_arm", "aria_right_arm", "eva_right_arm", "yam_left_arm"])
    def test_one_arm_is_read_and_needs_no_other(self, tmp_path: Path, embodiment: str) -> None:
        other = "right" if "left" in embodiment else "left"
        human = embodiment.startswith(("human", "aria"))
        path = copy_sound(tmp_path / "e", "human" if human else "eva")
        lost = [child.name for child in path.iterdir() if other in child.name]
        without(path, *lost)
        edit(path, embodiment=embodiment, features=None)
        episode = open_episode(path)
        side: Side = "left" if other == "right" else "right"
        assert episode.numbers(obs_ee_pose(side)).shape == (SOUND_FRAMES, 7)
        assert episode.intrinsics("front_1") is not None
        assert episode.prompt(0) == "reach for it"
        found = {(finding.severity, finding.code) for finding in validate_episode(path, deep=True)}
        assert {told for told in found if told[0] != "off"} == {
            ("warning", "no-features"),
        }


class TestRates:
    @pytest.mark.parametrize("fps", [15, 30, 60])
    def test_a_chunk_spans_the_same_seconds_at_every_rate(self, tmp_path: Path, fps: int) -> None:
        path = make_eva_episode(tmp_path / "e", 3 * fps, cameras=(), fps=fps)
        episode = open_episode(path)
        pipeline = build_pipeline(embodiment_of("eva_bimanual", {}), horizon=10, seconds=1.0)
        assert episode.fps == Fraction(fps)
        assert pipeline.rows(episode.fps) == fps + 1
        mask = pipeline.real_steps(pipeline.load(episode))
        assert mask[2 * fps - 1].all()
        assert not mask[2 * fps].all()
        assert errors(path) == []
