"""Every mode of every body, there and back, where rotations are hard."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotrain.data.exact_stats import compute_stats
from robotrain.data.numbers import EpisodeNumbers, load_numbers
from robotrain.data.pipeline import Pipeline, build_pipeline
from robotrain.data.stats import affine
from robotrain.embodiments.catalog import available, embodiment_of
from robotrain.embodiments.embodiment import Embodiment
from robotrain.embodiments.modes import MODE_RULES
from robotrain.embodiments.spelling import matrix_from_rotation
from robotrain.episodes import schema
from robotrain.episodes.reader import open_episode
from robotrain.geometry.poses import transform_from_pose
from robotrain.geometry.rotations import matrix_from_ypr, quaternion_from_matrix
from tests.factories import write_numbers

ROWS = 6
CASES = [
    pytest.param(embodiment_of(name, {}), mode, id=f"{name}-{mode}")
    for name in available()
    for mode in embodiment_of(name, {}).modes
]


class InMemory:
    """An episode that no file holds."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._arrays = arrays
        self.hash, self.arrays, self.num_frames = "e", tuple(arrays), len(next(iter(arrays.values())))

    def numbers(self, array: str) -> np.ndarray:
        return self._arrays[array]

    def camera_pose(self, _: str) -> None:
        return None


def numbers_of(pipeline: Pipeline, arrays: Mapping[str, np.ndarray], rows: int = ROWS) -> EpisodeNumbers:
    return load_numbers(pipeline.plan, pipeline.embodiment, InMemory(arrays), rows)  # pyright: ignore[reportArgumentType]


@st.composite
def hard_rotations(draw: st.DrawFn) -> np.ndarray:
    """Quaternions (ROWS, 4): near half turns, near gimbal lock, of either sign, or anything."""
    near = st.sampled_from([0.0, 1e-12, 1e-9, 1e-7, 1e-4, 0.3])
    sign = st.sampled_from([-1.0, 1.0])
    angle = st.floats(-np.pi, np.pi)
    rows = []
    for _ in range(ROWS):
        kind = draw(st.sampled_from(["half turn", "gimbal lock", "any"]))
        half = draw(sign) * (np.pi - draw(near))
        pitch = draw(sign) * (np.pi / 2 - draw(near)) if kind == "gimbal lock" else draw(angle) / 2
        ypr = np.array([half if kind == "half turn" else draw(angle), pitch, draw(angle)])
        rows.append(draw(sign) * quaternion_from_matrix(matrix_from_ypr(ypr)))
    return np.stack(rows)


