import json
import os
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import simplejpeg

from robotrain.episodes.digest import compute_digest
from robotrain.episodes.folder import find_episodes
from robotrain.episodes.reader import Span, open_episode
from robotrain.episodes.schema import camera_of
from robotrain.episodes.writer import EpisodeWriter
from robotrain.errors import EpisodeError, ExistingPathError, NoEpisodesError
from tests.factories import make_eva_episode, make_human_episode, make_joint_episode


def rewrite(source: Path, target: Path, embodiment: str, task_name: str) -> Path:
    """Write an episode again through our reader and our writer."""
    episode = open_episode(source)
    with EpisodeWriter(target, embodiment=embodiment, fps=episode.fps, task_name=task_name) as writer:
        for array in episode.facts.attributes["features"]:
            if (camera := camera_of(array)) is not None:
                for frame in range(episode.num_frames):
                    writer.add_image(camera, episode.jpeg(camera, frame))
            elif array != "annotations":
                writer.add_numbers({array: episode.numbers(array)})
        for span in episode.spans:
            writer.add_span(span.text, span.start, span.end)
    return target


def test_what_we_write_is_what_egoverses_writer_writes_to_the_byte(real_data: Path, tmp_path: Path) -> None:
    source = real_data / "egoverse-written" / "2025-12-26-18-07-46-296000"
    target = rewrite(source, tmp_path / source.name, "eva_bimanual", "pick_can")
    names = sorted(file.relative_to(source).as_posix() for file in source.rglob("*") if file.is_file())
    assert sorted(file.relative_to(target).as_posix() for file in target.rglob("*") if file.is_file()) == names
    for name in names:
        if name.endswith("zarr.json"):
            assert json.loads((target / name).read_text()) == json.loads((source / name).read_text()), name
        else:
            assert (target / name).read_bytes() == (source / name).read_bytes(), name
    assert compute_digest(target) == compute_digest(source)


def test_padding_is_zeros_for_numbers_and_the_last_picture_for_pictures(tmp_path: Path) -> None:
    import zarr

    path = make_eva_episode(tmp_path / "e", num_frames=7)
    numbers = np.asarray(zarr.open_array(path / "left.obs_ee_pose", mode="r")[:])
    pictures = np.asarray(zarr.open_array(path / "images.front_1", mode="r")[:])
    assert numbers.shape == (100, 7)
    assert numbers[:7].any(axis=1).all()
    assert not numbers[7:].any()
    assert pictures.shape == (100,)
    assert set(pictures[7:]) == {pictures[6]}
    assert pictures[5] != pictures[6]


@pytest.mark.parametrize("num_frames", [1, 100, 101])
def test_any_number_of_frames_comes_back(tmp_path: Path, num_frames: int) -> None:
    path = tmp_path / "e"
    rows = np.random.default_rng(0).normal(size=(num_frames, 3)).astype(np.float32)
    with EpisodeWriter(path, embodiment="toy", fps=Fraction(30000, 1001)) as writer:
        for row in rows:
            writer.add_numbers({"obs_joints": row})
    episode = open_episode(path)
    assert (episode.num_frames, episode.fps) == (num_frames, Fraction(30000, 1001))
    np.testing.assert_array_equal(episode.numbers("obs_joints"), rows)
    assert episode.numbers("obs_joints").dtype == np.float32
    assert (path / "annotations" / "zarr.json").is_file()
    assert episode.annotations_problem is None


def test_an_array_of_zeros_is_written_and_not_left_to_the_fill_value(tmp_path: Path) -> None:
    with EpisodeWriter(tmp_path / "e", embodiment="toy", fps=30) as writer:
        writer.add_numbers({"left.gripper": np.zeros((5, 1))})
    assert (tmp_path / "e" / "left.gripper" / "c" / "0" / "0").stat().st_size > 0
    assert not open_episode(tmp_path / "e").numbers("left.gripper").any()


def test_pictures_are_jpeg_of_quality_85_without_chroma_subsampling(tmp_path: Path) -> None:
    picture = np.random.default_rng(0).integers(0, 255, size=(24, 32, 3), dtype=np.uint8)
    with EpisodeWriter(tmp_path / "e", embodiment="toy", fps=30) as writer:
        writer.add_image("front_1", picture)
    stored = open_episode(tmp_path / "e").jpeg("front_1", 0)
    assert stored == simplejpeg.encode_jpeg(picture, quality=85, colorspace="RGB", colorsubsampling="444")
    assert simplejpeg.decode_jpeg_header(stored)[3] == "444"


