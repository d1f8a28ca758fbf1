"""The steps from stored numbers to the fields of a layout, each with its way back.

Every transform works on any leading dims, so one window, a batch and all windows of an episode run through the same
code. Knows parts by name; refuses to know which array of which episode they came from.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from robotrain.embodiments.layout import Layout
from robotrain.geometry.poses import invert, pose_from_transform, transform_from_pose, transform_points
from robotrain.geometry.resample import resample, resample_poses
from robotrain.geometry.rotations import matrix_from_rot6d, matrix_from_ypr, rot6d_from_matrix, ypr_from_matrix

Parts = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Sample:
    """The numbers of some windows on their way: parts by name, float64."""

    actions: Parts
    """By part: (..., n, width)."""
    state: Parts
    """By part: (..., width)."""
    frames: Parts
    """By name, such as ``camera_from_world``: (..., 4, 4), the target frames at the current frame of each window."""


class Transform(ABC):
    """One step with its way back. Neither changes the sample that it is given."""

    @abstractmethod
    def encode(self, sample: Sample) -> Sample:
        """Return the sample one step nearer to the layout."""

    @abstractmethod
    def decode(self, sample: Sample) -> Sample:
        """Return the sample one step nearer to the store; a part that the sample lacks is left out."""

    @abstractmethod
    def recipe(self) -> dict[str, Any]:
        """Return plain data that tells this transform from any other."""


@dataclass(frozen=True)
class Resample(Transform):
    """Brings the rows of every action to H, end points kept. The way back leaves the H steps as they are."""

    horizon: int
    poses: tuple[str, ...]
    """Parts that are poses, whose rotations turn along the sphere; all others are linear."""

    def encode(self, sample: Sample) -> Sample:
        """Resample (..., n, width) to (..., H, width)."""
        actions = {
            name: resample_poses(value, self.horizon) if name in self.poses else resample(value, self.horizon)
            for name, value in sample.actions.items()
        }
        return replace(sample, actions=actions)

    def decode(self, sample: Sample) -> Sample:
        """Return the sample: which rows the steps were made of is not recorded."""
        return sample

    def recipe(self) -> dict[str, Any]:
        """Return the parameters."""
        return {"transform": "resample", **asdict(self)}


@dataclass(frozen=True)
class PoseToFrame(Transform):
    """Moves a pose (..., 7) into a frame and spells it as position and rot6d."""

    limb: str
    """Part ``<limb>.pose`` becomes ``<limb>.xyz`` and ``<limb>.rot6d``."""
    action_frame: str
    state_frame: str

    def encode(self, sample: Sample) -> Sample:
        """Return the sample with the pose as two fields in the target frames."""
        return Sample(
            actions=self._enter(sample.actions, sample.frames[self.action_frame][..., None, :, :]),
            state=self._enter(sample.state, sample.frames[self.state_frame]),
            frames=sample.frames,
        )

    def decode(self, sample: Sample) -> Sample:
        """Return the sample with the pose in the stored frame, qw >= 0."""
        return Sample(
            actions=self._leave(sample.actions, sample.frames[self.action_frame][..., None, :, :]),
            state=self._leave(sample.state, sample.frames[self.state_frame]),
            frames=sample.frames,
        )

    def _enter(self, parts: Parts, target_from_stored: np.ndarray) -> dict[str, np.ndarray]:
        rest = dict(parts)
        if (pose := rest.pop(f"{self.limb}.pose", None)) is not None:
            target = target_from_stored @ transform_from_pose(pose)
            rest[f"{self.limb}.xyz"] = target[..., :3, 3]
            rest[f"{self.limb}.rot6d"] = rot6d_from_matrix(target[..., :3, :3])
        return rest

    def _leave(self, parts: Parts, target_from_stored: np.ndarray) -> dict[str, np.ndarray]:
        rest = dict(parts)
        place, rotation = rest.pop(f"{self.limb}.xyz", None), rest.pop(f"{self.limb}.rot6d", None)
        if place is not None and rotation is not None:
            target = np.zeros((*place.shape[:-1], 4, 4))
            target[..., :3, :3] = matrix_from_rot6d(rotation)
            target[..., :3, 3], target[..., 3, 3] = place, 1.0
            rest[f"{self.limb}.pose"] = pose_from_transform(invert(target_from_stored) @ target)
        return rest

    def recipe(self) -> dict[str, Any]:
        """Return the parameters."""
        return {"transform": "pose_to_frame", **asdict(self)}


@dataclass(frozen=True)
class Rot6dToYpr(Transform):
    """Spells a rotation as yaw, pitch and roll (intrinsic ZYX), rad in [-pi, pi].

    The way back makes a rotation of any three numbers; there, angles that differ by whole turns are one. In gimbal lock
    roll is 0, so that angles are no round trip of their own, and rotations are.
    """

    limb: str
    """Part ``<limb>.rot6d`` becomes ``<limb>.ypr``."""

    def encode(self, sample: Sample) -> Sample:
        """Return the sample with rot6d (..., 6) as ypr (..., 3)."""
        return replace(sample, actions=self._angles(sample.actions), state=self._angles(sample.state))

    def decode(self, sample: Sample) -> Sample:
        """Return the sample with ypr (..., 3) as rot6d (..., 6)."""
        return replace(sample, actions=self._columns(sample.actions), state=self._columns(sample.state))

    def _angles(self, parts: Parts) -> Parts:
        rest = dict(parts)
        if (rotation := rest.pop(f"{self.limb}.rot6d", None)) is not None:
            rest[f"{self.limb}.ypr"] = ypr_from_matrix(matrix_from_rot6d(rotation))
        return rest

    def _columns(self, parts: Parts) -> Parts:
        rest = dict(parts)
        if (angles := rest.pop(f"{self.limb}.ypr", None)) is not None:
            rest[f"{self.limb}.rot6d"] = rot6d_from_matrix(matrix_from_ypr(angles))
        return rest

    def recipe(self) -> dict[str, Any]:
        """Return the parameters."""
        return {"transform": "rot6d_to_ypr", **asdict(self)}


@dataclass(frozen=True)
class PointsToFrame(Transform):
    """Moves points (..., P * 3) into a frame."""

    part: str
    action_frame: str
    state_frame: str

    def encode(self, sample: Sample) -> Sample:
        """Return the sample with the points in the target frames."""
        return Sample(
            actions=self._move(sample.actions, sample.frames[self.action_frame], axes=2),
            state=self._move(sample.state, sample.frames[self.state_frame], axes=1),
            frames=sample.frames,
        )

    def decode(self, sample: Sample) -> Sample:
        """Return the sample with the points in the stored frame."""
        return Sample(
            actions=self._move(sample.actions, invert(sample.frames[self.action_frame]), axes=2),
            state=self._move(sample.state, invert(sample.frames[self.state_frame]), axes=1),
            frames=sample.frames,
        )

    def _move(self, parts: Parts, transform: np.ndarray, *, axes: int) -> Parts:
        """Move the points of the last ``axes`` axes together: all steps of a chunk go into one frame."""
        if self.part not in parts:
            return parts
        stored = parts[self.part]
        points = transform_points(transform, stored.reshape(*stored.shape[:-axes], -1, 3))
        return {**parts, self.part: points.reshape(stored.shape)}

    def recipe(self) -> dict[str, Any]:
        """Return the parameters."""
        return {"transform": "points_to_frame", **asdict(self)}


@dataclass(frozen=True)
class SplitFields(Transform):
    """Cuts one whole-body array (..., D) into the fields that its layout names."""

    part: str
    action_layout: Layout
    state_layout: Layout

    def encode(self, sample: Sample) -> Sample:
        """Return the sample with the array as fields."""
        return Sample(
            actions=self._cut(sample.actions, self.action_layout),
            state=self._cut(sample.state, self.state_layout),
            frames=sample.frames,
        )

    def decode(self, sample: Sample) -> Sample:
        """Return the sample with the fields as one array."""
        return Sample(
            actions=self._glue(sample.actions, self.action_layout),
            state=self._glue(sample.state, self.state_layout),
            frames=sample.frames,
        )

    def _cut(self, parts: Parts, layout: Layout) -> Parts:
        rest = dict(parts)
        whole = rest.pop(self.part, None)
        return parts if whole is None else {**rest, **layout.split(whole)}

    def _glue(self, parts: Parts, layout: Layout) -> Parts:
        if not parts:
            return parts
        rest = {name: value for name, value in parts.items() if name not in layout.names}
        return {**rest, self.part: layout.join(parts)}

    def recipe(self) -> dict[str, Any]:
        """Return the parameters."""
        layouts = {"actions": self.action_layout.to_plain(), "state": self.state_layout.to_plain()}
        return {"transform": "split_fields", "part": self.part, **layouts}
