import numpy as np
import pytest

from robotrain.convert.synthetic.motion import (
    hand_rotation,
    minimum_jerk,
    move_hand,
    opening_at,
    shoulder,
    smooth_noise,
)
from robotrain.convert.synthetic.world import Reach

REACH = Reach("left", np.array([-0.2, 0.0, 0.12]), np.array([0.0, 0.2, 0.09]))


def test_minimum_jerk_starts_and_ends_at_rest() -> None:
    times = np.linspace(0, 1, 2001)
    way = minimum_jerk(times)
    speed = np.gradient(way, times)
    acceleration = np.gradient(speed, times)
    assert (way[0], way[-1]) == (0.0, 1.0)
    np.testing.assert_allclose([speed[0], speed[-1], acceleration[1], acceleration[-2]], 0, atol=0.05)
    assert speed.max() == pytest.approx(1.875, abs=1e-3)  # 30/16 at half time, Flash and Hogan
    np.testing.assert_array_equal(minimum_jerk(np.array([-1.0, 2.0])), [0.0, 1.0])


def test_minimum_jerk_has_the_squared_jerk_of_the_optimum() -> None:
    third = np.diff(minimum_jerk(np.linspace(0, 1, 4001)), 3) * 4000.0**3
    assert float((third**2).mean()) == pytest.approx(720.0, rel=0.01)  # the least possible between two rests


def test_a_reach_begins_with_the_first_row_and_rests_at_its_goal() -> None:
    progress = np.linspace(0, 1.2, 61)
    motion = move_hand(REACH, progress, np.zeros((61, 3)))
    np.testing.assert_array_equal(motion.positions[0], REACH.start)
    assert np.linalg.norm(motion.positions[1] - REACH.start) > 0
    np.testing.assert_allclose(motion.positions[progress >= 1], np.broadcast_to(REACH.goal, (11, 3)), atol=1e-12)


def test_the_opening_is_a_clock_that_can_be_seen_and_the_hand_closes_as_it_arrives() -> None:
    progress = np.linspace(0, 1, 101)
    opening = opening_at(progress)
    rising = np.diff(opening[progress <= 0.65])
    np.testing.assert_allclose(rising, rising[0])
    assert rising[0] > 0.005
    assert np.all(np.diff(opening[progress >= 0.65]) <= 0)
    assert opening.max() == pytest.approx(1.0, abs=0.02)
    assert opening[-1] == pytest.approx(0.2)
    assert opening_at(np.array(1.7)) == pytest.approx(0.2)


def test_a_hand_s_rotation_points_away_from_its_shoulder_with_the_palm_down() -> None:
    position = np.array([0.1, 0.2, 0.1])
    level = hand_rotation("right", position, 0.0)
    np.testing.assert_allclose(level.T @ level, np.eye(3), atol=1e-12)
    assert np.linalg.det(level) == pytest.approx(1.0)
    away = (position - shoulder("right"))[:2]
    np.testing.assert_allclose(level[:2, 2], away / np.linalg.norm(away))
    np.testing.assert_allclose(level[:, 1], [0, 0, -1], atol=1e-12)
    tilted = hand_rotation("right", position, 0.4)
    assert tilted[2, 2] == pytest.approx(-np.sin(0.4))


def test_noise_is_smooth_and_as_large_as_asked() -> None:
    rng = np.random.default_rng(0)
    seconds = np.arange(60) / 30
    noise = np.stack([smooth_noise(rng, seconds, 3, 0.002) for _ in range(300)])
    assert noise.std() == pytest.approx(0.002, rel=0.1)
    assert abs(noise.mean()) < 0.0002
    steps = np.abs(np.diff(noise, axis=1))
    assert steps.max() < 0.002  # 1.2 Hz at most: no jump from row to row
