"""The contract of a transform, held by every transform of every embodiment and mode."""

import numpy as np
import pytest

from robotrain.data.sources import Plan, build_plan
from robotrain.data.transforms import Resample, Sample, Transform
from robotrain.embodiments.catalog import available, embodiment_of
from robotrain.embodiments.embodiment import Embodiment
from robotrain.embodiments.joints import build_joint_robot
from robotrain.geometry.poses import transform_from_pose
from robotrain.geometry.rotations import quaternion_from_matrix
from tests.factories import JOINTS

ROWS = 6
ROBOTS = (
    *(embodiment_of(name, {}) for name in available()),
    build_joint_robot("toy_arm", {"fields": {"obs_joints": JOINTS.to_plain(), "cmd_joints": JOINTS.to_plain()}}),
)
CASES = [pytest.param(robot, mode, id=f"{robot.name}-{mode}") for robot in ROBOTS for mode in robot.modes]


def random_poses(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    turned = np.linalg.qr(rng.normal(size=(*shape, 3, 3)))[0]
    turned *= np.linalg.det(turned)[..., None, None]
    return np.concatenate([rng.normal(size=(*shape, 3)), quaternion_from_matrix(turned)], axis=-1)


def random_sample(plan: Plan, shape: tuple[int, ...]) -> Sample:
    rng = np.random.default_rng(0)
    actions, state = {}, {}
    for source in plan.sources:
        width = {"pose": 7, "points": 63, "numbers": 1}[source.kind] if source.part != "joints" else JOINTS.width
        for parts, own in ((actions, (*shape, ROWS)), (state, shape)):
            parts[source.part] = random_poses(rng, own) if source.kind == "pose" else rng.normal(size=(*own, width))
    frames = {frame.name: transform_from_pose(random_poses(rng, shape)) for frame in plan.frames}
    return Sample(actions=actions, state=state, frames=frames)


def steps(plan: Plan, sample: Sample) -> list[tuple[Transform, Sample, Sample]]:
    """Return every transform with what goes in and what comes out."""
    found = []
    for transform in plan.transforms:
        encoded = transform.encode(sample)
        found.append((transform, sample, encoded))
        sample = encoded
    return found


def assert_same(one: Sample, other: Sample) -> None:
    for group in ("actions", "state"):
        left, right = getattr(one, group), getattr(other, group)
        assert left.keys() == right.keys()
        for part in left:
            # a quaternion and its negative are one rotation
            comparable = transform_from_pose if part.endswith(".pose") else np.asarray
            np.testing.assert_allclose(comparable(left[part]), comparable(right[part]), atol=1e-12, err_msg=part)


@pytest.mark.parametrize(("robot", "mode"), CASES)
class TestTransformContract:
    def test_the_way_back_undoes_the_way_there(self, robot: Embodiment, mode: str) -> None:
        plan = build_plan(robot, mode, ROWS)
        for transform, before, after in steps(plan, random_sample(plan, (3,))):
            assert_same(transform.decode(after), before)

    def test_any_leading_dims_give_the_same_numbers(self, robot: Embodiment, mode: str) -> None:
        plan = build_plan(robot, mode, 9)
        whole = random_sample(plan, (2, 3))
        one = Sample(
            actions={name: value[1, 2] for name, value in whole.actions.items()},
            state={name: value[1, 2] for name, value in whole.state.items()},
            frames={name: value[1, 2] for name, value in whole.frames.items()},
        )
        for transform in plan.transforms:
            whole, one = transform.encode(whole), transform.encode(one)
        for part, value in one.actions.items():
            np.testing.assert_allclose(whole.actions[part][1, 2], value, atol=1e-12)
        for part, value in one.state.items():
            np.testing.assert_allclose(whole.state[part][1, 2], value, atol=1e-12)

    def test_what_is_given_is_not_changed(self, robot: Embodiment, mode: str) -> None:
        plan = build_plan(robot, mode, ROWS)
        sample, untouched = random_sample(plan, (3,)), random_sample(plan, (3,))
        for transform, _, after in steps(plan, sample):
            transform.decode(after)
        assert_same(sample, untouched)

    def test_an_observation_without_actions_passes(self, robot: Embodiment, mode: str) -> None:
        plan = build_plan(robot, mode, ROWS)
        whole = random_sample(plan, (3,))
        sample = Sample(actions={}, state=whole.state, frames=whole.frames)
        for transform in plan.transforms:
            sample, whole = transform.encode(sample), transform.encode(whole)
        assert not sample.actions
        for part, value in sample.state.items():
            np.testing.assert_array_equal(value, whole.state[part])

    def test_two_horizons_have_two_recipes(self, robot: Embodiment, mode: str) -> None:
        assert build_plan(robot, mode, 5).recipe() != build_plan(robot, mode, 6).recipe()


def test_resampling_keeps_the_end_points() -> None:
    values = np.arange(8.0).reshape(1, 4, 2)
    sample = Sample(actions={"grip": values}, state={}, frames={})
    resampled = Resample(9, ()).encode(sample).actions["grip"]
    assert resampled.shape == (1, 9, 2)
    np.testing.assert_array_equal(resampled[:, [0, -1]], values[:, [0, -1]])
