from pathlib import Path

import numpy as np
import pytest

from robotrain.episodes.reader import open_episode
from robotrain.episodes.writer import EpisodeWriter
from robotrain.errors import UnknownNameError
from robotrain.viz.thumbnails import shrink, spaced_frames, thumbnail_strip
from tests.factories import make_eva_episode


@pytest.mark.parametrize(
    ("num_frames", "count", "frames"),
    [(1, 8, (0,)), (3, 8, (0, 1, 2)), (101, 5, (0, 25, 50, 75, 100)), (9, 8, (0, 1, 2, 3, 5, 6, 7, 8))],
)
def test_spaced_frames_run_from_the_first_to_the_last(num_frames: int, count: int, frames: tuple[int, ...]) -> None:
    assert spaced_frames(num_frames, count) == frames


@pytest.mark.parametrize(
    ("size", "shown"),
    [((640, 480), (160, 120)), ((16, 12), (160, 120)), ((480, 640), (160, 213)), ((9, 90), (24, 240))],
)
def test_a_thumbnail_keeps_its_shape_and_fits(size: tuple[int, int], shown: tuple[int, int]) -> None:
    width, height = size
    assert shrink(np.zeros((height, width, 3), np.uint8)).shape == (shown[1], shown[0], 3)


def test_a_sliver_still_has_a_pixel() -> None:
    assert shrink(np.zeros((1, 4000, 3), np.uint8)).shape == (1, 160, 3)
    assert shrink(np.zeros((4000, 1, 3), np.uint8)).shape == (240, 1, 3)


def test_a_strip_shows_the_frames_asked_for_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "episode"
    with EpisodeWriter(path, embodiment="eva_bimanual", fps=30) as writer:
        for frame in range(4):
            writer.add_image("front_1", np.full((48, 64, 3), 60 * frame, np.uint8))
    strip = list(thumbnail_strip(open_episode(path), "front_1", (3, 1)))
    assert [each.frame for each in strip] == [3, 1]
    assert [each.problem for each in strip] == ["", ""]
    levels = [float(each.image.mean()) for each in strip if each.image is not None]
    np.testing.assert_allclose(levels, [180, 60], atol=3)


def test_a_missing_file_leaves_the_place_and_the_reason(tmp_path: Path) -> None:
    path = make_eva_episode(tmp_path / "episode", cameras=("front_1",))
    (path / "images.front_1" / "c" / "0").unlink()
    (place,) = thumbnail_strip(open_episode(path), "front_1", (2,))
    assert (place.frame, place.image) == (2, None)
    assert place.problem == "the file 'images.front_1/c/0' is missing."


def test_a_camera_that_the_episode_lacks_is_an_error(tmp_path: Path) -> None:
    path = make_eva_episode(tmp_path / "episode", cameras=("front_1",))
    with pytest.raises(UnknownNameError, match="front_1"):
        list(thumbnail_strip(open_episode(path), "front_2", (0,)))
