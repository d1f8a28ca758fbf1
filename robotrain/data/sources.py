"""Which stored arrays feed which part of a mode, and the transforms that follow.

Knows array names, through the schema; refuses to open an episode: that is `data/numbers.py`.
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from robotrain.data.transforms import PointsToFrame, PoseToFrame, Resample, Rot6dToYpr, SplitFields, Transform
from robotrain.embodiments.embodiment import Embodiment, ModeLayouts
from robotrain.embodiments.modes import JOINTS, MODE_RULES, MODES
from robotrain.embodiments.sides import Side
from robotrain.embodiments.spelling import RotationKind
from robotrain.episodes import schema
from robotrain.errors import ConfigError, EpisodeError, UnknownNameError

PartKind = Literal["pose", "points", "numbers"]


@dataclass(frozen=True)
class Source:
    """Where one part comes from."""

    part: str
    kind: PartKind
    actions: tuple[str, ...]
    """Arrays that hold the targets; the first that an episode has is read."""
    state: tuple[str, ...]
    """Arrays that hold what was observed; the first that an episode has is read."""
    state_fields: tuple[str, ...]
    """Fields of the state layout that this part fills."""
    action_frame: str = ""
    """Frame that the actions are moved into; empty for numbers without a frame."""
    state_frame: str = ""


@dataclass(frozen=True)
class FrameSource:
    """Where a target frame comes from: a pose array, whose inverse it is, or the calibrated camera of an arm."""

    name: str
    array: str = ""
    arm: Side | None = None
    is_wrist: bool = False
    """Whether it is a side's own pose, so that a history may stand in the one of each step."""


_HEAD = FrameSource("camera_from_world", array=schema.HEAD_POSE)
"""Where a human's camera is: with the head."""


@dataclass(frozen=True)
class Plan:
    """Everything that one embodiment and mode reads, and the transforms that follow."""

    sources: tuple[Source, ...]
    frames: tuple[FrameSource, ...]
    transforms: tuple[Transform, ...]
    mended: tuple[str, ...] = ()
    """Arrays of left wrists that were mirrored twice and are mended as they are read (`episodes/left_wrist.py`)."""

    def recipe(self) -> dict[str, Any]:
        """Return plain data that tells this plan from any other."""
        return {
            "sources": [asdict(source) for source in self.sources],
            "frames": [asdict(frame) for frame in self.frames],
            "transforms": [transform.recipe() for transform in self.transforms],
            "mended": list(self.mended),
        }


def build_plan(embodiment: Embodiment, mode: str, horizon: int, *, mend_left_wrist: bool = False) -> Plan:
    """Build the plan of one embodiment and mode.

    Args:
        embodiment: the body.
        mode: one of its modes.
        horizon: H, steps of a chunk.
        mend_left_wrist: True turns the left hand's stored rotation by 180 degrees about its own z axis.

    Raises:
        UnknownNameError: when the embodiment has no such mode.
        ConfigError: when there is no left hand to mend.
    """
    layouts = embodiment.mode(mode)
    if mend_left_wrist and ("left" not in embodiment.sides or embodiment.camera_poses is not None):
        raise ConfigError(f"mend_left_wrist is for hands; '{embodiment.name}' has no left hand.")
    if mode == JOINTS:
        return _plan_joints(layouts, horizon)
    if mode not in MODE_RULES:
        raise UnknownNameError("mode", mode, MODES)
    rule, is_robot = MODE_RULES[mode], embodiment.camera_poses is not None
    frames: dict[str, FrameSource] = {}
    sources: list[Source] = []
    for side in embodiment.sides:
        camera = FrameSource(f"camera_from_{side}_base", arm=side) if is_robot else _HEAD
        pose_array = schema.obs_wrist_pose(side) if rule.keypoints else schema.obs_ee_pose(side)
        wrist = FrameSource(f"{side}_wrist_from_{'base' if is_robot else 'world'}", array=pose_array, is_wrist=True)
        target = wrist if rule.frame == "wrist" else camera
        frames |= {frame.name: frame for frame in (camera, target)}
        sources.append(
            Source(
                part=f"{side}.pose",
                kind="pose",
                actions=(schema.cmd_ee_pose(side) if is_robot else pose_array,),
                state=(pose_array,),
                state_fields=(f"{side}.xyz", f"{side}.{rule.rotation}"),
                action_frame=target.name,
                state_frame=camera.name,
            )
        )
        if rule.keypoints:
            sources.append(_keypoints(side, target.name))
        if is_robot:
            sources.append(_gripper(side))
    transforms = _transforms(tuple(sources), rule.rotation, horizon)
    left = schema.obs_wrist_pose("left") if rule.keypoints else schema.obs_ee_pose("left")
    return Plan(tuple(sources), tuple(frames.values()), transforms, (left,) if mend_left_wrist else ())


