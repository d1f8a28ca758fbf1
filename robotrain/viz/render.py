"""A whole episode as a video: each frame with what truly followed and what the policy predicted.

Knows episodes, rows of chunks and how they become pictures; refuses to know policies: rows are numbers, wherever they
come from. Layouts with points are drawn as traces on the frame; others, and points without a known camera, as charts
beside it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from robotrain.canvas import Color, resize
from robotrain.embodiments.embodiment import Embodiment, PolicyInterface
from robotrain.episodes.reader import Episode
from robotrain.errors import ConfigError, PredictionError, ShapeError, UnknownNameError
from robotrain.geometry.cameras import Intrinsics
from robotrain.predictions import Predictions
from robotrain.viz.charts import Grid, charts_of, draw_panel, plan_grid, value_ranges
from robotrain.viz.overlay import Caption, draw_caption, draw_insets, draw_legend, draw_tracks
from robotrain.viz.palette import PREDICTION, TRUTH
from robotrain.viz.skeleton import Edges
from robotrain.viz.tracks import Track, compute_tracks, draws_points
from robotrain.viz.video import VideoFacts, write_video

SMALL_WIDTH = 320
"""Narrower pictures are enlarged unless told otherwise: no caption fits on them."""
LEGIBLE_WIDTH = 480
"""To at least this width."""
MAX_CHARTS = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class RenderOptions:
    """How videos are drawn."""

    scale: int | None = None
    """Whole number by which the picture is enlarged before anything is drawn. None: 1, the source's size, for pictures
    at least 320 wide; the smallest number that gives 480 for others."""

    def __post_init__(self) -> None:
        """Refuse a scale that leaves no picture."""
        if self.scale is not None and self.scale < 1:
            raise ConfigError(f"A video cannot be drawn at scale {self.scale}: the least is 1, the source's size.")


@dataclass(frozen=True)
class View:
    """The camera that is drawn on."""

    camera: str
    intrinsics: Intrinsics | None
    """None where unknown: nothing can be placed on the picture then."""
    edges: Edges = ()
    """Bones of a hand."""


@dataclass(frozen=True)
class EpisodeRows:
    """N chunks of one episode in the interface's layout, units and frames, unnormalised."""

    frames: np.ndarray
    """(N,) int, ascending."""
    truth: np.ndarray | None
    """(N, H, D), or None."""
    predicted: np.ndarray | None
    """(N, H, D), or None: the truth alone is drawn."""
    mask: np.ndarray
    """(N, H) bool: real steps of the truth."""
    state: np.ndarray
    """(N, S)."""
    state_mask: np.ndarray
    """(N, S) bool."""

    def __post_init__(self) -> None:
        """Refuse arrays of different lengths."""
        for name in ("truth", "predicted", "mask", "state", "state_mask"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.frames):
                raise ShapeError(f"rows.{name}", f"{len(self.frames)} rows", values.shape)

    @classmethod
    def of(cls, predictions: Predictions, episode: str) -> "EpisodeRows":
        """Return the rows of one episode, by hash.

        Raises:
            UnknownNameError: when the predictions have no such episode.
        """
        rows = predictions.episode_rows()
        if episode not in rows:
            raise UnknownNameError("episode", episode, tuple(rows), where="the predictions")
        index = rows[episode]
        return cls(
            frames=predictions.frames[index],
            truth=predictions.truth[index],
            predicted=predictions.predicted[index],
            mask=predictions.mask[index],
            state=predictions.state[index],
            state_mask=predictions.state_mask[index],
        )


def view_of(episode: Episode, embodiment: Embodiment) -> View:
    """Return the view on an episode: the first of the embodiment's cameras that it has.

    The intrinsics are the episode's own or, where it brings none, those of its vendor's camera.

    Raises:
        PredictionError: when the episode has no camera at all.
    """
    known = [camera for camera in embodiment.cameras if camera in episode.cameras]
    if not (known or episode.cameras):
        raise PredictionError(f"Episode '{episode.hash}' has no camera: there is nothing to draw on.")
    camera = (known or list(episode.cameras))[0]
    return View(camera=camera, intrinsics=episode.intrinsics(camera), edges=embodiment.edges)


def render_episode(
    episode: Episode,
    interface: PolicyInterface,
    rows: EpisodeRows,
    view: View,
    path: Path,
    *,
    options: RenderOptions | None = None,
) -> VideoFacts:
    """Write the video of one episode: every frame of it, at its own rate.

    The picture is the source's size times the scale; charts widen the frame to its right. Where frames have no row of
    their own, charts keep the latest one with the time cursor moved on, up to its horizon's end; traces are drawn only
    on the frame they belong to, since the camera may have moved.

    Args:
        episode: gives pictures, prompts and rate.
        interface: says what the columns mean.
        rows: chunks of some or all frames.
        view: from `view_of`.
        path: of the mp4.
        options: how it is drawn.

    Raises:
        ShapeError: when the rows do not have the interface's widths.
        VideoError: when the video cannot be written.
    """
    _check(interface, rows)
    pictures = draw_frames(episode, interface, rows, view, options=options)
    return write_video(path, pictures, episode.fps)


