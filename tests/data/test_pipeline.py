from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from robotrain.data.pipeline import Pipeline, Window, build_pipeline
from robotrain.embodiments.catalog import embodiment_of
from robotrain.episodes import schema
from robotrain.episodes.reader import Episode, open_episode
from robotrain.errors import ConfigError, EpisodeError, LayoutError, UnknownNameError
from robotrain.geometry.poses import invert, transform_from_pose
from robotrain.geometry.resample import resample, resample_poses
from robotrain.geometry.rotations import (
    matrix_from_rot6d,
    matrix_from_ypr,
    quaternion_from_matrix,
    ypr_from_matrix,
)
from tests.factories import make_eva_episode, make_human_episode, make_joint_episode, write_joints, write_numbers


def pipeline_of(episode: Episode, mode: str | None = None, horizon: int = 10, seconds: float | None = None) -> Pipeline:
    embodiment = embodiment_of(episode.embodiment, episode.facts.attributes)
    return build_pipeline(embodiment, mode=mode, horizon=horizon, seconds=seconds)


def pose(xyz: np.ndarray, ypr: np.ndarray) -> np.ndarray:
    return np.concatenate([xyz, quaternion_from_matrix(matrix_from_ypr(ypr))], axis=-1)


def golden_human(path: Path) -> Episode:
    """The episode of the recorded golden values: a still head, palms that move and turn."""
    t = np.arange(30.0)[:, None]
    still = np.ones((30, 1))
    palm = pose(
        np.concatenate([1 + 0.01 * t, 2.1 * still, 3.2 - 0.005 * t], axis=1),
        np.concatenate([0.3 + 0.01 * t, 0.1 * still, -0.4 * still], axis=1),
    )
    head = np.tile(pose(np.array([1.0, 2, 3]), np.array([0.5, -0.2, 0.1])), (30, 1))
    numbers = {"obs_head_pose": head, "left.obs_ee_pose": palm, "right.obs_ee_pose": palm}
    return open_episode(write_numbers(path, "human_bimanual", numbers))


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (0, (0.086720761, 0.105937625, 0.176795728, -0.236739963, 0.273796431, -0.542906614)),
        (50, (0.198144425, 0.026354897, 0.086983578, -0.086217831, 0.292604155, -0.51541901)),
        (99, (0.307339616, -0.051636177, -0.001032329, 0.062521393, 0.306974373, -0.485772344)),
    ],
)
def test_a_human_chunk_has_the_golden_values(tmp_path: Path, step: int, expected: tuple[float, ...]) -> None:
    episode = golden_human(tmp_path / "e.zarr")
    pipeline = pipeline_of(episode, "cartesian_6d", horizon=100)
    encoded = pipeline.encode(pipeline.gather(episode, np.array([0])))
    assert encoded.action_mask.all()
    parts = pipeline.layouts.actions.split(encoded.actions[0, step].astype(np.float64))
    for hand in ("left", "right"):
        ypr = ypr_from_matrix(matrix_from_rot6d(parts[f"{hand}.rot6d"]))
        np.testing.assert_allclose([*parts[f"{hand}.xyz"], *ypr], expected, atol=2e-7)


def test_a_robot_stands_in_the_camera_of_its_base(tmp_path: Path) -> None:
    still = np.tile([0.3, 0.1, 0.2, 1.0, 0, 0, 0], (3, 1))
    numbers = {f"{arm}.{kind}_ee_pose": still for arm in schema.SIDES for kind in ("obs", "cmd")}
    numbers |= {f"{arm}.gripper": np.full((3, 1), 0.25) for arm in schema.SIDES}
    episode = open_episode(write_numbers(tmp_path / "e.zarr", "eva_bimanual", numbers))
    pipeline = pipeline_of(episode)
    encoded = pipeline.encode(pipeline.gather(episode, np.array([0])))
    for parts in (
        pipeline.layouts.state.split(encoded.state[0]),
        pipeline.layouts.actions.split(encoded.actions[0, 0]),
    ):
        np.testing.assert_allclose(parts["left.xyz"], (-0.33685431, 0.00388043, 0.504561277), atol=1e-7)
        assert parts["left.gripper"] == 0.25


