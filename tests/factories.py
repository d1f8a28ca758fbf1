"""Tiny episodes for tests, made by the product's own writer: smooth, seeded, in front of the camera.

At the end a corpus of broken ones: `BROKEN`, each with the code of the finding that is due.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from robotrain.embodiments.layout import Field, Layout
from robotrain.episodes.schema import (
    ANNOTATIONS,
    CMD_JOINTS,
    FIELDS,
    HEAD_POSE,
    OBS_JOINTS,
    SIDES,
    Side,
    cmd_ee_pose,
    cmd_gripper,
    obs_ee_pose,
    obs_gripper,
    obs_keypoints,
    obs_wrist_pose,
)
from robotrain.episodes.writer import EpisodeWriter
from robotrain.geometry.rotations import matrix_from_quaternion, matrix_from_ypr, quaternion_from_matrix
from tests.damage import (
    Change,
    Damage,
    add_times,
    assign,
    change_rows,
    cut,
    drop_texts,
    edit,
    edit_array,
    freeze,
    freeze_pictures,
    hide_all_hands,
    jpeg,
    lose_a_chunk,
    lose_array,
    mirror_left_hand,
    repeat_rows,
    replace_array,
    scale,
    set_pictures,
    set_rows,
    set_texts,
    shift,
    through_a_float,
    turn_a_row,
    unlist,
    without,
    write_angles,
)

EVA_CAMERAS = ("front_1", "left_wrist", "right_wrist")
JOINTS = Layout(
    (
        Field("left_arm", "joint", 3, "", "rad"),
        Field("left_hand", "joint", 1, "", ""),
        Field("right_arm", "joint", 2, "", "rad"),
    )
)
"""What the joint robot of these tests can move: six joints in three groups."""


def make_eva_episode(
    path: Path,
    num_frames: int = 8,
    size: tuple[int, int] = (16, 12),
    seed: int = 0,
    cameras: Sequence[str] = EVA_CAMERAS,
    *,
    attributes: Mapping[str, Any] | None = None,
    embodiment: str = "eva_bimanual",
    fps: int = 30,
) -> Path:
    """Write a robot with two arms: poses in each arm's base, commands one row ahead, grippers in [0, 1]."""
    rng = np.random.default_rng(seed)
    with EpisodeWriter(
        path, embodiment=embodiment, fps=fps, task_name="pick_up", task_description="pick it up", attributes=attributes
    ) as writer:
        for side in SIDES:
            poses = smooth_poses(rng, num_frames + 1, centre=(0.3, 0.0, 0.2))
            grippers = np.clip(0.5 + smooth(rng, num_frames + 1, 1, scale=0.4), 0, 1)
            writer.add_numbers(
                {
                    obs_ee_pose(side): poses[:-1],
                    cmd_ee_pose(side): poses[1:],
                    obs_gripper(side): grippers[:-1],
                    cmd_gripper(side): grippers[1:],
                }
            )
        add_images(writer, rng, cameras, num_frames, size)
        add_halves(writer, num_frames)
    return path


def make_human_episode(
    path: Path,
    num_frames: int = 8,
    size: tuple[int, int] = (16, 12),
    seed: int = 0,
    missing: Mapping[Side, Sequence[int]] | None = None,
    attributes: Mapping[str, Any] | None = None,
    embodiment: str = "human_bimanual",
    *,
    fps: int = 30,
) -> Path:
    """Write two hands before a moving head, world frame; hands are rows of zeros where ``missing`` names frames."""
    rng = np.random.default_rng(seed)
    with EpisodeWriter(path, embodiment=embodiment, fps=fps, task_name="fold_clothes", attributes=attributes) as writer:
        writer.add_numbers({HEAD_POSE: smooth_poses(rng, num_frames, centre=(0.0, 0.0, 0.0), turn=0.05)})
        for side, x in zip(SIDES, (-0.15, 0.15), strict=True):
            wrists = smooth_poses(rng, num_frames, centre=(x, 0.1, 0.5))
            hand = rng.normal(scale=0.04, size=(21, 3))
            hand[0] = 0.0  # the first point is the wrist
            turned = np.einsum("tij,kj->tki", matrix_from_quaternion(wrists[:, 3:]), hand)
            palms = wrists.copy()
            palms[:, :3] += 0.02
            rows = {
                obs_wrist_pose(side): wrists,
                obs_ee_pose(side): palms,
                obs_keypoints(side): (turned + wrists[:, None, :3]).reshape(num_frames, 63),
            }
            for values in rows.values():
                values[list((missing or {}).get(side, ()))] = 0.0
            writer.add_numbers(rows)
        add_images(writer, rng, ("front_1",), num_frames, size)
        add_halves(writer, num_frames)
    return path


