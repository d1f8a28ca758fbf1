import numpy as np
import pytest

from robotrain.canvas import (
    blend,
    draw_disc,
    draw_line,
    draw_polygon,
    draw_polyline,
    draw_text,
    encode_jpeg,
    resize,
    text_size,
)
from robotrain.errors import ShapeError

RED = (255, 0, 0)


def blank(width: int = 80, height: int = 60) -> np.ndarray:
    return np.zeros((height, width, 3), np.uint8)


def centroid(image: np.ndarray) -> np.ndarray:
    weight = image[..., 0].astype(float)
    y, x = np.mgrid[: image.shape[0], : image.shape[1]] + 0.5  # a pixel's centre lies at its index + 0.5
    return np.array([(weight * x).sum(), (weight * y).sum()]) / weight.sum()


@pytest.mark.parametrize("centre", [(40.0, 30.0), (40.3, 30.7), (12.51, 44.49)])
def test_a_disc_lies_where_it_was_put_to_a_tenth_of_a_pixel(centre: tuple[float, float]) -> None:
    image = blank()
    draw_disc(image, centre, 5.0, RED)
    np.testing.assert_allclose(centroid(image), centre, atol=0.1)
    assert image[..., 1:].max() == 0


def test_a_disc_is_as_large_as_it_was_asked_for() -> None:
    image = blank()
    draw_disc(image, (40, 30), 10.0, RED)
    assert abs((image[..., 0] / 255).sum() / (np.pi * 100) - 1) < 0.03


def test_a_line_lies_between_its_ends_and_is_soft_at_the_edges() -> None:
    image = blank()
    draw_line(image, (10.5, 20.5), (60.5, 40.5), RED, thickness=2)
    np.testing.assert_allclose(centroid(image), [35.5, 30.5], atol=0.1)
    assert ((image[..., 0] > 0) & (image[..., 0] < 255)).any()


def test_ends_far_outside_the_picture_leave_the_line_where_it_is() -> None:
    near, far = blank(), blank()
    draw_line(near, (-60.0, 0.0), (140.0, 60.0), RED, thickness=2)
    draw_line(far, (-2e8 + 40, -6e7 + 30), (2e8 + 40, 6e7 + 30), RED, thickness=2)
    assert near.any()
    assert np.abs(near.astype(int) - far).max() < 40  # the clipped ends are rounded to a sixteenth of a pixel


def test_what_lies_outside_or_is_not_finite_is_not_drawn() -> None:
    image = blank()
    draw_disc(image, (np.nan, 5), 4, RED)
    draw_disc(image, (1e12, 5), 4, RED)
    draw_line(image, (np.nan, 5), (10, 10), RED)
    draw_line(image, (-50, -50), (-10, -90), RED)
    draw_line(image, (0, -50), (80, -50), RED)
    draw_polygon(image, [(1, 1), (np.inf, 5), (9, 9)], RED)
    draw_polygon(image, [(1, 1), (9, 9)], RED)
    draw_polyline(image, np.array([[5.0, 5.0]]), RED)
    draw_text(image, "word", (np.nan, 5), RED)
    assert not image.any()


def test_a_point_that_is_not_finite_leaves_a_gap_in_a_polyline() -> None:
    image = blank()
    draw_polyline(image, [(5, 10.5), (20, 10.5), (np.nan, np.nan), (50, 10.5), (70, 10.5)], RED)
    assert image[10, 12, 0] == image[10, 60, 0] > 200
    assert not image[10, 25:45].any()


def test_a_polygon_is_filled_even_from_corners_far_outside() -> None:
    image = blank()
    draw_polygon(image, [(-1e9, -1e9), (1e9, -1e9), (1e9, 1e9), (-1e9, 1e9)], RED)
    assert (image[..., 0] == 255).all()
    image = blank()
    draw_polygon(image, np.array([[10.0, 10], [30, 10], [30, 20], [10, 20]]), RED)
    np.testing.assert_allclose(centroid(image), [20, 15], atol=0.15)


def test_text_stays_in_the_box_that_its_size_tells() -> None:
    image = blank(200, 60)
    width, height = text_size("frame 12", 0.5)
    draw_text(image, "frame 12", (20, 40), RED, 0.5)
    rows, columns = np.nonzero(image[..., 0])
    assert columns.min() >= 18
    assert columns.max() <= 20 + width + 1
    assert rows.min() >= 40 - height - 2
    assert rows.max() <= 41


def test_text_that_the_font_lacks_is_written_as_question_marks() -> None:
    found, expected = blank(), blank()
    draw_text(found, "é", (5, 30), RED)
    draw_text(expected, "?", (5, 30), RED)
    assert (found == expected).all()


def test_shrinking_averages_and_the_same_size_is_a_copy() -> None:
    image = blank(4, 4)
    image[:2, :2] = 100
    assert resize(image, 2, 2)[..., 0].tolist() == [[100, 0], [0, 0]]
    same = resize(image, 4, 4)
    assert (same == image).all()
    assert same is not image
    assert resize(image, 9, 7).shape == (7, 9, 3)


def test_blending_goes_by_one_share_or_by_one_a_pixel() -> None:
    image = blank(4, 2)
    layer = np.full_like(image, 200)
    blend(image, layer, 0.25)
    assert (image == 50).all()
    alpha = np.zeros((2, 4))
    alpha[0] = 1.0
    blend(image, layer, alpha)
    assert image[:, 0, 0].tolist() == [200, 50]


def test_a_picture_of_another_kind_is_refused() -> None:
    with pytest.raises(ShapeError, match="uint8"):
        draw_disc(np.zeros((4, 4, 3), np.float32), (1, 1), 1, RED)
    with pytest.raises(ShapeError, match="layer"):
        blend(blank(4, 4), blank(5, 4), 0.5)


def test_a_jpeg_keeps_colours_and_size() -> None:
    import simplejpeg

    image = blank(width=48, height=32)
    image[:, :24] = RED
    image[:, 24:] = (0, 0, 200)
    read = simplejpeg.decode_jpeg(encode_jpeg(image, 95), colorspace="RGB")
    assert read.shape == (32, 48, 3)
    np.testing.assert_allclose(read[16, 8], RED, atol=6)
    np.testing.assert_allclose(read[16, 40], (0, 0, 200), atol=6)


def test_a_jpeg_of_lower_quality_is_smaller() -> None:
    image = np.random.default_rng(0).integers(0, 256, (60, 80, 3), dtype=np.uint8)
    assert len(encode_jpeg(image, 30)) < len(encode_jpeg(image, 95)) / 2
    with pytest.raises(ShapeError):
        encode_jpeg(image[..., 0], 90)