def test_an_episode_with_its_own_camera_pose_uses_it(tmp_path: Path) -> None:
    own = np.eye(4)
    own[:3, 3] = (0.0, 0.0, -1.0)
    attributes = {"extrinsics": {"left": own.tolist(), "right": own.tolist()}}
    episode = open_episode(make_eva_episode(tmp_path / "e.zarr", attributes=attributes))
    pipeline = pipeline_of(episode)
    encoded = pipeline.encode(pipeline.gather(episode, np.arange(3)))
    place = pipeline.layouts.state.split(encoded.state)["left.xyz"]
    np.testing.assert_allclose(place, episode.numbers("left.obs_ee_pose")[:3, :3] + (0, 0, 1), atol=1e-6)


def test_robot_actions_are_commands_and_the_state_is_observed(tmp_path: Path) -> None:
    episode = open_episode(make_eva_episode(tmp_path / "e.zarr", num_frames=6))
    pipeline = pipeline_of(episode, horizon=45)
    window = pipeline.gather(episode, np.array([2]))
    np.testing.assert_array_equal(window.actions["left.pose"][0, 0], episode.numbers("left.cmd_ee_pose")[2])
    np.testing.assert_array_equal(window.state["left.pose"][0], episode.numbers("left.obs_ee_pose")[2])
    encoded = pipeline.encode(window)
    gripper = pipeline.layouts.actions.split(encoded.actions)["right.gripper"]
    assert gripper[0, 0] == np.float32(episode.numbers("right.cmd_gripper")[2])
    observed = pipeline.layouts.state.split(encoded.state)["right.gripper"]
    assert observed[0] == np.float32(episode.numbers("right.obs_gripper")[2])


@pytest.mark.parametrize(("fps", "rows"), [(30, 45), (60, 89), (Fraction(30000, 1001), 45), (10, 16)])
def test_seconds_become_rows_through_the_episodes_own_rate(fps: Fraction, rows: int) -> None:
    assert build_pipeline(embodiment_of("eva_bimanual", {}), horizon=10).rows(Fraction(fps)) == rows


def test_a_window_is_clamped_at_the_end_and_its_tail_is_not_real(tmp_path: Path) -> None:
    actions = np.arange(10.0)[:, None]
    episode = open_episode(write_joints(tmp_path / "e.zarr", actions))
    pipeline = pipeline_of(episode, horizon=4, seconds=3 / 30)
    encoded = pipeline.encode(pipeline.gather(episode, np.array([0, 7, 9])))
    np.testing.assert_array_equal(encoded.actions[..., 0], [[0, 1, 2, 3], [7, 8, 9, 9], [9, 9, 9, 9]])
    np.testing.assert_array_equal(encoded.action_mask.astype(int), [[1, 1, 1, 1], [1, 1, 1, 0], [1, 0, 0, 0]])


def test_a_step_between_a_real_and_an_unreal_row_is_not_real(tmp_path: Path) -> None:
    episode = open_episode(write_joints(tmp_path / "e.zarr", np.arange(10.0)[:, None]))
    pipeline = pipeline_of(episode, horizon=7, seconds=3 / 30)  # every second step lies between two rows
    mask = pipeline.encode(pipeline.gather(episode, np.array([8]))).action_mask
    np.testing.assert_array_equal(mask[0].astype(int), [1, 1, 1, 0, 0, 0, 0])


def test_a_missing_hand_masks_its_steps_and_poisons_nothing(tmp_path: Path) -> None:
    path = make_human_episode(tmp_path / "e.zarr", num_frames=40, missing={"left": (5, 6)})
    episode = open_episode(path)
    whole = open_episode(make_human_episode(tmp_path / "whole.zarr", num_frames=40))
    pipeline = pipeline_of(episode, horizon=30)
    encoded = pipeline.encode(pipeline.gather(episode, np.arange(40)))
    assert np.isfinite(encoded.actions).all()
    np.testing.assert_array_equal(np.flatnonzero(~encoded.action_mask[0]), [5, 6])
    np.testing.assert_array_equal(np.flatnonzero(~encoded.action_mask[4]), [1, 2])
    assert not encoded.action_mask[[5, 6]].any()  # no wrist, so no frame for the chunk to stand in
    layout = pipeline.layouts.state
    left = np.concatenate([np.full(f.width, f.limb == "left") for f in layout.fields])
    np.testing.assert_array_equal(encoded.state_mask[5], ~left)
    assert not encoded.state[5, left].any()
    assert encoded.state_mask[4].all()
    expected = pipeline.encode(pipeline.gather(whole, np.arange(40)))
    np.testing.assert_array_equal(encoded.actions[encoded.action_mask], expected.actions[encoded.action_mask])


