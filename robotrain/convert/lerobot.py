"""LeRobot v2 data sets (one table and one video an episode) as a source of episodes.

Knows tables; its metadata are `lerobot_meta`'s and its videos `frames`'. Refuses to know robots: what a column means is
written into the episode's own attributes, under the names that the data set gives.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robotrain.console import say
from robotrain.convert.frames import decode_frames
from robotrain.convert.lerobot_meta import ACTION, STATE, read_meta
from robotrain.convert.source import Header, Source
from robotrain.episodes.schema import CMD_JOINTS, FIELDS, OBS_JOINTS
from robotrain.episodes.writer import EpisodeWriter
from robotrain.errors import ConversionError, MissingExtraError, UnknownNameError, listing
from robotrain.files import sha256_of_file

ARRAYS = {STATE: OBS_JOINTS, ACTION: CMD_JOINTS}
"""Stored array by feature."""
CAMERAS = "source_cameras"
"""Attribute: the video feature that each camera was, by camera."""
_MOST = 999_999  # a larger number has no file name in this format
_VERSION = 1  # of the conversion: raise it when the same data set gives other bytes


@dataclass(frozen=True)
class _Table:
    """The rows of one episode, as the file holds them."""

    numbers: dict[str, np.ndarray]
    """By feature: (T, D)."""
    task_index: np.ndarray
    """(T,)."""

    def __len__(self) -> int:
        return len(self.task_index)


class LeRobotSource(Source):
    """One LeRobot v2 data set as a source of episodes.

    Args:
        path: folder of the data set, with meta, data and videos in it.
        episodes: numbers and ranges, both ends included: ``28-31,59``; None takes every episode.

    Raises:
        RobotrainError: when pyarrow is not installed, or the data set or the ranges cannot be read.
    """

    def __init__(self, path: Path | str, episodes: str | None = None) -> None:
        self.meta = read_meta(Path(path).expanduser())
        _parquet()  # its absence is told before anything is converted
        chosen = tuple(self.meta.lengths) if episodes is None else parse_episode_ranges(episodes)
        self._episodes = {f"{self.meta.name}-episode-{episode:06d}": episode for episode in sorted(chosen)}
        if self.meta.left_out:
            say(f"Not converted, of every episode: {', '.join(self.meta.left_out)}.")

    def names(self) -> tuple[str, ...]:
        """Return the hashes, by episode number.

        Raises:
            ConversionError: when an episode does not exist, or its table or one of its videos is not there.
        """
        problems = [problem for episode in self._episodes.values() if (problem := self._problem(episode))]
        if problems:
            whole = [episode for episode in self.meta.lengths if not self._problem(episode)]
            hint = f"Complete: --episodes {format_episode_ranges(whole)}." if whole else "No episode is complete."
            raise ConversionError(
                f"{len(problems)} of {len(self._episodes)} episodes of '{self.meta.root}' cannot be converted: "
                f"{listing(problems, 3)}. {hint}"
            )
        return tuple(self._episodes)

    def header(self, name: str) -> Header:
        """Return what an episode says about itself."""
        episode, meta = self._episode(name), self.meta
        videos = {camera: meta.video(episode, feature).stat().st_size for feature, camera in meta.cameras.items()}
        return Header(
            embodiment=meta.robot_type,
            fps=meta.fps,
            task_name=meta.name,
            task_description=self._texts(episode)[0],
            source={
                "kind": "lerobot",
                "version": _VERSION,
                "dataset": meta.name,
                "episode": episode,
                "table_sha256": sha256_of_file(meta.table(episode)),
                "video_bytes": videos,
                "left_out": list(meta.left_out),
            },
            attributes={
                FIELDS: {ARRAYS[feature]: layout.to_plain() for feature, layout in meta.layouts.items()},
                CAMERAS: {camera: feature for feature, camera in meta.cameras.items()},
            },
        )

    def write(self, name: str, writer: EpisodeWriter) -> int:
        """Convert one episode: every row and every frame.

        Raises:
            ConversionError: when table and metadata, or table and video, do not fit together.
        """
        episode = self._episode(name)
        table = self._read_table(episode)
        writer.add_numbers({ARRAYS[feature]: values for feature, values in table.numbers.items()})
        for feature, camera in self.meta.cameras.items():
            for picture in decode_frames(self.meta.video(episode, feature), self.meta.fps, len(table)):
                writer.add_image(camera, picture)
        for text, start, end in self._spans(table):
            writer.add_span(text, start, end)
        return len(table)

    def _episode(self, name: str) -> int:
        if name not in self._episodes:
            raise UnknownNameError("episode", name, tuple(self._episodes), where=f"'{self.meta.root}'")
        return self._episodes[name]

    def _problem(self, episode: int) -> str:
        if episode not in self.meta.lengths:
            return f"episode {episode} does not exist"
        files = [self.meta.table(episode), *(self.meta.video(episode, feature) for feature in self.meta.cameras)]
        for file in files:
            if not file.is_file():
                return f"episode {episode} has no '{file.relative_to(self.meta.root.resolve())}'"
        return ""

    def _texts(self, episode: int) -> tuple[str, ...]:
        return tuple(dict.fromkeys(text for text, _, _ in self._spans(self._read_table(episode)))) or ("",)

    def _spans(self, table: _Table) -> list[tuple[str, int, int]]:
        """Return (text, start, end) of every run of one task."""
        starts = [0, *(np.flatnonzero(np.diff(table.task_index)) + 1).tolist()]
        spans = zip(starts, [*starts[1:], len(table)], strict=True)
        texts = self.meta.tasks
        return [
            (texts[task], start, end)
            for start, end in spans
            if (task := int(table.task_index[start])) in texts and texts[task]
        ]

    def _read_table(self, episode: int) -> _Table:
        path, parquet = self.meta.table(episode), _parquet()
        wanted = [*ARRAYS, "timestamp", "frame_index", "episode_index", "task_index"]
        try:
            table = parquet.read_table(path, columns=wanted)
            absent = [name for name in wanted if name not in table.column_names]
            if absent:
                raise ConversionError(f"'{path}' has no column {', '.join(absent)}.")
            columns = {name: _stacked(table.column(name)) for name in wanted}
        except (OSError, ValueError) as problem:  # pyarrow's own errors derive from these
            if isinstance(problem, ConversionError):
                raise
            raise ConversionError(f"'{path}' cannot be read as a table: {problem}") from None
        self._check(path, episode, columns)
        return _Table({feature: columns[feature] for feature in ARRAYS}, columns["task_index"])

    def _check(self, path: Path, episode: int, columns: dict[str, np.ndarray]) -> None:
        num = len(columns["frame_index"])
        if num != self.meta.lengths[episode] or num == 0:
            raise ConversionError(f"'{path}' has {num} rows, and the metadata promise {self.meta.lengths[episode]}.")
        for feature, layout in self.meta.layouts.items():
            if columns[feature].shape != (num, layout.width):
                found = columns[feature].shape
                raise ConversionError(
                    f"'{path}': '{feature}' has shape {found}, and should have {(num, layout.width)}."
                )
        if not np.array_equal(columns["frame_index"], np.arange(num)):
            raise ConversionError(f"'{path}': frame_index does not count from 0 to {num - 1}.")
        if np.any(columns["episode_index"] != episode):
            raise ConversionError(f"'{path}': it holds rows of another episode than {episode}.")
        late = np.abs(columns["timestamp"] - np.arange(num) / float(self.meta.fps)) * float(self.meta.fps)
        if np.any(~(late < 0.1)):
            row = int(np.argmax(~(late < 0.1)))
            raise ConversionError(
                f"'{path}': row {row} lies at {float(columns['timestamp'][row]):.4f} s, and at "
                f"{float(self.meta.fps):g} frames a second it should at {row / float(self.meta.fps):.4f} s."
            )


def parse_episode_ranges(text: str) -> tuple[int, ...]:
    """Return the episode numbers that a text such as ``28-31,59`` names, ascending, each once; both ends included.

    Raises:
        ConversionError: when the text is no list of numbers and ranges.
    """
    chosen: set[int] = set()
    for part in (part.strip() for part in text.split(",")):
        first, dash, last = (piece.strip() for piece in part.partition("-"))
        is_range = first.isdecimal() and (last.isdecimal() if dash else True)
        if not is_range or (dash and int(last) < int(first)) or int(last or first) > _MOST:
            raise ConversionError(f"'{part}' in --episodes '{text}' is no episode and no range such as 28-31.")
        chosen.update(range(int(first), int(last if dash else first) + 1))
    return tuple(sorted(chosen))


def format_episode_ranges(episodes: Sequence[int]) -> str:
    """Return the shortest text that `parse_episode_ranges` reads as these numbers."""
    runs: list[list[int]] = []
    for episode in sorted(set(episodes)):
        if runs and episode == runs[-1][1] + 1:
            runs[-1][1] = episode
        else:
            runs.append([episode, episode])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _stacked(column: Any) -> np.ndarray:
    """Return a column as (T,) numbers, or (T, D) of lists of one length."""
    values = column.to_numpy()
    return np.stack(values.tolist()) if values.dtype == object and len(values) else values


def _parquet() -> Any:
    """Return pyarrow's module of tables, loaded on first use.

    Raises:
        MissingExtraError: when it is not installed.
    """
    try:
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise MissingExtraError("pyarrow", "lerobot", "Converting LeRobot data sets") from None
    return pyarrow.parquet
