from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotrain.embodiments.layout import Field, Kind, Layout
from robotrain.errors import LayoutError, UnknownNameError

ARM = Layout(
    (
        Field("left.xyz", "xyz", 3, "camera", "m"),
        Field("left.rot6d", "rot6d", 6, "camera", "1"),
        Field("left.gripper", "gripper", 1, "", "1"),
        Field("left.keypoints", "keypoints", 6, "left_wrist", "m"),
    )
)


def test_fields_name_every_column_once() -> None:
    assert ARM.width == 16
    assert ARM.slices == {
        "left.xyz": slice(0, 3),
        "left.rot6d": slice(3, 9),
        "left.gripper": slice(9, 10),
        "left.keypoints": slice(10, 16),
    }
    assert len(ARM.columns) == len(set(ARM.columns)) == 16
    assert ARM.columns[8:11] == ("left.rot6d[5]", "left.gripper", "left.keypoints[0]")
    assert ARM.columns_of_kind("rot6d").tolist() == [False] * 3 + [True] * 6 + [False] * 7


@given(st.integers(0, 3), st.integers(1, 4))
def test_joining_what_was_split_gives_the_array_back(batch: int, horizon: int) -> None:
    values = np.arange(batch * horizon * 16, dtype=np.float64).reshape(batch, horizon, 16)
    np.testing.assert_array_equal(ARM.join(ARM.split(values)), values)


def test_points_come_by_field_three_columns_a_point() -> None:
    points = ARM.points(np.arange(16.0))
    assert {name: value.shape for name, value in points.items()} == {"left.xyz": (1, 3), "left.keypoints": (2, 3)}
    np.testing.assert_array_equal(points["left.keypoints"], [[10, 11, 12], [13, 14, 15]])


def test_an_array_of_another_width_is_refused() -> None:
    with pytest.raises(LayoutError, match="16 columns cannot split an array of shape"):
        ARM.split(np.zeros((2, 15)))


@pytest.mark.parametrize(("kind", "width"), [("xyz", 4), ("rot6d", 9), ("ypr", 6), ("keypoints", 62), ("joint", 0)])
def test_a_kind_refuses_a_width_it_cannot_have(kind: Kind, width: int) -> None:
    with pytest.raises(LayoutError, match=f"a {kind} field cannot be {width} columns wide"):
        Field("x", kind, width, "", "")


def test_an_unknown_kind_tells_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'keypoints'"):
        Field("x", "keypoint", 3, "", "")  # pyright: ignore[reportArgumentType]


def test_two_fields_of_one_name_are_refused() -> None:
    with pytest.raises(LayoutError, match=r"twice: left\.xyz"):
        Layout((ARM.fields[0], ARM.fields[0]))


def test_a_layout_survives_plain_data() -> None:
    assert Layout.from_plain(ARM.to_plain()) == ARM


@pytest.mark.parametrize(
    "wrong", [{"kind": 3}, {"width": True}, {"width": "3"}, {"unit": None}, {"name": None}, {"x": 1}]
)
def test_plain_data_of_another_form_are_no_layout(wrong: dict[str, Any]) -> None:
    field = {"name": "arm", "kind": "joint", "width": 3, "frame": "", "unit": "rad"}
    assert Layout.from_plain([field]).width == 3
    with pytest.raises(LayoutError, match="not the fields of a layout"):
        Layout.from_plain([field | wrong])
    with pytest.raises(LayoutError, match="not the fields of a layout"):
        Layout.from_plain([{"name": "x"}])
