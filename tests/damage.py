"""How episodes are spoilt: the attributes, metadata, rows, pictures and texts of one on disk, changed in place.

Goes past the product's writer on purpose, which writes nothing of the kind.
"""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import simplejpeg
import zarr

from robotrain.episodes.schema import (
    ANNOTATIONS,
    FEATURES,
    ROWS,
    SIDES,
    TIMESTAMPS,
    TOTAL_FRAMES,
    image_array,
    obs_ee_pose,
    obs_keypoints,
    obs_wrist_pose,
)
from robotrain.geometry.rotations import matrix_from_quaternion

Damage = Callable[[Path], Any]
"""Does something to an episode on disk."""
Change = Callable[[np.ndarray], None]
"""Does something to rows (T, D), in place."""


def read_attributes(path: Path) -> dict[str, Any]:
    """Return an episode's attributes."""
    return json.loads((path / "zarr.json").read_text())["attributes"]


def edit(path: Path, **attributes: Any) -> None:
    """Change attributes of an episode; None removes one."""
    file = path / "zarr.json"
    metadata = json.loads(file.read_text())
    kept = metadata["attributes"] | attributes
    metadata["attributes"] = {name: value for name, value in kept.items() if value is not None}
    file.write_text(json.dumps(metadata))


def edit_array(path: Path, array: str, **metadata: Any) -> None:
    """Change the metadata of an array."""
    file = path / array / "zarr.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | metadata))


def set_rows(path: Path, array: str, rows: slice, value: Any) -> None:
    """Set rows of an array: numbers that fit, or one element for each row of pictures or texts."""
    stored = zarr.open_array(path / array, mode="r+")
    if isinstance(value, bytes):
        replaced = np.empty(rows.stop - rows.start, dtype=object)
        replaced[:] = [value] * len(replaced)
        stored[rows] = replaced
    else:
        stored[rows] = value


def read_rows(path: Path, array: str) -> np.ndarray:
    """Return the real rows (T, D) of an array."""
    return np.array(zarr.open_array(path / array, mode="r")[: read_attributes(path)[TOTAL_FRAMES]])


def change_rows(path: Path, array: str, change: Change) -> None:
    """Let a function change the real rows (T, D) of an array in place."""
    values = read_rows(path, array)
    change(values)
    set_rows(path, array, slice(0, len(values)), values)


def assign(index: Any, value: Any) -> Change:
    """Return the change that sets values."""

    def change(values: np.ndarray) -> None:
        values[index] = value

    return change


def scale(index: Any, factor: float) -> Change:
    """Return the change that multiplies values."""
    return lambda values: assign(index, values[index] * factor)(values)


def shift(index: Any, by: float) -> Change:
    """Return the change that adds to values."""
    return lambda values: assign(index, values[index] + by)(values)


def repeat_rows(values: np.ndarray) -> None:
    """Let every second row repeat the one before."""
    values[1::2] = values[0:-1:2]


def turn_a_row(values: np.ndarray) -> None:
    """Turn the quaternion of one row by 180 degrees about its own x axis."""
    w, x, y, z = values[8, 3:]
    values[8, 3:] = (-x, w, z, -y)


def write_angles(values: np.ndarray) -> None:
    """Write three angles and a zero where quaternions should stand."""
    values[:, 3:] = np.concatenate([2 * np.arctan2(values[:, 4:], values[:, 3:4]), 0 * values[:, :1]], axis=-1)


def mirror_left_hand(path: Path) -> None:
    """Give both hands one shape, the left one's turned by 180 degrees about z against its stored rotation."""
    shape = np.zeros((21, 3))
    shape[1:, 0] = np.linspace(0.03, 0.09, 20)  # a flat hand along x, its fingers side by side
    shape[1:, 1] = np.repeat(np.linspace(-0.04, 0.04, 5), 4)
    for side, turn in zip(SIDES, (np.diag([-1.0, -1.0, 1.0]), np.eye(3)), strict=True):
        wrists = read_rows(path, obs_wrist_pose(side))
        world_from_shape = matrix_from_quaternion(wrists[:, 3:]) @ turn
        points = np.einsum("tij,pj->tpi", world_from_shape, shape) + wrists[:, None, :3]
        change_rows(path, obs_keypoints(side), assign(..., points.reshape(len(wrists), 63)))


def freeze(path: Path, array: str) -> None:
    """Let every row of an array be the first one."""
    change_rows(path, array, assign(..., read_rows(path, array)[0]))