@st.composite
def hard_arrays(draw: st.DrawFn) -> dict[str, np.ndarray]:
    """Every array that a mode may read, some rows of hands missing."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    arrays: dict[str, np.ndarray] = {}
    poses = [schema.HEAD_POSE]
    for side in schema.SIDES:
        poses += [schema.obs_ee_pose(side), schema.cmd_ee_pose(side), schema.obs_wrist_pose(side)]
        arrays[schema.obs_keypoints(side)] = rng.uniform(-0.5, 0.5, (ROWS, 63))
        arrays[schema.obs_gripper(side)] = rng.uniform(0, 1, (ROWS, 1))
        arrays[schema.cmd_gripper(side)] = rng.uniform(0, 1, (ROWS, 1))
    for name in poses:
        arrays[name] = np.concatenate([rng.uniform(-0.5, 0.5, (ROWS, 3)), draw(hard_rotations())], axis=1)
    for row in draw(st.sets(st.integers(0, ROWS - 1), max_size=2)):
        arrays[draw(st.sampled_from(poses))][row] = 0.0  # a quaternion without length: the row is missing
    return arrays


@pytest.mark.parametrize(("body", "mode"), CASES)
@settings(max_examples=4, deadline=None)
@given(arrays=hard_arrays())
def test_every_real_step_comes_back_as_it_was_stored(
    body: Embodiment, mode: str, arrays: dict[str, np.ndarray]
) -> None:
    pipeline = build_pipeline(body, mode=mode, horizon=ROWS)
    window = pipeline.gather(numbers_of(pipeline, arrays), np.arange(ROWS))
    encoded = pipeline.encode(window)
    assert np.isfinite(encoded.actions).all()
    assert np.isfinite(encoded.state).all()
    decoded = pipeline.decode(encoded.actions, window)
    for part, array in window.action_arrays.items():
        found, stored = decoded[array][encoded.action_mask], window.actions[part][encoded.action_mask]
        if part.endswith(".pose"):
            found, stored = transform_from_pose(found), transform_from_pose(stored)
        np.testing.assert_allclose(found, stored, atol=1e-6, err_msg=array)


@pytest.mark.parametrize(("body", "mode"), CASES)
def test_a_mode_is_named_for_what_its_columns_say(body: Embodiment, mode: str) -> None:
    rule, layouts = MODE_RULES[mode], body.mode(mode)
    for side in body.sides:
        target = f"{side}_wrist" if rule.frame == "wrist" else "camera"
        rotation = layouts.actions.field(f"{side}.{rule.rotation}")
        assert (rotation.kind, rotation.frame) == (rule.rotation, target)
        assert layouts.state.field(f"{side}.{rule.rotation}").frame == "camera"
        assert layouts.actions.field(f"{side}.xyz").frame == target
        assert (f"{side}.keypoints" in layouts.actions.names) == rule.keypoints
    assert {field.limb for field in layouts.actions.fields} == set(body.sides)
    assert layouts.actions.names == layouts.state.names


@pytest.mark.parametrize(("body", "mode"), [case for case in CASES if "wristframe" in str(case.values[1])])
def test_a_wrist_frame_starts_at_its_origin(body: Embodiment, mode: str) -> None:
    arrays = still_arrays()
    pipeline = build_pipeline(body, mode=mode, horizon=3)
    encoded = pipeline.encode(pipeline.gather(numbers_of(pipeline, arrays), np.array([2])))
    actions = pipeline.layouts.actions.split(encoded.actions[0, 0])
    for side in body.sides:
        rotation = matrix_from_rotation(MODE_RULES[mode].rotation, actions[f"{side}.{MODE_RULES[mode].rotation}"])
        np.testing.assert_allclose(rotation, np.eye(3), atol=1e-6)
        np.testing.assert_allclose(actions[f"{side}.xyz"], 0.0, atol=1e-6)


def still_arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    pose = np.concatenate([[0.1, 0.2, 0.3], quaternion_from_matrix(matrix_from_ypr(np.array([2.0, 0.4, -1.0])))])
    arrays = {schema.HEAD_POSE: np.tile(pose, (ROWS, 1))}
    for side in schema.SIDES:
        for name in (schema.obs_ee_pose, schema.cmd_ee_pose, schema.obs_wrist_pose):
            arrays[name(side)] = np.tile(pose, (ROWS, 1))
        arrays[schema.obs_keypoints(side)] = rng.normal(size=(ROWS, 63))
        arrays[schema.obs_gripper(side)] = arrays[schema.cmd_gripper(side)] = rng.uniform(size=(ROWS, 1))
    return arrays


@pytest.mark.parametrize("body", [embodiment_of(name, {}) for name in available()], ids=lambda body: body.name)
def test_both_spellings_of_a_mode_tell_the_same_chunk(body: Embodiment) -> None:
    arrays = still_arrays()
    arrays |= {name: np.roll(rows, 1, axis=1) for name, rows in arrays.items() if name.endswith("keypoints")}
    for stem in {mode.rpartition("_")[0] for mode in body.modes}:
        chunks = {}
        for suffix in ("6d", "ypr"):
            pipeline = build_pipeline(body, mode=f"{stem}_{suffix}", horizon=4)
            encoded = pipeline.encode(pipeline.gather(numbers_of(pipeline, arrays), np.array([1])))
            chunks[suffix] = pipeline.layouts.actions.split(encoded.actions)
        for side in body.sides:
            one = matrix_from_rotation("rot6d", chunks["6d"].pop(f"{side}.rot6d"))
            other = matrix_from_rotation("ypr", chunks["ypr"].pop(f"{side}.ypr"))
            np.testing.assert_allclose(one, other, atol=1e-6)
        for field, values in chunks["6d"].items():
            np.testing.assert_array_equal(values, chunks["ypr"][field])


def test_rot6d_is_continuous_where_yaw_wraps() -> None:
    """#654: from 3.13 to -3.13 rad is a small turn; its angles jump, its columns do not."""
    arrays = still_arrays()
    yaw = np.linspace(np.pi - 0.05, np.pi + 0.05, ROWS)
    ypr = np.stack([yaw, np.full(ROWS, 0.1), np.full(ROWS, 0.2)], axis=1)
    arrays[schema.HEAD_POSE] = np.tile([0, 0, 0, 1.0, 0, 0, 0], (ROWS, 1))
    arrays["left.obs_ee_pose"][:, 3:] = quaternion_from_matrix(matrix_from_ypr(ypr))
    chunks = {}
    for mode in ("cartesian_6d", "cartesian_ypr"):
        pipeline = build_pipeline(embodiment_of("human_left_arm", {}), mode=mode, horizon=50)
        encoded = pipeline.encode(pipeline.gather(numbers_of(pipeline, arrays), np.array([0])))
        chunks[mode] = np.abs(np.diff(encoded.actions[0], axis=0)).max()
    assert chunks["cartesian_6d"] < 0.01
    assert chunks["cartesian_ypr"] > 6.0


# ---- golden values: upstream.md 2.7 ----


