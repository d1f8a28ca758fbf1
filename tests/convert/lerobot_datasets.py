"""Small LeRobot v2.1 datasets for tests, made from scratch: one table and one video an episode."""

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

NAMES = ("kLeftElbow", "kRightElbow", "kRightHandIndex")
CAMERAS = ("observation.images.cam_high", "observation.images.cam_left_wrist")
SIZE = (64, 48)
FPS = 10
LENGTHS = (5, 7, 4)
TASKS = ("Pick up the bottle.", "Put it down.")


def make_dataset(root: Path, **changes: Any) -> Path:
    """Write a dataset of three episodes; `changes` replace entries of its info."""
    features: dict[str, Any] = {
        name: {"dtype": "float32", "shape": [len(NAMES)], "names": [list(NAMES)]}
        for name in ("observation.state", "action")
    }
    for camera in CAMERAS:
        features[camera] = {"dtype": "video", "shape": [SIZE[1], SIZE[0], 3], "names": ["height", "width", "channel"]}
    for name in ("timestamp", "frame_index", "episode_index", "index", "task_index"):
        features[name] = {"dtype": "float32" if name == "timestamp" else "int64", "shape": [1], "names": None}
    info = {
        "codebase_version": "v2.1",
        "robot_type": "Tiny_Arm",
        "fps": FPS,
        "chunks_size": 1000,
        "data_path": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
        "video_path": "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4",
        "features": features,
    } | changes
    meta = root / "meta"
    meta.mkdir(parents=True)
    (meta / "info.json").write_text(json.dumps(info))
    episodes = [{"episode_index": i, "tasks": [TASKS[0]], "length": num} for i, num in enumerate(LENGTHS)]
    (meta / "episodes.jsonl").write_text("".join(json.dumps(episode) + "\n" for episode in episodes))
    tasks = [{"task_index": i, "task": text} for i, text in enumerate(TASKS)]
    (meta / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    for episode, num in enumerate(LENGTHS):
        write_table(root, episode, num)
        for camera in CAMERAS:
            write_video(video_path(root, episode, camera), num)
    return root


def table_path(root: Path, episode: int) -> Path:
    return root / "data" / "chunk-000" / f"episode_{episode:06d}.parquet"


def video_path(root: Path, episode: int, camera: str = CAMERAS[0]) -> Path:
    return root / "videos" / "chunk-000" / camera / f"episode_{episode:06d}.mp4"


def columns_of(episode: int, num: int) -> dict[str, Any]:
    """Return the columns of a sound table; the second half of episode 1 is another task."""
    rng = np.random.default_rng(episode)
    return {
        "observation.state": list(rng.normal(size=(num, len(NAMES))).astype(np.float32)),
        "action": list(rng.normal(size=(num, len(NAMES))).astype(np.float32)),
        "timestamp": (np.arange(num) / FPS).astype(np.float32),
        "frame_index": np.arange(num),
        "episode_index": np.full(num, episode),
        "index": np.arange(num) + sum(LENGTHS[:episode]),
        "task_index": (np.arange(num) >= 3).astype(int) if episode == 1 else np.zeros(num, dtype=int),
    }


def write_table(root: Path, episode: int, num: int, **changes: Any) -> None:
    path = table_path(root, episode)
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {name: values for name, values in (columns_of(episode, num) | changes).items() if values is not None}
    pq.write_table(pa.table(columns), path)


def shade_of(frame: int) -> int:
    """Return the grey that a frame of a test video is filled with."""
    return 40 + 20 * (frame % 10)


def write_video(path: Path, num: int, times: Sequence[int] | None = None) -> None:
    """Write frames of growing brightness; `times` are their places in frames, one after the other where not given."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=Fraction(FPS))
        stream.width, stream.height, stream.pix_fmt = *SIZE, "yuv420p"
        stream.options = {"preset": "ultrafast"}
        stream.codec_context.time_base = Fraction(1, FPS)
        for i in range(num):
            picture = np.full((SIZE[1], SIZE[0], 3), shade_of(i), dtype=np.uint8)
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = (times[i] if times else i), Fraction(1, FPS)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
