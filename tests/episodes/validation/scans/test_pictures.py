import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import simplejpeg
import zarr

from robotrain.episodes.reader import open_episode
from robotrain.episodes.validation.scans.pictures import scan_pictures
from robotrain.errors import EpisodeError, UnknownNameError
from tests.episodes.validation.scans.planting import InMemory, Told, told
from tests.factories import make_joint_episode

FRONT, LEFT = "images.front_1", "images.left_wrist"


@cache
def picture(number: int, size: tuple[int, int] = (32, 24)) -> bytes:
    """Return a JPEG of noise that no other number has."""
    rng = np.random.default_rng([number, *size])
    return simplejpeg.encode_jpeg(rng.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8), quality=85)


@cache
def blank(level: int, off: int = 0) -> bytes:
    """Return a JPEG of one grey, but for its last pixels."""
    pixels = np.full((24, 32, 3), level, dtype=np.uint8)
    pixels[-8:, -8:] += np.uint8(off)
    return simplejpeg.encode_jpeg(pixels, quality=100)


@cache
def scene(number: int) -> bytes:
    """Return a JPEG like a photograph's: slow ramps under a little noise."""
    rng = np.random.default_rng(number)
    ramps = np.linspace(0, 120, 128)[None, :, None] + np.linspace(0, 80, 96)[:, None, None]
    pixels = np.clip(ramps + rng.normal(20, 8, (96, 128, 3)), 0, 255).astype(np.uint8)
    return simplejpeg.encode_jpeg(pixels, quality=85)


def film(num: int = 60, start: int = 0) -> list[bytes | EpisodeError]:
    return [picture(start + frame) for frame in range(num)]


def look(*cameras: Sequence[bytes | EpisodeError], fps: float | None = 30, **more: object) -> InMemory:
    named: dict[str, Sequence[bytes | EpisodeError]] = {}
    named.update(zip(("front_1", "left_wrist", "right_wrist"), cameras, strict=False))
    return InMemory(pictures=named, fps=fps, attributes=more)


def scan(episode: InMemory) -> Told:
    return told(scan_pictures(episode, episode.cameras))


def test_pictures_that_differ_are_sound() -> None:
    assert scan(look(film(), film(start=100))) == []


def _with_noise(encoded: bytes) -> bytes:
    middle = len(encoded) // 2
    return encoded[:middle] + np.random.default_rng(0).bytes(400) + encoded[middle + 400 :]