def make_joint_episode(
    path: Path,
    num_frames: int = 8,
    size: tuple[int, int] = (16, 12),
    seed: int = 0,
    fps: Fraction | float = 30,
    embodiment: str = "toy_arm",
    layout: Layout = JOINTS,
) -> Path:
    """Write a robot that is described by its own attributes: joints measured and commanded, one camera."""
    rng = np.random.default_rng(seed)
    fields = {OBS_JOINTS: layout.to_plain(), CMD_JOINTS: layout.to_plain()}
    with EpisodeWriter(path, embodiment=embodiment, fps=fps, task_name="wave", attributes={FIELDS: fields}) as writer:
        joints = smooth(rng, num_frames + 1, layout.width, scale=0.8).astype(np.float32)
        writer.add_numbers({OBS_JOINTS: joints[:-1], CMD_JOINTS: joints[1:]})
        add_images(writer, rng, ("front_1",), num_frames, size)
    return path


def write_numbers(
    path: Path,
    embodiment: str,
    numbers: Mapping[str, np.ndarray],
    fps: Fraction | float = 30,
    attributes: Mapping[str, Any] | None = None,
) -> Path:
    """Write an episode of given numeric arrays, each (T, D), and no picture."""
    with EpisodeWriter(path, embodiment=embodiment, fps=fps, attributes=attributes) as writer:
        writer.add_numbers(numbers)
    return path


def write_joints(path: Path, actions: np.ndarray, state: np.ndarray | None = None, fps: float = 30) -> Path:
    """Write an episode of a robot with one group of joints, (T, D) commanded and measured, and no picture."""
    layout = Layout((Field("arm", "joint", actions.shape[1], "", "rad"),)).to_plain()
    numbers = {CMD_JOINTS: actions, OBS_JOINTS: actions if state is None else state}
    return write_numbers(path, "toy_arm", numbers, fps, {FIELDS: {CMD_JOINTS: layout, OBS_JOINTS: layout}})


def smooth(rng: np.random.Generator, num_rows: int, width: int, scale: float) -> np.ndarray:
    """Return values (num_rows, width) that swing slowly within +-scale."""
    phase = rng.uniform(0, 2 * np.pi, size=width)
    speed = rng.uniform(0.02, 0.1, size=width)
    return scale * np.sin(phase + speed * np.arange(num_rows)[:, None])


def smooth_poses(
    rng: np.random.Generator, num_rows: int, centre: tuple[float, float, float], turn: float = 0.4
) -> np.ndarray:
    """Return poses (num_rows, 7) that wander around a place, metres."""
    places = np.asarray(centre) + smooth(rng, num_rows, 3, scale=0.05)
    rotations = matrix_from_ypr(smooth(rng, num_rows, 3, scale=turn))
    return np.concatenate([places, quaternion_from_matrix(rotations)], axis=-1)


def add_images(
    writer: EpisodeWriter,
    rng: np.random.Generator,
    cameras: Sequence[str],
    num_frames: int,
    size: tuple[int, int],
) -> None:
    """Add pictures of size (width, height) that differ from frame to frame and from camera to camera."""
    width, height = size
    ramp = np.linspace(0, 120, width)[None, :, None] + np.linspace(0, 80, height)[:, None, None]
    for camera in cameras:
        tint = rng.uniform(0, 40, size=3)
        for frame in range(num_frames):
            writer.add_image(camera, np.clip(ramp + tint + frame % 16, 0, 255).astype(np.uint8))


