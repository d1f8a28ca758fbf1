import numpy as np

from robotrain.embodiments.hands import hand_edges
from robotrain.viz.palette import PREDICTION
from robotrain.viz.skeleton import draw_skeleton, fingertips

EDGES = ((0, 1), (1, 2))


def test_bones_and_keypoints_lie_where_the_hand_is() -> None:
    image = np.zeros((60, 100, 3), np.uint8)
    pixels = np.array([(20.5, 20.5), (60.5, 20.5), (60.5, 50.5)])
    draw_skeleton(image, pixels, np.ones(3, bool), EDGES, PREDICTION, 1)
    for x, y in [(20, 20), (40, 20), (60, 20), (60, 35), (60, 50)]:
        np.testing.assert_allclose(image[y, x], PREDICTION, atol=40)
    assert not image[30:, :50].any()


def test_a_keypoint_out_of_sight_takes_its_bones_along() -> None:
    image = np.zeros((60, 100, 3), np.uint8)
    pixels = np.array([(20.5, 20.5), (60.5, 20.5), (np.nan, np.nan)])
    draw_skeleton(image, pixels, np.array([True, True, False]), EDGES, PREDICTION, 1)
    assert not image[25:].any()
    nothing = np.zeros((60, 100, 3), np.uint8)
    draw_skeleton(nothing, pixels, np.zeros(3, bool), EDGES, PREDICTION, 1)
    assert not nothing.any()


def test_a_hand_has_five_fingertips() -> None:
    assert fingertips(hand_edges()) == (4, 8, 12, 16, 20)
    assert fingertips(()) == ()
