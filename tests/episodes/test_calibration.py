import json
from typing import Any

import numpy as np
import pytest

from robotrain.episodes.calibration import (
    Lens,
    calibrated_cameras,
    camera_places_from_attributes,
    camera_pose_from_attributes,
    intrinsics_from_attributes,
    lens_from_attributes,
    vendor_intrinsics,
)
from robotrain.errors import EpisodeError
from robotrain.geometry.cameras import Intrinsics
from robotrain.geometry.poses import invert, transform_from_pose

SIZE = (320, 240)
MATRIX = [[200.0, 0, 160, 0], [0, 210.0, 120, 0], [0, 0, 1, 0]]
NERF = {"fl_x": 752.5, "fl_y": 753.0, "cx": 961.8, "cy": 553.2, "w": 1920, "h": 1080, "k1": 0.05}
SCALE = {"fx": 214.1, "fy": 257.0, "cx": 324.6, "cy": 260.1, "width": 640, "height": 480}
PLACE = transform_from_pose(np.array([0.1, 0.2, 0.3, 0.5, 0.5, 0.5, 0.5]))
BASE = transform_from_pose(np.array([0.0, -0.2, 0.1, 1.0, 0, 0, 0.2]))


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"intrinsics": {"front_1": MATRIX}}, Intrinsics(200, 210, 160, 120, 320, 240)),
        ({"intrinsics": {"images.front_1": [row[:3] for row in MATRIX]}}, Intrinsics(200, 210, 160, 120, 320, 240)),
        ({"intrinsics": {"front_img": MATRIX, "wrist": SCALE}}, Intrinsics(200, 210, 160, 120, 320, 240)),
        ({"intrinsics": NERF}, Intrinsics(752.5, 753, 961.8, 553.2, 1920, 1080)),
        ({"intrinsics": json.dumps(NERF)}, Intrinsics(752.5, 753, 961.8, 553.2, 1920, 1080)),
        ({"camera_intrinsics": SCALE}, Intrinsics(214.1, 257, 324.6, 260.1, 640, 480)),
        (
            {"camera_intrinsics": {k: SCALE[k] for k in ("fx", "fy", "cx", "cy")}},
            Intrinsics(214.1, 257, 324.6, 260.1, 320, 240),
        ),
        (
            {"calibration": {"cameras": {"front_1": {"K": MATRIX, "resolution": [640, 480]}}}, "intrinsics": NERF},
            Intrinsics(200, 210, 160, 120, 640, 480),
        ),
        ({"calibration": {"cameras": {"front_1": {"K": MATRIX}}}}, Intrinsics(200, 210, 160, 120, 320, 240)),
        ({"calibration": None, "intrinsics": None, "camera_intrinsics": ""}, None),
        ({"intrinsics": {"left_wrist": MATRIX}}, None),
        ({}, None),
    ],
)
def test_intrinsics_are_read_in_all_their_spellings(attributes: dict[str, Any], expected: Intrinsics | None) -> None:
    assert intrinsics_from_attributes(attributes, "front_1", SIZE, "e") == expected


def test_what_is_told_without_a_name_is_not_taken_for_a_wrist_camera() -> None:
    assert intrinsics_from_attributes({"intrinsics": NERF}, "left_wrist", SIZE, "e") is None
    assert intrinsics_from_attributes({"camera_intrinsics": SCALE}, "left_wrist", SIZE, "e") is None
    two = {"intrinsics": {"front_1": MATRIX, "left_wrist": SCALE}}
    assert intrinsics_from_attributes(two, "left_wrist", SIZE, "e") == Intrinsics(214.1, 257, 324.6, 260.1, 640, 480)


@pytest.mark.parametrize(
    "attributes",
    [
        {"intrinsics": "{not json"},
        {"intrinsics": [1, 2, 3]},
        {"intrinsics": 7},
        {"intrinsics": {"front_1": {"fx": 10**400, "fy": 1, "cx": 1, "cy": 1}}},
        {"intrinsics": "[" * 100_000},
        {"intrinsics": {"front_1": [[1, 2], [3, 4]]}},
        {"intrinsics": {"front_1": "K"}},
        {"intrinsics": NERF | {"fl_x": -1}},
        {"camera_intrinsics": {"fx": 1}},
        {"calibration": {"cameras": {"front_1": {"K": [[float("nan")] * 3] * 3}}}},
        {"calibration": 3},
    ],
)
def test_intrinsics_that_cannot_be_read_are_refused(attributes: dict[str, Any]) -> None:
    with pytest.raises(EpisodeError, match="intrinsics of camera 'front_1'"):
        intrinsics_from_attributes(attributes, "front_1", SIZE, "e")


def test_extrinsics_give_the_camera_in_each_arms_base() -> None:
    attributes = {"extrinsics": {"left": PLACE.tolist(), "right": BASE[:3].tolist()}}
    left, right = (camera_pose_from_attributes(attributes, arm, "e") for arm in ("left", "right"))
    assert left is not None
    assert right is not None
    np.testing.assert_allclose(left, PLACE)
    np.testing.assert_allclose(right, BASE)


