"""What an EgoVerse episode is called on disk: its arrays, its attributes, its embodiments.

The only place that spells an array's name or an attribute's, but for those by which a robot describes itself: they are
`embodiments.joints`'s. Knows JSON and names; refuses to know what is inside an array, and never opens one.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from robotrain.embodiments import joints
from robotrain.embodiments.sides import SIDES, Side
from robotrain.errors import EpisodeError, MissingPathError

# Arrays
HEAD_POSE = "obs_head_pose"
"""Pose of the front camera (= the head) in the episode's world, human data."""
ANNOTATIONS = "annotations"
OBS_JOINTS = joints.STATE_ARRAY
"""All measured joints of a robot that is described by its own attribute `FIELDS`."""
CMD_JOINTS = joints.ACTION_ARRAY
"""All commanded joints of such a robot."""
TIMESTAMPS = "obs_rgb_timestamps_ns"
"""When each picture was taken, int64 nanoseconds: (T,)."""
_IMAGES = joints.IMAGE_PREFIX

# Attributes
EMBODIMENT = "embodiment"
ROBOT_TYPE = "robot_type"  # the older name of EMBODIMENT
TOTAL_FRAMES = "total_frames"
FPS = "fps"
TASK_NAME = "task_name"
TASK_DESCRIPTION = "task_description"
FEATURES = joints.FEATURES_ATTRIBUTE
FIELDS = joints.FIELDS_ATTRIBUTE
"""Of robots described by data: {array: `Layout.to_plain()`}."""
INTRINSICS = "intrinsics"
CAMERA_INTRINSICS = "camera_intrinsics"
EXTRINSICS = "extrinsics"
CALIBRATION = "calibration"
DURATION = "duration"
"""Seconds, as the vendor tells them."""
SCHEMA_VERSION = "schema_version"
KNOWN_SCHEMAS = ("v3.0", "v3.1")
DATA_STATUS = "data_status"
STRUCTURAL_SAMPLE = "structural_sample"
"""What `DATA_STATUS` says of a specimen of the format that is no recording."""
ANNOTATION_FORMAT = "annotation_v1"

METADATA = "zarr.json"
SUFFIX = ".zarr"

MISSING_VALUE = 1e8
"""What is this large or larger stands for "not seen" (Aria's converter wrote 1e9)."""

ROWS = 100
"""Arrays are padded to a multiple of so many rows, and stored in inner chunks of so many."""

MAX_FRAMES = 10_000_000
"""Of one episode; one that claims more is broken: 92 hours at 30 frames a second."""
_MAX_FPS = 100_000
_LARGEST = 10**15
"""No count, rate or time is larger."""
_EXACT = re.compile(r"\s*[+-]?\d{1,15}(\.\d{0,30}|/\d{1,15})?\s*")

_VENDORS = {
    "aria_": "human_",
    "mecka_": "human_",
    "scale_": "human_",
    "lightwheel_": "human_",
    "yam_": "eva_",
}
EMBODIMENTS: tuple[str, ...] = tuple(
    f"{body}_{arms}" for body in ("human", "eva", "eve") for arms in ("bimanual", "left_arm", "right_arm")
)
"""Every name that EgoVerse data use, vendors folded in."""


def obs_ee_pose(side: Side) -> str:
    """Return the array of a palm's pose (human, world) or a tool's (robot, that arm's base): (T, 7)."""
    return f"{side}.obs_ee_pose"


def cmd_ee_pose(side: Side) -> str:
    """Return the array of a tool's commanded pose, that arm's base: (T, 7)."""
    return f"{side}.cmd_ee_pose"


def obs_wrist_pose(side: Side) -> str:
    """Return the array of a wrist's pose, world: (T, 7)."""
    return f"{side}.obs_wrist_pose"


def obs_keypoints(side: Side) -> str:
    """Return the array of a hand's 21 points, world: (T, 63)."""
    return f"{side}.obs_keypoints"


def obs_joints(side: Side) -> str:
    """Return the array of one arm's measured joints, rad: (T, 6)."""
    return f"{side}.obs_joints"


def cmd_joints(side: Side) -> str:
    """Return the array of one arm's commanded joints, rad: (T, 6)."""
    return f"{side}.cmd_joints"


def obs_gripper(side: Side) -> str:
    """Return the array of a gripper's measured aperture, 0 to 1: (T, 1)."""
    return f"{side}.obs_gripper"


def cmd_gripper(side: Side) -> str:
    """Return the array of a gripper's commanded aperture, 0 to 1: (T, 1)."""
    return f"{side}.cmd_gripper"


def gripper(side: Side) -> str:
    """Return the array that older episodes have in place of `obs_gripper` and `cmd_gripper`."""
    return f"{side}.gripper"


def obs_gripper_spellings(side: Side) -> tuple[str, str]:
    """Return the arrays that may hold a measured aperture, the better one first."""
    return obs_gripper(side), gripper(side)