def test_a_palm_that_is_missing_now_may_still_be_aimed_at_later(tmp_path: Path) -> None:
    episode = open_episode(make_human_episode(tmp_path / "e.zarr", num_frames=40, missing={"left": (5,)}))
    pipeline = pipeline_of(episode, "cartesian_6d", horizon=30)
    encoded = pipeline.encode(pipeline.gather(episode, np.array([5])))
    np.testing.assert_array_equal(np.flatnonzero(~encoded.action_mask[0]), [0])


def test_keypoints_stand_in_the_current_wrist(tmp_path: Path) -> None:
    episode = open_episode(make_human_episode(tmp_path / "e.zarr", num_frames=40))
    pipeline = pipeline_of(episode, horizon=30)
    encoded = pipeline.encode(pipeline.gather(episode, np.array([3])))
    actions, state = pipeline.layouts.actions.split(encoded.actions[0]), pipeline.layouts.state.split(encoded.state[0])
    np.testing.assert_allclose(actions["left.xyz"][0], 0, atol=1e-7)
    np.testing.assert_allclose(actions["left.rot6d"][0], (1, 0, 0, 0, 1, 0), atol=1e-7)
    np.testing.assert_allclose(actions["left.keypoints"][0], state["left.keypoints"], atol=1e-7)
    wrist_from_world = invert(transform_from_pose(episode.numbers("left.obs_wrist_pose")[3]))
    points = episode.numbers("left.obs_keypoints")[12].reshape(21, 3)
    expected = points @ wrist_from_world[:3, :3].T + wrist_from_world[:3, 3]
    np.testing.assert_allclose(actions["left.keypoints"][9], expected.ravel(), atol=1e-6)
    camera_from_world = invert(transform_from_pose(episode.numbers("obs_head_pose")[3]))
    wrist = camera_from_world @ transform_from_pose(episode.numbers("left.obs_wrist_pose")[3])
    np.testing.assert_allclose(state["left.xyz"], wrist[:3, 3], atol=1e-6)


def assert_decodes(pipeline: Pipeline, window: Window) -> None:
    """Every real step comes back as the stored row it was made of, within float32."""
    encoded = pipeline.encode(window)
    decoded = pipeline.decode(encoded.actions, window)
    for part, array in window.action_arrays.items():
        is_pose = part.endswith(".pose")
        raw = (resample_poses if is_pose else resample)(window.actions[part], pipeline.horizon)
        found, expected = decoded[array][encoded.action_mask], raw[encoded.action_mask]
        if is_pose:  # a quaternion and its negative are one rotation
            expected[..., 3:] *= np.sign(np.sum(found[..., 3:] * expected[..., 3:], axis=-1, keepdims=True))
        np.testing.assert_allclose(found, expected, atol=2e-6, err_msg=array)


def test_chunks_decode_to_the_stored_rows(tmp_path: Path) -> None:
    episodes = [
        open_episode(make_eva_episode(tmp_path / "eva.zarr", num_frames=60)),
        open_episode(make_human_episode(tmp_path / "human.zarr", num_frames=60, missing={"right": range(20, 30)})),
        open_episode(make_joint_episode(tmp_path / "joint.zarr", num_frames=60)),
    ]
    for episode in episodes:
        for mode in embodiment_of(episode.embodiment, episode.facts.attributes).modes:
            for horizon in (7, 45):
                pipeline = pipeline_of(episode, mode, horizon)
                assert_decodes(pipeline, pipeline.gather(episode, np.arange(60)))


def test_chunks_of_real_recordings_decode_to_the_stored_rows(real_data: Path) -> None:
    paths = [path for path in sorted((real_data / "egoverse-written").iterdir()) if path.is_dir()]
    assert len(paths) == 3
    for path in paths:
        episode = open_episode(path)
        for mode in embodiment_of(episode.embodiment, episode.facts.attributes).modes:
            pipeline = pipeline_of(episode, mode, 100)
            window = pipeline.gather(episode, np.arange(0, episode.num_frames, 7))
            assert pipeline.encode(window).action_mask.any()
            assert_decodes(pipeline, window)


