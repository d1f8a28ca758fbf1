"""What can be wrong with episodes: every code, how grave it is, what it means and how to mend it.

Knows words only; refuses to look at data.
"""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "off"]
"""An error stops training or would poison it; a warning is to be known; what is off is not told unless asked for."""


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
    "missing-or-all-fill": Code(
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
        "A picture is empty or no sound JPEG. The first, the middle and the last of each camera are looked at, "
        "and every one with --deep.",
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
    "stray-file": Code(
        "warning",
        "A file in the episode belongs to no array: often what an interrupted download left behind.",
        "Remove it; if the download was interrupted, copy the episode again.",
    ),
    "zero-chunk": Code(
        "warning",
        "The metadata of an empty array name a chunk of no rows, which newer versions of Zarr refuse.",
        "Nothing to do for robotrain, which reads it as empty; write the array again for other tools.",
    ),
    "embodiment-spelling": Code(
        "off",
        "The embodiment is spelled in capitals or by its vendor, as older data are.",
        "Nothing to do: robotrain knows the name.",
    ),
    "structural-sample": Code(
        "warning",
        "The attribute data_status says that this is a structural sample: a specimen of the format, and no recording.",
        "Nothing to do: it is never trained on.",
    ),
    "unknown-schema": Code(
        "warning",
        "The attribute schema_version is none that robotrain knows (v3.0, v3.1).",
        "Look whether a newer robotrain reads it; what is known of the format is read all the same.",
    ),
    "short-episode": Code(
        "warning",
        "The episode lasts less than a second: most of its action chunks are cut short by its end.",
        "Nothing to do: steps beyond the end are masked. Leave it out if it is no demonstration.",
    ),
    "duration-mismatch": Code(
        "warning",
        "The attribute duration differs by more than 5 %, and by more than a frame, from frames divided by fps.",
        "Correct duration or fps, whichever is wrong: horizons are in seconds.",
    ),
    "inclusive-spans": Code(
        "warning",
        "Annotations name their last frame (inclusive), and robotrain reads the end as left out (half-open).",
        "Add one to every end_idx; until then the last frame of each text has none.",
    ),
    "blank-annotation": Code(
        "warning",
        "An annotation has no text.",
        "Write the text, or remove the annotation; its frames fall back on the task's own text.",
    ),
    "annotation-separator": Code(
        "warning",
        "An annotation holds ' | ', with which other tools smuggle metadata into the text a policy reads.",
        "Keep the instruction alone as the text.",
    ),
    "annotation-coverage": Code(
        "off",
        "Less than 90 % of the frames have an annotated text.",
        "Nothing to do: the other frames fall back on the task's own text.",
    ),
    "uncalibrated-camera": Code(
        "warning",
        "The attributes calibrate some cameras of the episode, and not this one.",
        "Add the camera to the attribute 'calibration'.",
    ),
    "intrinsics-signature": Code(
        "warning",
        "The intrinsics are fx = fy = width with the centre in the middle: a placeholder, and no camera's.",
        "Store the camera's own intrinsics; points drawn over its pictures will lie astray until then.",
    ),
    "distorted-camera": Code(
        "warning",
        "The calibration names a lens model with distortion and does not say that the pictures are rectified.",
        "Store rectified pictures: robotrain draws with a pinhole camera, and points near the edge will lie astray.",
    ),
    "identity-extrinsics": Code(
        "warning",
        "The camera's pose is the identity: a placeholder, unless the camera stands in the robot's base.",
        "Store the calibrated pose, or remove the attribute so that the embodiment's default is taken.",
    ),
    "quaternion-norm": Code(
        "error",
        "Quaternions of a pose do not have norm 1 (tolerance 1e-3), so they are no rotations.",
        "Convert the recording again; look whether the pose's seven numbers are x y z qw qx qy qz.",
    ),
    "quaternion-flip": Code(
        "warning",
        "The sign of a quaternion flips from one frame to the next: the same rotation, but a jump in the numbers.",
        "Nothing to do for robotrain, which reads rotations; other tools may interpolate the long way round.",
    ),
    "rotation-jump": Code(
        "warning",
        "A pose turns faster than any arm can, over 45 rad/s from one frame to the next: tracking was lost.",
        "Look at the frame; leave the episode out, or mark the bad rows missing with 1e9.",
    ),
    "position-jump": Code(
        "warning",
        "A pose moves faster than any arm can, over 6 m/s from one frame to the next: tracking was lost.",
        "Look at the frame; leave the episode out, or mark the bad rows missing with 1e9.",
    ),
    "joint-jump": Code(
        "warning",
        "A joint turns by more than half a turn from one frame to the next: an angle that wrapped, or lost data. "
        "Joints whose unit nobody tells are not judged.",
        "Unwrap the angle in the recording, or leave the episode out.",
    ),
    "frozen-track": Code(
        "warning",
        "An array that should move is the same in every frame: the sensor gave nothing new.",
        "Leave the episode out unless the limb truly rested.",
    ),
    "degenerate-rotation": Code(
        "warning",
        "More than 1 % of a pose's rotations are exactly the identity: a placeholder, and no measurement.",
        "Convert the recording again with its rotations, or choose a mode that does not read them.",
    ),
    "repeated-rows": Code(
        "warning",
        "A fifth or more of an array's rows repeat the row before (for hands seen from the head): "
        "it was measured at a lower rate than it is stored.",
        "Nothing to do; know that the motion is coarser than fps says.",
    ),
    "mostly-missing": Code(
        "warning",
        "More than half of the rows of a hand or a pose are marked missing.",
        "Leave the episode out, or choose a mode that does not need this limb.",
    ),
    "no-real-rows": Code(
        "error",
        "No frame has a real row in any pose: every hand or arm is missing throughout, so there is nothing to learn.",
        "Leave the episode out.",
    ),
    "gripper-range": Code(
        "warning",
        "A gripper's aperture leaves 0 to 1, so it is in another unit than the others.",
        "Convert the recording again with apertures from 0 (closed) to 1 (open).",
    ),
    "constant-channel": Code(
        "warning",
        "A joint or gripper never changes, so nothing can be learned about it.",
        "Nothing to do: degenerate channels are not scaled. Look whether the sensor was connected.",
    ),
    "palm-outside": Code(
        "warning",
        "Hands or tools, projected into the front camera, lie outside its picture in most frames.",
        "Look at 'robotrain render DATA OUT': intrinsics, extrinsics or the head's pose are wrong.",
    ),
    "mirrored-left-wrist": Code(
        "warning",
        "The left hand's rotation in Mecka data is turned by 180 degrees about its z axis against its own keypoints: "
        "a known fault of older converters.",
        "Convert the recording again with the corrected converter, or set data.mend_left_wrist=true; do not mix both.",
    ),
    "blank-picture": Code(
        "warning",
        "Pictures of a camera are of one colour only.",
        "Look whether the camera was connected; leave the episode out if it was not.",
    ),
    "repeated-frames": Code(
        "warning",
        "A tenth or more of a camera's pictures, or a second on end, repeat the one before byte for byte: "
        "the camera stood still.",
        "Look at the video; leave the episode out if the camera froze.",
    ),
    "twin-cameras": Code(
        "warning",
        "Two cameras hold the same pictures, so one of them is a copy that stands in for a missing camera.",
        "Remove the copy: a camera that an episode lacks is masked.",
    ),
    "timestamp-order": Code(
        "error",
        "Capture times do not increase from frame to frame.",
        "Convert the recording again with its frames in order.",
    ),
    "timestamp-gap": Code(
        "warning",
        "Between two frames lies more than 1.5 times the usual time: frames were dropped.",
        "Leave the episode out, or cut it at the gap.",
    ),
    "timestamp-epoch": Code(
        "warning",
        "Capture times do not count from 1970 (they are not of the years 2000 to 2099), "
        "so recordings cannot be matched by them.",
        "Nothing to do for robotrain, which looks at differences only.",
    ),
    "timestamp-quantum": Code(
        "warning",
        "Capture times are multiples of a power of two of 64 ns or more, and of no microsecond: "
        "they went through a float and lost digits.",
        "Nothing to do at this frame rate; keep nanoseconds as integers in the converter.",
    ),
    "fps-mismatch": Code(
        "error",
        "The attribute fps differs by more than 5 % from the capture times, so horizons in seconds would be wrong.",
        "Correct fps in the attributes.",
    ),
    "duplicate-content": Code(
        "error",
        "Two hashes hold the same bytes: one recording counts twice, and may both be trained on and validated with.",
        "Remove one of the two.",
    ),
    "lost-file": Code(
        "error",
        "A file is gone that was there when the episode's digest was recorded.",
        "Copy the episode again from its source.",
    ),
    "changed-content": Code(
        "error",
        "The episode's bytes are not those whose digest was recorded, or could not be read whole to tell.",
        "Copy the episode again; if the change is meant: robotrain validate-data DATA --write-manifest",
    ),
    "lost-episode": Code(
        "error",
        "The manifest names an episode that is not in the folder.",
        "Fetch the episode; if it was removed on purpose: robotrain validate-data DATA --write-manifest",
    ),
    "unlisted-episode": Code(
        "warning",
        "An episode is in the folder and not in its manifest.",
        "If it belongs there: robotrain validate-data DATA --write-manifest",
    ),
    "bad-manifest": Code(
        "error",
        "The manifest cannot be read.",
        "Write it anew: robotrain validate-data DATA --write-manifest",
    ),
    "no-baseline": Code(
        "warning",
        "No digest of some episodes was ever recorded, so this check promises only what structure shows: "
        "a changed byte would go unseen.",
        "Record them: robotrain validate-data DATA --write-manifest",
    ),
}
