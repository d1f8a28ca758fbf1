"""How the hands and the head of the made-up world move.

Knows time and poses; refuses to know what is drawn and how it is stored. A reach begins with frame 0, is a
minimum-jerk one, and its clock can be seen: the hand opens at a steady rate while it travels and closes as it arrives,
as human hands do (Jeannerod 1984), so image and current pose together tell the rest of the way.
"""

from dataclasses import dataclass

import numpy as np

from robotrain.convert.synthetic.world import Reach
from robotrain.embodiments.sides import Side

_SHOULDERS: dict[Side, np.ndarray] = {"left": np.array([-0.24, -0.65, 0.10]), "right": np.array([0.24, -0.65, 0.10])}
_TILT_START, _TILT_GOAL = np.deg2rad(-4.0), np.deg2rad(26.0)
_OPENING_REST, _OPENING_PEAK, _OPENING_CLOSED = 0.35, 1.0, 0.20
_PEAK_AT = 0.65  # of the reach


@dataclass(frozen=True)
class HandMotion:
    """One hand over an episode, T rows, table frame."""

    side: Side
    positions: np.ndarray
    """(T, 3) palm, metres."""
    rotations: np.ndarray
    """(T, 3, 3) table_from_hand; a hand's axes are +x right, +y down from the palm, +z along the fingers."""
    opening: np.ndarray
    """(T,) from 0, closed, to 1, wide open."""


def minimum_jerk(progress: np.ndarray) -> np.ndarray:
    """Return the share of the way travelled, (...) in [0, 1], at a share of the time (...), clipped to [0, 1].

    Flash and Hogan (1985), equation 2: 10 t^3 - 15 t^4 + 6 t^5.
    """
    t = np.clip(progress, 0.0, 1.0)
    return t**3 * (10.0 - 15.0 * t + 6.0 * t**2)


def smooth_noise(rng: np.random.Generator, seconds: np.ndarray, width: int, amplitude: float) -> np.ndarray:
    """Return smooth noise (T, width) of standard deviation ``amplitude`` at times (T,) in seconds: a few slow waves."""
    rates = rng.uniform(0.2, 1.2, (4, width))  # Hz
    phases = rng.uniform(0, 2 * np.pi, (4, width))
    weights = rng.dirichlet(np.ones(4), width).T
    waves = np.sin(2 * np.pi * rates * seconds[:, None, None] + phases)
    return amplitude * np.sqrt(2.0) * (waves * np.sqrt(weights)).sum(axis=1)


def opening_at(progress: np.ndarray) -> np.ndarray:
    """Return how far a hand is open, (...) in [0, 1], at a share of its reach (...): steadily wider, then closing."""
    rising = _OPENING_REST + (_OPENING_PEAK - _OPENING_REST) * np.clip(progress, 0, 1) / _PEAK_AT
    closing = np.clip((progress - _PEAK_AT) / (1 - _PEAK_AT), 0.0, 1.0)
    closed = _OPENING_PEAK + (_OPENING_CLOSED - _OPENING_PEAK) * (1 - np.cos(np.pi * closing)) / 2
    return np.where(progress < _PEAK_AT, rising, closed)


def hand_rotation(side: Side, position: np.ndarray, tilt: np.ndarray | float) -> np.ndarray:
    """Return table_from_hand (..., 3, 3) of a hand at (..., 3) metres that points away from its shoulder, tilted down.

    Args:
        side: whose shoulder.
        position: (..., 3) palm, metres, table frame.
        tilt: (...) angle of the fingers below the horizon, rad.
    """
    away = position - _SHOULDERS[side]
    heading = np.arctan2(away[..., 0], away[..., 1])
    sin, cos = np.sin(heading), np.cos(heading)
    along = np.stack([sin * np.cos(tilt), cos * np.cos(tilt), -np.sin(tilt) * np.ones_like(sin)], axis=-1)
    right = np.stack([cos, -sin, np.zeros_like(sin)], axis=-1)
    return np.stack([right, np.cross(along, right), along], axis=-1)


def move_hand(reach: Reach, progress: np.ndarray, noise: np.ndarray) -> HandMotion:
    """Carry a reach out.

    Args:
        reach: start and goal.
        progress: (T,) share of the reach's time that has passed, at each row; above 1 the hand rests at its goal.
        noise: (T, 3) metres, added to the palm's positions.
    """
    way = minimum_jerk(progress)[:, None]
    positions = reach.start + way * (reach.goal - reach.start) + noise
    tilt = _TILT_START + way[:, 0] * (_TILT_GOAL - _TILT_START)
    return HandMotion(reach.side, positions, hand_rotation(reach.side, positions, tilt), opening_at(progress))


def shoulder(side: Side) -> np.ndarray:
    """Return the shoulder (3,) that a hand's arm comes from, metres, table frame."""
    return _SHOULDERS[side]
