import numpy as np
import pytest
import simplejpeg
from hypothesis import given
from hypothesis import strategies as st

from robotrain.canvas import draw_disc, resize
from robotrain.episodes.jpegs import decode_picture, picture_size, reduced_size, shrink_picture
from robotrain.geometry.cameras import Intrinsics, project

SIZES = st.integers(1, 90)
REDUCTIONS = (1, 2, 4, 8)


def scene(width: int, height: int) -> np.ndarray:
    """Return a picture (h, w, 3) of soft spots, as cameras give them."""
    spots = np.random.default_rng(0).integers(0, 256, (max(2, height // 6), max(2, width // 6), 3), dtype=np.uint8)
    return resize(spots, width, height)


def jpeg(picture: np.ndarray, subsampling: str = "444") -> bytes:
    return simplejpeg.encode_jpeg(np.ascontiguousarray(picture), quality=95, colorsubsampling=subsampling)


@given(SIZES, SIZES, st.integers(0, 100), st.integers(0, 100))
def test_the_decoder_gives_the_size_that_is_told(width: int, height: int, rows: int, columns: int) -> None:
    stored = jpeg(np.zeros((height, width, 3), np.uint8))
    least = (rows, columns)
    size = reduced_size((width, height), least)
    assert decode_picture(stored, least=least).shape == (size[1], size[0], 3)
    assert picture_size(stored) == (width, height)
    assert shrink_picture(np.zeros((height, width, 3), np.uint8), least).shape == (size[1], size[0], 3)
    if size != (width, height):
        assert size[0] >= columns
        assert size[1] >= rows


@pytest.mark.parametrize(
    ("least", "size"),
    [
        ((0, 0), (640, 480)),
        ((240, 320), (320, 240)),
        ((224, 224), (320, 240)),
        ((120, 1), (160, 120)),
        ((121, 1), (320, 240)),
        ((241, 1), (640, 480)),  # a decoder's 5/8 takes longer than the whole
        ((1, 1), (80, 60)),
        ((480, 640), (640, 480)),
        ((720, 1280), (640, 480)),  # there is no more than the whole
    ],
)
def test_sizes_are_the_next_larger_of_an_eighth_a_quarter_and_a_half(
    least: tuple[int, int], size: tuple[int, int]
) -> None:
    assert reduced_size((640, 480), least) == size


def test_a_reduced_picture_fills_what_it_is_given_in_one_size_only() -> None:
    stored = jpeg(scene(64, 48))
    into = np.empty((24, 32, 3), np.uint8)
    assert decode_picture(stored, into, least=(24, 32)) is into
    np.testing.assert_array_equal(into, decode_picture(stored, least=(24, 32)))
    with pytest.raises(ValueError, match="it has 32x24 pixels, not 64x48"):
        decode_picture(stored, np.empty((48, 64, 3), np.uint8), least=(24, 32))


def test_half_a_picture_is_the_average_of_four_pixels_each() -> None:
    stored = jpeg(scene(64, 48))
    means = decode_picture(stored).reshape(24, 2, 32, 2, 3).mean((1, 3))
    error = np.abs(decode_picture(stored, least=(24, 32)) - means)
    assert error.mean() < 1
    assert error.max() < 8


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(("width", "height"), [(160, 120), (163, 117)])
def test_a_picture_that_is_no_jpeg_is_shrunk_as_the_decoder_would(width: int, height: int, reduction: int) -> None:
    stored = jpeg(scene(width, height))
    least = (-(-height // reduction), -(-width // reduction))
    decoded, shrunk = decode_picture(stored, least=least), shrink_picture(decode_picture(stored), least)
    assert decoded.shape == shrunk.shape == (*least, 3)
    error = np.abs(decoded.astype(int) - shrunk)
    assert error.mean() < 0.6
    assert np.percentile(error, 99) <= 3
    if reduction == 1:
        assert not error.any()


def test_shrinking_rounds_averages_of_whole_blocks_and_of_those_at_the_edge() -> None:
    picture = np.zeros((3, 5, 3), np.uint8)
    picture[:2, :2] = [[[9], [10]], [[10], [9]]]  # 9.5
    picture[2, 4] = 77
    shrunk = shrink_picture(picture, (2, 3))
    assert shrunk.shape == (2, 3, 3)
    assert shrunk[..., 0].tolist() == [[10, 0, 0], [0, 0, 77]]
    assert shrink_picture(np.full((64, 64, 3), 255, np.uint8), (8, 8)).min() == 255


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_a_thing_is_where_scaled_intrinsics_say(reduction: int) -> None:
    camera = Intrinsics(fx=150.0, fy=140.0, cx=96.0, cy=64.0, width=192, height=128)
    point = np.array([0.12, -0.08, 0.5])
    picture = np.zeros((128, 192, 3), np.uint8)
    draw_disc(picture, project(point, camera)[0], 10, (255, 255, 255))
    reduced = decode_picture(jpeg(picture), least=(128 // reduction, 192 // reduction)).mean(-1)
    assert reduced.shape == (128 // reduction, 192 // reduction)
    expected, _ = project(point, camera.scaled_to(reduced.shape[1], reduced.shape[0]))
    rows, columns = np.mgrid[: reduced.shape[0], : reduced.shape[1]] + 0.5  # pixels' centres
    found = (columns * reduced).sum() / reduced.sum(), (rows * reduced).sum() / reduced.sum()
    np.testing.assert_allclose(found, expected, atol=0.12)
