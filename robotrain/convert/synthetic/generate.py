"""Generated episodes: a config and its numbers, the same bytes each time.

Knows how scene, motion, body and picture make an episode; refuses to know what is learnt from it. An episode depends on
(seed, index) and the config alone, so more episodes leave the earlier ones as they are.
"""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np

from robotrain.convert.source import Header, Source
from robotrain.convert.synthetic.bodies import Clock, Recording, record_eva, record_human
from robotrain.convert.synthetic.painter import Painter
from robotrain.convert.synthetic.world import SIDES, TARGET_NAMES, Scene, draw_scene
from robotrain.embodiments.catalog import embodiment_of
from robotrain.episodes.schema import EXTRINSICS, INTRINSICS
from robotrain.episodes.writer import EpisodeWriter
from robotrain.errors import ConfigError, UnknownNameError
from robotrain.geometry.cameras import Intrinsics

Body = Literal["eva_bimanual", "human_bimanual"]
CAMERA = "front_1"
_VERSION = 1  # of the world: raise it when the same config gives other bytes
_REACH_SHARE = 8 / 9  # of an episode; the rest is a short rest at the goal
_FIRST_DAY = datetime(2026, 1, 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class SyntheticConfig:
    """Generated episodes: two hands reach for the red and the blue block."""

    embodiment: Body = "eva_bimanual"
    """Whose hands: two robot arms, or a human's two hands with 21 keypoints each."""
    num_episodes: int = 40
    """How many episodes."""
    seed: int = 0
    """Of everything that is drawn by chance; up to 999999, it is part of the episodes' names."""
    width: int = 128
    """Of the pictures, in pixels."""
    height: int = 96
    """Of the pictures, in pixels."""
    fps: int = 30
    """Rows a second."""
    seconds: float = 1.8
    """Length of an episode; a reach takes eight ninths of it."""
    noise: float = 0.002
    """Standard deviation of the measured positions around the smooth way, in metres."""
    distractors: int = 3
    """Solids of other colours on the table, at most 4."""
    missing_rate: float = 0.0
    """Share of the rows in which a human hand is not seen, from 0 to below 1."""
    images: Literal["rendered", "blank"] = "rendered"
    """Pictures of the world, or grey ones beside the very same numbers: the control that pictures teach."""

    def __post_init__(self) -> None:
        """Refuse what makes no episode."""
        for name, allowed in (("embodiment", get_args(Body)), ("images", ("rendered", "blank"))):
            if getattr(self, name) not in allowed:
                raise UnknownNameError(name, str(getattr(self, name)), allowed, where="the synthetic config")
        bounds = {
            "num_episodes": (1, 500_000),
            "seed": (0, 999_999),
            "width": (16, 4096),
            "height": (16, 4096),
            "fps": (1, 1000),
            "seconds": (0.1, 600),
            "noise": (0, 0.1),
            "distractors": (0, 4),
            "missing_rate": (0, 0.99),
        }
        for name, (low, high) in bounds.items():
            if not low <= getattr(self, name) <= high:
                raise ConfigError(f"Synthetic {name} must be from {low} to {high}, and is {getattr(self, name)}.")
        if self.num_frames < 2:
            raise ConfigError(f"{self.seconds} s at {self.fps} frames a second make no episode of two frames.")
        if self.missing_rate and self.embodiment != "human_bimanual":
            raise ConfigError("Only a human's hands can be missing: missing_rate needs embodiment human_bimanual.")

    @property
    def num_frames(self) -> int:
        """Frames of an episode, T."""
        return round(self.seconds * self.fps)


class SyntheticSource(Source):
    """The generated world as a source of episodes."""

    def __init__(self, config: SyntheticConfig) -> None:
        self.config = config
        self._indices = {hash_of_index(config.seed, index): index for index in range(config.num_episodes)}

    def names(self) -> tuple[str, ...]:
        """Return the hashes, in the order of their indices."""
        return tuple(self._indices)

    def header(self, name: str) -> Header:
        """Return what an episode says about itself: calibration of its pictures, and the config that made it."""
        config = self.config
        made_by = {key: value for key, value in asdict(config).items() if key != "num_episodes"}
        attributes: dict[str, Any] = {INTRINSICS: {CAMERA: _matrix(self.intrinsics())}}
        poses = embodiment_of(config.embodiment, {}).camera_poses
        attributes[EXTRINSICS] = None if poses is None else {arm: pose.tolist() for arm, pose in poses.items()}
        return Header(
            embodiment=config.embodiment,
            fps=Fraction(config.fps),
            task_name="reach_blocks",
            task_description="reach for the red block with the left hand and for the blue block with the right hand",
            source={"kind": "synthetic", "version": _VERSION, "index": self._index(name), **made_by},
            attributes=attributes,
        )

    def write(self, name: str, writer: EpisodeWriter) -> int:
        """Generate one episode."""
        scene, recording = self.record(name)
        writer.add_numbers(recording.arrays)
        painter = Painter(scene.prisms, self.intrinsics())
        for camera_from_table, hands in zip(recording.camera_from_table, recording.hands, strict=True):
            is_blank = self.config.images == "blank"
            writer.add_image(CAMERA, painter.blank() if is_blank else painter.draw(camera_from_table, hands))
        num = self.config.num_frames
        for side in SIDES:
            writer.add_span(f"reach for the {TARGET_NAMES[side]} block with the {side} hand", 0, num)
        return num

    def record(self, name: str) -> tuple[Scene, Recording]:
        """Return what happens in an episode, without drawing it.

        Raises:
            UnknownNameError: when the source has no such episode.
        """
        config = self.config
        rng = np.random.default_rng([config.seed, self._index(name)])
        scene = draw_scene(rng, config.distractors)
        clock = Clock(config.num_frames, config.fps, config.seconds * _REACH_SHARE)
        if config.embodiment == "eva_bimanual":
            return scene, record_eva(scene, clock, config.noise, rng)
        return scene, record_human(scene, clock, config.noise, config.missing_rate, rng)

    def intrinsics(self) -> Intrinsics:
        """Return the camera of the pictures: the embodiment's own, scaled to their size."""
        intrinsics = embodiment_of(self.config.embodiment, {}).intrinsics
        assert intrinsics is not None, "every body of the made-up world has a calibrated camera"  # noqa: S101
        return intrinsics.scaled_to(self.config.width, self.config.height)

    def _index(self, name: str) -> int:
        if name not in self._indices:
            raise UnknownNameError("episode", name, self.names(), where="the generated episodes")
        return self._indices[name]


def hash_of_index(seed: int, index: int) -> str:
    """Return an episode's hash, shaped like a time of recording: one a minute, the seed in the microseconds."""
    return (_FIRST_DAY + timedelta(minutes=index, microseconds=seed)).strftime("%Y-%m-%d-%H-%M-%S-%f")


def _matrix(intrinsics: Intrinsics) -> list[list[float]]:
    """Return [K | 0] (3, 4), pixels, as plain data."""
    return [
        [intrinsics.fx, 0.0, intrinsics.cx, 0.0],
        [0.0, intrinsics.fy, intrinsics.cy, 0.0],
        [0.0, 0.0, 1.0, 0.0],
    ]
