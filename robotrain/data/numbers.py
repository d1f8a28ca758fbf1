"""The numbers of a whole episode in memory, missing rows filled and marked.

Knows rows and parts; refuses to change a number that was recorded: that is `data/transforms.py`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from robotrain.data.sources import Plan, choose_array
from robotrain.embodiments.embodiment import Embodiment
from robotrain.episodes.left_wrist import POSE_ARRAYS, is_mecka, judge_left_wrist, mend_left_wrist
from robotrain.episodes.schema import missing_rows
from robotrain.errors import EpisodeError
from robotrain.geometry.poses import invert, transform_from_pose

if TYPE_CHECKING:  # the reader brings zarr, which a cache hit does without
    from robotrain.episodes.reader import Episode

IDENTITY_POSE = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
CameraPoses = Mapping[str, np.ndarray | None]
"""By arm: base_from_camera (4, 4), or None where an episode brings none."""


@dataclass(frozen=True)
class Now:
    """What was observed at each of T rows: the state, and the frames that chunks are moved into."""

    state: Mapping[str, np.ndarray]
    """By part: (T, width)."""
    state_present: Mapping[str, np.ndarray]
    """By part: (T,) bool, the part and its frame were recorded."""
    recorded: Mapping[str, np.ndarray]
    """By part: (T,) bool, the part itself was recorded, whatever its frame."""
    frames: Mapping[str, np.ndarray]
    """By name: (T, 4, 4), or (4, 4) where it never moves."""
    frame_present: Mapping[str, np.ndarray]
    """By name: (T,) bool."""


@dataclass(frozen=True)
class EpisodeNumbers:
    """T rows of one episode, by part, float64, in the stored frames; missing rows hold their neighbours' numbers."""

    episode: str
    num_frames: int
    rows: int
    """Stored rows that a chunk spans, n."""
    actions: Mapping[str, np.ndarray]
    """By part: (T, width)."""
    action_arrays: Mapping[str, str]
    """By part: the array that the actions came from."""
    action_present: np.ndarray
    """(T,) bool: every part of this row was recorded."""
    anchor_present: np.ndarray
    """(T,) bool: every frame that actions are moved into was recorded, so that a chunk can start here."""
    now: Now
    history_stride: int = 1
    """Rows from one step of a history to the next."""
    text_ends: np.ndarray | None = None
    """(T,) int: the row at which the text that holds at a row ends, T where none holds; None where texts end nothing.
    """

    @property
    def num_bytes(self) -> int:
        """Memory that the numbers take; an array that two parts share counts once."""
        groups = (self.actions, self.now.state, self.now.frames)
        return sum({id(array): array.nbytes for group in groups for array in group.values()}.values())