def golden_human(path: Path, embodiment: str = "human_bimanual") -> Path:
    """Head at (1, 2, 3) with ypr (0.5, -0.2, 0.1); palm row t at (1 + 0.01 t, 2.1, 3.2 - 0.005 t), turning."""
    t = np.arange(30.0)[:, None]
    still = np.ones((30, 1))
    angles = np.concatenate([0.3 + 0.01 * t, 0.1 * still, -0.4 * still], axis=1)
    places = np.concatenate([1 + 0.01 * t, 2.1 * still, 3.2 - 0.005 * t], axis=1)
    palm = np.concatenate([places, quaternion_from_matrix(matrix_from_ypr(angles))], axis=1)
    head = np.concatenate([[1.0, 2, 3], quaternion_from_matrix(matrix_from_ypr(np.array([0.5, -0.2, 0.1])))])
    numbers = {schema.HEAD_POSE: np.tile(head, (30, 1)), **{schema.obs_ee_pose(side): palm for side in schema.SIDES}}
    return write_numbers(path, embodiment, numbers)


GOLDEN = {
    "stride 3, step 0": (0.9, 0, (0.086720761, 0.105937625, 0.176795728, -0.236739963, 0.273796431, -0.542906614)),
    "stride 3, step 50": (0.9, 50, (0.190460034, 0.031843361, 0.093177519, -0.096641654, 0.291436748, -0.517411499)),
    "stride 3, step 99": (0.9, 99, (0.292124523, -0.040769018, 0.011231675, 0.041731733, 0.305227213, -0.490040635)),
    "stride 1, step 50": (None, 50, (0.198144425, 0.026354897, 0.086983578, -0.086217831, 0.292604155, -0.51541901)),
    "stride 1, step 99": (None, 99, (0.307339616, -0.051636177, -0.001032329, 0.062521393, 0.306974373, -0.485772344)),
}
"""By row of the table: seconds that the chunk spans (27 rows for strides of 3, 29 for 1), the step, its 6 numbers."""


@pytest.mark.parametrize("row", GOLDEN)
@pytest.mark.parametrize("embodiment", ["human_bimanual", "human_left_arm", "human_right_arm"])
def test_a_human_chunk_in_angles_has_the_golden_values(tmp_path: Path, row: str, embodiment: str) -> None:
    """The human chunk of upstream.md 2.7, in its own spelling: mode cartesian_ypr, 100 steps."""
    seconds, step, expected = GOLDEN[row]
    episode = open_episode(golden_human(tmp_path / "e.zarr", embodiment))
    body = embodiment_of(embodiment, {})
    pipeline = build_pipeline(body, mode="cartesian_ypr", horizon=100, seconds=seconds)
    encoded = pipeline.encode(pipeline.gather(episode, np.array([0])))
    assert encoded.actions.shape == (1, 100, 6 * len(body.sides))
    for side in range(len(body.sides)):
        np.testing.assert_allclose(encoded.actions[0, step, 6 * side : 6 * side + 6], expected, atol=1e-6)


def test_a_chunk_of_every_cartesian_mode_has_the_golden_place(tmp_path: Path) -> None:
    """The first row of upstream.md 2.7: where the palm is now is what every mode's state says."""
    episode = open_episode(golden_human(tmp_path / "e.zarr"))
    _, _, expected = GOLDEN["stride 3, step 0"]
    for mode in ("cartesian_6d", "cartesian_ypr", "cartesian_wristframe_6d", "cartesian_wristframe_ypr"):
        pipeline = build_pipeline(embodiment_of("human_bimanual", {}), mode=mode, horizon=100)
        state = pipeline.encode(pipeline.gather(episode, np.array([0]))).state[0]
        parts = pipeline.layouts.state.split(state)
        np.testing.assert_allclose(parts["right.xyz"], expected[:3], atol=1e-6)
        rotation = MODE_RULES[mode].rotation
        matrix = matrix_from_rotation(rotation, parts[f"right.{rotation}"])
        np.testing.assert_allclose(matrix, matrix_from_ypr(np.array(expected[3:])), atol=1e-6)


def test_the_mean_of_angles_on_either_side_of_pi_is_pi(tmp_path: Path) -> None:
    """#616: angles are averaged as rotations and never normalised; their plain mean would be a half turn away."""
    arrays = {name: np.repeat(rows[:1], 40, axis=0) for name, rows in still_arrays().items()}
    arrays[schema.HEAD_POSE][:] = (0, 0, 0, 1.0, 0, 0, 0)
    yaw = np.pi + 0.1 * np.array([-1.0, 1.0])[np.arange(40) % 2]
    ypr = np.stack([yaw, np.zeros(40), np.zeros(40)], axis=1)
    arrays["left.obs_ee_pose"][:, 3:] = quaternion_from_matrix(matrix_from_ypr(ypr))
    path = write_numbers(tmp_path / "e.zarr", "human_left_arm", arrays)
    pipeline = build_pipeline(embodiment_of("human_left_arm", {}), mode="cartesian_ypr", horizon=1, seconds=0.01)
    stats = compute_stats([open_episode(path)], pipeline)
    angles = pipeline.layouts.actions.slices["left.ypr"]
    mean = matrix_from_ypr(stats.mean_chunk[0, angles])
    np.testing.assert_allclose(mean, matrix_from_ypr(np.array([np.pi, 0, 0])), atol=1e-6)
    centre, scale = affine(stats.actions, pipeline.layouts.actions, "quantile")
    assert not centre[0, angles].any()
    assert (scale[0, angles] == 1).all()
