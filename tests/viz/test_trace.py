from itertools import pairwise

import numpy as np
import pytest

from robotrain.viz.palette import TRUTH, shade
from robotrain.viz.trace import draw_halo, draw_trace


def grey(height: int = 60, width: int = 100) -> np.ndarray:
    return np.full((height, width, 3), 128, np.uint8)


def changed(image: np.ndarray) -> np.ndarray:
    return (image != 128).any(-1)


def test_a_traces_pixels_appear_at_the_given_places() -> None:
    pixels = np.array([(20.5, 30.5), (40.5, 30.5), (60.5, 20.5)])
    image = grey()
    draw_trace(image, pixels, np.ones(3, bool), TRUTH, 1)
    for x, y in pixels:
        assert changed(image)[int(y), int(x)]
    assert changed(image)[30, 30]  # half-way of the first piece
    assert changed(image)[25, 50]  # and of the second
    rows, columns = np.nonzero(changed(image))
    ways = np.concatenate([np.linspace(a, b, 200) for a, b in pairwise(pixels)])
    distance = np.linalg.norm(np.stack([columns + 0.5, rows + 0.5], -1)[:, None] - ways[None], axis=-1).min(1)
    assert distance.max() < 3.5  # the disc at the end is the widest


@pytest.mark.parametrize("thickness", [1, 2, 4])
def test_steps_out_of_sight_draw_nothing(thickness: int) -> None:
    image = grey()
    pixels = np.array([(20.5, 30.5), (np.nan, np.nan), (300.0, 20.0), (60.5, 20.5)])
    draw_halo(image, pixels, np.zeros(4, bool), thickness)
    draw_trace(image, pixels, np.zeros(4, bool), TRUTH, thickness)
    assert not changed(image).any()


def test_no_line_leads_over_a_step_that_is_out_of_sight() -> None:
    image = grey()
    pixels = np.array([(20.5, 30.5), (40.5, 30.5), (60.5, 30.5), (80.5, 30.5)])
    draw_trace(image, pixels, np.array([True, False, True, True]), TRUTH, 1)
    assert not changed(image)[:, :55].any()
    assert changed(image)[30, 70]


def test_a_trace_is_light_now_and_full_at_its_end() -> None:
    image = grey(60, 220)
    pixels = np.stack([np.linspace(10.5, 200.5, 30), np.full(30, 30.5)], -1)
    draw_trace(image, pixels, np.ones(30, bool), TRUTH, 3)
    np.testing.assert_allclose(image[30, 12], shade(TRUTH, 1 / 29), atol=2)
    np.testing.assert_allclose(image[30, 200], TRUTH, atol=2)
    brightness = image[30, 12:195:10].sum(-1)
    assert (np.diff(brightness.astype(int)) < 0).all()


def test_a_horizon_of_one_step_is_a_disc() -> None:
    image = grey()
    draw_trace(image, np.array([(50.5, 30.5)]), np.ones(1, bool), TRUTH, 2)
    rows, columns = np.nonzero(changed(image))
    assert (rows.mean(), columns.mean()) == pytest.approx((30, 50), abs=0.1)
    assert tuple(image[30, 50]) == TRUTH