@dataclass
class RowReader:
    """Reads each array once: float64, missing rows filled."""

    episode: str
    numbers: Callable[[str], np.ndarray]
    """Gives an array's stored rows (T, width)."""
    mended: tuple[str, ...] = ()
    """Arrays of left wrists that are mended as they are read."""
    _done: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    def read(self, array: str, *, pose: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the filled values (T, width) float64 of an array, and which rows were recorded, (T,) bool.

        Raises:
            EpisodeError: when a recorded pose has a quaternion without length.
        """
        if array not in self._done:
            values = np.asarray(self.numbers(array), np.float64)
            present = ~missing_rows(array, values)
            if pose:
                self._check_quaternions(array, values, present)
            if array in self.mended:
                values = mend_left_wrist(values)
            empty = np.array(IDENTITY_POSE) if pose else np.zeros(values.shape[-1])
            self._done[array] = fill_missing(values, present, empty), present
        return self._done[array]

    def _check_quaternions(self, array: str, values: np.ndarray, present: np.ndarray) -> None:
        if values.shape[-1] != len(IDENTITY_POSE):
            raise EpisodeError(self.episode, f"a pose has 7 columns, found {values.shape[-1]}.", array=array)
        flat = present & (np.linalg.norm(values[:, 3:], axis=-1) < 1e-6)
        if flat.any():
            frame = int(np.argmax(flat))
            raise EpisodeError(self.episode, "the quaternion has no length.", array=array, frame=frame)


def fill_missing(values: np.ndarray, present: np.ndarray, empty: np.ndarray) -> np.ndarray:
    """Return values (T, width) whose missing rows repeat the last present row, or the first one at the start.

    Args:
        values: (T, width).
        present: (T,) bool.
        empty: (width,), used where no row is present at all.
    """
    if present.all():
        return values
    if not present.any():
        return np.tile(empty, (len(values), 1))
    return values[nearest_filled(present)]


def nearest_filled(filled: np.ndarray) -> np.ndarray:
    """Return, for each place of a mask (N,) bool, the last filled place up to it, else the first one after it."""
    last = np.maximum.accumulate(np.where(filled, np.arange(len(filled)), -1))
    return np.where(last < 0, int(np.argmax(filled)), last)


def load_numbers(plan: Plan, embodiment: Embodiment, episode: "Episode", rows: int) -> EpisodeNumbers:
    """Read every array of a plan once, whole; no image is touched.

    Args:
        plan: what to read.
        embodiment: gives the camera poses where the episode brings none.
        episode: where to read.
        rows: stored rows that a chunk spans, n.

    Raises:
        EpisodeError: when an array is missing or a pose is none, or a left wrist to mend needs no mending.
    """
    if plan.mended:
        _check_mirrored(plan, episode)
    reader = RowReader(episode.hash, episode.numbers, plan.mended)
    poses = {frame.arm: episode.camera_pose(frame.arm) for frame in plan.frames if frame.arm}
    now = read_now(plan, embodiment, reader, tuple(episode.arrays), poses)
    actions: dict[str, np.ndarray] = {}
    arrays: dict[str, str] = {}
    action_present = anchor_present = np.ones(episode.num_frames, bool)
    for source in plan.sources:
        arrays[source.part] = choose_array(source.actions, tuple(episode.arrays), episode.hash)
        actions[source.part], present = reader.read(arrays[source.part], pose=source.kind == "pose")
        action_present = action_present & present
        if source.action_frame:
            anchor_present = anchor_present & now.frame_present[source.action_frame]
    return EpisodeNumbers(
        episode=episode.hash,
        num_frames=episode.num_frames,
        rows=rows,
        actions=actions,
        action_arrays=arrays,
        action_present=action_present,
        anchor_present=anchor_present,
        now=now,
    )


def _check_mirrored(plan: Plan, episode: "Episode") -> None:
    """Refuse to mend a left wrist that is of another vendor, or that its own keypoints show to be sound."""
    stored = episode.facts.stored_embodiment
    if not is_mecka(stored):
        problem = f"data.mend_left_wrist is for hands of Mecka, and this episode is of '{stored}'."
        raise EpisodeError(episode.hash, problem)
    for array in plan.mended:
        if judge_left_wrist(episode, array) == "sound":
            problem = "its keypoints show that the left wrist is mended already: leave data.mend_left_wrist out."
            raise EpisodeError(episode.hash, problem, array=array)


def shows_mirrored(plan: Plan, episode: "Episode") -> bool:
    """Tell whether an episode's keypoints show that the left wrist is mirrored twice and the plan does not mend it."""
    if plan.mended or not is_mecka(episode.facts.stored_embodiment):
        return False
    read = {array for source in plan.sources for array in source.state}
    return any(judge_left_wrist(episode, array) == "mirrored" for array in read & set(POSE_ARRAYS))


def read_now(
    plan: Plan, embodiment: Embodiment, reader: RowReader, arrays: tuple[str, ...], camera_poses: CameraPoses
) -> Now:
    """Read the state and the frames of every row.

    Args:
        plan: what to read.
        embodiment: gives the camera poses that ``camera_poses`` lacks.
        reader: gives the rows.
        arrays: names of the arrays that there are.
        camera_poses: by arm, as the episode or the robot brings them.

    Raises:
        EpisodeError: when an array is missing or a pose is none.
    """
    frames: dict[str, np.ndarray] = {}
    frame_present: dict[str, np.ndarray] = {}
    state: dict[str, np.ndarray] = {}
    recorded: dict[str, np.ndarray] = {}
    for source in plan.sources:
        array = choose_array(source.state, arrays, reader.episode)
        state[source.part], recorded[source.part] = reader.read(array, pose=source.kind == "pose")
    num = len(state[plan.sources[0].part])
    for frame in plan.frames:
        if frame.arm:
            base_from_camera = camera_poses.get(frame.arm)
            if base_from_camera is None:
                base_from_camera = (embodiment.camera_poses or {})[frame.arm]
            frames[frame.name], frame_present[frame.name] = invert(base_from_camera), np.ones(num, bool)
        else:
            array = choose_array((frame.array,), arrays, reader.episode)
            poses, frame_present[frame.name] = reader.read(array, pose=True)
            frames[frame.name] = invert(transform_from_pose(poses))
    state_present = dict(recorded)
    for source in plan.sources:
        if source.state_frame:
            state_present[source.part] = recorded[source.part] & frame_present[source.state_frame]
    return Now(state, state_present, recorded, frames, frame_present)


def text_ends(episode: "Episode") -> np.ndarray:
    """Return where the text that a policy reads at each frame ends: (T,) int, its first frame too late.

    Where no annotation holds, the episode's description does, to its end.

    Raises:
        EpisodeError: when the annotations cannot be read.
    """
    if episode.annotations_problem:
        raise EpisodeError(episode.hash, f"its texts are to end chunks, and {episode.annotations_problem}")
    ends = np.full(episode.num_frames, episode.num_frames)
    for span in reversed(episode.spans):  # of texts that overlap, the first in stored order is the one that is read
        ends[max(span.start, 0) : max(span.end, 0)] = min(span.end, episode.num_frames)  # below 0 would count back
    return ends
