"""What a LeRobot v2 data set says about itself: its `meta` folder.

Knows JSON and paths; refuses to open tables and videos. Paths come from templates in the data and must stay inside it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from robotrain.embodiments.layout import Field, Layout
from robotrain.errors import ConversionError, LayoutError, MissingPathError
from robotrain.files import inside

STATE = "observation.state"
ACTION = "action"
SUPPORTED = ("v2.0", "v2.1")
FIRST_CAMERA = "front_1"
_BOOKKEEPING = ("timestamp", "frame_index", "episode_index", "index", "task_index")


@dataclass(frozen=True)
class LeRobotMeta:
    """The facts of one data set."""

    root: Path
    fps: Fraction
    robot_type: str
    """Lower-case."""
    layouts: Mapping[str, Layout]
    """Of `STATE` and `ACTION`: one joint field a column, under the data set's own names."""
    cameras: Mapping[str, str]
    """Our camera name by video feature, in the data set's order; the first one is `FIRST_CAMERA`."""
    left_out: tuple[str, ...]
    """Features that are not converted."""
    lengths: Mapping[int, int]
    """Rows by episode."""
    tasks: Mapping[int, str]
    """Texts by task index."""
    data_path: str
    video_path: str
    chunks_size: int

    @property
    def name(self) -> str:
        """The data set's name: that of its folder."""
        return self.root.resolve().name.lstrip(".")

    def table(self, episode: int) -> Path:
        """Return the file of an episode's table.

        Raises:
            ConversionError, UnsafePathError: when the template is broken or leaves the data set.
        """
        return self._place(self.data_path, episode, "")

    def video(self, episode: int, feature: str) -> Path:
        """Return the file of an episode's video.

        Raises:
            ConversionError, UnsafePathError: when the template is broken or leaves the data set.
        """
        return self._place(self.video_path, episode, feature)

    def _place(self, template: str, episode: int, feature: str) -> Path:
        chunk = episode // self.chunks_size
        try:
            relative = template.format(episode_chunk=chunk, episode_index=episode, video_key=feature)
        except (KeyError, IndexError, ValueError, AttributeError) as problem:
            raise ConversionError(f"'{self.root}': the path template '{template}' is broken: {problem!r}.") from None
        return inside(self.root, relative)


def read_meta(root: Path) -> LeRobotMeta:
    """Read a data set's `meta` folder.

    Raises:
        MissingPathError: when the folder or one of its files is missing.
        ConversionError: when it is of another version, broken, or has nothing to convert.
    """
    if not root.is_dir():
        raise MissingPathError(root, "The LeRobot data set")
    info = _read_json(root / "meta" / "info.json")
    version = str(info.get("codebase_version"))
    if version not in SUPPORTED:
        raise ConversionError(
            f"'{root}' is a LeRobot data set of version {version}; this converter reads {' and '.join(SUPPORTED)}."
        )
    try:
        features = dict(info["features"])
        cameras = _cameras(root, features)
        kept = {STATE, ACTION, *cameras, *_BOOKKEEPING}
        episodes = _read_lines(root / "meta" / "episodes.jsonl")
        tasks = _read_lines(root / "meta" / "tasks.jsonl")
        return LeRobotMeta(
            root=root,
            fps=Fraction(str(info["fps"])),
            robot_type="_".join(str(info.get("robot_type") or "unknown_robot").lower().split()),
            layouts={feature: _joint_layout(root, feature, features) for feature in (STATE, ACTION)},
            cameras=cameras,
            left_out=tuple(feature for feature in features if feature not in kept),
            lengths={int(episode["episode_index"]): int(episode["length"]) for episode in episodes},
            tasks={int(task["task_index"]): str(task["task"]) for task in tasks},
            data_path=str(info["data_path"]),
            video_path=str(info.get("video_path") or ""),
            chunks_size=max(1, int(info["chunks_size"])),
        )
    except (KeyError, TypeError, ValueError) as problem:
        if isinstance(problem, ConversionError):
            raise
        raise ConversionError(f"'{root}': its metadata are incomplete: {problem!r}.") from None


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise MissingPathError(path, "The file", hint="A LeRobot v2 data set has meta, data and videos folders.")
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as problem:
        raise ConversionError(f"'{path}' is no JSON: {problem}.") from None
    if not isinstance(value, dict):
        raise ConversionError(f"'{path}' holds no JSON object.")
    return value


def _read_lines(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        raise MissingPathError(path, "The file", hint="A LeRobot v2 data set has meta, data and videos folders.")
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except ValueError as problem:
        raise ConversionError(f"'{path}' is no list of JSON lines: {problem}.") from None


def _cameras(root: Path, features: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return our camera name by video feature; the first camera becomes the front one."""
    in_tables = [feature for feature, facts in features.items() if facts["dtype"] == "image"]
    if in_tables:
        raise ConversionError(
            f"'{root}': {', '.join(in_tables)} keep pictures inside the tables; only videos can be converted."
        )
    videos = [
        feature
        for feature, facts in features.items()
        if facts["dtype"] == "video" and not (facts.get("info") or {}).get("video.is_depth_map")
    ]
    if not videos:
        raise ConversionError(f"'{root}' has no camera: none of its features is a video.")
    cameras = {feature: feature.rpartition(".")[2].replace("/", "_") for feature in videos} | {videos[0]: FIRST_CAMERA}
    if len(set(cameras.values())) < len(cameras):
        raise ConversionError(f"'{root}': two of the cameras {', '.join(videos)} would get one name.")
    return cameras


def _joint_layout(root: Path, feature: str, features: Mapping[str, Mapping[str, Any]]) -> Layout:
    """Return one joint field a column; the data set tells names, and no units."""
    if feature not in features:
        raise ConversionError(f"'{root}' has no feature '{feature}'; it has {', '.join(features)}.")
    shape = tuple(features[feature]["shape"])
    if len(shape) != 1:
        raise ConversionError(f"'{root}': '{feature}' has shape {shape}, and must be a list of numbers.")
    names = list(_flat(features[feature].get("names"))) or [f"joint_{i}" for i in range(shape[0])]
    if len(names) != shape[0]:
        raise ConversionError(f"'{root}': '{feature}' has {shape[0]} columns and {len(names)} names.")
    try:
        return Layout(tuple(Field(name, "joint", 1, "", "") for name in names))
    except LayoutError as problem:
        raise ConversionError(f"'{root}': '{feature}': {problem}") from None


def _flat(names: Any) -> list[str]:
    """Return names in order out of lists within lists, or of a mapping from groups to lists."""
    if isinstance(names, Mapping):
        return [name for group in names.values() for name in _flat(group)]
    if isinstance(names, list):
        return [name for part in names for name in _flat(part)]
    return [] if names is None else [str(names)]