BROKEN = {
    "nothing": lambda _: b"",
    "other bytes": lambda _: b"no jpeg",
    "a head alone": lambda encoded: encoded[:3],
    "half": lambda encoded: encoded[: len(encoded) // 2],
    "all but the end": lambda encoded: encoded[:-2],
    "a middle lost": lambda encoded: encoded[: len(encoded) // 2] + encoded[len(encoded) // 2 + 400 :],
    "a middle of zeros": lambda encoded: encoded[: len(encoded) // 2] + bytes(400) + encoded[len(encoded) // 2 + 400 :],
    "an end of its own": lambda encoded: encoded[: len(encoded) // 2] + encoded[-2:],
    "noise in the scan": _with_noise,
}


class TestSound:
    @pytest.mark.parametrize("name", BROKEN)
    def test_a_broken_picture_is_found_in_any_frame(self, name: str) -> None:
        pictures = film()
        for frame in (41, 7):
            pictures[frame] = BROKEN[name](scene(frame))
        episode = look(pictures)
        (finding,) = scan_pictures(episode, episode.cameras)
        assert (finding.severity, finding.code, finding.array, finding.frame) == ("error", "bad-jpeg", FRONT, 7)
        assert finding.message.startswith("2 of 60 pictures are broken, the first at frame 7: ")

    def test_a_picture_that_cannot_be_read_is_one_of_them(self) -> None:
        pictures = film(9)
        pictures[3] = EpisodeError("planted", "its bytes cannot be read: short.", array=FRONT, frame=3)
        pictures[5] = pictures[6] = b"no jpeg"
        episode = look(pictures)
        (finding,) = scan_pictures(episode, episode.cameras)
        assert (finding.code, finding.frame) == ("bad-jpeg", 3)
        assert "3 of 9 pictures are broken, the first at frame 3: its bytes cannot be read" in finding.message

    def test_broken_pictures_are_no_repeats_and_no_twins(self) -> None:
        broken: list[bytes | EpisodeError] = [b"no jpeg"] * 60
        assert scan(look(broken, broken)) == [("bad-jpeg", FRONT, 0), ("bad-jpeg", LEFT, 0)]


class TestSizes:
    def test_one_of_another_size_is_an_error_wherever_it_is(self) -> None:
        pictures = film()
        pictures[0] = b"no jpeg"
        pictures[33], pictures[34] = picture(33, (16, 24)), picture(34, (16, 16))
        episode = look(pictures)
        broken, finding = scan_pictures(episode, episode.cameras)
        assert (broken.code, broken.frame) == ("bad-jpeg", 0)
        assert (finding.severity, finding.code, finding.array, finding.frame) == ("error", "image-size", FRONT, 33)
        assert "2 of 59 pictures are not 32x24 pixels as frame 1 is, the first, 16x24, at frame 33." in finding.message

    def test_the_stated_size_is_held_against_the_pictures(self) -> None:
        right, wrong = ({FRONT: {"dtype": "jpeg", "shape": [24, across, 3]}} for across in (32, 33))
        assert scan(look(film(), features=right)) == []
        assert scan(look(film(), features=wrong)) == [("stated-size", FRONT, 0)]
        assert scan(look(film(), features={FRONT: "jpeg"})) == []


class TestBlank:
    @pytest.mark.parametrize(("num", "is_told"), [(29, False), (30, True), (60, True)])
    def test_half_of_the_pictures_are_too_many(self, num: int, is_told: bool) -> None:
        pictures = [*film(60 - num), *[blank(90)] * num]
        assert scan(look(pictures)) == [("blank-picture", FRONT, 60 - num)] * is_told

    @pytest.mark.parametrize(("off", "is_told"), [(0, True), (2, True), (3, False), (60, False)])
    def test_a_few_pixels_of_another_colour_are_something_to_see(self, off: int, is_told: bool) -> None:
        pictures = [blank(level, off) for level in range(60)]
        assert scan(look(pictures)) == [("blank-picture", FRONT, 0)] * is_told

    def test_a_single_pixel_is_something_to_see(self) -> None:
        pixels = np.full((24, 32, 3), 90, dtype=np.uint8)
        pixels[5, 6] = 255
        dot = simplejpeg.encode_jpeg(pixels, quality=100)
        assert scan(look([dot, blank(90)] * 29 + [dot] * 2)) == []

    def test_two_blank_cameras_are_no_twins(self) -> None:
        grey = [blank(90)] * 60
        assert scan(look(grey, grey)) == [("blank-picture", FRONT, 0), ("blank-picture", LEFT, 0)]


class TestRepeats:
    @pytest.mark.parametrize(("num", "is_told"), [(5, False), (6, True)])
    def test_one_in_ten_is_too_many(self, num: int, is_told: bool) -> None:
        pictures = film()
        for frame in range(3, 3 + 2 * num, 2):
            pictures[frame] = pictures[frame - 1]
        assert scan(look(pictures)) == [("repeated-frames", FRONT, 3)] * is_told

    @pytest.mark.parametrize(
        ("fps", "num", "is_told"), [(30, 29, False), (30, 30, True), (15, 15, True), (None, 30, False)]
    )
    def test_a_second_on_end_is_too_long(self, fps: float | None, num: int, is_told: bool) -> None:
        pictures = film(400)
        pictures[50 : 50 + num] = [pictures[49]] * num
        episode = look(pictures, fps=fps)
        found = list(scan_pictures(episode, episode.cameras))
        assert told(found) == [("repeated-frames", FRONT, 50)] * is_told
        assert all(f"up to {num} on end, from frame 50." in finding.message for finding in found)

    def test_a_picture_that_comes_again_later_repeats_nothing(self) -> None:
        assert scan(look([picture(frame % 2) for frame in range(60)])) == []

    def test_what_could_not_be_read_between_two_is_not_passed_over(self) -> None:
        pictures = film()
        for frame in range(1, 40, 3):
            pictures[frame], pictures[frame + 1] = b"", pictures[frame - 1]
        assert scan(look(pictures)) == [("bad-jpeg", FRONT, 1)]


class TestTwins:
    @pytest.mark.parametrize(("num", "is_told"), [(53, False), (54, True), (60, True)])
    def test_nine_pictures_in_ten_make_a_twin(self, num: int, is_told: bool) -> None:
        episode = look(film(), [*film(60 - num, start=100), *film()[60 - num :]], film(start=200))
        found = list(scan_pictures(episode, episode.cameras))
        assert told(found) == [("twin-cameras", LEFT, 60 - num)] * is_told
        assert all(f"{num} of 60 pictures" in each.message and "'front_1'" in each.message for each in found)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_joint_episode(tmp_path_factory.mktemp("sound") / "toy", num_frames=230, fps=60)


class TestReading:
    """Pictures as they lie on disk, read many in one call."""

    def test_every_picture_comes_in_order_and_none_of_the_padding(self, sound: Path) -> None:
        episode = open_episode(sound)
        assert list(episode.jpegs("front_1")) == [episode.jpeg("front_1", frame) for frame in range(230)]
        with pytest.raises(UnknownNameError):
            episode.jpegs("front_2")

    def test_one_that_is_empty_leaves_the_others(self, sound: Path, tmp_path: Path) -> None:
        path = shutil.copytree(sound, tmp_path / "toy")
        stored = zarr.open_array(path / FRONT, mode="r+")
        replaced = np.empty(1, dtype=object)
        replaced[:] = [b""]
        stored[117:118] = replaced
        episode = open_episode(path)
        problems = {frame: each for frame, each in enumerate(episode.jpegs("front_1")) if not isinstance(each, bytes)}
        assert {frame: problem.frame for frame, problem in problems.items()} == {117: 117}
        assert [(each.code, each.frame) for each in scan_pictures(episode, episode.cameras)] == [("bad-jpeg", 117)]

    def test_bytes_changed_in_the_file_are_told_of_their_frames_alone(self, sound: Path, tmp_path: Path) -> None:
        path = shutil.copytree(sound, tmp_path / "toy")
        file = path / FRONT / "c" / "0"
        content = bytearray(file.read_bytes())
        content[len(content) // 3 : len(content) // 3 + 40] = bytes(40)
        file.write_bytes(content)
        episode = open_episode(path)
        (finding,) = scan_pictures(episode, episode.cameras)
        assert finding.code == "bad-jpeg"
        broken = int(finding.message.split(maxsplit=1)[0])
        assert 1 <= broken <= 2
        assert finding.frame is not None
        assert 90 < finding.frame < 115  # a third of the file, which is padded to 300 rows

    def test_a_file_cut_short_is_told_once_and_breaks_nothing(self, sound: Path, tmp_path: Path) -> None:
        path = shutil.copytree(sound, tmp_path / "toy")
        file = path / FRONT / "c" / "0"
        file.write_bytes(file.read_bytes()[:1000])
        episode = open_episode(path)
        (finding,) = scan_pictures(episode, episode.cameras)
        assert (finding.code, finding.frame) == ("bad-jpeg", 0)
        assert finding.message.startswith("230 of 230 pictures are broken, the first at frame 0: its bytes cannot")

    def test_a_camera_that_cannot_be_opened_is_told(self, sound: Path, tmp_path: Path) -> None:
        path = shutil.copytree(sound, tmp_path / "toy")
        episode = open_episode(path)
        shutil.rmtree(path / FRONT)
        assert [each.code for each in scan_pictures(episode, ("front_1",))] == ["bad-jpeg"]
