from itertools import pairwise

import numpy as np
import pytest

from robotrain.convert.synthetic.hand import (
    FINGER_CHAINS,
    NUM_KEYPOINTS,
    PALM_KEYPOINTS,
    gripper_in_hand,
    keypoints_in_hand,
)
from robotrain.convert.synthetic.world import Side
from robotrain.embodiments.hands import hand_edges

SIDES: tuple[Side, Side] = ("left", "right")


@pytest.mark.parametrize("side", SIDES)
def test_the_palm_is_the_centroid_of_wrist_and_three_knuckles(side: Side) -> None:
    points = keypoints_in_hand(side, np.linspace(0, 1, 5))
    assert points.shape == (5, NUM_KEYPOINTS, 3)
    np.testing.assert_allclose(points[:, PALM_KEYPOINTS].mean(axis=1), 0, atol=1e-12)


@pytest.mark.parametrize("side", SIDES)
def test_bones_keep_their_length_however_the_hand_is_open(side: Side) -> None:
    points = keypoints_in_hand(side, np.linspace(0, 1, 7))
    lengths = np.stack([np.linalg.norm(points[:, a] - points[:, b], axis=-1) for a, b in hand_edges()], axis=-1)
    np.testing.assert_allclose(lengths, np.broadcast_to(lengths[0], lengths.shape), atol=1e-12)
    assert lengths.min() > 0.015
    assert lengths.max() < 0.10


def test_a_closed_hand_has_its_fingertips_nearer_to_the_wrist_and_on_the_palm_s_side() -> None:
    closed, opened = keypoints_in_hand("right", np.array([0.0, 1.0]))
    for tip in (8, 12, 16, 20):
        assert np.linalg.norm(closed[tip] - closed[0]) < np.linalg.norm(opened[tip] - opened[0]) - 0.02
        assert closed[tip, 1] > opened[tip, 1] + 0.02


def test_thumbs_point_inwards_and_hands_mirror_each_other() -> None:
    left, right = (keypoints_in_hand(side, np.array(0.5)) for side in SIDES)
    np.testing.assert_allclose(left, right * [-1, 1, 1])
    assert right[4, 0] < right[8, 0] < right[20, 0]


def test_fingers_are_joined_as_the_embodiment_says() -> None:
    bones = {pair for chain in FINGER_CHAINS for pair in pairwise(chain)}
    assert bones == set(hand_edges())


def test_a_gripper_s_fingers_are_as_far_apart_as_it_is_open() -> None:
    gaps = [float(np.ptp(gripper_in_hand(opening)[2:, :, 0])) for opening in (0.0, 0.5, 1.0)]
    assert gaps[0] < gaps[1] < gaps[2]
    assert gaps[2] == pytest.approx(0.092)
