"""Widths are said once, by layouts (#634): every shipped arch fits every body and mode, and no YAML names a width."""

import ast
import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from robotrain.batch import Batch, Observation
from robotrain.config import config_names, configs_dir, load_named
from robotrain.data.pipeline import build_pipeline
from robotrain.data.windows import Encoded
from robotrain.draws import compute_draws
from robotrain.embodiments.catalog import available, embodiment_of
from robotrain.embodiments.embodiment import Embodiment, PolicyInterface
from robotrain.embodiments.joints import build_joint_robot
from robotrain.episodes.reader import Episode, open_episode
from robotrain.errors import ShapeError
from robotrain.models.policy import Policy
from robotrain.models.registry import build_on_meta
from robotrain.stages.models import resolve_arch
from robotrain.training.checkpoint import Record
from robotrain.training.module import Learning, PolicyModule
from robotrain.training.normalizer import Normalizer
from tests.damage import edit
from tests.factories import JOINTS, make_eva_episode, make_human_episode, make_joint_episode

PACKAGE = Path(__file__).parent.parent / "robotrain"
TOY = build_joint_robot(
    "toy_arm",
    {
        "fields": {"obs_joints": JOINTS.to_plain(), "cmd_joints": JOINTS.to_plain()},
        "features": {"images.front_1": {}},
    },
)
BODIES = (*(embodiment_of(name, {}) for name in available()), TOY)
CASES = [pytest.param(body, mode, id=f"{body.name}-{mode}") for body in BODIES for mode in body.modes]
ARCHS = {name: resolve_arch(load_named("arch", name)) for name in config_names("arch")}
ARCH = "hpt_tiny"
H = ARCHS[ARCH].horizon


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Episode]:
    """Return one episode a body, made by the factories; one arm of two is what a body with one arm stores."""
    folder = tmp_path_factory.mktemp("dims")
    made: dict[str, Episode] = {}
    for body in BODIES:
        path = folder / f"{body.name}.zarr"
        if body.name == TOY.name:
            make_joint_episode(path)
        elif body.camera_poses is None:
            make_human_episode(path)
        else:
            make_eva_episode(path, cameras=body.cameras)
        edit(path, embodiment=body.name)
        made[body.name] = open_episode(path)
    return made


def raw_batch_of(interface: PolicyInterface, encoded: Encoded) -> Batch:
    """Return the same with pictures as they come from the loader."""
    batch = batch_of(interface, encoded)
    images = {camera: torch.zeros(len(batch), 48, 64, 3, dtype=torch.uint8) for camera in interface.cameras}
    return dataclasses.replace(batch, observation=dataclasses.replace(batch.observation, images=images))


def batch_of(interface: PolicyInterface, encoded: Encoded) -> Batch:
    """Return real numbers of an episode beside small pictures, as a policy sees them."""
    num = len(encoded.state)
    return Batch(
        observation=Observation(
            embodiment=interface.embodiment,
            images={camera: torch.zeros(num, 3, 48, 64) for camera in interface.cameras},
            image_mask={camera: torch.ones(num, dtype=torch.bool) for camera in interface.cameras},
            state=torch.from_numpy(encoded.state),
            state_mask=torch.from_numpy(encoded.state_mask),
            prompts=("pick it up",) * num,
            keys=tuple(("e", frame) for frame in range(num)),
        ),
        actions=torch.from_numpy(encoded.actions),
        action_mask=torch.from_numpy(encoded.action_mask),
    )


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize(("body", "mode"), CASES)
def test_every_arch_takes_what_every_episode_gives(
    episodes: dict[str, Episode], body: Embodiment, mode: str, arch: str
) -> None:
    config = ARCHS[arch]
    pipeline = build_pipeline(body, mode=mode, horizon=config.horizon)
    interface = pipeline.interface()
    episode = episodes[body.name]
    encoded = pipeline.encode(pipeline.gather(episode, np.arange(2)))
    sides = f"arch '{arch}' for '{body.name}' in mode '{mode}'"
    for name, values, layout in (
        ("actions", encoded.actions, interface.actions),
        ("state", encoded.state, interface.state),
    ):
        assert values.shape[-1] == layout.width, (
            f"{name}: the data are {values.shape[-1]} wide, the layout of {sides} {layout.width}"
        )
    try:
        take(build_on_meta(config, [interface]), batch_of(interface, encoded))
    except RuntimeError as problem:
        pytest.fail(f"{sides} does not take actions {encoded.actions.shape} and state {encoded.state.shape}: {problem}")


def take(policy: Policy, batch: Batch) -> None:
    """Let a policy on the meta device learn from a batch, which costs nothing and proves every shape."""
    num, horizon, width = batch.actions.shape
    assert num == len(batch)
    draws = compute_draws(batch.observation.keys, seed=0, pass_index=0, horizon=horizon, width=width)
    assert policy.loss(batch.to("meta"), draws.to("meta")).total.shape == ()