@pytest.mark.parametrize("attributes", [{}, {"extrinsics": None}, {"extrinsics": {"right": np.eye(4).tolist()}}])
def test_a_camera_of_which_nothing_is_told_has_no_pose(attributes: dict[str, Any]) -> None:
    assert camera_pose_from_attributes(attributes, "left", "e") is None


def test_a_calibration_gives_the_camera_through_the_reference_frame() -> None:
    calibration = {
        "reference_frame": "robot_base",
        "cameras": {"left_wrist": {"ref_T_cam": np.eye(4).tolist()}, "front_1": {"ref_T_cam": PLACE.tolist()}},
        "arm_bases": {"left": {"ref_T_armbase": BASE.tolist()}, "right": np.eye(4).tolist()},
    }
    left = camera_pose_from_attributes({"calibration": calibration}, "left", "e")
    right = camera_pose_from_attributes({"calibration": calibration}, "right", "e")
    assert left is not None
    assert right is not None
    np.testing.assert_allclose(left, invert(BASE) @ PLACE)
    np.testing.assert_allclose(right, PLACE)


def test_a_camera_that_is_the_reference_needs_no_pose_of_its_own() -> None:
    calibration = {
        "reference_frame": "camera:front_1",
        "cameras": {"front_1": {"K": MATRIX}},
        "arm_bases": {"left": {"ref_T_armbase": BASE.tolist()}},
    }
    pose = camera_pose_from_attributes({"calibration": calibration}, "left", "e")
    assert pose is not None
    np.testing.assert_allclose(pose, invert(BASE))
    assert (
        camera_pose_from_attributes({"calibration": calibration | {"reference_frame": "slam_world"}}, "left", "e")
        is None
    )


@pytest.mark.parametrize(
    "told",
    [
        np.zeros((4, 4)).tolist(),
        np.diag([1.0, 1.0, -1.0, 1.0]).tolist(),
        np.full((4, 4), 1e308).tolist(),
        [[1, 0], [0, 1]],
        "no",
        5,
    ],
    ids=str,
)
def test_a_pose_that_is_none_is_refused(told: Any) -> None:
    with pytest.raises(EpisodeError, match="pose for the left arm"):
        camera_pose_from_attributes({"extrinsics": {"left": told}}, "left", "e")


@pytest.mark.parametrize(
    ("attributes", "lens"),
    [
        ({"intrinsics": NERF}, Lens("", (0.05,), False)),
        ({"intrinsics": json.dumps(NERF | {"p1": 0.01, "k2": -0.02})}, Lens("", (0.05, -0.02, 0.01), False)),
        (
            {"calibration": {"cameras": {"front_1": {"K": MATRIX, "model": "opencv", "distortion": [0.1, 0]}}}},
            Lens("OPENCV", (0.1, 0.0), False),
        ),
        (
            {"calibration": {"cameras": {"front_1": {"model": "OPENCV", "distortion": {"k1": 1}, "rectified": True}}}},
            Lens("OPENCV", (1.0,), True),
        ),
        ({"calibration": {"cameras": {"front_1": {"model": "PINHOLE"}}}}, Lens("PINHOLE", (), False)),
        ({"intrinsics": {"front_1": MATRIX}}, None),
        ({"camera_intrinsics": SCALE}, None),
        ({}, None),
    ],
)
def test_a_lens_is_what_the_attributes_tell(attributes: dict[str, Any], lens: Lens | None) -> None:
    assert lens_from_attributes(attributes, "front_1", "e") == lens


def test_a_lens_that_cannot_be_read_is_refused() -> None:
    attributes = {"calibration": {"cameras": {"front_1": {"distortion": ["strong"]}}}}
    with pytest.raises(EpisodeError, match="lens of camera 'front_1'"):
        lens_from_attributes(attributes, "front_1", "e")


def test_a_calibration_names_its_cameras_and_places_all_but_the_reference() -> None:
    cameras = {
        "images.front_1": {"ref_T_cam": PLACE.tolist()},
        "wrist": {"K": MATRIX},
        "top": {"ref_T_cam": BASE.tolist()},
    }
    attributes = {"calibration": {"reference_frame": "camera:top", "cameras": cameras}}
    assert calibrated_cameras(attributes, "e") == ("front_1", "wrist", "top")
    assert list(camera_places_from_attributes(attributes, "e")) == ["front_1"]
    assert (calibrated_cameras({}, "e"), camera_places_from_attributes({}, "e")) == ((), {})
    for read in (calibrated_cameras, camera_places_from_attributes):
        with pytest.raises(EpisodeError, match="cannot be read"):
            read({"calibration": {"cameras": [1, 2]}}, "e")


def test_a_front_camera_of_another_robot_has_no_vendor() -> None:
    assert vendor_intrinsics("toy_arm", "front_1") is None
    assert vendor_intrinsics("mecka_bimanual", "left_wrist") is None
    assert vendor_intrinsics(" Mecka_Bimanual", "front_img_1") != vendor_intrinsics("aria_bimanual", "front_img_1")
