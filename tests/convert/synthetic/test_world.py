import numpy as np
import pytest

from robotrain.convert.synthetic.world import (
    CAMERA_DISTANCE,
    DISTRACTOR_COLORS,
    TARGET_COLORS,
    Prism,
    Scene,
    camera_from_table,
    draw_scene,
)
from robotrain.embodiments.arms import FRONT_INTRINSICS
from robotrain.geometry.cameras import project
from robotrain.geometry.poses import transform_points


@pytest.fixture(scope="module")
def scenes() -> list[Scene]:
    return [draw_scene(np.random.default_rng([0, index]), 3) for index in range(400)]


def goals(scenes: list[Scene], hand: int) -> np.ndarray:
    return np.array([scene.reaches[hand].goal for scene in scenes])


def starts(scenes: list[Scene], hand: int) -> np.ndarray:
    return np.array([scene.reaches[hand].start for scene in scenes])


def test_the_camera_looks_down_at_the_table_s_origin() -> None:
    pose = camera_from_table()
    np.testing.assert_allclose(pose[:3, :3].T @ pose[:3, :3], np.eye(3), atol=1e-12)
    assert np.linalg.det(pose[:3, :3]) == pytest.approx(1.0)
    np.testing.assert_allclose(transform_points(pose, np.zeros((1, 3))), [[0, 0, CAMERA_DISTANCE]])
    right, away, up = transform_points(pose, np.eye(3) * 0.1) - pose[:3, 3]
    assert right[0] > 0
    assert away[2] > 0
    assert up[1] < 0


@pytest.mark.parametrize("hand", [0, 1])
def test_targets_spread_over_forty_by_thirty_centimetres(scenes: list[Scene], hand: int) -> None:
    spread = np.percentile(goals(scenes, hand), 97.5, axis=0) - np.percentile(goals(scenes, hand), 2.5, axis=0)
    assert spread[0] > 0.40
    assert spread[1] > 0.30


@pytest.mark.parametrize("hand", [0, 1])
def test_the_start_says_nothing_about_the_way(scenes: list[Scene], hand: int) -> None:
    """No linear map of the start explains a fifth of the way, and the mean way is short."""
    start, way = starts(scenes, hand)[:, :2], (goals(scenes, hand) - starts(scenes, hand))[:, :2]
    design = np.column_stack([start, starts(scenes, 1 - hand)[:, :2], np.ones(len(start))])
    left = way - design @ np.linalg.lstsq(design, way, rcond=None)[0]
    assert 1 - (left**2).sum() / ((way - way.mean(axis=0)) ** 2).sum() < 0.2
    assert np.linalg.norm(way.mean(axis=0)) < 0.25 * np.linalg.norm(way, axis=1).mean()


def test_every_start_and_goal_is_in_the_picture(scenes: list[Scene]) -> None:
    places = np.concatenate([places for hand in (0, 1) for places in (starts(scenes, hand), goals(scenes, hand))])
    _, seen = project(transform_points(camera_from_table(), places), FRONT_INTRINSICS)
    assert seen.all()


def test_hands_never_meet_and_the_left_one_stays_left(scenes: list[Scene]) -> None:
    for left, right in ((starts(scenes, 0), starts(scenes, 1)), (goals(scenes, 0), goals(scenes, 1))):
        assert np.linalg.norm(left[:, :2] - right[:, :2], axis=1).min() > 0.14
        assert np.all(left[:, 0] < right[:, 0])


def test_each_hand_goes_just_above_its_own_block_and_distractors_have_other_colours(scenes: list[Scene]) -> None:
    for scene in scenes:
        for reach, block in zip(scene.reaches, scene.prisms[:2], strict=True):
            assert block.color == TARGET_COLORS[reach.side]
            np.testing.assert_array_equal(reach.goal[:2], block.centre)
            assert 0.01 < reach.goal[2] - block.height < 0.03
        assert {prism.color for prism in scene.prisms[2:]} <= set(DISTRACTOR_COLORS)


def test_solids_do_not_stand_in_each_other(scenes: list[Scene]) -> None:
    for scene in scenes:
        for i, first in enumerate(scene.prisms):
            for second in scene.prisms[i + 1 :]:
                apart = float(np.linalg.norm(first.centre - second.centre))
                assert apart > first.radius + second.radius - 0.02


def test_a_footprint_has_its_corners_on_a_circle_in_counter_clockwise_order() -> None:
    corners = Prism(np.array([0.1, 0.2]), 0.05, 0.03, 4, 0.3, (1, 2, 3)).footprint
    np.testing.assert_allclose(np.linalg.norm(corners - [0.1, 0.2], axis=1), 0.05)
    x, y = corners.T
    assert (x * np.roll(y, -1) - np.roll(x, -1) * y).sum() / 2 == pytest.approx(2 * 0.05**2)
