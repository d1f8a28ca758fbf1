"""Small archs, interfaces and batches of random numbers, for tests of policies and training."""

import numpy as np
import torch

from robotrain.batch import Batch, Observation
from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.embodiments.layout import Field, Layout
from robotrain.models.flow import FlowConfig
from robotrain.models.heads import FlowHeadConfig
from robotrain.models.hpt.config import HptConfig
from robotrain.models.stems import StemsConfig
from robotrain.training.module import Subject
from robotrain.training.normalizer import Affine

TINY = HptConfig(
    name="test_tiny",
    horizon=4,
    width=16,
    depth=1,
    heads=2,
    action_tokens=2,
    stems=StemsConfig(image_channels=(4, 8), keypoints=4, heads=2, word_buckets=16),
    head=FlowHeadConfig(width=16, depth=1, heads=2),
    flow=FlowConfig(num_steps=2),
)
TINY_CONFIGS = {"hpt": TINY}
"""By family: a config whose every proof takes moments."""


def interface_of(embodiment: str, cameras: tuple[str, ...] = ("front",), horizon: int = 4) -> PolicyInterface:
    """Return the interface of a body with one arm (or two, for ``two_arms``)."""
    sides = ("left", "right") if embodiment == "two_arms" else ("left",)
    fields = []
    for side in sides:
        fields += [Field(f"{side}.xyz", "xyz", 3, "camera", "m"), Field(f"{side}.gripper", "gripper", 1, "", "1")]
    layout = Layout(tuple(fields))
    return PolicyInterface(
        embodiment=embodiment,
        mode="cartesian_6d",
        actions=layout,
        state=layout,
        horizon=horizon,
        seconds=1.0,
        cameras=cameras,
    )


def random_batch(interface: PolicyInterface, num: int, *, seed: int = 0, floating: bool = False) -> Batch:
    """Return a batch of random numbers: raw images (uint8), or as the policy sees them (`floating`)."""
    rng = np.random.default_rng(seed)
    images = {c: torch.from_numpy(rng.integers(0, 256, (num, 16, 24, 3), np.uint8)) for c in interface.cameras}
    if floating:
        images = {c: image.permute(0, 3, 1, 2).float() / 128 - 1 for c, image in images.items()}
    mask = torch.ones(num, interface.horizon, dtype=torch.bool)
    mask[0, -1] = False
    prompts = ("pick up the red cube", "pour", "")
    return Batch(
        observation=Observation(
            embodiment=interface.embodiment,
            images=images,
            image_mask={c: torch.ones(num, dtype=torch.bool) for c in interface.cameras},
            state=torch.from_numpy(rng.normal(size=(num, interface.state.width)).astype(np.float32)),
            state_mask=torch.ones(num, interface.state.width, dtype=torch.bool),
            prompts=tuple(prompts[i % 3] for i in range(num)),
            keys=tuple((f"episode{seed}", i) for i in range(num)),
        ),
        actions=torch.from_numpy(rng.normal(size=(num, interface.horizon, interface.actions.width)).astype(np.float32)),
        action_mask=mask,
    )


def subject_of(interface: PolicyInterface, *, centre: float = 0.0, scale: float = 1.0) -> Subject:
    """Return an embodiment to train on whose numbers are all normalised alike."""
    chunk, state = (interface.horizon, interface.actions.width), (interface.state.width,)
    affine = Affine(
        action_centre=np.full(chunk, centre),
        action_scale=np.full(chunk, scale),
        state_centre=np.full(state, centre),
        state_scale=np.full(state, scale),
    )
    return Subject(interface=interface, affine=affine, stats={"mean": [centre]})
