"""Options and arguments that several commands share, so that they read alike everywhere."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from robotrain.console import out


def _names(group: str, incomplete: str) -> list[str]:
    from robotrain.config import config_names

    return [name for name in config_names(group) if name.startswith(incomplete)]


def complete_arch(incomplete: str) -> list[str]:
    """Complete the name of an arch."""
    return _names("arch", incomplete)


def complete_trainer(incomplete: str) -> list[str]:
    """Complete the name of a trainer config."""
    return _names("trainer", incomplete)


def complete_recipe(incomplete: str) -> list[str]:
    """Complete the name of a recipe."""
    return _names("recipe", incomplete)


def complete_data(incomplete: str) -> list[str]:
    """Complete the name of a data config; folders complete through the shell."""
    return _names("data", incomplete)


DATA_HELP = "A folder of episodes, a name in configs/data, or a YAML file. Left out: ROBOTRAIN_DATA_DIR."

DataOption = Annotated[str | None, typer.Option("--data", help=DATA_HELP, metavar="DATA", autocompletion=complete_data)]
OTHER_DATA_HELP = "A folder of episodes, a name in configs/data, or a YAML file. Left out: the run's own episodes."
OtherDataOption = Annotated[
    str | None, typer.Option("--data", help=OTHER_DATA_HELP, metavar="DATA", autocompletion=complete_data)
]
ARCH_HELP = "A name in configs/arch (see: robotrain models), or a YAML file."
ArchOption = Annotated[str | None, typer.Option("--arch", help=ARCH_HELP, metavar="NAME", autocompletion=complete_arch)]
AllowMissingOption = Annotated[
    int | None,
    typer.Option(
        "--allow-missing", help="Leave out up to N episodes that are absent, unreadable or unsound.", metavar="N", min=0
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for machines.")]
Overrides = Annotated[
    list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Settings, for example trainer.max_steps=200.")
]


def split_arguments(path: str | None, settings: list[str] | None) -> tuple[str | None, list[str]]:
    """Tell ``[PATH] [KEY=VALUE]...`` apart where the path may be left out and the first setting stands in its place."""
    settings = list(settings or ())
    if path is not None and "=" in path and not Path(path).exists():
        return None, [path, *settings]
    return path, settings


def print_json(value: Any) -> None:
    """Print a value as indented JSON to stdout; non-finite numbers, which JSON lacks, become null."""
    import json

    sys.stdout.write(json.dumps(_finite(value), indent=2, allow_nan=False) + "\n")


def say_path(label: str, path: Path | str) -> None:
    """Print a labelled path on a line of its own, unbroken, so that it can be copied."""
    out.print(f"{label:<12} {short_path(path)}", markup=False, soft_wrap=True)


def short_path(path: Path | str) -> Path:
    """Return a path as one would type it here: relative where it lies in this folder."""
    path = Path(path)
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def say_next(command: str) -> None:
    """Print the command that comes next."""
    out.print(f"\nNext: {command}", markup=False, soft_wrap=True)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and value - value != 0 else value