def draw_frames(
    episode: Episode,
    interface: PolicyInterface,
    rows: EpisodeRows,
    view: View,
    *,
    options: RenderOptions | None = None,
) -> Iterator[np.ndarray]:
    """Yield every frame of an episode as `render_episode` writes it, (h, w, 3) uint8 RGB. Takes what it takes."""
    width, height = episode.image_size(view.camera)
    scale = _scale(options, width)
    painter: _TracePainter | _ChartPainter
    if draws_points(interface.actions) and view.intrinsics is not None:
        intrinsics = view.intrinsics.scaled_to(width * scale, height * scale)
        painter = _TracePainter(interface, rows, intrinsics, view.edges)
    else:
        painter = _ChartPainter(interface, rows, episode.fps, height * scale)
    for frame in range(episode.num_frames):
        picture = resize(episode.image(view.camera, frame), width * scale, height * scale)
        finished = painter.paint(picture, frame)
        caption = Caption(episode.prompt(frame), episode.hash, frame, episode.num_frames, float(frame / episode.fps))
        draw_caption(picture, caption)
        finished[:, : picture.shape[1]] = picture
        yield finished


class _TracePainter:
    """Draws the chunk of each frame as traces on it, and the grippers as small charts."""

    def __init__(self, interface: PolicyInterface, rows: EpisodeRows, intrinsics: Intrinsics, edges: Edges) -> None:
        self.interface, self.rows, self.intrinsics, self.edges = interface, rows, intrinsics, edges
        self.row_of = {int(frame): row for row, frame in enumerate(rows.frames)}
        self.grippers = np.flatnonzero(interface.actions.columns_of_kind("gripper"))
        self.titles = [interface.actions.columns[column] for column in self.grippers]
        self.ranges = value_ranges(rows.truth, rows.predicted, rows.mask)[self.grippers]
        self.note = f"light: now, full: in {interface.seconds:.1f} s"

    def paint(self, picture: np.ndarray, frame: int) -> np.ndarray:
        """Draw on a picture, in place, and return it."""
        row = self.row_of.get(frame)
        if row is not None:
            draw_tracks(picture, self._marks(row), self.edges)
            curves = [(values[:, self.grippers], color) for values, color in _curves(self.rows, row)]
            draw_insets(picture, charts_of(self.titles, curves, self.ranges))
        draw_legend(picture, _colors(self.rows), self.note)
        return picture

    def _marks(self, row: int) -> list[tuple[Color, tuple[Track, ...]]]:
        rows, marks = self.rows, []
        for color, chunks, mask in ((TRUTH, rows.truth, rows.mask[row]), (PREDICTION, rows.predicted, None)):
            if chunks is not None:
                state, known = rows.state[row], rows.state_mask[row]
                tracks = compute_tracks(
                    self.interface, chunks[row], state, self.intrinsics, mask=mask, state_mask=known
                )
                marks.append((color, tracks))
        return marks


class _ChartPainter:
    """Draws the latest chunk as charts in a panel right of the frame."""

    def __init__(self, interface: PolicyInterface, rows: EpisodeRows, fps: Fraction, height: int) -> None:
        self.interface, self.rows, self.fps = interface, rows, fps
        names = interface.actions.columns[:MAX_CHARTS]
        self.grid: Grid = plan_grid(len(names), height)
        self.titles = [_title(interface, name) for name in names]
        self.ranges = value_ranges(rows.truth, rows.predicted, rows.mask)
        self.header = f"the next {interface.seconds:.2f} s, left to right"
        if interface.actions.width > len(names):
            self.header += f"; {len(names)} of {interface.actions.width} columns"

    def paint(self, picture: np.ndarray, frame: int) -> np.ndarray:
        """Return a new picture with the panel beside this one."""
        row = int(np.searchsorted(self.rows.frames, frame, side="right")) - 1
        age = float((frame - int(self.rows.frames[row])) / self.fps) if row >= 0 else np.inf
        horizon = self.interface.seconds
        curves = _curves(self.rows, row) if age <= horizon else []
        cursor = age / horizon if curves and horizon > 0 else None
        draw_legend(picture, _colors(self.rows), "")
        panel = draw_panel(self.grid, charts_of(self.titles, curves, self.ranges), cursor, self.header)
        return np.concatenate([picture, panel], axis=1)


def _curves(rows: EpisodeRows, row: int) -> list[tuple[np.ndarray, Color]]:
    """Return the chunks (H, D) of a row with their colours; steps of the truth that are not real are NaN."""
    curves: list[tuple[np.ndarray, Color]] = []
    if rows.truth is not None:
        curves.append((np.where(rows.mask[row][:, None], rows.truth[row], np.nan), TRUTH))
    if rows.predicted is not None:
        curves.append((rows.predicted[row], PREDICTION))
    return curves


def _colors(rows: EpisodeRows) -> dict[str, Color]:
    known = (("truth", TRUTH, rows.truth), ("prediction", PREDICTION, rows.predicted))
    return {name: color for name, color, chunks in known if chunks is not None}


def _title(interface: PolicyInterface, column: str) -> str:
    unit = interface.actions.field(column.split("[", 1)[0]).unit
    return f"{column} {unit}" if unit not in {"", "1"} else column


def _scale(options: RenderOptions | None, width: int) -> int:
    if options is not None and options.scale is not None:
        return options.scale
    return 1 if width >= SMALL_WIDTH else -(-LEGIBLE_WIDTH // width)


def _check(interface: PolicyInterface, rows: EpisodeRows) -> None:
    for name in ("truth", "predicted"):
        chunks = getattr(rows, name)
        if chunks is not None and chunks.shape[1:] != (interface.horizon, interface.actions.width):
            raise ShapeError(f"rows.{name}", f"(N, {interface.horizon}, {interface.actions.width})", chunks.shape)
    if rows.state.shape[1] != interface.state.width:
        raise ShapeError("rows.state", f"(N, {interface.state.width})", rows.state.shape)