def cmd_gripper_spellings(side: Side) -> tuple[str, str]:
    """Return the arrays that may hold a commanded aperture, the better one first."""
    return cmd_gripper(side), gripper(side)


def image_array(camera: str) -> str:
    """Return the array of a camera's pictures."""
    return _IMAGES + camera


def camera_of(array: str) -> str | None:
    """Return the camera whose pictures an array holds, or None."""
    return array.removeprefix(_IMAGES) if array.startswith(_IMAGES) else None


def is_pose(array: str) -> bool:
    """Say whether an array holds poses x y z qw qx qy qz, metres."""
    return array.endswith("_pose")


def is_keypoints(array: str) -> bool:
    """Say whether an array holds the points of a hand."""
    return array.endswith("keypoints")


def is_gripper(array: str) -> bool:
    """Say whether an array holds a gripper's aperture."""
    return array.endswith("gripper")


def is_joints(array: str) -> bool:
    """Say whether an array holds the joints of an arm or of a whole robot."""
    return array.endswith("joints")


def holds_numbers(array: str) -> bool:
    """Say whether an array holds numbers: neither pictures nor texts."""
    return camera_of(array) is None and array != ANNOTATIONS


def width_of(array: str) -> int | None:
    """Return the columns that an array's name promises; None where it promises none."""
    if is_pose(array):
        return 7
    if is_keypoints(array):
        return 63
    return 1 if is_gripper(array) else None


def is_observed(array: str) -> bool:
    """Say whether an array was measured, and not commanded."""
    return array.rpartition(".")[2].startswith("obs_")


def missing_rows(array: str, values: np.ndarray) -> np.ndarray:
    """Return which rows (T,) bool of an array's values (T, D) are not data.

    A value of 1e8 or more, or one that is not finite, marks a missing row everywhere. A row of zeros does in poses and
    hand keypoints only: a closed gripper or a joint at home is rightly zero. Capture times are counts, so that every
    one is data however large.
    """
    if array == TIMESTAMPS and values.dtype.kind in "iu":
        return np.zeros(len(values), dtype=bool)
    with np.errstate(invalid="ignore"):
        missing = ~np.all(np.abs(values) < MISSING_VALUE, axis=-1)
    if is_pose(array) or is_keypoints(array):
        missing |= ~np.any(values, axis=-1)
    return missing


def canonical_embodiment(stored: str) -> str:
    """Return the one spelling of an embodiment's name: MECKA_BIMANUAL is human_bimanual."""
    name = stored.strip().lower()
    for vendor, body in _VENDORS.items():
        if name.startswith(vendor):
            return body + name.removeprefix(vendor)
    return name


def sides_of(embodiment: str) -> tuple[Side, ...]:
    """Return the sides that an embodiment's name promises, canonical or as stored: eva_left_arm has the left one."""
    return tuple(side for side in SIDES if embodiment.lower().endswith(f"_{side}_arm")) or SIDES


def hash_of(path: Path | str) -> str:
    """Return an episode's hash: its folder's name, or the name given, without ``.zarr``."""
    return Path(path).name.removesuffix(SUFFIX)


@dataclass(frozen=True)
class EpisodeFacts:
    """What an episode says about itself, read without opening an array."""

    path: Path
    hash: str
    embodiment: str
    """Canonical name."""
    stored_embodiment: str
    """As the episode spells it."""
    num_frames: int
    """T, from the attribute `TOTAL_FRAMES`: arrays may be longer, and what follows is padding."""
    fps: Fraction
    task_name: str
    task_description: str
    arrays: tuple[str, ...]
    """Names of the arrays that are on disk, sorted."""
    attributes: Mapping[str, Any] = field(repr=False, hash=False)

    @property
    def cameras(self) -> tuple[str, ...]:
        """Cameras with pictures on disk, sorted."""
        return tuple(camera for array in self.arrays if (camera := camera_of(array)) is not None)


def read_facts(path: Path | str) -> EpisodeFacts:
    """Read what an episode says about itself: one small file and a list of names.

    Raises:
        MissingPathError: when there is no such folder.
        EpisodeError: when it is no Zarr group, its metadata are broken, or frames, rate or embodiment are not said.
    """
    path = Path(path)
    return facts_from(path, read_attributes(path), list_arrays(path))


def facts_from(path: Path, attributes: Mapping[str, Any], arrays: tuple[str, ...]) -> EpisodeFacts:
    """Return what attributes and names of arrays say about an episode.

    Raises:
        EpisodeError: when frames, rate or embodiment are not said.
    """
    stored = read_embodiment(path, attributes)
    return EpisodeFacts(
        path=path,
        hash=hash_of(path),
        embodiment=canonical_embodiment(stored),
        stored_embodiment=stored,
        num_frames=read_num_frames(path, attributes),
        fps=read_fps(path, attributes),
        task_name=_text(attributes, TASK_NAME),
        task_description=_text(attributes, TASK_DESCRIPTION),
        arrays=arrays,
        attributes=attributes,
    )