def test_real_hands_that_were_not_seen_are_masked(real_data: Path) -> None:
    folder = real_data / "egoverse-written"
    for name, missing in (
        ("69199812208123403bbdb24f.zarr", range(40, 55)),
        ("2025-09-20-17-47-54-000000.zarr", range(35, 39)),
    ):
        episode = open_episode(folder / name)
        pipeline = pipeline_of(episode, "cartesian_6d", horizon=30)
        encoded = pipeline.encode(pipeline.gather(episode, np.arange(episode.num_frames)))
        left = pipeline.layouts.state.slices["left.xyz"]
        assert not encoded.state_mask[list(missing), left].any()
        assert not encoded.action_mask[list(missing), 0].any()
        assert encoded.state_mask[missing.stop + 20, left].all()
        assert np.abs(encoded.actions).max() < 10


def test_an_observation_encodes_and_decodes_as_its_frame_does(tmp_path: Path) -> None:
    for make in (make_eva_episode, make_human_episode, make_joint_episode):
        episode = open_episode(make(tmp_path / f"{make.__name__}.zarr", num_frames=50))
        pipeline = pipeline_of(episode, horizon=6)
        window = pipeline.gather(episode, np.array([4]))
        encoded = pipeline.encode(window)
        arrays = {name: episode.numbers(name)[4] for name in pipeline.arrays(episode.facts)}
        observed = pipeline.observe(arrays)
        state, mask = pipeline.encode_state(observed)
        np.testing.assert_array_equal(state, encoded.state)
        np.testing.assert_array_equal(mask, encoded.state_mask)
        expected = pipeline.decode(encoded.actions, window)
        for name, values in pipeline.decode(encoded.actions, observed).items():
            np.testing.assert_array_equal(values, expected[name])
        with pytest.raises(LayoutError, match="no actions"):
            pipeline.encode(observed)


def test_a_whole_episode_encodes_as_its_frames_do_one_by_one(tmp_path: Path) -> None:
    episode = open_episode(make_human_episode(tmp_path / "e.zarr", num_frames=12, missing={"left": (3,)}))
    pipeline = pipeline_of(episode, horizon=8)
    whole = pipeline.encode(pipeline.gather(episode, np.arange(12)))
    for frame in range(12):
        one = pipeline.encode(pipeline.gather(episode, np.array([frame])))
        np.testing.assert_allclose(one.actions[0], whole.actions[frame], atol=1e-6)
        np.testing.assert_array_equal(one.action_mask[0], whole.action_mask[frame])
    np.testing.assert_array_equal(pipeline.real_steps(pipeline.load(episode)), whole.action_mask)


def test_an_episode_that_lacks_an_array_is_named(tmp_path: Path) -> None:
    whole = open_episode(make_eva_episode(tmp_path / "whole.zarr"))
    arrays = {name: whole.numbers(name) for name in ("left.obs_ee_pose", "left.cmd_ee_pose")}
    episode = open_episode(write_numbers(tmp_path / "e.zarr", "eva_bimanual", arrays))
    with pytest.raises(EpisodeError, match=r"'e': there is no array 'left.obs_gripper' or 'left.gripper'"):
        pipeline_of(episode).load(episode)


def test_an_episode_of_another_body_is_refused(tmp_path: Path) -> None:
    human = open_episode(make_human_episode(tmp_path / "e.zarr"))
    pipeline = build_pipeline(embodiment_of("eva_bimanual", {}), horizon=4)
    with pytest.raises(EpisodeError, match="'human_bimanual', expected 'eva_bimanual'"):
        pipeline.load(human)


def test_a_robot_that_describes_itself_otherwise_is_refused(tmp_path: Path) -> None:
    first = open_episode(write_joints(tmp_path / "a.zarr", np.zeros((4, 2))))
    second = open_episode(write_joints(tmp_path / "b.zarr", np.zeros((4, 3))))
    with pytest.raises(EpisodeError, match="'b': its fields differ"):
        pipeline_of(first).load(second)


def test_wrong_settings_are_refused_with_a_sentence() -> None:
    eva = embodiment_of("eva_bimanual", {})
    with pytest.raises(ConfigError, match="horizon must be at least 1"):
        build_pipeline(eva, horizon=0)
    with pytest.raises(ConfigError, match="above 0 s"):
        build_pipeline(eva, horizon=4, seconds=0.0)
    with pytest.raises(UnknownNameError, match="mode 'joints'"):
        build_pipeline(eva, mode="joints", horizon=4)
    with pytest.raises(ConfigError, match="no camera 'top'"):
        build_pipeline(eva, horizon=4).interface(("top",))
