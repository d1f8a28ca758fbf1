"""What can be wrong with an episode: every code, how grave it is, what it means and how to mend it.

Knows words only; refuses to look at data.
"""

from dataclasses import dataclass
from typing import Literal

from robotrain.errors import EpisodeError

Severity = Literal["error", "warning"]
"""An error stops training or would poison it; a warning is to be known."""


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of finding."""

    severity: Severity
    meaning: str
    mend: str


CODES: dict[str, Code] = {
    "not-an-episode": Code(
        "error",
        "The folder holds no readable Zarr v3 group: its zarr.json is missing, broken, or of another kind.",
        "Copy the episode again from its source; if it is older Zarr v2 data, convert it.",
    ),
    "no-total-frames": Code(
        "error",
        "The attribute total_frames is missing or no positive whole number; padded arrays do not tell the length.",
        "Add total_frames to the attributes in zarr.json, or convert the recording again.",
    ),
    "no-fps": Code(
        "error",
        "The attribute fps is missing or no positive number. Horizons are in seconds, so the rate must be known.",
        "Add fps, in frames per second, to the attributes in zarr.json.",
    ),
    "no-embodiment": Code(
        "error",
        "The attribute embodiment is missing. Nothing tells which body the numbers belong to.",
        "Add embodiment to the attributes in zarr.json, for example eva_bimanual.",
    ),
    "unknown-embodiment": Code(
        "error",
        "The embodiment's name is none that is known, and no attribute 'fields' describes it.",
        "Correct the name, or describe the robot's columns in the attribute 'fields' as 'robotrain convert' does.",
    ),
    "unsupported-embodiment": Code(
        "warning",
        "The embodiment is one of EgoVerse's that no policy here can be trained for yet.",
        "Select other episodes with episodes.embodiment=NAME.",
    ),
    "bad-fields": Code(
        "error",
        "The attribute 'fields' does not describe the columns of the robot's joint arrays.",
        "Convert the recording again, or correct 'fields' so that the widths add up to the array's.",
    ),
    "no-features": Code(
        "warning",
        "The attribute features, which other tools look arrays up in, is missing.",
        "Nothing to do for robotrain, which reads the folder itself.",
    ),
    "missing-array": Code(
        "error",
        "An array that the attributes list, or that the embodiment needs, is not on disk.",
        "Copy the episode again from its source: the download is not complete.",
    ),
    "unlisted-array": Code(
        "warning",
        "An array on disk is not listed in the attribute features, so that other tools will not see it.",
        "Nothing to do for robotrain; list it in features for other tools.",
    ),
    "broken-array": Code(
        "error",
        "The metadata of an array cannot be read, or describe no array.",
        "Copy the array's folder again from its source.",
    ),
    "short-array": Code(
        "error",
        "An array has fewer rows than the episode has frames.",
        "Copy the episode again; if its source has as few rows, correct total_frames.",
    ),
    "wrong-width": Code(
        "error",
        "An array is not as wide as its name says: poses have 7 columns, grippers 1, hand keypoints 63.",
        "Convert the recording again.",
    ),
    "missing-shard": Code(
        "error",
        "A file that an array's metadata promise is missing or empty. Zarr would read it as zeros without a word.",
        "Copy the episode again from its source: the download is not complete.",
    ),
    "unwritten-array": Code(
        "error",
        "Not one file of an array is there. Either all were lost, or a writer left out an array that is all zeros.",
        "Copy the episode again; if the zeros are meant, write the array with write_empty_chunks.",
    ),
    "unreadable-array": Code(
        "error",
        "The files of an array are there, but their bytes cannot be decoded.",
        "Copy the array's folder again from its source: it was cut short or changed.",
    ),
    "no-camera": Code(
        "warning",
        "The episode has no pictures.",
        "Policies see nothing of it, and no video can be drawn; leave it out, or convert it with its cameras.",
    ),
    "bad-jpeg": Code(
        "error",
        "A picture is empty or no sound JPEG. The first, the middle and the last of each camera are looked at.",
        "Copy the camera's folder again from its source.",
    ),
    "image-size": Code(
        "error",
        "Pictures of one camera differ in size.",
        "Convert the recording again with pictures of one size.",
    ),
    "stated-size": Code(
        "warning",
        "The attribute features states another picture size than the pictures have.",
        "Nothing to do for robotrain, which reads the size from the pictures.",
    ),
    "non-finite": Code(
        "error",
        "An array holds NaN or infinity, which would spread through statistics and training.",
        "Find the frame in the recording; remove the episode, or mark the rows missing with 1e9.",
    ),
    "missing-rows": Code(
        "warning",
        "Rows are marked as not seen: zeros in poses and hand keypoints, or values of 1e8 and more.",
        "Nothing to do: they are masked. Look at the episode when the share is large.",
    ),
    "bad-annotations": Code(
        "warning",
        "Annotated texts cannot be read, or lie outside the episode.",
        "The episode is used without those texts; correct the array 'annotations'.",
    ),
    "bad-calibration": Code(
        "error",
        "What the attributes tell of a camera's intrinsics or place cannot be read.",
        "Correct the attribute, or remove it so that the embodiment's default is taken.",
    ),
    "aspect-ratio": Code(
        "warning",
        "Pictures have another shape than those the intrinsics are for, so drawn points will lie astray.",
        "Store the camera's own intrinsics in the attributes, for the pictures as they are.",
    ),
    "duplicate-hash": Code(
        "error",
        "Two folders stand for one episode: one named with .zarr, one without.",
        "Remove one of the two.",
    ),
    "missing-pin": Code(
        "error",
        "A config pins an episode that is not in the folder.",
        "Correct the hash, or fetch the episode.",
    ),
    "unusable-pin": Code(
        "error",
        "A config pins an episode that is there, but cannot be read or is of another embodiment.",
        "Mend the episode, or take it off the list.",
    ),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with one episode."""

    severity: Severity
    code: str
    episode: str
    """Hash."""
    array: str
    """Empty where the finding is about the whole episode."""
    frame: int | None
    """First frame concerned, where there is one."""
    message: str
    hint: str
    """How to mend it."""


def build_finding(code: str, episode: str, message: str, *, array: str = "", frame: int | None = None) -> Finding:
    """Return a finding with the severity and the hint of its code."""
    told = CODES[code]
    return Finding(told.severity, code, episode, array, frame, message, told.mend)


def finding_of_error(code: str, problem: EpisodeError) -> Finding:
    """Return a finding for what the reader complained about."""
    return build_finding(code, problem.episode, problem.problem, array=problem.array, frame=problem.frame)
