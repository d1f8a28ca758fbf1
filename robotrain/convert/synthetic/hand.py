"""The two kinds of hand of the made-up world: a hand of 21 points and a gripper of two fingers.

Knows the hand's own frame (+x right, +y down from the palm, +z along the fingers; origin in the palm); refuses to know
where the hand is. Points are in MANO order: wrist, then thumb, index, middle, ring and little finger from root to tip.
"""

import numpy as np

from robotrain.embodiments.hands import NUM_KEYPOINTS
from robotrain.embodiments.sides import Side

PALM_KEYPOINTS = (0, 5, 9, 13)
"""Their centroid is the palm, as in EgoVerse's canonical hands."""
FINGER_CHAINS: tuple[tuple[int, ...], ...] = tuple((0, *range(start, start + 4)) for start in (1, 5, 9, 13, 17))
"""From the wrist to each fingertip."""

# of a right hand, palm down, in metres from the wrist: where the fingers begin, thumb first
_ROOTS = np.array(
    [[-0.026, 0.012, 0.030], [-0.026, 0, 0.088], [-0.003, 0, 0.092], [0.018, 0, 0.086], [0.037, 0, 0.077]]
)
_BONES = np.array(
    [[0.040, 0.030, 0.026], [0.042, 0.025, 0.021], [0.046, 0.029, 0.022], [0.042, 0.027, 0.021], [0.033, 0.020, 0.019]]
)  # lengths of the three bones of each finger, metres
_SPREAD = np.deg2rad([-42.0, -7.0, 0.0, 7.0, 14.0])  # of a finger at its root, right of straight ahead
_CURL_OPEN = np.deg2rad([4.0, 8.0, 6.0])  # bend at each joint towards the palm's side
_CURL_CLOSED = np.deg2rad([30.0, 44.0, 30.0])
_THUMB_SHARE = 0.55  # a thumb bends less


def keypoints_in_hand(side: Side, opening: np.ndarray) -> np.ndarray:
    """Return the 21 points of hands that are open by (...) in [0, 1]: (..., 21, 3), metres, hand frame."""
    opening = np.asarray(opening, dtype=np.float64)[..., None]
    curl = np.cumsum(_CURL_CLOSED + (_CURL_OPEN - _CURL_CLOSED) * opening, axis=-1)  # (..., 3) below straight ahead
    points = np.zeros((*opening.shape[:-1], NUM_KEYPOINTS, 3))
    for finger in range(5):
        bend = curl * (_THUMB_SHARE if finger == 0 else 1.0)
        ahead = np.cos(bend) * _BONES[finger]
        steps = np.stack(
            [np.sin(_SPREAD[finger]) * ahead, np.sin(bend) * _BONES[finger], np.cos(_SPREAD[finger]) * ahead], axis=-1
        )
        first = 1 + 4 * finger
        points[..., first, :] = _ROOTS[finger]
        points[..., first + 1 : first + 4, :] = _ROOTS[finger] + np.cumsum(steps, axis=-2)
    if side == "left":
        points[..., 0] *= -1.0
    return points - points[..., PALM_KEYPOINTS, :].mean(axis=-2, keepdims=True)


def gripper_in_hand(opening: float) -> np.ndarray:
    """Return a gripper as strokes (4, 2, 3), metres, hand frame: its stem, its bar and two fingers."""
    half = 0.012 + 0.034 * opening
    stem = [[0.0, 0.0, -0.10], [0.0, 0.0, -0.045]]
    bar = [[-half, 0.0, -0.045], [half, 0.0, -0.045]]
    fingers = [[[x, 0.0, -0.045], [x, 0.0, 0.018]] for x in (-half, half)]
    return np.array([stem, bar, *fingers])
