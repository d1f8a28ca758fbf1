import pickle
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import simplejpeg
import zarr

from robotrain.embodiments.arms import FRONT_INTRINSICS
from robotrain.episodes.reader import open_episode
from robotrain.episodes.spans import Span
from robotrain.errors import EpisodeError, UnknownNameError
from robotrain.geometry.cameras import Intrinsics
from tests.factories import make_eva_episode, make_human_episode


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_eva_episode(tmp_path_factory.mktemp("sound") / "eva", num_frames=6)


@pytest.fixture
def eva(sound: Path, tmp_path: Path) -> Path:
    return shutil.copytree(sound, tmp_path / "eva")


@pytest.fixture(scope="module")
def written(real_data: Path) -> Path:
    return real_data / "egoverse-written"


class TestEpisodesByEgoVersesOwnWriter:
    """The independent check: made by another program, with every quirk of the format."""

    def test_mecka_numbers_are_those_handed_to_its_writer(self, written: Path) -> None:
        episode = open_episode(written / "69199812208123403bbdb24f.zarr")
        assert (episode.embodiment, episode.num_frames, episode.fps) == ("human_bimanual", 250, 30)
        with np.load(written / "mecka_numbers.npz") as handed:
            assert set(handed.files) == set(episode.arrays) - {"annotations", "images.front_1"}
            for array in handed.files:
                assert episode.numbers(array).dtype == np.float64
                np.testing.assert_array_equal(episode.numbers(array), handed[array])
        for array in ("left.obs_ee_pose", "left.obs_keypoints", "left.obs_wrist_pose"):
            assert np.flatnonzero(episode.missing(array)).tolist() == list(range(40, 55))
        assert not episode.missing("right.obs_keypoints").any()

    def test_mecka_intrinsics_in_a_json_string_are_scaled_to_the_stored_picture(self, written: Path) -> None:
        episode = open_episode(written / "69199812208123403bbdb24f.zarr")
        assert episode.image_size("front_1") == (320, 180)
        told = episode.intrinsics("front_1")
        assert told is not None
        assert told == Intrinsics(752.47, 753.0, 961.8, 553.2, 1920, 1080).scaled_to(320, 180)
        assert abs(told.fx - 752.47 / 6) < 1e-9

    def test_annotations_of_length_zero_are_no_annotations_and_no_problem(self, written: Path) -> None:
        episode = open_episode(written / "69199812208123403bbdb24f.zarr")
        assert episode.spans == ()
        assert episode.annotations_problem is None
        assert episode.prompts(0) == ()

    def test_aria_is_read_unsharded_trimmed_and_in_float32(self, written: Path) -> None:
        episode = open_episode(written / "2025-09-20-17-47-54-000000.zarr")
        with np.load(written / "mecka_numbers.npz") as handed:
            for array in handed.files:
                found, expected = episode.numbers(array), handed[array][:90].astype(np.float32)
                assert found.dtype == np.float32
                marked = np.any(found >= 1e8, axis=-1)
                np.testing.assert_array_equal(found[~marked], expected[~marked])
                gone = array in {"left.obs_ee_pose", "left.obs_keypoints"}
                assert np.flatnonzero(marked).tolist() == (list(range(35, 39)) if gone else [])
        assert np.flatnonzero(episode.missing("left.obs_ee_pose")).tolist() == [*range(35, 39), *range(40, 55)]
        assert np.flatnonzero(episode.missing("left.obs_wrist_pose")).tolist() == list(range(40, 55))

    def test_both_recordings_of_one_hand_hold_the_same_pictures(self, written: Path) -> None:
        mecka = open_episode(written / "69199812208123403bbdb24f.zarr")
        aria = open_episode(written / "2025-09-20-17-47-54-000000.zarr")
        for frame in range(90):  # one was written in one shard, the other as one file a frame
            assert mecka.jpeg("front_1", frame) == aria.jpeg("front_1", frame)
        assert mecka.jpeg("front_1", 89) != mecka.jpeg("front_1", 90)

    def test_every_picture_decodes_and_the_padding_is_not_one(self, written: Path) -> None:
        for path in sorted(child for child in written.iterdir() if child.is_dir()):
            episode = open_episode(path)
            for camera in episode.cameras:
                width, height = episode.image_size(camera)
                for frame in range(episode.num_frames):
                    assert episode.image(camera, frame).shape == (height, width, 3)
                with pytest.raises(EpisodeError, match=f"frame {episode.num_frames}"):
                    episode.jpeg(camera, episode.num_frames)

    def test_eva_has_three_cameras_older_grippers_and_overlapping_texts(self, written: Path) -> None:
        episode = open_episode(written / "2025-12-26-18-07-46-296000")
        assert episode.cameras == ("front_1", "left_wrist", "right_wrist")
        assert episode.image_size("front_1") == (320, 240)
        assert episode.image_size("left_wrist") == (160, 120)
        assert episode.numbers("left.gripper").shape == (137, 1)
        assert not episode.numbers("left.obs_joints")[0].any()
        assert not episode.missing("left.obs_joints").any()
        assert episode.prompts(0) == ("reach for the can",)
        assert episode.prompts(57) == ("reach for the can", "lift the can")
        assert episode.prompts(60) == ("lift the can",)  # read as half-open
        assert episode.intrinsics("front_1") == FRONT_INTRINSICS.scaled_to(320, 240)
        assert episode.intrinsics("left_wrist") is None
        assert episode.camera_pose("left") is None


