"""A few small pictures that stand for an episode: one strip a camera.

Knows episodes and sizes; refuses to know why a frame was chosen. A picture that cannot be read leaves its place in the
strip, with the reason: a look at broken data must not break.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from robotrain.canvas import resize
from robotrain.episodes.reader import Episode
from robotrain.errors import EpisodeError

WIDTH = 160
"""Of a thumbnail, pixels; a tall one is narrower."""
MAX_HEIGHT = 240
SPACED_FRAMES = 8


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """One place in a strip."""

    frame: int
    image: np.ndarray | None
    """(h, w, 3) uint8 RGB, `WIDTH` wide or `MAX_HEIGHT` high; None where the picture cannot be read."""
    problem: str
    """Why it cannot be read; empty where it can."""


def spaced_frames(num_frames: int, count: int = SPACED_FRAMES) -> tuple[int, ...]:
    """Return frames at even distances, the first and the last among them; all of them where there are few."""
    return tuple(np.unique(np.linspace(0, num_frames - 1, min(count, num_frames)).round().astype(int)).tolist())


def thumbnail_strip(episode: Episode, camera: str, frames: Iterable[int]) -> Iterator[Thumbnail]:
    """Return small pictures of one camera, in the order of the frames, decoded one at a time.

    Raises:
        UnknownNameError: when the episode has no such camera.
    """
    for frame in frames:
        try:
            yield Thumbnail(frame, shrink(episode.image(camera, frame)), "")
        except EpisodeError as problem:
            yield Thumbnail(frame, None, problem.problem)
        except OSError as problem:
            yield Thumbnail(frame, None, problem.strerror or str(problem))


def shrink(image: np.ndarray) -> np.ndarray:
    """Return a picture (h, w, 3) uint8 at the size of a thumbnail, its shape kept."""
    height, width = image.shape[:2]
    scale = min(WIDTH / width, MAX_HEIGHT / height)
    return resize(image, max(1, round(width * scale)), max(1, round(height * scale)))