def freeze_pictures(path: Path, camera: str, frames: range) -> None:
    """Let pictures be the first one of them."""
    set_pictures(path, camera, frames, picture(path, camera, frames.start))


def hide_all_hands(path: Path) -> None:
    """Mark both hands missing throughout."""
    for side in SIDES:
        for array in (obs_ee_pose(side), obs_wrist_pose(side), obs_keypoints(side)):
            change_rows(path, array, assign(..., 1e9))


def add_times(change: Change, step_ns: int = 66_666_667) -> Damage:
    """Return the damage of capture times that begin soundly, changed."""

    def damage(path: Path) -> None:
        times = 1_700_000_000_000_000_007 + step_ns * np.arange(read_attributes(path)[TOTAL_FRAMES], dtype=np.int64)
        change(times)
        add_array(path, TIMESTAMPS, times)

    return damage


def through_a_float(times: np.ndarray) -> None:
    """Round times to what a float can hold."""
    times[:] = times.astype(np.float64).astype(np.int64)


def drop_texts(path: Path) -> None:
    """Leave no annotation as EgoVerse's writer does: in chunks of no rows."""
    grid = {"name": "regular", "configuration": {"chunk_shape": [0]}}
    edit_array(path, ANNOTATIONS, shape=[0], chunk_grid=grid)
    without(path, f"{ANNOTATIONS}/c")


def replace_array(path: Path, array: str, by: str) -> None:
    """Put a copy of one array in the place of another."""
    without(path, array)
    shutil.copytree(path / by, path / array)


def set_pictures(path: Path, camera: str, frames: range, content: bytes) -> None:
    """Put one picture in the place of several."""
    set_rows(path, image_array(camera), slice(frames.start, frames.stop), content)


def picture(path: Path, camera: str, frame: int) -> bytes:
    """Return a stored picture."""
    return np.asarray(zarr.open_array(path / image_array(camera), mode="r")[frame : frame + 1])[0]


def jpeg(size: tuple[int, int], value: int = 128) -> bytes:
    """Return a JPEG of one colour, of size (width, height)."""
    pixels = np.full((size[1], size[0], 3), value, dtype=np.uint8)
    return simplejpeg.encode_jpeg(pixels, quality=85, colorspace="RGB", colorsubsampling="444")


def set_texts(path: Path, *texts: tuple[str, int, int]) -> None:
    """Set the first annotations, each a text with start_idx and end_idx as they are stored."""
    for row, (text, start, end) in enumerate(texts):
        told = json.dumps({"text": text, "start_idx": start, "end_idx": end}).encode()
        set_rows(path, ANNOTATIONS, slice(row, row + 1), told)


def add_array(path: Path, array: str, values: np.ndarray) -> None:
    """Add an array of values (T, ...), padded with zeros to hundreds of rows, and list it."""
    padding = np.zeros((-len(values) % ROWS, *values.shape[1:]), dtype=values.dtype)
    zarr.create_array(path / array, data=np.concatenate([values, padding]))
    features = read_attributes(path).get(FEATURES, {})
    entry = {"dtype": str(values.dtype), "shape": list(values.shape[1:]), "names": []}
    edit(path, **{FEATURES: features | {array: entry}})


def cut(path: Path, file: str, keep: float = 0.5) -> None:
    """Cut a file of an episode short: keep this share of its bytes."""
    content = (path / file).read_bytes()
    (path / file).write_bytes(content[: int(keep * len(content))])


def without(path: Path, *names: str) -> None:
    """Remove files or whole arrays of an episode."""
    for name in names:
        place = path / name
        shutil.rmtree(place) if place.is_dir() else place.unlink()


def lose_array(path: Path, array: str) -> None:
    """Remove an array, and every word of it."""
    without(path, array)
    unlist(path, array)


def lose_a_chunk(path: Path) -> None:
    """Store a pose unsharded, one file for five rows, and lose one of the files that hold real rows."""
    array = obs_ee_pose("left")
    values = read_rows(path, array)
    without(path, array)
    zarr.create_array(path / array, data=values, chunks=(5, values.shape[1]))
    (path / array / "c" / "1" / "0").unlink()


def unlist(path: Path, *arrays: str) -> None:
    """Take arrays off the list in the attributes."""
    features: Mapping[str, Any] = read_attributes(path)[FEATURES]
    edit(path, **{FEATURES: {name: entry for name, entry in features.items() if name not in arrays}})