def test_numbers_are_read_once_trimmed_and_cannot_be_written_to(eva: Path) -> None:
    episode = open_episode(eva)
    values = episode.numbers("left.obs_ee_pose")
    assert values.shape == (6, 7)
    assert episode.numbers("left.obs_ee_pose") is values
    with pytest.raises(ValueError, match="read-only"):
        values[0, 0] = 1


def test_importing_the_reader_and_reading_facts_loads_no_zarr(eva: Path) -> None:
    code = (
        "import sys; from robotrain.episodes.reader import open_episode; import robotrain.episodes.validation;"
        f"open_episode({str(eva)!r}); print('zarr' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_an_open_episode_travels_to_another_process_without_what_it_read(eva: Path) -> None:
    episode = open_episode(eva)
    episode.numbers("left.obs_ee_pose")
    picture = episode.jpeg("front_1", 2)
    packed = pickle.dumps(episode)
    assert len(packed) < 4000
    assert pickle.loads(packed).jpeg("front_1", 2) == picture  # noqa: S301


def test_what_is_not_there_is_refused_with_the_nearest_name(eva: Path) -> None:
    episode = open_episode(eva)
    with pytest.raises(UnknownNameError, match=r"Did you mean 'left\.obs_ee_pose'"):
        episode.numbers("left.obs_eepose")
    with pytest.raises(UnknownNameError, match="Did you mean 'left_wrist'"):
        episode.image("left_wirst", 0)
    with pytest.raises(EpisodeError, match="no numbers"):
        episode.numbers("images.front_1")
    for frame in (-1, 6):
        with pytest.raises(EpisodeError, match="no such frame"):
            episode.jpeg("front_1", frame)


def test_a_missing_shard_is_an_error_and_never_zeros(eva: Path) -> None:
    (eva / "left.obs_ee_pose" / "c" / "0" / "0").unlink()
    shutil.rmtree(eva / "images.front_1" / "c")
    episode = open_episode(eva)
    with pytest.raises(EpisodeError, match=r"'left\.obs_ee_pose/c/0/0' is missing"):
        episode.numbers("left.obs_ee_pose")
    with pytest.raises(EpisodeError, match=r"frame 3: the file 'images\.front_1/c/0' is missing"):
        episode.image("front_1", 3)


@pytest.mark.parametrize("keep", [0, 3, 0.5])
def test_a_shard_cut_short_is_an_error(eva: Path, keep: float) -> None:
    for file in (eva / "left.obs_ee_pose" / "c" / "0" / "0", eva / "images.front_1" / "c" / "0"):
        content = file.read_bytes()
        file.write_bytes(content[: int(keep * len(content)) if keep < 1 else int(keep)])
    episode = open_episode(eva)
    with pytest.raises(EpisodeError, match=r"array 'left\.obs_ee_pose'"):
        episode.numbers("left.obs_ee_pose")
    with pytest.raises(EpisodeError, match=r"array 'images\.front_1'"):
        episode.image("front_1", 0)


def test_a_picture_that_is_empty_or_broken_is_an_error_with_its_frame(eva: Path) -> None:
    pictures = zarr.open_array(eva / "images.front_1", mode="r+")
    whole = np.asarray(pictures[3:4])[0]
    replaced = np.empty(2, dtype=object)
    replaced[:] = [b"", whole[: len(whole) // 2]]
    pictures[3:5] = replaced
    episode = open_episode(eva)
    assert episode.image("front_1", 2).shape == (12, 16, 3)
    with pytest.raises(EpisodeError, match="frame 3: the picture is empty"):
        episode.image("front_1", 3)
    with pytest.raises(EpisodeError, match="frame 4: the picture is no sound JPEG"):
        episode.image("front_1", 4)


def test_a_picture_that_claims_more_than_any_camera_takes_is_refused_before_room_is_made_for_it(eva: Path) -> None:
    pictures = zarr.open_array(eva / "images.front_1", mode="r+")
    bomb = bytearray(np.asarray(pictures[0:1])[0])
    size = bomb.index(b"\xff\xc0") + 5
    bomb[size : size + 4] = (65500).to_bytes(2, "big") * 2
    replaced = np.empty(1, dtype=object)
    replaced[:] = [bytes(bomb)]
    pictures[0:1] = replaced
    episode = open_episode(eva)
    with pytest.raises(EpisodeError, match="frame 0: the picture is no sound JPEG: it claims 65500x65500 pixels"):
        episode.image("front_1", 0)
    with pytest.raises(EpisodeError, match="claims 65500x65500"):
        episode.image_size("front_1")


def test_an_array_shorter_than_the_episode_is_an_error(eva: Path) -> None:
    shutil.rmtree(eva / "left.obs_ee_pose")
    zarr.create_array(eva / "left.obs_ee_pose", data=np.ones((4, 7)))
    with pytest.raises(EpisodeError, match="4 rows, and the episode 6 frames"):
        open_episode(eva).numbers("left.obs_ee_pose")


@pytest.mark.parametrize("data_type", ["S8", "U8", "M8[ns]", "complex128"])
def test_an_array_of_no_real_numbers_is_an_error(eva: Path, data_type: str) -> None:
    shutil.rmtree(eva / "left.obs_ee_pose")
    with warnings.catch_warnings(action="ignore"):  # zarr on data types without a specification
        zarr.create_array(eva / "left.obs_ee_pose", data=np.ones((6, 7)).astype(data_type))
        with pytest.raises(EpisodeError, match="and no real numbers"):
            open_episode(eva).numbers("left.obs_ee_pose")


def test_a_column_of_timestamps_is_one_column_wide(eva: Path) -> None:
    stamps = np.arange(100, dtype=np.int64)
    zarr.create_array(eva / "obs_rgb_timestamps_ns", data=stamps)
    values = open_episode(eva).numbers("obs_rgb_timestamps_ns")
    assert (values.shape, values.dtype) == ((6, 1), np.int64)


def test_texts_that_cannot_be_read_are_reported_and_the_episode_is_still_usable(eva: Path) -> None:
    (eva / "annotations" / "c" / "0").unlink()
    episode = open_episode(eva)
    assert episode.spans == ()
    assert episode.annotations_problem is not None
    assert "annotations/c/0" in episode.annotations_problem
    assert episode.numbers("left.obs_ee_pose").shape == (6, 7)


@pytest.mark.parametrize(
    "element",
    [
        b"not json",
        b'{"text": "x"}',
        b"[]",
        b"\xff\xfe",
        b"[" * 100_000,
        *(
            b'{"text": "x", "start_idx": %b, "end_idx": 6}' % start
            for start in (b"0.5", b"Infinity", b'"0"', b"true", b"null")
        ),
    ],
)
def test_a_text_of_another_form_is_reported(eva: Path, element: bytes) -> None:
    stored = zarr.open_array(eva / "annotations", mode="r+")
    replaced = np.empty(1, dtype=object)
    replaced[:] = [element]
    stored[0:1] = replaced
    episode = open_episode(eva)
    assert (episode.spans, episode.annotations_problem is not None) == ((), True)


def test_an_episode_without_annotations_has_no_prompts_and_no_problem(eva: Path) -> None:
    shutil.rmtree(eva / "annotations")
    episode = open_episode(eva)
    assert (episode.spans, episode.prompts(0), episode.annotations_problem) == ((), (), None)


def test_prompts_are_all_texts_whose_half_open_span_holds_the_frame(eva: Path) -> None:
    episode = open_episode(eva)
    assert episode.spans == (Span("reach for it", 0, 3), Span("lift it", 3, 6))
    assert [episode.prompts(frame) for frame in (2, 3)] == [("reach for it",), ("lift it",)]


def test_pictures_come_back_as_they_were_encoded(tmp_path: Path) -> None:
    path = make_human_episode(tmp_path / "human", num_frames=4, size=(32, 24))
    episode = open_episode(path)
    for frame in range(4):
        decoded = simplejpeg.decode_jpeg(episode.jpeg("front_1", frame), colorspace="RGB")
        assert (episode.image("front_1", frame) == decoded).all()
    assert episode.image_size("front_1") == (32, 24)


def test_kept_pictures_are_the_same_and_need_the_file_no_more(eva: Path) -> None:
    single, kept = open_episode(eva), open_episode(eva)
    expected = [single.jpeg("front_1", frame) for frame in range(6)]
    stored = sum(file.stat().st_size for file in (eva / "images.front_1").rglob("*") if file.is_file())
    assert kept.stored_bytes("front_1") == stored
    kept.keep_pictures("front_1")
    shutil.rmtree(eva / "images.front_1" / "c")
    assert [kept.jpeg("front_1", frame) for frame in range(6)] == expected


def test_keeping_pictures_of_a_missing_shard_is_an_error(eva: Path) -> None:
    shutil.rmtree(eva / "images.front_1" / "c")
    with pytest.raises(EpisodeError, match="is missing"):
        open_episode(eva).keep_pictures("front_1")