def read_metadata(folder: Path, episode: str) -> dict[str, Any]:
    """Return the object in a folder's ``zarr.json``.

    Raises:
        EpisodeError: when the file is not there, is no JSON, or holds no Zarr v3 metadata.
    """
    file = folder / METADATA
    try:
        content = file.read_bytes() if file.is_file() else None  # a pipe would be waited for
        metadata = None if content is None else json.loads(content)
        if content is not None and b"\\u" in content:
            json.dumps(metadata, ensure_ascii=False).encode()  # half of a pair of surrogates is no text
    except (ValueError, OSError, RecursionError) as problem:  # broken JSON and broken UTF-8 are ValueErrors
        raise EpisodeError(episode, f"'{file}' cannot be read as JSON: {problem}.") from None
    if content is None:
        raise EpisodeError(episode, f"the file '{file.name}' is missing from '{folder}': no Zarr v3 data.")
    if not isinstance(metadata, dict) or metadata.get("zarr_format") != 3:
        raise EpisodeError(episode, f"'{file}' holds no Zarr v3 metadata.")
    return metadata


def read_attributes(path: Path) -> dict[str, Any]:
    """Return an episode's attributes as they are stored.

    Raises:
        MissingPathError: when there is no such folder.
        EpisodeError: when it is no Zarr v3 group, or its metadata are broken.
    """
    if not path.is_dir():
        raise MissingPathError(path, "The episode")
    metadata = read_metadata(path, hash_of(path))
    attributes = metadata.get("attributes", {})
    if metadata.get("node_type") != "group" or not isinstance(attributes, dict):
        raise EpisodeError(hash_of(path), f"'{path / METADATA}' describes no Zarr group with attributes.")
    return attributes


def read_num_frames(path: Path, attributes: Mapping[str, Any]) -> int:
    """Return the number of real frames, T.

    Raises:
        EpisodeError: when it is not said, or is no positive whole number.
    """
    value = attributes.get(TOTAL_FRAMES)
    if value is None:
        raise EpisodeError(hash_of(path), f"the attribute '{TOTAL_FRAMES}' is missing, so its length is unknown.")
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not whole or value < 1:
        raise EpisodeError(hash_of(path), f"the attribute '{TOTAL_FRAMES}' is {value!r}, not a positive whole number.")
    if value > MAX_FRAMES:
        text = f"the attribute '{TOTAL_FRAMES}' is above {MAX_FRAMES:,}: no episode is so long."
        raise EpisodeError(hash_of(path), text)
    return int(value)


def read_fps(path: Path, attributes: Mapping[str, Any]) -> Fraction:
    """Return the rate in frames per second, exactly: 29.97002997 is 30000/1001.

    Raises:
        EpisodeError: when it is not said, or is no positive number.
    """
    value = attributes.get(FPS)
    if value is None:
        raise EpisodeError(hash_of(path), f"the attribute '{FPS}' is missing, so its seconds are unknown.")
    try:
        rate = exact_number(value).limit_denominator(1001)
    except ValueError:
        rate = Fraction(0)
    if not 0 < rate <= _MAX_FPS:
        raise EpisodeError(hash_of(path), f"the attribute '{FPS}' is {value!r}, not a positive number.")
    return rate


def exact_number(value: Any) -> Fraction:
    """Return a number of a file's attributes, or a text that spells one, exactly: "30000/1001" is no 29.97.

    Raises:
        ValueError: when it is none, or larger than anything that is counted or measured here.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("no number")
    if isinstance(value, str) and not _EXACT.fullmatch(value):  # "1e999999999" has more digits than memory holds
        raise ValueError("no number")
    try:
        number = Fraction(value)
    except (OverflowError, ZeroDivisionError):
        raise ValueError("no number") from None
    if abs(number) > _LARGEST:
        raise ValueError("too large")
    return number


def read_embodiment(path: Path, attributes: Mapping[str, Any]) -> str:
    """Return the embodiment as the episode spells it.

    Raises:
        EpisodeError: when it is not said.
    """
    for attribute in (EMBODIMENT, ROBOT_TYPE):
        value = attributes.get(attribute)
        if isinstance(value, str) and value.strip():
            return value
    raise EpisodeError(hash_of(path), f"the attribute '{EMBODIMENT}' is missing, so its body is unknown.")


def list_arrays(path: Path) -> tuple[str, ...]:
    """Return the names of the arrays on disk, sorted: what Zarr or the attributes list may differ from it."""
    return tuple(
        sorted(
            child.name for child in path.iterdir() if not child.name.startswith(".") and (child / METADATA).is_file()
        )
    )


def _text(attributes: Mapping[str, Any], name: str) -> str:
    value = attributes.get(name)
    return value if isinstance(value, str) else ""
