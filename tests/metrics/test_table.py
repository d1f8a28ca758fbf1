import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotrain.embodiments.layout import Field, Layout
from robotrain.errors import LayoutError, ShapeError
from robotrain.geometry.rotations import matrix_from_quaternion, rot6d_from_matrix
from robotrain.metrics import METRICS, measure, measure_fields, primary_metric, span_steps

ARM = Layout(
    (
        Field("left.xyz", "xyz", 3, "camera", "m"),
        Field("left.rot6d", "rot6d", 6, "camera", "1"),
        Field("left.gripper", "gripper", 1, "", "1"),
        Field("right.xyz", "xyz", 3, "camera", "m"),
        Field("right.rot6d", "rot6d", 6, "camera", "1"),
        Field("right.gripper", "gripper", 1, "", "1"),
    )
)
HAND = Layout(
    (Field("left.xyz", "xyz", 3, "left_wrist", "m"), Field("left.keypoints", "keypoints", 6, "left_wrist", "m"))
)
IDENTITY = np.array([1.0, 0, 0, 0, 1, 0])


def real(num: int, horizon: int) -> np.ndarray:
    return np.ones((num, horizon), bool)


def arm_chunks(num: int, horizon: int, seed: int = 0) -> np.ndarray:
    draw = np.random.default_rng(seed)
    chunks = draw.normal(size=(num, horizon, ARM.width)) * 0.2
    for side in ("left", "right"):
        quaternion = draw.normal(size=(num, horizon, 4))
        quaternion /= np.linalg.norm(quaternion, axis=-1, keepdims=True)
        chunks[..., ARM.slices[f"{side}.rot6d"]] = rot6d_from_matrix(matrix_from_quaternion(quaternion))
    return chunks


def test_xyz_error_is_the_mean_distance_of_both_arms_in_metres() -> None:
    truth = np.zeros((1, 2, ARM.width))
    truth[..., ARM.slices["left.rot6d"]] = truth[..., ARM.slices["right.rot6d"]] = IDENTITY
    predicted = truth.copy()
    predicted[0, 0, ARM.slices["left.xyz"]] = (0.03, 0.04, 0.0)  # 0.05 away
    predicted[0, 1, ARM.slices["right.xyz"]] = (0.0, 0.0, 0.1)  # 0.1 away
    found = measure(predicted, truth, real(1, 2), ARM)
    assert found["xyz_error"].mean() == pytest.approx((0.05 + 0 + 0 + 0.1) / 4)
    assert found["xyz_error"].unit == "m"
    assert found["xyz_error_final"].mean() == pytest.approx(0.05)
    assert found["rotation_error"].mean() == pytest.approx(0.0, abs=1e-6)


def test_rotation_error_is_the_geodesic_angle_in_degrees_and_ignores_the_scale_of_the_columns() -> None:
    truth = np.zeros((1, 1, ARM.width))
    truth[..., ARM.slices["left.rot6d"]] = truth[..., ARM.slices["right.rot6d"]] = IDENTITY
    predicted = truth.copy()
    angle = np.deg2rad(40)
    predicted[..., ARM.slices["left.rot6d"]] = [
        3 * np.cos(angle),
        3 * np.sin(angle),
        0,
        -np.sin(angle),
        np.cos(angle),
        0,
    ]
    found = measure(predicted, truth, real(1, 1), ARM)
    assert found["rotation_error"].mean() == pytest.approx(20.0)
    assert found["rotation_error"].unit == "deg"
    assert measure_fields(predicted, truth, real(1, 1), ARM)["left.rot6d"].mean() == pytest.approx(40.0)


def test_ypr_rotations_are_measured_by_their_angle_and_not_by_their_numbers() -> None:
    layout = Layout((Field("arm.ypr", "ypr", 3, "camera", "rad"),))
    truth = np.array([[[np.pi - 0.01, 0.0, 0.0]]])
    predicted = np.array([[[-np.pi + 0.01, 0.0, 0.0]]])
    assert measure(predicted, truth, real(1, 1), layout)["rotation_error"].mean() == pytest.approx(np.rad2deg(0.02))


def test_gripper_error_is_absolute() -> None:
    truth, predicted = np.zeros((1, 1, ARM.width)), np.zeros((1, 1, ARM.width))
    predicted[..., ARM.slices["left.gripper"]] = -0.5
    predicted[..., ARM.slices["right.gripper"]] = 0.1
    assert measure(predicted, truth, real(1, 1), ARM)["gripper_error"].mean() == pytest.approx(0.3)


