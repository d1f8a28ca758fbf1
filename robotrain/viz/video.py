"""Videos at the exact rate of their source, written frame by frame, and what a video file holds.

Knows H.264 in mp4 and rates as fractions; refuses to know what the pictures show.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from pathlib import Path

import av
import numpy as np
from av.container import OutputContainer
from av.error import FFmpegError
from av.video.stream import VideoStream

from robotrain.errors import MissingPathError, ShapeError, VideoError
from robotrain.files import replacing

KEYFRAME_SECONDS = 1
"""A player that jumps into the video decodes at most this much of it."""
QUALITY = "20"
"""Constant rate factor of x264: thin lines stay clean."""


@dataclass(frozen=True)
class VideoFacts:
    """What a video file holds."""

    path: Path
    width: int
    height: int
    fps: Fraction
    """Frames a second, exact."""
    num_frames: int


def write_video(path: Path, frames: Iterable[np.ndarray], fps: Fraction) -> VideoFacts:
    """Write pictures as an H.264 mp4 that any player opens (yuv420p, its index in front), one picture at a time.

    The format needs even sizes: an odd width or height is padded by repeating the last column or row. The file
    appears whole or not at all.

    Args:
        path: the file to write.
        frames: each (h, w, 3) uint8 RGB, all of one size.
        fps: the source's rate; frame i is shown from exactly i / fps seconds on.

    Raises:
        VideoError: when there is no frame, or the rate is not positive.
        ShapeError: when a frame has another size than the first.
    """
    pictures = _checked(frames)
    first = next(pictures, None)
    if first is None:
        raise VideoError(path, "there is no frame to write")
    if fps <= 0:
        raise VideoError(path, f"a video cannot have {fps} frames a second")
    with replacing(path) as partial, av.open(str(partial), "w", options={"movflags": "+faststart"}) as container:
        size = _even(first).shape[:2]
        stream = _add_stream(container, size, fps)
        num_frames = 0
        for picture in chain((first,), pictures):
            frame = av.VideoFrame.from_ndarray(_even(picture), format="rgb24")
            frame.pts, frame.time_base = num_frames, 1 / fps
            container.mux(stream.encode(frame))
            num_frames += 1
        container.mux(stream.encode())
    return VideoFacts(path=path, width=size[1], height=size[0], fps=fps, num_frames=num_frames)


def probe_video(path: Path) -> VideoFacts:
    """Return what a video file holds, by decoding every frame of it.

    Raises:
        MissingPathError: when there is no such file.
        VideoError: when it is no video, or one that cannot be decoded.
    """
    if not path.is_file():
        raise MissingPathError(path, "The video")
    try:
        with av.open(str(path)) as container:
            if not container.streams.video:
                raise VideoError(path, "it holds no picture stream")
            stream = container.streams.video[0]
            num_frames = sum(1 for _ in container.decode(stream))
            rate = stream.average_rate
            size = stream.width, stream.height
    except FFmpegError as problem:
        raise VideoError(path, f"it cannot be decoded: {problem.strerror}") from None
    if rate is None or num_frames == 0:
        raise VideoError(path, "it holds no frame")
    return VideoFacts(path=path, width=size[0], height=size[1], fps=Fraction(rate), num_frames=num_frames)


def read_video(path: Path) -> Iterator[np.ndarray]:
    """Yield the frames of a video, each (h, w, 3) uint8 RGB, one at a time.

    Raises:
        MissingPathError: when there is no such file.
        VideoError: when it cannot be decoded.
    """
    if not path.is_file():
        raise MissingPathError(path, "The video")
    try:
        with av.open(str(path)) as container:
            for frame in container.decode(video=0):
                yield frame.to_ndarray(format="rgb24")
    except FFmpegError as problem:
        raise VideoError(path, f"it cannot be decoded: {problem.strerror}") from None


def _add_stream(container: OutputContainer, size: tuple[int, int], fps: Fraction) -> VideoStream:
    stream = container.add_stream("libx264", rate=fps)
    stream.height, stream.width = size
    stream.pix_fmt = "yuv420p"
    stream.time_base = 1 / fps
    stream.gop_size = max(1, round(fps * KEYFRAME_SECONDS))
    stream.options = {"preset": "veryfast", "crf": QUALITY}
    return stream


def _checked(frames: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    shape: tuple[int, ...] | None = None
    for index, picture in enumerate(frames):
        if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
            raise ShapeError(f"video frame {index}", "(h, w, 3) uint8", f"{picture.shape} {picture.dtype}")
        if shape is not None and picture.shape != shape:
            raise ShapeError(f"video frame {index}", f"{shape}, the first frame's", picture.shape)
        shape = picture.shape
        yield picture


def _even(picture: np.ndarray) -> np.ndarray:
    """Return a picture of even height and width; the last row and column are repeated where needed."""
    height, width = picture.shape[:2]
    if height % 2 == 0 and width % 2 == 0:
        return np.ascontiguousarray(picture)
    return np.pad(picture, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
