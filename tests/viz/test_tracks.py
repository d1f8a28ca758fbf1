import numpy as np
import pytest

from robotrain.embodiments.catalog import embodiment_of
from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.embodiments.layout import Field, Layout
from robotrain.errors import LayoutError
from robotrain.geometry.cameras import Intrinsics
from robotrain.geometry.rotations import matrix_from_ypr, rot6d_from_matrix
from robotrain.viz.tracks import camera_points, compute_tracks, draws_points

CAMERA = Intrinsics(fx=100.0, fy=120.0, cx=50.0, cy=40.0, width=100, height=80)


def interface(name: str, mode: str | None = None, horizon: int = 3) -> PolicyInterface:
    body = embodiment_of(name, {})
    layouts = body.mode(mode)
    chosen = mode or body.default_mode
    return PolicyInterface(name, chosen, layouts.actions, layouts.state, horizon, layouts.seconds, body.cameras)


def test_a_point_in_the_cameras_frame_lands_on_its_hand_computed_pixel() -> None:
    arms = interface("eva_bimanual")
    chunk = np.zeros((3, 20))
    chunk[:, arms.actions.slices["left.xyz"]] = [(0.1, 0.2, 1.0), (0.0, 0.0, 2.0), (-0.2, 0.1, 0.5)]
    left = compute_tracks(arms, chunk, np.zeros(20), CAMERA)[0]
    assert (left.name, left.kind, left.limb) == ("left.xyz", "xyz", "left")
    np.testing.assert_allclose(left.pixels[:, 0], [(60, 64), (50, 40), (10, 64)])
    assert left.visible.all()


def test_the_golden_projection_of_the_front_camera_holds() -> None:
    body = embodiment_of("eva_bimanual", {})
    assert body.intrinsics is not None
    arms = interface("eva_bimanual", horizon=1)
    # upstream.md 2.7: the pixel (142.074, 242.050) and a depth of 0.5 m
    point = np.array([(142.074 - 320) / 266.50860444, (242.050 - 240) / 266.50860444, 1.0]) * 0.5
    chunk = np.zeros((1, 20))
    chunk[0, arms.actions.slices["right.xyz"]] = point
    right = compute_tracks(arms, chunk, np.zeros(20), body.intrinsics)[1]
    np.testing.assert_allclose(right.pixels[0, 0], (142.074, 242.050), atol=1e-3)


def test_what_is_behind_the_camera_outside_the_image_or_masked_is_not_visible() -> None:
    arms = interface("eva_bimanual", horizon=4)
    chunk = np.zeros((4, 20))
    chunk[:, arms.actions.slices["left.xyz"]] = [(0, 0, -1.0), (0, 0, 0.0), (5.0, 0, 1.0), (0, 0, 1.0)]
    chunk[:, arms.actions.slices["right.xyz"]] = (0, 0, 1.0)
    left, right = compute_tracks(arms, chunk, np.zeros(20), CAMERA, mask=np.array([True, True, True, False]))
    assert not left.visible.any()
    assert right.visible[:, 0].tolist() == [True, True, True, False]


def test_points_in_a_wrists_frame_go_through_the_wrists_pose() -> None:
    hands = interface("human_bimanual")
    rotation = matrix_from_ypr(np.array([0.3, -0.2, 0.5]))
    state, chunk = np.zeros(144), np.zeros((3, 144))
    state[hands.state.slices["right.xyz"]] = (0.1, 0.0, 0.6)
    state[hands.state.slices["right.rot6d"]] = rot6d_from_matrix(rotation)
    state[hands.state.slices["left.rot6d"]] = rot6d_from_matrix(np.eye(3))
    local = np.array([0.02, 0.03, -0.01])
    chunk[:, hands.actions.slices["right.keypoints"]] = np.tile(local, 21)
    chunk[1, hands.actions.slices["right.xyz"]] = local
    points = camera_points(hands, chunk, state)
    wanted = rotation @ local + (0.1, 0.0, 0.6)
    np.testing.assert_allclose(points["right.keypoints"], np.broadcast_to(wanted, (3, 21, 3)), atol=1e-12)
    np.testing.assert_allclose(
        points["right.xyz"][:, 0], np.stack([np.array([0.1, 0, 0.6]), wanted, np.array([0.1, 0, 0.6])]), atol=1e-12
    )


def test_points_of_an_unknown_wrist_are_not_visible() -> None:
    hands = interface("human_bimanual")
    state, known = np.zeros(144), np.ones(144, bool)
    for side in ("left", "right"):
        state[hands.state.slices[f"{side}.xyz"]] = (0, 0, 0.6)
        state[hands.state.slices[f"{side}.rot6d"]] = rot6d_from_matrix(np.eye(3))
    known[: known.size // 2] = False
    tracks = {t.name: t for t in compute_tracks(hands, np.zeros((3, 144)), state, CAMERA, state_mask=known)}
    assert not tracks["left.keypoints"].visible.any()
    assert not tracks["left.xyz"].visible.any()
    assert tracks["right.keypoints"].visible.all()


def test_a_frame_that_the_state_does_not_know_is_named() -> None:
    layout = Layout((Field("tool.xyz", "xyz", 3, "tool", "m"),))
    odd = PolicyInterface("odd", "joints", layout, layout, 1, 1.0, ())
    with pytest.raises(LayoutError, match=r"'tool\.xyz' stands in frame 'tool'"):
        camera_points(odd, np.zeros((1, 3)), np.zeros(3))


def test_joint_layouts_have_no_points() -> None:
    assert not draws_points(Layout((Field("elbow", "joint", 1, "", "rad"),)))
    assert draws_points(interface("eva_bimanual").actions)
