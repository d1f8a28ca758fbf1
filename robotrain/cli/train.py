"""`robotrain train`: from episodes to a run directory."""

from pathlib import Path
from typing import Annotated

import typer

from robotrain.cli.options import (
    AllowMissingOption,
    ArchOption,
    DataOption,
    JsonOption,
    Overrides,
    complete_recipe,
    complete_trainer,
    print_json,
    say_next,
    say_path,
    short_path,
)
from robotrain.cli.tables import print_table
from robotrain.console import out
from robotrain.errors import ConfigError

EXAMPLE = "robotrain train --arch hpt_tiny --data ~/episodes trainer.max_steps=200"

TrainerOption = Annotated[
    str | None,
    typer.Option(
        "--trainer", help="A name in configs/trainer, or a YAML file.", metavar="T", autocompletion=complete_trainer
    ),
]
RecipeOption = Annotated[
    str | None,
    typer.Option(
        "--recipe",
        help="What the others override: a name in configs/recipe, or a YAML file such as RUN/config.yaml.",
        metavar="R",
        autocompletion=complete_recipe,
    ),
]


def train(
    overrides: Overrides = None,
    arch: ArchOption = None,
    data: DataOption = None,
    trainer: TrainerOption = None,
    recipe: RecipeOption = None,
    resume: Annotated[
        Path | None,
        typer.Option("--resume", help="Continue this run directory from its last checkpoint.", metavar="RUN"),
    ] = None,
    allow_missing: AllowMissingOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the resolved config and the model's size, and stop.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Train a policy on the training split of the data.

    Episodes are checked first. The run directory keeps the resolved config,
    the statistics, the code's version, metrics and checkpoints: all that is
    needed to use the policy. Ctrl-C stops a run, --resume continues it.
    """
    from robotrain.stages.recipe import TrainChoice, recipe_layers

    settings = tuple(overrides or ())
    for word in settings:
        if "=" not in word and Path(word).expanduser().exists():
            raise ConfigError(f"'{word}' is no setting of the form KEY=VALUE. As data: --data {word}")
    if allow_missing is not None:
        settings = (f"data.episodes.allow_missing={allow_missing}", *settings)
    choice = TrainChoice(arch=arch, data=data, trainer=trainer, recipe=recipe, resume=resume, overrides=settings)
    recipe_layers(choice)  # a wrong name fails here, before torch and Lightning are loaded
    from robotrain.stages import train as stage

    config = stage.resolve_config(choice)
    if dry_run:
        plan = stage.plan(config)
        if as_json:
            print_json(plan.to_plain())
            return
        out.print(plan.yaml, markup=False, soft_wrap=True)
        print_table(("part", "parameters"), [*plan.parameters.items(), ("total", plan.num_parameters)])
        return
    report = stage.run(config, resume=resume)
    if not report.is_first_process:
        return
    if as_json:
        print_json(report.to_plain())
        return
    say_path("run", report.run_dir)
    say_path("checkpoint", report.checkpoint)
    say_next(f"robotrain eval {short_path(report.run_dir)} --videos")
