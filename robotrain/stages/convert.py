"""Stage: foreign or generated recordings into episodes. Knows which source a config means, not how it reads."""

from dataclasses import dataclass
from pathlib import Path

from robotrain.convert.lerobot import LeRobotSource
from robotrain.convert.source import ConvertReport, Source, convert_source
from robotrain.convert.synthetic.generate import SyntheticConfig, SyntheticSource


@dataclass(frozen=True, kw_only=True, slots=True)
class LeRobotConfig:
    """Which episodes of a LeRobot data set to convert."""

    path: str
    """Folder of the data set, with meta, data and videos in it."""
    episodes: str | None = None
    """Numbers and ranges, both ends included: 28-31,59. None takes every episode."""


def run(config: LeRobotConfig | SyntheticConfig, *, out: Path) -> ConvertReport:
    """Write the episodes that ``out`` does not hold yet; those that are there stay as they are.

    Raises:
        RobotrainError: when the source or one of its episodes cannot be converted; nothing half is left.
    """
    return convert_source(_source(config), out.expanduser())


def _source(config: LeRobotConfig | SyntheticConfig) -> Source:
    if isinstance(config, SyntheticConfig):
        return SyntheticSource(config)
    return LeRobotSource(config.path, config.episodes)
