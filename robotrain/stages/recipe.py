"""From names on the command line to the layers of a training's config, without torch: a wrong name fails at once."""

from dataclasses import dataclass
from pathlib import Path

from robotrain.config import Layer, load_named
from robotrain.errors import ConfigError, MissingPathError
from robotrain.stages.inputs import data_layers
from robotrain.stages.run_directory import CONFIG

GROUPS = ("arch", "data", "trainer")
DEFAULT_RECIPE = "default"


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainChoice:
    """What a user picked, by name."""

    arch: str | None = None
    """In place of the recipe's: a name in configs/arch, or a YAML file."""
    data: str | None = None
    """In place of the recipe's: a folder of episodes, a name in configs/data, or a YAML file."""
    trainer: str | None = None
    """In place of the recipe's: a name in configs/trainer, or a YAML file."""
    recipe: str | None = None
    """A name in configs/recipe, or a YAML file; None takes ``default``."""
    resume: Path | None = None
    """A run directory to go on with; its own config is the recipe."""
    overrides: tuple[str, ...] = ()
    """``KEY=VALUE`` texts, which win over all."""


def recipe_layers(choice: TrainChoice) -> tuple[Layer, ...]:
    """Return the recipe, and over it arch, data and trainer, each whole in place of the recipe's own.

    Raises:
        UnknownNameError, MissingPathError: for a name or a file that does not exist.
        ConfigError: for an option that would be ignored.
    """
    if choice.resume is not None:
        return (_resumed(choice, choice.resume),)
    recipe = load_named("recipe", choice.recipe or DEFAULT_RECIPE)
    layers: list[Layer] = []
    for group in GROUPS:
        spec = getattr(choice, group)
        if spec is not None:
            recipe = recipe.without(group)
            chosen = data_layers(spec) if group == "data" else (load_named(group, spec),)
            layers += [layer.under(group) for layer in chosen]
    return (recipe, *layers)


def arch_layer(name: str | None) -> Layer:
    """Return an arch by its name or YAML file; None takes the default recipe's.

    Raises:
        UnknownNameError, MissingPathError: for a name or a file that does not exist.
    """
    if name is not None:
        return load_named("arch", name)
    recipe = load_named("recipe", DEFAULT_RECIPE)
    return Layer(recipe.where, recipe.values["arch"])


def _resumed(choice: TrainChoice, run_dir: Path) -> Layer:
    given = [f"--{name}" for name in (*GROUPS, "recipe") if getattr(choice, name) is not None]
    if given:
        raise ConfigError(f"--resume takes the run's own config, so {', '.join(given)} would be ignored.")
    path = run_dir / CONFIG
    if not path.is_file():
        raise MissingPathError(path, "The config of the run to resume")
    return load_named("recipe", str(path))
