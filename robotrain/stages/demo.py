"""Stage: the whole river once, on generated episodes. Knows the other stages and nothing that they know."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robotrain.console import count, say
from robotrain.convert.synthetic.generate import SyntheticConfig
from robotrain.errors import ExistingPathError
from robotrain.files import write_json
from robotrain.stages import convert, evaluate, train, validate
from robotrain.stages.evaluate import EvaluateConfig, EvaluateReport
from robotrain.stages.recipe import TrainChoice
from robotrain.stages.train import TrainReport
from robotrain.stages.validate import ValidateConfig

MARKER = "robotrain-demo.json"
HELD_OUT_SEED = 1
"""The held-out episodes are drawn from the same world with another seed: other objects, other noise."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DemoConfig:
    """How large a demo."""

    directory: str
    """Where its files go; must be new, empty, or of an earlier demo."""
    num_episodes: int = 220
    """Episodes to train and validate on. How many places a model has seen decides how well it finds the next one."""
    num_held_out: int = 8
    """Episodes that the model never sees."""
    width: int = 96
    """Of the images, in pixels."""
    height: int = 72
    """Of the images, in pixels."""
    fps: int = 10
    """Frames a second: a slow camera sees as many places in a third of the time."""
    seed: int = 0
    """Of the world."""
    overrides: tuple[str, ...] = ("data.batch_size=32",)
    """``KEY=VALUE`` settings of the training. Small batches: many steps teach more than large ones."""


@dataclass(frozen=True)
class DemoReport:
    """What the demo showed."""

    directory: Path
    training: TrainReport
    evaluation: EvaluateReport

    @property
    def run_dir(self) -> Path:
        """The run directory."""
        return self.training.run_dir

    def to_plain(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "directory": str(self.directory),
            "training": self.training.to_plain(),
            "evaluation": self.evaluation.to_plain(),
        }


def run(config: DemoConfig) -> DemoReport:
    """Generate, validate, compute statistics, train, evaluate on held-out episodes and draw them.

    Raises:
        ExistingPathError: when the directory holds something else.
    """
    directory = Path(config.directory).expanduser().resolve()
    _claim(directory)
    episodes, held_out = directory / "episodes", directory / "held-out"
    say(f"1/4 Generating {config.num_episodes} + {config.num_held_out} episodes of two robot arms: {directory}")
    convert.run(_world(config, config.num_episodes, config.seed), out=episodes)
    convert.run(_world(config, config.num_held_out, config.seed + HELD_OUT_SEED), out=held_out)
    say("2/4 Validating")
    validated = validate.run(ValidateConfig(data=(str(episodes), str(held_out))))
    found = ((validated.num_episodes, "episode"), (validated.num_frames, "frame"), (validated.num_errors, "error"))
    say(f"    {', '.join(count(number, noun) for number, noun in found)}")
    say("3/4 Training hpt_tiny")
    choice = TrainChoice(recipe="demo", data=str(episodes), overrides=config.overrides)
    training = train.run(train.resolve_config(choice), log_dir=directory / "runs")
    say("4/4 Evaluating on held-out episodes, and drawing them")
    (evaluation,) = evaluate.run(
        EvaluateConfig(checkpoint=str(training.run_dir), data=str(held_out), splits=("all",), videos=True)
    )
    return DemoReport(directory, training, evaluation)


def _claim(directory: Path) -> None:
    marker = directory / MARKER
    if marker.is_file():
        return
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise ExistingPathError(
            directory, "The demo's directory", hint="It holds something else; name a new or empty one."
        )
    write_json(marker, {"made_by": "robotrain demo"})


def _world(config: DemoConfig, num_episodes: int, seed: int) -> SyntheticConfig:
    return SyntheticConfig(
        embodiment="eva_bimanual",
        num_episodes=num_episodes,
        seed=seed,
        width=config.width,
        height=config.height,
        fps=config.fps,
    )
