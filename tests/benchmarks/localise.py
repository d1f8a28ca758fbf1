"""How fast hpt_tiny learns to find things: coloured squares at random places, two hands that must go to them.

Run: python tests/benchmarks/localise.py [--steps N] [--predicts action|direction]

Everything is in memory, so what is timed is the policy alone. Prints, on held-out pictures, the mean error of sampled
chunks beside that of the better baseline (hold the pose, mean chunk), and what a step costs.
"""

import argparse
import dataclasses
import time

import numpy as np
import torch

from robotrain.batch import Batch, Observation
from robotrain.config import load_named
from robotrain.draws import Draws, compute_draws
from robotrain.embodiments.arms import build_eva
from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.models.policy import Policy
from robotrain.models.registry import build, config_from_plain
from robotrain.training.augment import prepare_images
from robotrain.training.optim import OptimConfig, build_optimizer

H, W, SQUARE = 72, 96, 4
COLOURS = ((200, 40, 40), (40, 60, 200), (220, 180, 150), (60, 60, 60))
"""Of the left and right goal, and of the left and right hand."""
BATCH, NUM_TRAIN, NUM_HELD_OUT = 64, 4000, 256


def scenes(interface: PolicyInterface, num: int, seed: int) -> Batch:
    """Return scenes with their minimum-jerk chunks, numbers from -1 to 1; images as stored."""
    rng = np.random.default_rng(seed)
    images = (100 + rng.integers(-8, 9, (num, H, W, 3))).astype(np.uint8)
    goals, hands = (rng.uniform(-1, 1, (num, 2, 2)).astype(np.float32) for _ in range(2))
    rows, columns = np.mgrid[0:H, 0:W]
    for i in range(num):
        for (x, y), colour in zip(np.concatenate((goals[i], hands[i])), COLOURS, strict=True):
            near = [
                abs(grid - (0.8 * at + 1) / 2 * size) < SQUARE for grid, at, size in ((columns, x, W), (rows, y, H))
            ]
            images[i][near[0] & near[1]] = colour
    share = np.linspace(0, 1, interface.horizon + 1, dtype=np.float32)[1:, None]
    share = 10 * share**3 - 15 * share**4 + 6 * share**5
    state = np.zeros((num, interface.state.width), np.float32)
    actions = np.zeros((num, interface.horizon, interface.actions.width), np.float32)
    for arm, field in enumerate(("left.xyz", "right.xyz")):
        start = interface.state.slices[field].start
        state[:, start : start + 2] = hands[:, arm]
        start = interface.actions.slices[field].start
        actions[..., start : start + 2] = hands[:, None, arm] * (1 - share) + goals[:, None, arm] * share
    seen = Observation(
        embodiment=interface.embodiment,
        images={"front_1": torch.from_numpy(images)},
        image_mask={"front_1": torch.ones(num, dtype=torch.bool)},
        state=torch.from_numpy(state),
        state_mask=torch.ones(num, interface.state.width, dtype=torch.bool),
        prompts=("",) * num,
        keys=tuple((f"scene{seed}", i) for i in range(num)),
    )
    mask = torch.ones(num, interface.horizon, dtype=torch.bool)
    return Batch(observation=seen, actions=torch.from_numpy(actions), action_mask=mask)


def rows_of(batch: Batch, index: np.ndarray) -> Batch:
    """Return some rows, as the policy sees them."""
    seen, rows = batch.observation, torch.from_numpy(index)
    part = dataclasses.replace(
        seen,
        images={name: prepare_images(image[rows]) for name, image in seen.images.items()},
        image_mask={name: mask[rows] for name, mask in seen.image_mask.items()},
        state=seen.state[rows],
        state_mask=seen.state_mask[rows],
        prompts=("",) * len(index),
        keys=tuple(seen.keys[i] for i in index),
    )
    return Batch(observation=part, actions=batch.actions[rows], action_mask=batch.action_mask[rows])


def draws_of(interface: PolicyInterface, batch: Batch, pass_index: int) -> Draws:
    return compute_draws(
        batch.observation.keys,
        seed=0,
        pass_index=pass_index,
        horizon=interface.horizon,
        width=interface.actions.width,
    )


def report(
    step: int, policy: Policy, interface: PolicyInterface, sets: tuple[Batch, Batch], milliseconds: float
) -> None:
    """Print the errors on held-out scenes, over the columns that move."""
    train, held_out = sets[0], rows_of(sets[1], np.arange(NUM_HELD_OUT))
    moving = held_out.actions.std((0, 1)) > 0
    policy.eval()
    with torch.no_grad():
        predicted = policy.sample(held_out.observation, draws_of(interface, held_out, 0))
    policy.train()
    guesses = {"model": predicted, "hold": held_out.observation.state[:, None], "mean": train.actions.mean(0)}
    error = {name: float((guess - held_out.actions).abs()[..., moving].mean()) for name, guess in guesses.items()}
    best = min(error["hold"], error["mean"])
    ratio = f"{error['model'] / best:.3f} of the best baseline"
    print(f"step {step:5d}  error {error['model']:.4f}  {ratio}  {milliseconds:.0f} ms a step", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--predicts", choices=("action", "direction"))
    options = parser.parse_args()
    arch = config_from_plain(load_named("arch", "hpt_tiny").values)
    if options.predicts:
        arch = dataclasses.replace(arch, flow=dataclasses.replace(arch.flow, predicts=options.predicts))
    mode = build_eva().mode("cartesian_6d")
    interface = PolicyInterface(
        embodiment="eva_bimanual",
        mode="cartesian_6d",
        actions=mode.actions,
        state=mode.state,
        horizon=arch.horizon,
        seconds=mode.seconds,
        cameras=("front_1",),
    )
    sets = scenes(interface, NUM_TRAIN, 1), scenes(interface, NUM_HELD_OUT, 2)
    torch.manual_seed(0)
    policy = build(arch, [interface])
    policy.initialise()
    optimizer, schedule = build_optimizer(policy, OptimConfig(lr=3e-3), options.steps)
    rng, spent = np.random.default_rng(0), 0.0
    for step in range(options.steps):
        batch = rows_of(sets[0], rng.integers(0, NUM_TRAIN, BATCH))
        draws = draws_of(interface, batch, step)
        begin = time.perf_counter()
        policy.loss(batch, draws).total.backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        spent += time.perf_counter() - begin
        if (step + 1) % 100 == 0:
            report(step + 1, policy, interface, sets, 1000 * spent / (step + 1))


if __name__ == "__main__":
    main()