def _keypoints(side: Side, frame: str) -> Source:
    """The 21 points of a hand, seen from where the actions stand."""
    points = (schema.obs_keypoints(side),)
    return Source(f"{side}.keypoints", "points", points, points, (f"{side}.keypoints",), frame, frame)


def _gripper(side: Side) -> Source:
    """A gripper's commanded and measured aperture."""
    return Source(
        part=f"{side}.gripper",
        kind="numbers",
        actions=schema.cmd_gripper_spellings(side),
        state=schema.obs_gripper_spellings(side),
        state_fields=(f"{side}.gripper",),
    )


def _plan_joints(layouts: ModeLayouts, horizon: int) -> Plan:
    """Commanded whole-body joints, as the layouts of the episode's attributes name them."""
    part = "joints"
    source = Source(part, "numbers", (schema.CMD_JOINTS,), (schema.OBS_JOINTS,), layouts.state.names)
    split = SplitFields(part, layouts.actions, layouts.state)
    return Plan((source,), (), (Resample(horizon, ()), split))


def _transforms(sources: tuple[Source, ...], rotation: RotationKind, horizon: int) -> tuple[Transform, ...]:
    poses = tuple(source.part for source in sources if source.kind == "pose")
    transforms: list[Transform] = [  # before there are more rows of them: what is between two points moves with them
        PointsToFrame(source.part, source.action_frame, source.state_frame)
        for source in sources
        if source.kind == "points"
    ]
    transforms.append(Resample(horizon, poses))
    for source in sources:
        if source.kind == "pose":
            limb = source.part.removesuffix(".pose")
            transforms.append(PoseToFrame(limb, source.action_frame, source.state_frame))
            if rotation == "ypr":
                transforms.append(Rot6dToYpr(limb))
    return tuple(transforms)


def choose_array(candidates: tuple[str, ...], present: tuple[str, ...], episode: str) -> str:
    """Return the first of the candidates that an episode has.

    Raises:
        EpisodeError: when it has none.
    """
    for array in candidates:
        if array in present:
            return array
    wanted = " or ".join(f"'{array}'" for array in candidates)
    raise EpisodeError(episode, f"there is no array {wanted}, which this mode reads.")


def arrays_observed(plan: Plan, present: tuple[str, ...], episode: str) -> tuple[str, ...]:
    """Return the arrays that a plan reads of what is observed, the current frames included, sorted.

    Raises:
        EpisodeError: when one is not there.
    """
    names = {choose_array((frame.array,), present, episode) for frame in plan.frames if frame.array}
    names |= {choose_array(source.state, present, episode) for source in plan.sources}
    return tuple(sorted(names))


def arrays_read(plan: Plan, present: tuple[str, ...], episode: str) -> tuple[str, ...]:
    """Return the arrays that a plan reads of an episode, sorted.

    Raises:
        EpisodeError: when one is not there.
    """
    targets = {choose_array(source.actions, present, episode) for source in plan.sources}
    return tuple(sorted({*arrays_observed(plan, present, episode), *targets}))