def test_texts_extra_attributes_and_unicode_come_back(tmp_path: Path) -> None:
    extra = {"scene": "Küche", "intrinsics": {"front_1": np.eye(3, 4).tolist()}}
    with EpisodeWriter(
        tmp_path / "e", embodiment="toy", fps=30, task_description="leg den Löffel hin", attributes=extra
    ) as writer:
        writer.add_numbers({"obs_joints": np.ones((4, 2))})
        writer.add_span("Löffel 取る", 0, 3)
        writer.add_span("alles", 1, 4)
    episode = open_episode(tmp_path / "e")
    assert episode.spans == (Span("Löffel 取る", 0, 3), Span("alles", 1, 4))
    assert episode.facts.task_description == "leg den Löffel hin"
    assert episode.facts.attributes["scene"] == "Küche"


@pytest.mark.parametrize("make", [make_eva_episode, make_human_episode, make_joint_episode])
def test_the_same_input_gives_the_same_bytes(tmp_path: Path, make: Callable[..., Path]) -> None:
    first, second = make(tmp_path / "one" / "e"), make(tmp_path / "two" / "e")
    assert compute_digest(first) == compute_digest(second)
    assert compute_digest(make(tmp_path / "three" / "e", seed=1)) != compute_digest(first)


def test_what_is_handed_in_may_change_afterwards(tmp_path: Path) -> None:
    row = np.zeros(2)
    with EpisodeWriter(tmp_path / "e", embodiment="toy", fps=30) as writer:
        for value in range(3):
            row[:] = value
            writer.add_numbers({"obs_joints": row})
    assert open_episode(tmp_path / "e").numbers("obs_joints")[:, 0].tolist() == [0, 1, 2]


def test_an_exception_leaves_nothing_behind(tmp_path: Path) -> None:
    def fail() -> None:
        with EpisodeWriter(tmp_path / "e", embodiment="toy", fps=30) as writer:
            writer.add_numbers({"obs_joints": np.ones((3, 2))})
            raise RuntimeError("the source broke off")

    with pytest.raises(RuntimeError, match="broke off"):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_failure_while_writing_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        assert list(tmp_path.iterdir())  # it is under way
        raise OSError("disk full")

    monkeypatch.setattr("robotrain.episodes.writer._sync_tree", fail)
    writer = EpisodeWriter(tmp_path / "e", embodiment="toy", fps=30)
    writer.add_numbers({"obs_joints": np.ones((3, 2))})
    with pytest.raises(OSError, match="disk full"):
        writer.finish()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_writer_leaves_is_not_taken_for_an_episode(tmp_path: Path) -> None:
    whole = make_joint_episode(tmp_path / "e.zarr")
    whole.rename(tmp_path / f".e.partial-{os.getpid()}")  # as far as one can get without the rename
    with pytest.raises(NoEpisodesError):
        find_episodes(tmp_path)
    make_joint_episode(tmp_path / "e.zarr")  # and does not stand in the way
    assert [path.name for path in tmp_path.iterdir()] == ["e.zarr"]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    path = make_joint_episode(tmp_path / "e")
    before = compute_digest(path)
    with pytest.raises(ExistingPathError):
        EpisodeWriter(path, embodiment="toy", fps=30)
    shutil.move(path, tmp_path / "aside")
    writer = EpisodeWriter(path, embodiment="toy", fps=30)
    writer.add_numbers({"obs_joints": np.ones((3, 2))})
    shutil.move(tmp_path / "aside", path)
    with pytest.raises(ExistingPathError):
        writer.finish()
    assert compute_digest(path) == before
    assert [child.name for child in tmp_path.iterdir()] == ["e"]


def test_finishing_twice_is_finishing_once_and_adding_afterwards_is_refused(tmp_path: Path) -> None:
    writer = EpisodeWriter(tmp_path / "e", embodiment="toy", fps=30)
    writer.add_numbers({"obs_joints": np.ones((3, 2))})
    assert writer.finish() == writer.finish() == tmp_path / "e"
    with pytest.raises(EpisodeError, match="finished"):
        writer.add_numbers({"obs_joints": np.ones((1, 2))})


