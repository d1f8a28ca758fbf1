import numpy as np
import pytest

from robotrain.errors import GeometryError
from robotrain.geometry.cameras import Intrinsics, project, unproject

FRONT = Intrinsics(266.50860444, 266.50860444, 320.0, 240.0, 640, 480)


def test_the_golden_camera_point_falls_on_the_golden_pixel() -> None:
    pixel, seen = project(np.array([-0.33685431, 0.00388043, 0.504561277]), FRONT)
    np.testing.assert_allclose(pixel, [142.074, 242.050], atol=5e-4)
    assert seen


def test_a_focal_length_off_by_a_twentieth_misses_the_golden_pixel() -> None:
    wrong = Intrinsics(1.05 * FRONT.fx, 1.05 * FRONT.fy, FRONT.cx, FRONT.cy, 640, 480)
    pixel, _ = project(np.array([-0.33685431, 0.00388043, 0.504561277]), wrong)
    assert np.abs(pixel - [142.074, 242.050]).max() > 2


def test_points_behind_the_camera_have_no_pixel_and_outside_the_image_one_that_is_not_seen() -> None:
    points = np.array([[0, 0, -1.0], [0, 0, 0], [np.nan, 0, 1], [np.inf, 0, 1], [9, 0, 1], [0, 0, 1]])
    pixels, seen = project(points, FRONT)
    assert np.isnan(pixels[:4]).all()
    np.testing.assert_allclose(pixels[4], [320 + 9 * FRONT.fx, 240])
    assert seen.tolist() == [False, False, False, False, False, True]


def test_the_image_holds_its_upper_left_edge_and_not_its_lower_right_one() -> None:
    edges = np.array([[0.0, 0.0], [639.999, 479.999], [640.0, 240.0], [320.0, 480.0], [-0.001, 5.0]])
    back, seen = project(unproject(edges, 1.0, Intrinsics(1, 1, 0, 0, 640, 480)), Intrinsics(1, 1, 0, 0, 640, 480))
    np.testing.assert_allclose(back, edges, atol=1e-9)
    assert seen.tolist() == [True, True, False, False, False]


def test_unprojecting_undoes_projecting() -> None:
    points = np.random.default_rng(0).uniform([-0.3, -0.2, 0.3], [0.3, 0.2, 1.0], size=(4, 5, 3))
    pixels, _ = project(points, FRONT)
    np.testing.assert_allclose(unproject(pixels, points[..., 2], FRONT), points, atol=1e-12)


def test_scaling_goes_by_width_and_by_height() -> None:
    scaled = FRONT.scaled_to(320, 120)
    assert (scaled.fx, scaled.cx) == (FRONT.fx / 2, 160.0)
    assert (scaled.fy, scaled.cy) == (FRONT.fy / 4, 60.0)
    point = np.array([0.1, -0.05, 0.7])
    np.testing.assert_allclose(project(point, scaled)[0], project(point, FRONT)[0] * [0.5, 0.25])


@pytest.mark.parametrize(
    "values", [(0, 1, 0, 0, 4, 4), (1, -1, 0, 0, 4, 4), (1, 1, 0, 0, 0, 4), (np.nan, 1, 0, 0, 4, 4)]
)
def test_what_no_camera_has_is_refused(values: tuple[float, float, float, float, int, int]) -> None:
    with pytest.raises(GeometryError, match="not positive"):
        Intrinsics(*values)
