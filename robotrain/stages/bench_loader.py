"""Stage: how fast training samples are loaded, beside how fast their JPEGs decode from memory.

Knows clocks; refuses to tune anything. Every figure is the best of a few rounds in which all are measured in turn, so
that a machine that is busy for a moment slows none of them alone. Writes nothing.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any

import numpy as np

from robotrain.config import compose
from robotrain.console import count, track, warn
from robotrain.data.config import DataConfig
from robotrain.data.datamodule import EpisodesDataModule
from robotrain.data.dataset import WindowDataset
from robotrain.episodes.jpegs import decode_picture
from robotrain.episodes.reader import open_episode
from robotrain.errors import ConfigError
from robotrain.stages.inputs import Inputs, arch_horizon, build_inputs, data_layers, resolve_inputs
from robotrain.stages.recipe import arch_layer

Way = int | str
"""Of getting samples, by a word; a number is that of the loader's workers."""
STEP_TIMES_MS = (50.0, 100.0, 200.0, 400.0)
"""Of a training step, where the user tells none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchRequest:
    """What is measured."""

    data: str | None = None
    """A folder of episodes, a name in configs/data or a YAML file; None: ROBOTRAIN_DATA_DIR."""
    arch: str | None = None
    """Whose horizon; None takes the default recipe's arch."""
    horizon: int | None = None
    """Steps of a chunk, in place of the arch's."""
    workers: tuple[int, ...] = (2,)
    """More numbers of loader processes to measure than 0, which loads in the main process, and 1."""
    step_ms: float | None = None
    """Time of a training step, milliseconds; None takes a few."""
    samples: int = 256
    """Samples of each measurement, at random over the training episodes; in whole batches."""
    rounds: int = 3
    """How often everything is measured."""
    overrides: tuple[str, ...] = ()
    """``KEY=VALUE`` texts for the data config."""

    def __post_init__(self) -> None:
        """Refuse numbers that measure nothing."""
        for name in ("samples", "rounds"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, found {getattr(self, name)}.")
        if self.step_ms is not None and not self.step_ms > 0:
            raise ConfigError(f"A training step takes more than 0 ms, found {self.step_ms}.")


@dataclass(frozen=True)
class BenchReport:
    """Samples a second, in each way of getting them."""

    embodiment: str
    horizon: int
    cameras: tuple[str, ...]
    batch_size: int
    decode: float | None
    """The JPEGs of the same samples decoded from memory, one after the other; None without cameras."""
    loaded: dict[int, float]
    """By number of workers: what the loader gives."""
    loaded_short: float
    """With chunks of one step, in the main process."""
    gathered: float
    """Numbers alone: the rows of a window, as they are stored."""
    encoded: float
    """Numbers alone: the whole pipeline."""
    step_times_ms: tuple[float, ...]

    def workers_for(self, step_ms: float) -> int:
        """Return the workers without which a training step of this time would wait for its batch."""
        return math.ceil(self.batch_size / (step_ms / 1000) / self.loaded[1])

    def rows(self) -> list[tuple[str, float, str]]:
        """Return a table row a measurement: what, samples a second, and its share of what bounds it."""
        alone = self.loaded[0]
        bound = self.decode or alone
        table: list[tuple[str, float, str]] = []
        if self.decode is not None:
            table.append(("JPEGs decoded from memory", self.decode, ""))
        for num, rate in self.loaded.items():
            text = "loader, in the main process" if num == 0 else f"loader, {count(num, 'worker')}"
            table.append((text, rate, f"{rate / bound:.0%}"))
        return [
            *table,
            ("loader, chunks of one step", self.loaded_short, f"{self.loaded_short / bound:.0%}"),
            ("numbers alone, encoded", self.encoded, ""),
            ("numbers alone, as stored", self.gathered, ""),
        ]

    def to_plain(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "embodiment": self.embodiment,
            "horizon": self.horizon,
            "cameras": list(self.cameras),
            "batch_size": self.batch_size,
            "samples_per_second": {
                "decode": self.decode,
                "loaded": {str(num): rate for num, rate in self.loaded.items()},
                "loaded_short": self.loaded_short,
                "encoded": self.encoded,
                "gathered": self.gathered,
            },
            "workers_for_step_ms": {f"{step:g}": self.workers_for(step) for step in self.step_times_ms},
        }


def run(request: BenchRequest) -> BenchReport:
    """Measure the loader over the training episodes of some data.

    Raises:
        RobotrainError: when the data cannot be resolved or read.
    """
    data = compose(DataConfig, data_layers(request.data), overrides=request.overrides)
    arch = arch_layer(request.arch)
    inputs = resolve_inputs(data, horizon=request.horizon or arch_horizon(arch))
    for remark in inputs.selection.remarks:
        warn(remark)
    return measure(inputs, data, request)


def measure(inputs: Inputs, data: DataConfig, request: BenchRequest) -> BenchReport:
    """Measure everything in turn, several times, and keep the best of each."""
    dataset = _dataset(inputs)
    short = _dataset(build_inputs(inputs.selection, data, horizon=1))
    batch = min(data.batch_size, len(dataset))
    num_batches = -(-request.samples // batch)
    places = np.random.default_rng(0).permutation(len(dataset)).tolist()
    keys = [dataset.keys(index) for index in islice(cycle(places), num_batches * batch)]
    batches = [keys[start : start + batch] for start in range(0, len(keys), batch)]
    ways: dict[Way, Callable[[], object]] = {}
    if inputs.interface.cameras:
        pictures = _pictures(dataset, keys)
        ways["decode"] = lambda: _decode(pictures, inputs.interface.image_size)
    for num in dict.fromkeys((0, 1, *request.workers)):
        ways[num] = _epoch(dataset, batch, num, num_batches)
    ways["short"] = _epoch(short, batch, 0, num_batches)
    ways["encoded"] = lambda: [dataset.encode(part) for part in batches]
    ways["gathered"] = lambda: [dataset.gather(part) for part in batches]
    rates = _best_rates(ways, len(keys), request.rounds)
    return BenchReport(
        embodiment=inputs.interface.embodiment,
        horizon=inputs.interface.horizon,
        cameras=inputs.interface.cameras,
        batch_size=batch,
        decode=rates.get("decode"),
        loaded={way: rate for way, rate in rates.items() if isinstance(way, int)},
        loaded_short=rates["short"],
        gathered=rates["gathered"],
        encoded=rates["encoded"],
        step_times_ms=STEP_TIMES_MS if request.step_ms is None else (request.step_ms,),
    )


def _best_rates(ways: Mapping[Way, Callable[[], object]], num_samples: int, rounds: int) -> dict[Way, float]:
    """Return the most samples a second of each way; the first round warms up files and workers, and does not count."""
    best = dict.fromkeys(ways, 0.0)
    turns = [(number, way) for number in range(rounds + 1) for way in ways]
    for number, way in track(turns, "Measuring", total=len(turns), unit="measurements"):
        begin = time.perf_counter()
        ways[way]()
        rate = num_samples / (time.perf_counter() - begin)
        if number:
            best[way] = max(best[way], rate)
    return best


def _dataset(inputs: Inputs) -> WindowDataset:
    return WindowDataset(inputs.selection.train, inputs.pipeline, inputs.interface.cameras, inputs.interface.image_size)


def _epoch(dataset: WindowDataset, batch: int, num_workers: int, num_batches: int) -> Callable[[], object]:
    """Return what loads an epoch of this many batches; workers live on from one call to the next."""
    module = EpisodesDataModule(
        dataset, None, batch_size=batch, num_workers=num_workers, seed=0, steps_per_epoch=num_batches
    )
    loader = module.train_dataloader()
    return lambda: sum(len(each) for each in loader)


def _pictures(dataset: WindowDataset, keys: Sequence[tuple[str, int]]) -> list[bytes]:
    episodes = {name: open_episode(dataset.facts[name].path) for name in {name for name, _ in keys}}
    return [
        episodes[name].jpeg(camera, frame)
        for name, frame in keys
        for camera in dataset.interface.cameras
        if camera in episodes[name].cameras
    ]


def _decode(pictures: Sequence[bytes], image_size: tuple[int, int] | None) -> None:
    for picture in pictures:
        decode_picture(picture, least=image_size or (0, 0))
