"""Which stored arrays feed which part of a mode, and the transforms that follow.

Knows array names, through the schema; refuses to open an episode: that is `data/numbers.py`.
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from robotrain.data.transforms import PointsToFrame, PoseToFrame, Resample, SplitFields, Transform
from robotrain.embodiments.embodiment import Embodiment, Mode, ModeLayouts
from robotrain.episodes import schema
from robotrain.errors import EpisodeError, UnknownNameError

PartKind = Literal["pose", "points", "numbers"]
WORLD_CAMERA = "camera_from_world"


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
    arm: schema.Side | None = None


@dataclass(frozen=True)
class Plan:
    """Everything that one embodiment and mode reads, and the transforms that follow."""

    sources: tuple[Source, ...]
    frames: tuple[FrameSource, ...]
    transforms: tuple[Transform, ...]

    def recipe(self) -> dict[str, Any]:
        """Return plain data that tells this plan from any other."""
        return {
            "sources": [asdict(source) for source in self.sources],
            "frames": [asdict(frame) for frame in self.frames],
            "transforms": [transform.recipe() for transform in self.transforms],
        }


def build_plan(embodiment: Embodiment, mode: str, horizon: int) -> Plan:
    """Build the plan of one embodiment and mode.

    Raises:
        UnknownNameError: when the embodiment has no such mode.
    """
    layouts = embodiment.mode(mode)
    if mode == "joints":
        return _plan_joints(layouts, horizon)
    if mode == "keypoints_wristframe_6d":
        return _plan_keypoints(horizon)
    if mode != "cartesian_6d":
        raise UnknownNameError("mode", mode, get_args(Mode))
    return _plan_arms(horizon) if embodiment.camera_poses else _plan_palms(horizon)


def _plan_arms(horizon: int) -> Plan:
    """Commanded tool poses and grippers, moved from each arm's base into the camera."""
    sources: list[Source] = []
    for arm in schema.SIDES:
        frame = f"camera_from_{arm}_base"
        pose = Source(
            part=f"{arm}.pose",
            kind="pose",
            actions=(schema.cmd_ee_pose(arm),),
            state=(schema.obs_ee_pose(arm),),
            state_fields=(f"{arm}.xyz", f"{arm}.rot6d"),
            action_frame=frame,
            state_frame=frame,
        )
        gripper = Source(
            part=f"{arm}.gripper",
            kind="numbers",
            actions=schema.cmd_gripper_spellings(arm),
            state=schema.obs_gripper_spellings(arm),
            state_fields=(f"{arm}.gripper",),
        )
        sources += [pose, gripper]
    frames = tuple(FrameSource(f"camera_from_{arm}_base", arm=arm) for arm in schema.SIDES)
    return _with_transforms(tuple(sources), frames, horizon)


def _plan_palms(horizon: int) -> Plan:
    """Future observed palm poses, in the frame of the head at the current frame."""
    sources = tuple(_hand_pose(hand, schema.obs_ee_pose(hand), action_frame=WORLD_CAMERA) for hand in schema.SIDES)
    return _with_transforms(sources, (FrameSource(WORLD_CAMERA, array=schema.HEAD_POSE),), horizon)


def _plan_keypoints(horizon: int) -> Plan:
    """Future observed wrists and keypoints, in the frame of each hand's wrist at the current frame."""
    sources: list[Source] = []
    frames = [FrameSource(WORLD_CAMERA, array=schema.HEAD_POSE)]
    for hand in schema.SIDES:
        wrist = f"{hand}_wrist_from_world"
        points = schema.obs_keypoints(hand)
        frames.append(FrameSource(wrist, array=schema.obs_wrist_pose(hand)))
        keypoints = Source(
            part=f"{hand}.keypoints",
            kind="points",
            actions=(points,),
            state=(points,),
            state_fields=(f"{hand}.keypoints",),
            action_frame=wrist,
            state_frame=wrist,
        )
        sources += [_hand_pose(hand, schema.obs_wrist_pose(hand), action_frame=wrist), keypoints]
    return _with_transforms(tuple(sources), tuple(frames), horizon)


def _plan_joints(layouts: ModeLayouts, horizon: int) -> Plan:
    """Commanded whole-body joints, as the layouts of the episode's attributes name them."""
    part = "joints"
    source = Source(part, "numbers", (schema.CMD_JOINTS,), (schema.OBS_JOINTS,), layouts.state.names)
    split = SplitFields(part, layouts.actions, layouts.state)
    return Plan((source,), (), (Resample(horizon, ()), split))


def _hand_pose(hand: str, array: str, *, action_frame: str) -> Source:
    fields = (f"{hand}.xyz", f"{hand}.rot6d")
    return Source(f"{hand}.pose", "pose", (array,), (array,), fields, action_frame, WORLD_CAMERA)


def _with_transforms(sources: tuple[Source, ...], frames: tuple[FrameSource, ...], horizon: int) -> Plan:
    poses = tuple(source.part for source in sources if source.kind == "pose")
    transforms: list[Transform] = [Resample(horizon, poses)]
    for source in sources:
        if source.kind == "pose":
            limb = source.part.removesuffix(".pose")
            transforms.append(PoseToFrame(limb, source.action_frame, source.state_frame))
        elif source.kind == "points":
            transforms.append(PointsToFrame(source.part, source.action_frame, source.state_frame))
    return Plan(sources, frames, tuple(transforms))


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


def arrays_read(plan: Plan, present: tuple[str, ...], episode: str) -> tuple[str, ...]:
    """Return the arrays that a plan reads of an episode, sorted.

    Raises:
        EpisodeError: when one is not there.
    """
    names = {frame.array for frame in plan.frames if frame.array}
    for array in names:
        choose_array((array,), present, episode)
    for source in plan.sources:
        names.add(choose_array(source.actions, present, episode))
        names.add(choose_array(source.state, present, episode))
    return tuple(sorted(names))
