"""Every frame of a video, exactly: none left out, none twice, each where its time says.

Knows containers and codecs (AV1, H.264 and what else PyAV reads); refuses to know which recording a video belongs to.
"""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

from robotrain.errors import ConversionError


def decode_frames(path: Path, fps: Fraction, num_frames: int) -> Iterator[np.ndarray]:
    """Yield the pictures (h, w, 3) uint8 RGB of a video that must hold exactly so many frames at that rate.

    Args:
        path: the video file.
        fps: frames a second; frame k must lie within half a frame of k / fps.
        num_frames: how many frames the video must have.

    Raises:
        ConversionError: when it has more or fewer, a frame is out of place, or it cannot be decoded.
    """
    import av
    from av.error import FFmpegError

    count = 0
    try:
        with av.open(str(path)) as container:
            if not container.streams.video:
                raise ConversionError(f"'{path}' holds no video.")
            stream = container.streams.video[0]
            stream.thread_type = "AUTO"
            for frame in container.decode(stream):
                if count < num_frames:  # past that only the count matters, for the message
                    _check_time(path, frame.time, count, fps)
                    yield frame.to_ndarray(format="rgb24")
                count += 1
    except FFmpegError as problem:
        raise ConversionError(f"'{path}' cannot be decoded after frame {count}: {problem}") from None
    if count != num_frames:
        raise ConversionError(f"'{path}' has {count} frames, and its table {num_frames} rows.")


def _check_time(path: Path, seconds: float | None, index: int, fps: Fraction) -> None:
    wanted = float(index / fps)
    if seconds is not None and abs(seconds - wanted) > 0.5 / float(fps):
        raise ConversionError(
            f"'{path}': frame {index} lies at {seconds:.3f} s, and at {float(fps):g} frames a second it should at "
            f"{wanted:.3f} s."
        )
