import numpy as np
import pytest

from robotrain.canvas import text_size
from robotrain.viz.charts import (
    MIN_CELL_HEIGHT,
    SMALLEST_SPAN,
    Chart,
    charts_of,
    draw_chart,
    draw_panel,
    format_number,
    plan_grid,
    shorten,
    value_ranges,
)
from robotrain.viz.palette import PREDICTION, TRUTH


@pytest.mark.parametrize(("num", "height"), [(26, 480), (26, 240), (1, 480), (7, 480), (14, 720), (40, 1080)])
def test_every_chart_is_tall_enough_and_no_two_overlap(num: int, height: int) -> None:
    grid = plan_grid(num, height)
    boxes = [grid.box(index) for index in range(num)]
    for left, top, right, bottom in boxes:
        assert 0 <= left < right <= grid.width
        assert 0 <= top < bottom <= height
        assert bottom - top >= MIN_CELL_HEIGHT - 1
    assert grid.width % 2 == 0
    cells = np.zeros((height, grid.width), int)
    for left, top, right, bottom in boxes:
        cells[top:bottom, left:right] += 1
    assert cells.max() == 1


def test_26_joints_fit_beside_a_640_by_480_picture() -> None:
    grid = plan_grid(26, 480)
    assert (grid.rows, grid.columns, grid.width) == (7, 4, 768)
    assert text_size("rightHandThumbRotation", 0.4)[0] < 192  # the longest name of the G1 is not cut


def test_a_curve_runs_where_its_values_are() -> None:
    image = np.zeros((80, 192, 3), np.uint8)
    rising = np.linspace(0.0, 1.0, 50)
    draw_chart(image, (0, 0, 192, 80), Chart("elbow rad", ((rising, TRUTH),), (0.0, 1.0)), cursor=None)
    rows, columns = np.nonzero((np.abs(image.astype(int) - TRUTH) < 30).all(-1))
    assert np.corrcoef(columns, -rows)[0, 1] > 0.99
    assert columns.max() - columns.min() > 120
    flat = np.zeros((80, 192, 3), np.uint8)
    draw_chart(flat, (0, 0, 192, 80), Chart("elbow rad", ((np.full(50, 9.0), TRUTH),), (0.0, 1.0)), cursor=None)
    rows, _ = np.nonzero((np.abs(flat.astype(int) - TRUTH) < 30).all(-1))
    assert len(set(rows)) <= 2  # beyond the range: along the upper edge


def test_the_cursor_stands_at_its_fraction() -> None:
    with_cursor, without = (np.zeros((80, 192, 3), np.uint8) for _ in range(2))
    chart = Chart("elbow", (), (0.0, 1.0))
    draw_chart(with_cursor, (0, 0, 192, 80), chart, cursor=0.5)
    draw_chart(without, (0, 0, 192, 80), chart, cursor=None)
    columns = np.nonzero((with_cursor != without).any(-1))[1]
    assert columns.mean() == pytest.approx(6 + (192 - 42 - 6) / 2, abs=1)


def test_a_gap_in_the_values_is_a_gap_in_the_curve() -> None:
    values = np.full(20, 0.5)
    values[10:] = np.nan
    image = np.zeros((80, 192, 3), np.uint8)
    draw_chart(image, (0, 0, 192, 80), Chart("", ((values, TRUTH),), (0.0, 1.0)), cursor=None)
    columns = np.nonzero(image[..., 1].astype(int) - image[..., 0] > 30)[1]  # green
    assert 60 < columns.max() < 85


def test_a_panel_holds_a_chart_for_each_column() -> None:
    grid = plan_grid(4, 300)
    curves = [(np.tile(np.linspace(-1, 1, 10)[:, None], (1, 4)), color) for color in (TRUTH, PREDICTION)]
    charts = charts_of(["a", "b", "c", "d"], curves, np.tile([-1.0, 1.0], (4, 1)))
    panel = draw_panel(grid, charts, 0.0, "header")
    assert panel.shape == (300, grid.width, 3)
    for index in range(4):
        left, top, right, bottom = grid.box(index)
        cell = panel[top:bottom, left:right].astype(int)
        assert (np.abs(cell - PREDICTION) < 30).all(-1).sum() > 50


def test_ranges_are_the_truths_widened_by_at_most_half_for_predictions() -> None:
    truth = np.linspace(0, 1, 11).reshape(1, 11, 1)
    mask = np.ones((1, 11), bool)
    low, high = value_ranges(truth, truth * 100, mask)[0]
    assert low == pytest.approx(-0.12)
    assert high == pytest.approx(1.62)
    low, high = value_ranges(truth, None, mask)[0]
    assert (low, high) == pytest.approx((-0.08, 1.08))
    low, high = value_ranges(None, truth, mask)[0]
    assert (low, high) == pytest.approx((-0.08, 1.08))


def test_ranges_leave_out_masked_steps_and_never_vanish() -> None:
    truth = np.array([[[0.5], [1e9]]])
    low, high = value_ranges(truth, None, np.array([[True, False]]))[0]
    assert low < 0.5 < high < 1
    assert high - low >= SMALLEST_SPAN
    assert value_ranges(truth, None, np.zeros((1, 2), bool)).tolist() == [[0.0, 1.0]]


def test_long_titles_are_cut_to_fit() -> None:
    cut = shorten("a_very_long_joint_name_of_some_robot", 0.4, 100)
    assert cut.endswith("...")
    assert text_size(cut, 0.4)[0] <= 100
    assert shorten("elbow", 0.4, 100) == "elbow"


@pytest.mark.parametrize("value", [0.0, -0.123456, 99.9, -12345.6, 3e7, -3e7])
def test_numbers_stay_short(value: float) -> None:
    assert len(format_number(value)) <= 6