def test_keypoint_error_is_the_mean_distance_over_all_points() -> None:
    truth = np.zeros((1, 1, 9))
    predicted = truth.copy()
    predicted[0, 0, 3:6] = (0, 3, 4)
    found = measure(predicted, truth, real(1, 1), HAND)
    assert found["keypoint_error"].mean() == pytest.approx(2.5)
    assert found["xyz_error"].mean() == 0.0
    assert "gripper_error" not in found
    assert "joint_error" not in found


def test_joints_of_different_units_are_never_averaged_together() -> None:
    mixed = Layout((Field("left.elbow", "joint", 1, "", "rad"), Field("left.thumb", "joint", 1, "", "1")))
    truth, predicted = np.zeros((1, 1, 2)), np.array([[[0.5, 0.1]]])
    found = measure(predicted, truth, real(1, 1), mixed)
    assert found["joint_error_rad"].mean() == pytest.approx(0.5)
    assert found["joint_error_rad"].unit == "rad"
    assert found["joint_error_ratio"].mean() == pytest.approx(0.1)
    assert primary_metric(mixed) == "joint_error_rad"
    alike = Layout((Field("a", "joint", 1, "", "rad"), Field("b", "joint", 1, "", "rad")))
    assert measure(predicted, truth, real(1, 1), alike)["joint_error"].mean() == pytest.approx(0.3)


def test_steps_count_within_a_sample_first_and_samples_after() -> None:
    layout = Layout((Field("arm.xyz", "xyz", 3, "camera", "m"),))
    predicted, truth = np.zeros((3, 4, 3)), np.zeros((3, 4, 3))
    predicted[0, :, 0] = (1, 1, 1, 1)
    predicted[1, :, 0] = (4, 100, 100, 100)
    mask = np.array([[True] * 4, [True, False, False, False], [False] * 4])
    found = measure(predicted, truth, mask, layout)
    assert found["xyz_error"].mean() == pytest.approx((1 + 4) / 2)  # not (4 + 4) / 5 steps
    assert found["xyz_error"].count() == 2
    assert found["xyz_error_final"].mean() == pytest.approx(1.0)
    assert found["xyz_error_final"].count() == 1


def test_nothing_to_measure_is_none_and_not_nan() -> None:
    chunks = arm_chunks(2, 3)
    found = measure(chunks, chunks, np.zeros((2, 3), bool), ARM)
    assert found["xyz_error"].mean() is None
    assert found["xyz_error"].count() == 0


def test_masked_steps_may_hold_anything() -> None:
    truth = arm_chunks(2, 5)
    predicted = arm_chunks(2, 5, seed=1)
    mask = real(2, 5)
    mask[:, 3:] = False
    before = measure(predicted, truth, mask, ARM)
    truth[:, 3:] = 0.0
    predicted[:, 3:] = np.nan
    after = measure(predicted, truth, mask, ARM)
    for name in ("xyz_error", "rotation_error", "gripper_error", "xyz_error_late"):
        assert after[name].mean() == before[name].mean()


def test_squared_errors_are_the_mean_over_everything_as_upstream_defines_them() -> None:
    # upstream.md 6.2: a against a + 0.1 and 1.5 a, a = (t, t^2, sin 3t)
    t = np.linspace(0, 1, 100)
    a = np.stack([t, t**2, np.sin(3 * t)], -1)[None]
    layout = Layout((Field("arm.xyz", "xyz", 3, "camera", "m"),))
    mask = real(1, 100)
    mask[:, 50:] = False
    scaled = measure(1.5 * a, a, mask, layout)
    assert scaled["paired_mse"].mean() == pytest.approx(np.mean((0.5 * a) ** 2))
    assert scaled["final_mse"].mean() == pytest.approx(np.mean((0.5 * a[:, -1]) ** 2))
    assert measure(a + 0.1, a, mask, layout)["paired_mse"].mean() == pytest.approx(0.01)
    both = measure(np.concatenate([a + 0.1, 1.5 * a]), np.concatenate([a, a]), np.concatenate([mask, mask]), layout)
    assert both["paired_mse"].mean() == pytest.approx((0.01 + float(np.mean((0.5 * a) ** 2))) / 2)