class TestRefusals:
    """What cannot be stored is refused by name, and nothing is written."""

    @pytest.fixture
    def writer(self, tmp_path: Path) -> EpisodeWriter:
        return EpisodeWriter(tmp_path / "e", embodiment="toy", fps=30)

    def test_arrays_of_different_length(self, writer: EpisodeWriter) -> None:
        writer.add_numbers({"obs_joints": np.ones((3, 2)), "cmd_joints": np.ones((2, 2))})
        with pytest.raises(EpisodeError, match="obs_joints 3, cmd_joints 2"):
            writer.finish()

    def test_pictures_that_differ_in_number_from_rows(self, writer: EpisodeWriter) -> None:
        writer.add_numbers({"obs_joints": np.ones((3, 2))})
        writer.add_image("front_1", np.zeros((4, 4, 3), np.uint8))
        with pytest.raises(EpisodeError, match=r"images\.front_1 1"):
            writer.finish()

    def test_no_frames(self, writer: EpisodeWriter) -> None:
        with pytest.raises(EpisodeError, match="no frames"):
            writer.finish()

    def test_rows_that_change_width_or_type(self, writer: EpisodeWriter) -> None:
        writer.add_numbers({"obs_joints": np.ones((1, 2))})
        for rows in (np.ones((1, 3)), np.ones((1, 2), np.float32)):
            with pytest.raises(EpisodeError, match="do not fit the first"):
                writer.add_numbers({"obs_joints": rows})

    @pytest.mark.parametrize("rows", [np.ones((2, 2, 2)), np.array([["a"]]), np.ones((3, 0)), np.array([1j])])
    def test_rows_that_are_no_numbers(self, writer: EpisodeWriter, rows: np.ndarray) -> None:
        with pytest.raises(EpisodeError, match="cannot be stored"):
            writer.add_numbers({"obs_joints": rows})

    @pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "annotations", "images."])
    def test_names_that_are_no_arrays(self, writer: EpisodeWriter, name: str) -> None:
        with pytest.raises(EpisodeError, match="name"):
            writer.add_numbers({name: np.ones((1, 2))})

    def test_pictures_of_another_kind_or_size(self, writer: EpisodeWriter) -> None:
        writer.add_image("front_1", np.zeros((4, 6, 3), np.uint8))
        for picture in (np.zeros((4, 6), np.uint8), np.zeros((4, 6, 3), np.float32)):
            with pytest.raises(EpisodeError, match=r"frame 1: a picture is"):
                writer.add_image("front_1", picture)
        with pytest.raises(EpisodeError, match="4x6 follows one of 6x4"):
            writer.add_image("front_1", np.zeros((6, 4, 3), np.uint8))
        with pytest.raises(EpisodeError, match="no JPEG"):
            writer.add_image("front_1", b"GIF89a")

    def test_texts_outside_the_episode(self, writer: EpisodeWriter) -> None:
        for start, end in ((-1, 2), (2, 2), (3, 1)):
            with pytest.raises(EpisodeError, match="no frame lies"):
                writer.add_span("x", start, end)
        writer.add_numbers({"obs_joints": np.ones((3, 2))})
        writer.add_span("x", 1, 4)
        with pytest.raises(EpisodeError, match="past the 3 frames"):
            writer.finish()

    def test_attributes_that_have_arguments_of_their_own(self, tmp_path: Path) -> None:
        with pytest.raises(EpisodeError, match="total_frames"):
            EpisodeWriter(tmp_path / "e", embodiment="toy", fps=30, attributes={"total_frames": 3})

    @pytest.mark.parametrize("fps", [0, -1])
    def test_a_rate_that_is_none(self, tmp_path: Path, fps: int) -> None:
        with pytest.raises(EpisodeError, match="frames per second"):
            EpisodeWriter(tmp_path / "e", embodiment="toy", fps=fps)

    def test_attributes_that_json_cannot_say(self, tmp_path: Path) -> None:
        for value in (float("nan"), np.ones(2)):
            with pytest.raises(EpisodeError, match="as JSON"):
                EpisodeWriter(tmp_path / "e", embodiment="toy", fps=30, attributes={"scale": value})