def add_halves(writer: EpisodeWriter, num_frames: int) -> None:
    """Add a text for the first half and one for the second; an episode of one frame gets only the first."""
    half = max(1, num_frames // 2)
    writer.add_span("reach for it", 0, half)
    if num_frames > half:
        writer.add_span("lift it", half, num_frames)


@dataclass(frozen=True)
class Broken:
    """One way in which data are broken."""

    name: str
    """What is wrong; it begins with the row of the field reports that tells of it, where one does."""
    code: str
    """Of the finding that is due."""
    build: Callable[[Path], Path | None]
    """Writes a folder of data; returns the damaged episode, or None where the fault is the folder's."""
    deep: bool = False
    """Whether only a deep look finds it."""


SOUND_FRAMES = 15
"""Of the episodes that `copy_sound` writes: a second, so that none is found short."""
_MAKERS: Mapping[str, Callable[..., Path]] = {
    "eva": make_eva_episode,
    "human": make_human_episode,
    "mecka": partial(make_human_episode, size=(16, 9), embodiment="mecka_bimanual"),
    "toy": make_joint_episode,
}
_shelf = tempfile.TemporaryDirectory(prefix="robotrain-sound-")
_BROKEN_HASH = "2026-01-01-00-00-00-000000"


@cache
def _sound(kind: str) -> Path:
    return _MAKERS[kind](Path(_shelf.name) / kind, SOUND_FRAMES, fps=SOUND_FRAMES)


def copy_sound(path: Path, kind: str = "eva") -> Path:
    """Write a sound episode (eva, human, mecka or toy), the same each time; cheaper than making one."""
    return shutil.copytree(_sound(kind), path)


def _quick(name: str, code: str, damage: Damage, kind: str = "eva", *, deep: bool = False) -> Broken:
    def build(root: Path) -> Path:
        path = copy_sound(root / f"{_BROKEN_HASH}.zarr", kind)
        damage(path)
        return path

    return Broken(name, code, build, deep)


_deep = partial(_quick, deep=True)


def _rows(array: str, change: Change) -> Damage:
    return lambda path: change_rows(path, array, change)


def _write(file: str, content: bytes) -> Damage:
    return lambda path: (path / file).write_bytes(content)


def _pictures(frames: range, content: bytes) -> Damage:
    return lambda path: set_pictures(path, "front_1", frames, content)


def _calibrate(**cameras: Any) -> Damage:
    return lambda path: edit(path, calibration={"reference_frame": "robot_base", "cameras": cameras})


def _lens(**told: Any) -> Damage:
    return _calibrate(front_1=_LENS | told, left_wrist=_LENS | {"rectified": True}, right_wrist={"K": _MATRIX})


_FRONT = "images.front_1"
_SIZE = (16, 12)
_POSE = obs_ee_pose("left")
_GRIPPER = obs_gripper("left")
_MATRIX = [[9.0, 0.0, 8.0, 0.0], [0.0, 9.0, 6.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
_PLACEHOLDER = [[16.0, 0.0, 8.0, 0.0], [0.0, 16.0, 6.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
_IDENTITY = np.eye(4).tolist()
_LENS = {"K": _MATRIX, "resolution": list(_SIZE), "distortion": [0.2, 0.01, 0.0, 0.0]}
_NERF = {"fl_x": 9, "fl_y": 9, "cx": 8, "cy": 6, "w": 16, "h": 12}
_NARROW = Layout((Field("arm", "joint", 2, "", "rad"),)).to_plain()

_BROKEN_ATTRIBUTES = (
    _quick("B4: the metadata are broken JSON", "not-an-episode", lambda path: cut(path, "zarr.json")),
    _quick("B22: no metadata", "not-an-episode", lambda path: without(path, "zarr.json")),
    _quick("B22: two JSON documents", "not-an-episode", _write("zarr.json", b"{}\n{}")),
    _quick("metadata of Zarr v2", "not-an-episode", _write("zarr.json", b'{"zarr_format": 2}')),
    _quick("no length", "no-total-frames", lambda path: edit(path, total_frames=None)),
    _quick("a length in words", "no-total-frames", lambda path: edit(path, total_frames="thirty")),
    _quick("a length of no frames", "no-total-frames", lambda path: edit(path, total_frames=0)),
    _quick("no rate", "no-fps", lambda path: edit(path, fps=None)),
    _quick("a rate of zero", "no-fps", lambda path: edit(path, fps=0)),
    _quick("no body", "no-embodiment", lambda path: edit(path, embodiment=None)),
    _quick("A19: a misspelt body", "unknown-embodiment", lambda path: edit(path, embodiment="eva_bimanul")),
    _quick("a body of EgoVerse only", "unsupported-embodiment", lambda path: edit(path, embodiment="eve_left_arm")),
    _quick("a body in capitals", "embodiment-spelling", lambda path: edit(path, embodiment="YAM_BIMANUAL")),
    _quick("a robot half described", "bad-fields", lambda path: edit(path, fields={OBS_JOINTS: _NARROW}), "toy"),
    _quick(
        "a robot of other columns",
        "bad-fields",
        lambda path: edit(path, fields={OBS_JOINTS: _NARROW, CMD_JOINTS: _NARROW}),
        "toy",
    ),
    _quick("no features", "no-features", lambda path: edit(path, features=None)),
    _quick("a specimen", "structural-sample", lambda path: edit(path, data_status="structural_sample")),
    _quick("a later schema", "unknown-schema", lambda path: edit(path, schema_version="v4.0")),
    _quick("C1: shorter than its chunks", "short-episode", lambda path: edit(path, total_frames=10)),
    _quick("B18: another duration", "duration-mismatch", lambda path: edit(path, duration=2.0)),
    _quick("a duration in words", "duration-mismatch", lambda path: edit(path, duration="a minute")),
)

_BROKEN_FILES = (
    _quick("B7: a listed array never came", "missing-array", lambda path: without(path, cmd_gripper("right"))),
    _quick("a head that was not tracked", "missing-array", lambda path: lose_array(path, HEAD_POSE), "human"),
    _quick("a camera never came", "missing-array", lambda path: without(path, "images.left_wrist")),
    _quick("an array that is not listed", "unlisted-array", lambda path: unlist(path, _POSE)),
    _quick("metadata of an array are broken", "broken-array", lambda path: cut(path, f"{_POSE}/zarr.json")),
    _quick("metadata of a group in place of an array's", "broken-array", _write(f"{_POSE}/zarr.json", b"{}")),
    _quick("B3: more frames promised than there are", "short-array", lambda path: edit(path, total_frames=101)),
    _quick("B18: one picture too few", "short-array", lambda path: edit_array(path, _FRONT, shape=[14])),
    _quick("a pose of six numbers", "wrong-width", lambda path: edit_array(path, _POSE, shape=[100, 6])),
    _quick("a gripper of two numbers", "wrong-width", lambda path: replace_array(path, _GRIPPER, _POSE)),
    _quick("B1: one of two chunk files is lost", "missing-shard", lose_a_chunk),
    _quick("B20: a file of no bytes", "missing-shard", _write(f"{_FRONT}/c/0", b"")),
    _quick("B1: every file of an array is lost", "missing-or-all-fill", lambda path: without(path, f"{_POSE}/c")),
    _quick("B5: numbers cut short", "unreadable-array", lambda path: cut(path, f"{_POSE}/c/0/0")),
    _quick("B7: a download not finished", "stray-file", _write(f"{_FRONT}/c/0.part", b"half")),
    _quick("a chunk beyond the array", "stray-file", _write(f"{_FRONT}/c/7", b"more")),
    _quick("an empty array in chunks of no rows", "zero-chunk", drop_texts),
)

_BROKEN_CONTENT = (
    _quick("no camera", "no-camera", lambda path: [lose_array(path, f"images.{name}") for name in EVA_CAMERAS]),
    _quick("B5: pictures cut short", "bad-jpeg", lambda path: cut(path, f"{_FRONT}/c/0")),
    _quick("B20: the first picture is empty", "bad-jpeg", _pictures(range(1), b"")),
    _quick("the middle picture is no JPEG", "bad-jpeg", _pictures(range(7, 8), b"no JPEG")),
    _quick("the last picture is cut short", "bad-jpeg", _pictures(range(14, 15), jpeg(_SIZE)[:300])),
    _quick("the last picture is larger", "image-size", _pictures(range(14, 15), jpeg((32, 24)))),
    _quick("pictures of another size than stated", "stated-size", _pictures(range(SOUND_FRAMES), jpeg((32, 24)))),
    _quick("B2: NaN in one frame", "non-finite", _rows(_GRIPPER, assign(3, np.nan))),
    _quick("B2: infinity in a command", "non-finite", _rows(cmd_ee_pose("left"), assign((3, 0), -np.inf))),
    _quick("zeros for a hand", "missing-rows", _rows(_POSE, assign(slice(4, 7), 0.0)), "human"),
    _quick("1e9 for a hand", "missing-rows", _rows(obs_keypoints("left"), assign(slice(4, 7), 1e9)), "human"),
    _quick("a text that is no JSON", "bad-annotations", lambda path: set_rows(path, ANNOTATIONS, slice(0, 1), b"{")),
    _quick("a text beyond the end", "bad-annotations", lambda path: set_texts(path, ("x", 0, 16))),
    _quick("a text that ends before it starts", "bad-annotations", lambda path: set_texts(path, ("x", 9, 3))),
    _quick("texts never came", "bad-annotations", lambda path: without(path, ANNOTATIONS)),
    _quick("a last frame named", "inclusive-spans", lambda path: set_texts(path, ("x", 0, 7), ("y", 8, 14))),
    _quick("texts one frame apart", "inclusive-spans", lambda path: set_texts(path, ("x", 0, 4), ("y", 5, 9))),
    _quick("a text of one frame", "inclusive-spans", lambda path: set_texts(path, ("x", 0, 4), ("y", 7, 7))),
    _quick("a text of blanks", "blank-annotation", lambda path: set_texts(path, (" ", 0, 7))),
    _quick("metadata in a text", "annotation-separator", lambda path: set_texts(path, ("lift | good", 0, 7))),
    _quick("a text for a third", "annotation-coverage", lambda path: set_texts(path, ("x", 0, 2), ("y", 2, 5))),
)

_BROKEN_CAMERAS = (
    _quick("intrinsics of two numbers", "bad-calibration", lambda path: edit(path, intrinsics={"front_1": [1, 2]})),
    _quick("a sheared pose", "bad-calibration", lambda path: edit(path, extrinsics={"left": [[1.0] * 4] * 4})),
    _quick("intrinsics of a square", "aspect-ratio", lambda path: edit(path, intrinsics=_NERF | {"h": 16})),
    _quick("one camera of three", "uncalibrated-camera", _calibrate(front_1={"K": _MATRIX})),
    _quick("made-up intrinsics", "intrinsics-signature", lambda path: edit(path, intrinsics={"front_1": _PLACEHOLDER})),
    _quick("a lens with distortion", "distorted-camera", _lens(model="OPENCV", rectified=False)),
    _quick("a fisheye", "distorted-camera", _lens(model="KANNALA_BRANDT", distortion=[0.0] * 4)),
    _quick("a strong coefficient", "distorted-camera", lambda path: edit(path, intrinsics=_NERF | {"k1": -0.3})),
    _quick("a made-up pose", "identity-extrinsics", lambda path: edit(path, extrinsics={"right": _IDENTITY})),
    _quick("a made-up place", "identity-extrinsics", _lens(ref_T_cam=_IDENTITY)),
)

_BROKEN_MOTION = (
    _deep("quaternions of twice the length", "quaternion-norm", _rows(_POSE, scale((slice(4, 9), slice(3, 7)), 2.0))),
    _deep("C10: angles for a quaternion", "quaternion-norm", _rows(_POSE, write_angles)),
    _deep("a quaternion changes sign", "quaternion-flip", _rows(_POSE, scale((slice(8, None), slice(3, 7)), -1.0))),
    _deep("B8: a rotation jumps", "rotation-jump", _rows(_POSE, turn_a_row)),
    _deep("tracking lost", "position-jump", _rows(_POSE, shift((8, 0), 1.0))),
    _deep("an angle that wraps", "joint-jump", _rows(OBS_JOINTS, shift((slice(8, None), 0), 2 * np.pi)), "toy"),
    _deep("B18: a sensor stands still", "frozen-track", lambda path: freeze(path, _POSE)),
    _deep("no rotation was measured", "degenerate-rotation", _rows(_POSE, assign((..., slice(3, 7)), (1, 0, 0, 0)))),
    _deep("measured at half the rate", "repeated-rows", _rows(_POSE, repeat_rows)),
    _deep("a hand mostly out of sight", "mostly-missing", _rows(_POSE, assign(slice(3, 13), 0.0)), "human"),
    _deep("C6: nothing but missing rows", "no-real-rows", hide_all_hands, "human"),
    _deep("A21: a gripper in per cent", "gripper-range", _rows(_GRIPPER, scale(..., 100.0))),
    _deep("B17: a gripper that never moves", "constant-channel", _rows(_GRIPPER, assign(..., 0.5))),
    _deep("A22: a joint of zeros", "constant-channel", _rows(CMD_JOINTS, assign((..., 1), 0.0)), "toy"),
    _deep(
        "a head that looks away", "palm-outside", _rows(HEAD_POSE, assign((..., slice(3, 7)), (0, 0, 1, 0))), "human"
    ),
    _deep("a left wrist mirrored twice", "mirrored-left-wrist", mirror_left_hand, "mecka"),
)

_BROKEN_PICTURES = (
    _deep("a broken picture among sound ones", "bad-jpeg", _pictures(range(4, 5), jpeg(_SIZE)[:300])),
    _deep("an empty picture among sound ones", "bad-jpeg", _pictures(range(4, 5), b"")),
    _deep("a larger picture among others", "image-size", _pictures(range(4, 5), jpeg((32, 24)))),
    _deep("a camera with its cap on", "blank-picture", _pictures(range(3, 13), jpeg(_SIZE))),
    _deep("B18: a camera stands still", "repeated-frames", lambda path: freeze_pictures(path, "front_1", range(9, 13))),
    _deep(
        "C12: a copy for a lost camera",
        "twin-cameras",
        lambda path: replace_array(path, "images.right_wrist", "images.left_wrist"),
    ),
)

_BROKEN_TIMES = (
    _deep("B14: a time runs back", "timestamp-order", add_times(shift(slice(9, None), -(10**9)))),
    _deep("a time stands still", "timestamp-order", add_times(lambda times: assign(9, times[8])(times))),
    _deep("frames were dropped", "timestamp-gap", add_times(shift(slice(9, None), 10**8))),
    _deep("times count from the start", "timestamp-epoch", add_times(shift(..., -1_700_000_000_000_000_000))),
    _deep("times went through a float", "timestamp-quantum", add_times(through_a_float)),
    _deep("recorded at half the rate told", "fps-mismatch", add_times(shift(..., 0), step_ns=133_333_333)),
)

BROKEN: tuple[Broken, ...] = (
    *_BROKEN_ATTRIBUTES,
    *_BROKEN_FILES,
    *_BROKEN_CONTENT,
    *_BROKEN_CAMERAS,
    *_BROKEN_MOTION,
    *_BROKEN_PICTURES,
    *_BROKEN_TIMES,
)
"""Episodes in which one thing is wrong."""


@dataclass(frozen=True)
class BrokenSet:
    """One way in which a folder of sound episodes is broken."""

    name: str
    """What is wrong; it begins with the row of the field reports that tells of it, where one does."""
    code: str
    """Of the finding that is due."""
    build: Callable[[Path], Path]
    """Writes episodes into a folder; returns DATA: the folder, or a config beside it."""
    record: bool = True
    """Whether a manifest is written before the damage."""
    damage: Damage | None = None
    """Done to DATA afterwards."""
    deep: bool = False
    """Whether only a deep look finds it."""
    also: frozenset[str] = frozenset()
    """Other errors that follow from the same fault."""


_FIRST, _SECOND, _THIRD = (f"2026-01-0{number}-00-00-00-000000" for number in (1, 2, 3))


def _three(root: Path) -> Path:
    """Write three sound episodes of different content."""
    for number, name in enumerate((_FIRST, _SECOND, _THIRD)):
        edit(copy_sound(root / "data" / f"{name}.zarr"), take=number)
    return root / "data"


def _config(*lines: str) -> Callable[[Path], Path]:
    def build(root: Path) -> Path:
        data = _three(root)
        config = root / "config.yaml"
        config.write_text("\n".join(["episodes:", f"  root: {data}", *(f"  {line}" for line in lines)]) + "\n")
        return config

    return build


def _flip_a_bit(data: Path) -> None:
    """Flip one bit of a picture's bytes, and set the file's time of writing back."""
    file = data / f"{_SECOND}.zarr" / _FRONT / "c" / "0"
    content, status = bytearray(file.read_bytes()), file.stat()
    content[len(content) // 2] ^= 4
    file.write_bytes(content)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def _lose_the_only_preview(data: Path) -> None:
    (data / f"{_SECOND}.zarr" / "annotations" / "c" / "0").unlink()


BROKEN_SETS: tuple[BrokenSet, ...] = (
    BrokenSet("B24: no digest was ever recorded", "no-baseline", _three, record=False),
    BrokenSet(
        "B7: a download lost a file that was recorded",
        "lost-file",
        _three,
        damage=lambda data: (data / f"{_SECOND}.zarr" / _POSE / "c" / "0" / "0").unlink(),
        also=frozenset({"missing-shard"}),
    ),
    BrokenSet("a lost text", "lost-file", _three, damage=_lose_the_only_preview, also=frozenset({"missing-shard"})),
    BrokenSet(
        "B25: written again from another source",
        "changed-content",
        _three,
        damage=lambda data: edit(data / f"{_SECOND}.zarr", task_name="sort"),
    ),
    BrokenSet("B5: a flipped bit", "changed-content", _three, damage=_flip_a_bit),
    BrokenSet(
        "B7: a download left an episode out",
        "lost-episode",
        _three,
        damage=lambda data: shutil.rmtree(data / f"{_SECOND}.zarr"),
    ),
    BrokenSet(
        "an episode came afterwards",
        "unlisted-episode",
        _three,
        damage=lambda data: edit(copy_sound(data / "2026-02-01-00-00-00-000000.zarr"), take=9),
    ),
    BrokenSet(
        "B22: the manifest was cut short",
        "bad-manifest",
        _three,
        damage=lambda data: (data / "manifest.json").write_text('{"schema_version": 1, "episodes": ['),
    ),
    BrokenSet(
        "one recording under two hashes",
        "duplicate-content",
        _three,
        damage=lambda data: shutil.copytree(data / f"{_SECOND}.zarr", data / "2026-02-01-00-00-00-000000.zarr"),
        deep=True,
    ),
    BrokenSet(
        "two folders for one hash",
        "duplicate-hash",
        _three,
        record=False,
        damage=lambda data: shutil.copytree(data / f"{_SECOND}.zarr", data / _SECOND),
    ),
    BrokenSet("B13: a pinned episode is not there", "missing-pin", _config(f"pins: [{_FIRST}, nothing]"), record=False),
    BrokenSet(
        "a held-out episode is not there", "missing-pin", _config(f"pins: [{_FIRST}]", "held_out: [gone]"), record=False
    ),
    BrokenSet(
        "a pinned episode is of another body",
        "unusable-pin",
        _config(f"pins: [{_FIRST}, {_SECOND}]", "embodiment: human_bimanual"),
        record=False,
    ),
    BrokenSet(
        "a pinned episode is filtered out",
        "unusable-pin",
        _config(f"pins: [{_FIRST}, {_SECOND}]", "where: {take: 0}"),
        record=False,
    ),
)
"""Folders in which no episode is wrong by itself, but for what follows: what is due, `stages.validate` tells."""