@pytest.mark.parametrize(
    ("horizon", "early", "mid", "late"), [(100, 10, 40, 50), (30, 3, 12, 15), (10, 1, 4, 5), (2, 1, 0, 1), (1, 1, 0, 0)]
)
def test_early_mid_and_late_share_the_horizon(horizon: int, early: int, mid: int, late: int) -> None:
    parts = [span_steps("early", horizon), span_steps("mid", horizon), span_steps("late", horizon)]
    assert [int(part.sum()) for part in parts] == [early, mid, late]
    assert (np.sum(parts, axis=0) == 1).all()
    assert span_steps("final", horizon).tolist() == [False] * (horizon - 1) + [True]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_a_rigid_motion_of_both_changes_no_error(seed: int) -> None:
    draw = np.random.default_rng(seed)
    quaternion = draw.normal(size=4)
    rotation = matrix_from_quaternion(quaternion / np.linalg.norm(quaternion))
    shift = draw.normal(size=3)

    def moved(chunks: np.ndarray) -> np.ndarray:
        result = chunks.copy()
        for side in ("left", "right"):
            result[..., ARM.slices[f"{side}.xyz"]] = chunks[..., ARM.slices[f"{side}.xyz"]] @ rotation.T + shift
            columns = chunks[..., ARM.slices[f"{side}.rot6d"]].reshape(*chunks.shape[:2], 2, 3)
            result[..., ARM.slices[f"{side}.rot6d"]] = (columns @ rotation.T).reshape(*chunks.shape[:2], 6)
        return result

    predicted, truth = arm_chunks(2, 6, seed), arm_chunks(2, 6, seed + 1)
    before = measure(predicted, truth, real(2, 6), ARM)
    after = measure(moved(predicted), moved(truth), real(2, 6), ARM)
    for name, measurement in before.items():
        if not name.endswith("mse"):
            np.testing.assert_allclose(after[name].values, measurement.values, rtol=1e-6, atol=1e-6, err_msg=name)


def test_the_order_of_samples_changes_nothing() -> None:
    predicted, truth = arm_chunks(7, 5, 3), arm_chunks(7, 5, 4)
    mask = np.random.default_rng(5).random((7, 5)) > 0.3
    order = np.random.default_rng(6).permutation(7)
    before = measure(predicted, truth, mask, ARM)
    after = measure(predicted[order], truth[order], mask[order], ARM)
    for name, measurement in before.items():
        np.testing.assert_array_equal(after[name].values, measurement.values[order])


def test_float32_chunks_are_measured_in_float64() -> None:
    predicted, truth = arm_chunks(3, 4, 1).astype(np.float32), arm_chunks(3, 4, 2).astype(np.float32)
    found = measure(predicted, truth, real(3, 4), ARM)
    wide = measure(predicted.astype(np.float64), truth.astype(np.float64), real(3, 4), ARM)
    for name, measurement in found.items():
        assert measurement.values.dtype == np.float64
        np.testing.assert_array_equal(measurement.values, wide[name].values)


def test_chunks_of_another_layout_are_refused_by_naming_it() -> None:
    with pytest.raises(LayoutError, match=r"\(1, 2, 7\).*20 columns.*left\.xyz 3"):
        measure(np.zeros((1, 2, 7)), np.zeros((1, 2, 7)), real(1, 2), ARM)
    with pytest.raises(LayoutError, match="No metric measures this layout"):
        measure(np.zeros((1, 2, 0)), np.zeros((1, 2, 0)), real(1, 2), Layout(()))
    with pytest.raises(ShapeError, match="truth"):
        measure(np.zeros((1, 2, 20)), np.zeros((1, 3, 20)), real(1, 2), ARM)
    with pytest.raises(ShapeError, match="mask"):
        measure(np.zeros((1, 2, 20)), np.zeros((1, 2, 20)), real(1, 3), ARM)


def test_every_metric_has_a_name_of_its_own() -> None:
    names = [metric.name for metric in METRICS]
    assert len(set(names)) == len(names)


def test_angles_on_either_side_of_pi_are_as_near_as_they_are() -> None:
    """#616: 3.1 and -3.1 rad are 0.083 rad apart, in every metric."""
    layout = Layout((Field("left.ypr", "ypr", 3, "camera", "rad"),))
    truth, predicted = np.zeros((1, 2, 3)), np.zeros((1, 2, 3))
    truth[..., 0], predicted[..., 0] = 3.1, -3.1
    apart = 2 * (np.pi - 3.1)
    found = measure(predicted, truth, real(1, 2), layout)
    assert found["rotation_error"].mean() == pytest.approx(np.rad2deg(apart))
    assert found["paired_mse"].mean() == pytest.approx(apart**2 / 3)
