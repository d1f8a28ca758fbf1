import numpy as np
import pytest

from robotrain.embodiments.arms import build_eva
from robotrain.embodiments.sides import SIDES
from robotrain.geometry.cameras import project
from robotrain.geometry.poses import invert, transform_points

EVA = build_eva()


def test_an_action_is_both_arms_position_rotation_and_gripper() -> None:
    layout = EVA.mode("cartesian_6d").actions
    assert layout.width == 20
    assert layout.names == ("left.xyz", "left.rot6d", "left.gripper", "right.xyz", "right.rot6d", "right.gripper")
    assert {field.frame for field in layout.of_kind("xyz", "rot6d")} == {"camera"}


@pytest.mark.parametrize(
    ("mode", "an_arm"),
    [
        ("cartesian_6d", 3 + 6 + 1),
        ("cartesian_ypr", 3 + 3 + 1),
        ("cartesian_wristframe_6d", 3 + 6 + 1),
        ("cartesian_wristframe_ypr", 3 + 3 + 1),
    ],
)
def test_every_mode_is_as_wide_as_what_its_arms_say(mode: str, an_arm: int) -> None:
    assert EVA.mode(mode).actions.width == EVA.mode(mode).state.width == 2 * an_arm
    for side in SIDES:
        alone = build_eva(f"eva_{side}_arm", (side,))
        assert alone.mode(mode).actions.width == an_arm
        assert alone.cameras == ("front_1", f"{side}_wrist")
        assert set(alone.camera_poses or {}) == {side}


def test_a_chunk_spans_45_rows_at_30_hertz_and_89_at_60() -> None:
    seconds = EVA.mode(None).seconds
    assert [round(seconds * fps) + 1 for fps in (30, 60)] == [45, 89]


def test_a_known_point_of_the_left_base_lands_on_its_pixel() -> None:
    assert EVA.camera_poses is not None
    assert EVA.intrinsics is not None
    point = transform_points(invert(EVA.camera_poses["left"]), np.array([[0.3, 0.1, 0.2]]))
    np.testing.assert_allclose(point[0], (-0.33685431, 0.00388043, 0.504561277), atol=1e-7)
    pixel, visible = project(point, EVA.intrinsics)
    np.testing.assert_allclose(pixel[0], (142.074, 242.050), atol=5e-4)
    assert visible.all()


def test_the_camera_poses_are_rigid() -> None:
    assert EVA.camera_poses is not None
    for arm in EVA.sides:
        rotation = EVA.camera_poses[arm][:3, :3]
        np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-6)
        assert np.linalg.det(rotation) > 0
