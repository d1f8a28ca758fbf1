"""How fast training samples are loaded: python tests/benchmarks/loader.py [--frames N] [--body eva|human] [--rounds N]

Episodes with pictures of 480x640 that look natural (their detail falls off with frequency as in photographs), JPEG
quality 85, are written by the product's writer; chunks have 100 steps. Prints what `robotrain bench-loader` prints: how
fast the loader gives samples, beside how fast the same JPEGs decode from memory, in one process, in the same run.
Prints; asserts nothing.
"""

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from robotrain.cli.bench_loader import show  # noqa: E402
from robotrain.stages.bench_loader import BenchRequest, run  # noqa: E402
from tests import factories  # noqa: E402

HEIGHT, WIDTH = 480, 640
NUM_EPISODES = 8
FALL_OFF = 1.4
"""Of amplitude with frequency; photographs have 1 to 1.5."""
HORIZON = 100


def natural_pictures(seed: int, num: int) -> Iterator[np.ndarray]:
    """Yield pictures (HEIGHT, WIDTH, 3) uint8: one scene, seen by a camera that pans over it."""
    rng = np.random.default_rng(seed)
    high, wide = HEIGHT, WIDTH + 4 * num
    frequency = np.hypot(np.fft.fftfreq(high)[:, None], np.fft.rfftfreq(wide)[None])
    frequency[0, 0] = 1.0
    layers = []
    for _ in range(3):
        noise = rng.normal(size=frequency.shape) + 1j * rng.normal(size=frequency.shape)
        layer = np.fft.irfft2(noise / frequency**FALL_OFF, s=(high, wide))
        layers.append((layer - layer.mean()) / layer.std())
    colours = [128 + 45 * (0.85 * layers[0] + 0.3 * layer) for layer in layers]  # mostly grey, as the world is
    scene = np.clip(np.stack(colours, axis=-1), 0, 255).astype(np.uint8)
    for frame in range(num):
        yield scene[:, 4 * frame : 4 * frame + WIDTH]


def write_episodes(folder: Path, body: str, num_frames: int) -> None:
    """Write the episodes, each with a scene of its own."""
    for index in range(NUM_EPISODES):
        pictures = natural_pictures(index, num_frames)
        factories.add_images = lambda writer, _rng, cameras, _num, _size, pictures=pictures: [
            writer.add_image(camera, picture) for picture in pictures for camera in cameras
        ]
        path = folder / f"2026-01-01-00-00-00-{index:06d}.zarr"
        if body == "eva":
            factories.make_eva_episode(path, num_frames, seed=index, cameras=("front_1",))
        else:
            factories.make_human_episode(path, num_frames, seed=index)


def main() -> None:
    """Write episodes, measure the loader over them and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=150, help="of each episode")
    parser.add_argument("--body", choices=("eva", "human"), default="human")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("settings", nargs="*", metavar="KEY=VALUE", help="of the data config")
    options = parser.parse_args()
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(f"{datetime.now(UTC).date()}, {machine}; {NUM_EPISODES} episodes of {options.frames} frames, {options.body}")
    with tempfile.TemporaryDirectory(prefix="robotrain-loader-") as folder:
        write_episodes(Path(folder), options.body, options.frames)
        settings = tuple(options.settings)
        show(run(BenchRequest(data=folder, horizon=HORIZON, rounds=options.rounds, overrides=settings)))


if __name__ == "__main__":
    main()
