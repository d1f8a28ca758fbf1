import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotrain.embodiments.catalog import embodiment_of
from robotrain.embodiments.displacement import (
    IDENTITY_ROT6D,
    chunk_from_displacement,
    displacement_from_chunk,
    has_poses,
    hold_chunk,
)
from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.embodiments.layout import Field, Layout
from robotrain.errors import LayoutError
from robotrain.geometry.rotations import geodesic_angle, matrix_from_rot6d, rot6d_from_matrix

HORIZON = 5


def interface_of(name: str, mode: str) -> PolicyInterface:
    layouts = embodiment_of(name, {}).mode(mode)
    return PolicyInterface(
        embodiment=name, mode=mode, actions=layouts.actions, state=layouts.state, horizon=HORIZON, seconds=1, cameras=()
    )


JOINTS = Layout((Field("arm", "joint", 3, "", "rad"),))
INTERFACES = {
    "eva": interface_of("eva_bimanual", "cartesian_6d"),
    "palms": interface_of("human_bimanual", "cartesian_6d"),
    "keypoints": interface_of("human_bimanual", "keypoints_wristframe_6d"),
    "joints": PolicyInterface(
        embodiment="toy", mode="joints", actions=JOINTS, state=JOINTS, horizon=HORIZON, seconds=1, cameras=()
    ),
}


def random_values(layout: Layout, shape: tuple[int, ...], seed: int) -> np.ndarray:
    values = np.random.default_rng(seed).normal(size=(*shape, layout.width))
    for field in layout.of_kind("rot6d"):
        columns = layout.slices[field.name]
        values[..., columns] = rot6d_from_matrix(matrix_from_rot6d(values[..., columns]))
    return values


@pytest.mark.parametrize("name", INTERFACES)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_chunk_comes_back_from_its_displacement(name: str, seed: int) -> None:
    interface = INTERFACES[name]
    state = random_values(interface.state, (4,), seed)
    chunk = random_values(interface.actions, (4, HORIZON), seed + 1)
    displacement = displacement_from_chunk(interface, chunk, state)
    np.testing.assert_allclose(chunk_from_displacement(interface, displacement, state), chunk, atol=1e-12)


@pytest.mark.parametrize("name", INTERFACES)
def test_holding_is_the_displacement_zero_with_identity_rotations(name: str) -> None:
    interface = INTERFACES[name]
    state = random_values(interface.state, (4,), 0)
    displacement = displacement_from_chunk(interface, hold_chunk(interface, state), state)
    expected = np.zeros_like(displacement)
    for field in interface.actions.of_kind("rot6d"):
        expected[..., interface.actions.slices[field.name]] = IDENTITY_ROT6D
    np.testing.assert_allclose(displacement, expected, atol=1e-12)


def test_one_displacement_moves_every_row_from_its_own_pose() -> None:
    interface = INTERFACES["eva"]
    state = random_values(interface.state, (3,), 0)
    displacement = np.zeros((HORIZON, interface.actions.width))
    displacement[:, interface.actions.slices["left.xyz"]] = (0.1, 0, 0)
    for field in interface.actions.of_kind("rot6d"):
        displacement[:, interface.actions.slices[field.name]] = IDENTITY_ROT6D
    chunk = chunk_from_displacement(interface, displacement, state)
    places = interface.actions.slices["left.xyz"]
    np.testing.assert_allclose(chunk[:, 2, places], state[:, places] + (0.1, 0, 0))


def test_a_wrist_frame_holds_at_its_origin_with_the_current_keypoints() -> None:
    interface = INTERFACES["keypoints"]
    state = random_values(interface.state, (3,), 0)
    held = interface.actions.split(hold_chunk(interface, state))
    assert not held["left.xyz"].any()
    np.testing.assert_array_equal(held["right.rot6d"], np.broadcast_to(IDENTITY_ROT6D, (3, HORIZON, 6)))
    np.testing.assert_array_equal(held["left.keypoints"][:, 3], interface.state.split(state)["left.keypoints"])


def test_rotations_are_measured_from_the_current_one() -> None:
    interface = INTERFACES["palms"]
    state = random_values(interface.state, (1,), 3)
    chunk = random_values(interface.actions, (1, HORIZON), 4)
    columns = interface.actions.slices["left.rot6d"]
    now, then = matrix_from_rot6d(state[0, columns]), matrix_from_rot6d(chunk[0, 2, columns])
    moved = matrix_from_rot6d(displacement_from_chunk(interface, chunk, state)[0, 2, columns])
    np.testing.assert_allclose(geodesic_angle(np.eye(3), moved), geodesic_angle(now, then), atol=1e-9)
    np.testing.assert_allclose(now @ moved, then, atol=1e-12)


def test_a_missing_hand_holds_with_the_identity_rotation() -> None:
    interface = INTERFACES["eva"]
    held = interface.actions.split(hold_chunk(interface, np.zeros((1, interface.state.width))))
    np.testing.assert_array_equal(held["left.rot6d"][0, 0], IDENTITY_ROT6D)


def test_a_state_that_does_not_tell_where_an_action_stands_is_refused() -> None:
    state = Layout((Field("leg", "joint", 3, "", "rad"),))
    interface = PolicyInterface(
        embodiment="toy", mode="joints", actions=JOINTS, state=state, horizon=HORIZON, seconds=1, cameras=()
    )
    with pytest.raises(LayoutError, match="no field 'arm'"):
        hold_chunk(interface, np.zeros((1, 3)))


def test_only_layouts_in_space_have_poses() -> None:
    assert [has_poses(interface.actions) for interface in INTERFACES.values()] == [True, True, True, False]
