import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotrain.embodiments.catalog import available, embodiment_of
from robotrain.embodiments.displacement import (
    chunk_from_displacement,
    displacement_from_chunk,
    has_poses,
    hold_chunk,
)
from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.embodiments.layout import ROTATION_KINDS, Field, Layout
from robotrain.embodiments.spelling import IDENTITY, matrix_from_rotation, rotation_from_matrix
from robotrain.errors import LayoutError
from robotrain.geometry.rotations import geodesic_angle, matrix_from_rot6d, matrix_from_ypr

HORIZON = 5
IDENTITY_ROT6D = IDENTITY["rot6d"]


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
EVERY = {
    f"{name}-{mode}": interface_of(name, mode) for name in available() for mode in embodiment_of(name, {}).modes
} | {"joints": INTERFACES["joints"]}


def random_values(layout: Layout, shape: tuple[int, ...], seed: int) -> np.ndarray:
    values = np.random.default_rng(seed).normal(size=(*shape, layout.width))
    for field in layout.of_kind(*ROTATION_KINDS):
        columns = layout.slices[field.name]
        values[..., columns] *= 3  # angles beyond pi, too
        values[..., columns] = rotation_from_matrix(field.kind, matrix_from_rotation(field.kind, values[..., columns]))
    return values


def comparable(layout: Layout, values: np.ndarray) -> dict[str, np.ndarray]:
    """Return the fields of an array, rotations as matrices: two triples of angles may be one rotation."""
    parts = layout.split(values)
    return {
        f.name: matrix_from_rotation(f.kind, parts[f.name]) if f.kind in ROTATION_KINDS else parts[f.name]
        for f in layout.fields
    }


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_chunk_comes_back_from_its_displacement(name: str, seed: int) -> None:
    interface = EVERY[name]
    state = random_values(interface.state, (4,), seed)
    chunk = random_values(interface.actions, (4, HORIZON), seed + 1)
    displacement = displacement_from_chunk(interface, chunk, state)
    back = comparable(interface.actions, chunk_from_displacement(interface, displacement, state))
    for field, values in comparable(interface.actions, chunk).items():
        np.testing.assert_allclose(back[field], values, atol=1e-9, err_msg=field)


@pytest.mark.parametrize("name", EVERY)
def test_holding_is_the_displacement_zero_with_identity_rotations(name: str) -> None:
    interface = EVERY[name]
    state = random_values(interface.state, (4,), 0)
    displacement = displacement_from_chunk(interface, hold_chunk(interface, state), state)
    expected = np.zeros_like(displacement)
    for field in interface.actions.of_kind(*ROTATION_KINDS):
        expected[..., interface.actions.slices[field.name]] = IDENTITY[field.kind]
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


def test_angles_on_either_side_of_pi_are_neighbours() -> None:
    """#616: what is stored as 3.1 and -3.1 rad is a turn of 0.08 rad, not of 6.2."""
    interface = interface_of("human_bimanual", "cartesian_ypr")
    columns = interface.actions.slices["left.ypr"]
    state = np.zeros((1, interface.state.width))
    state[:, columns] = (3.1, 0.2, 0.0)
    chunk = np.repeat(state[:, None], HORIZON, axis=1)
    chunk[:, :, columns] = (-3.1, 0.2, 0.0)
    moved = displacement_from_chunk(interface, chunk, state)[0, 0, columns]
    turned = geodesic_angle(np.eye(3), matrix_from_ypr(moved))
    np.testing.assert_allclose(turned, 2 * (np.pi - 3.1), atol=1e-9)


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
