import numpy as np
import pytest

from robotrain.convert.synthetic.bodies import Clock, Recording, record_eva, record_human
from robotrain.convert.synthetic.motion import minimum_jerk
from robotrain.convert.synthetic.world import SIDES, Scene, draw_scene
from robotrain.embodiments.catalog import embodiment_of
from robotrain.geometry.poses import invert, transform_from_pose, transform_points

CLOCK = Clock(num_frames=54, fps=30, reach_seconds=1.6)


def eva(index: int, noise: float = 0.0) -> tuple[Scene, Recording]:
    rng = np.random.default_rng([1, index])
    scene = draw_scene(rng, 3)
    return scene, record_eva(scene, CLOCK, noise, rng)


def human(index: int, noise: float = 0.0) -> tuple[Scene, Recording]:
    rng = np.random.default_rng([1, index])
    scene = draw_scene(rng, 3)
    return scene, record_human(scene, CLOCK, noise, 0.0, rng)


def test_a_robot_s_poses_lead_through_base_and_camera_to_the_block() -> None:
    scene, recording = eva(0)
    poses = embodiment_of("eva_bimanual", {}).camera_poses
    assert poses is not None
    for reach in scene.reaches:
        stored = recording.arrays[f"{reach.side}.obs_ee_pose"]
        table_from_base = invert(poses[reach.side] @ recording.camera_from_table[0])
        places = transform_points(table_from_base, stored[:, :3])
        np.testing.assert_allclose(places[0], reach.start, atol=1e-9)
        np.testing.assert_allclose(places[-1], reach.goal, atol=1e-9)
        way = minimum_jerk(np.arange(54) / 30 / 1.6)[:, None]
        np.testing.assert_allclose(places, reach.start + way * (reach.goal - reach.start), atol=1e-9)


def test_a_robot_s_command_leads_what_is_measured_by_one_row() -> None:
    _, recording = eva(0)
    for side in SIDES:
        command, measured = recording.arrays[f"{side}.cmd_ee_pose"], recording.arrays[f"{side}.obs_ee_pose"]
        np.testing.assert_allclose(command[:-1, :3], measured[1:, :3], atol=1e-12)
        grips = recording.arrays[f"{side}.cmd_gripper"], recording.arrays[f"{side}.obs_gripper"]
        np.testing.assert_array_equal(grips[0][:-1], grips[1][1:])
        assert grips[1].shape == (54, 1)
        assert np.all((grips[1] >= 0) & (grips[1] <= 1))


def test_noise_is_on_what_is_measured_and_not_on_the_command() -> None:
    (_, quiet), (_, noisy) = eva(0, 0.0), eva(0, 0.004)
    np.testing.assert_allclose(noisy.arrays["left.cmd_ee_pose"], quiet.arrays["left.cmd_ee_pose"])
    shake = (noisy.arrays["left.obs_ee_pose"] - quiet.arrays["left.obs_ee_pose"])[:, :3]
    assert 0.001 < shake.std() < 0.01


@pytest.mark.parametrize("record", [eva, human])
def test_what_is_drawn_is_what_is_stored(record) -> None:
    _, recording = record(2, 0.003)
    for row in (0, 20, 53):
        for hand in recording.hands[row]:
            stored = transform_from_pose(recording.arrays[f"{hand.side}.obs_ee_pose"][row])
            if "obs_head_pose" in recording.arrays:
                camera_from_stored = invert(transform_from_pose(recording.arrays["obs_head_pose"][row]))
            else:
                poses = embodiment_of("eva_bimanual", {}).camera_poses or {}
                camera_from_stored = invert(poses[hand.side])
            drawn = transform_points(recording.camera_from_table[row], hand.palm[None])[0]
            np.testing.assert_allclose((camera_from_stored @ stored)[:3, 3], drawn, atol=1e-9)


def test_a_human_palm_is_the_centroid_of_its_keypoints_and_the_wrist_is_the_first_of_them() -> None:
    _, recording = human(0)
    for side in SIDES:
        points = recording.arrays[f"{side}.obs_keypoints"].reshape(-1, 21, 3)
        palm, wrist = recording.arrays[f"{side}.obs_ee_pose"], recording.arrays[f"{side}.obs_wrist_pose"]
        np.testing.assert_allclose(points[:, [0, 5, 9, 13]].mean(axis=1), palm[:, :3], atol=1e-9)
        np.testing.assert_allclose(points[:, 0], wrist[:, :3], atol=1e-9)
        np.testing.assert_allclose(palm[:, 3:], wrist[:, 3:])
        np.testing.assert_allclose(np.linalg.norm(palm[:, 3:], axis=1), 1.0)


def test_a_human_s_head_sways_smoothly_and_keeps_looking_at_the_table() -> None:
    _, recording = human(0)
    camera = recording.camera_from_table
    turned = np.degrees(
        np.arccos(np.clip((np.einsum("tij,kij->tk", camera[:, :3, :3], camera[:, :3, :3]) - 1) / 2, -1, 1))
    )
    assert 0.2 < turned.max() < 12
    assert np.diff(camera[:, :3, 3], axis=0).max() < 0.005
    assert np.all(np.abs(camera[:, :2, 3]) < 0.06)


def test_a_human_s_world_has_another_origin_in_every_episode() -> None:
    origins = np.array([human(index)[1].arrays["obs_head_pose"][0, :3] for index in range(20)])
    assert origins.std(axis=0).min() > 0.4