@pytest.mark.parametrize("arch", ARCHS)
def test_an_arch_built_for_another_mode_does_not_take_them(episodes: dict[str, Episode], arch: str) -> None:
    human = embodiment_of("human_bimanual", {})
    hands, palms = (
        build_pipeline(human, mode=mode, horizon=ARCHS[arch].horizon)
        for mode in ("keypoints_wristframe_6d", "cartesian_6d")
    )
    encoded = hands.encode(hands.gather(episodes["human_bimanual"], np.arange(2)))
    with pytest.raises(RuntimeError):
        take(build_on_meta(ARCHS[arch], [palms.interface()]), batch_of(hands.interface(), encoded))


@pytest.fixture(scope="module")
def palms() -> PolicyModule:
    """Return a module, without a single value, that was built for other numbers of two hands than the default ones."""
    interface = build_pipeline(embodiment_of("human_bimanual", {}), mode="cartesian_6d", horizon=H).interface()
    with torch.device("meta"):
        normalizer = Normalizer(interface)
    record = Record(arch={}, config={}, interfaces={}, stats={})
    policy = build_on_meta(ARCHS[ARCH], [interface])
    return PolicyModule(policy, [normalizer], learning=Learning(), record=record)


def loss_of(module: PolicyModule, batch: Batch) -> torch.Tensor:
    placed = batch.to("meta")
    return module._loss(placed, module.draws(placed.observation, seed=0, pass_index=0), training=True)


def test_a_policy_in_training_names_both_sides_when_the_data_are_not_its_own(
    episodes: dict[str, Episode], palms: PolicyModule
) -> None:
    human = embodiment_of("human_bimanual", {})
    own, other = (build_pipeline(human, mode=mode, horizon=H) for mode in ("cartesian_6d", None))
    right, wrong = (
        raw_batch_of(each.interface(), each.encode(each.gather(episodes[human.name], np.arange(2))))
        for each in (own, other)
    )
    assert loss_of(palms, right).shape == ()
    policys = "the policy's for 'human_bimanual' in mode 'cartesian_6d'"
    ours, theirs = (each.interface() for each in (own, other))
    shown = rf"actions: expected \(2, {H}, {ours.actions.width}\), {policys}, found "
    with pytest.raises(ShapeError, match=shown + rf"\(2, {H}, {theirs.actions.width}\)"):
        loss_of(palms, wrong)
    seen = wrong.observation.to("meta")
    widths = rf"state: expected \(2, {ours.state.width}\), {policys}, found \(2, {theirs.state.width}\)"
    with pytest.raises(ShapeError, match=widths):
        palms.predict(seen, palms.draws(seen, seed=0, pass_index=0))
    narrow = dataclasses.replace(right, actions=right.actions[..., :1])  # torch would spread one column over all
    with pytest.raises(ShapeError, match=shown + rf"\(2, {H}, 1\)"):
        loss_of(palms, narrow)
    short = dataclasses.replace(right, actions=right.actions[:, :1], action_mask=right.action_mask[:, :1])
    with pytest.raises(ShapeError, match=shown + r"\(2, 1, "):
        loss_of(palms, short)
    blind = dataclasses.replace(right.observation, images={}, image_mask={})
    with pytest.raises(ShapeError, match=rf"images: expected cameras front_1, {policys}, found none"):
        loss_of(palms, dataclasses.replace(right, observation=blind))


@pytest.mark.parametrize("arch", ARCHS)
def test_one_policy_serves_bodies_of_every_width(arch: str) -> None:
    interfaces = [build_pipeline(body, horizon=ARCHS[arch].horizon).interface() for body in BODIES]
    policy = build_on_meta(ARCHS[arch], interfaces)
    assert sum(parameter.numel() for parameter in policy.parameters()) > 0
    assert len({interface.actions.width for interface in interfaces}) > 4


NAMES_A_WIDTH = re.compile(
    r"(action|state|proprio|input|output|encoder|decoder|data)\w*(dim|width|size|channels)|dims?$"
)


def _keys(value: object, where: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield f"{where}{key}"
            yield from _keys(each, f"{where}{key}.")
    elif isinstance(value, list):
        for each in value:
            yield from _keys(each, where)


@pytest.mark.parametrize(
    "path", sorted(configs_dir().rglob("*.yaml")), ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_no_yaml_names_the_width_of_an_action_or_a_state(path: Path) -> None:
    named = [key for key in _keys(yaml.safe_load(path.read_text())) if NAMES_A_WIDTH.search(key.rpartition(".")[2])]
    assert not named, f"{path.name} names widths that layouts know: {', '.join(named)}"


def test_that_test_can_fail() -> None:
    told = yaml.safe_load("{dims: {human_bimanual: {action: 144}}, head: {action_width: 144}, width: 64, depth: 2}")
    assert [key for key in _keys(told) if NAMES_A_WIDTH.search(key.rpartition(".")[2])] == ["dims", "head.action_width"]


@pytest.mark.parametrize("width", [144, 138])
def test_the_width_of_two_hands_is_a_sum_and_written_nowhere(width: int) -> None:
    rooms = ("embodiments", "data", "models", "training", "evaluation")
    for path in (each for room in rooms for each in (PACKAGE / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            assert not (isinstance(node, ast.Constant) and node.value == width), f"{path.name}:{node.lineno}: {width}"
