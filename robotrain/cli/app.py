"""The `robotrain` program: its commands in the order of the river, and how errors leave it.

Knows names and exit codes. Importing it loads no heavy library: each command imports its stage when it runs.
"""

import io
import os
import sys
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from robotrain.cli import bench_loader, convert, demo, evaluate, explain, models, render, stats, train, validate
from robotrain.console import log, out
from robotrain.errors import RobotrainError

EXIT_ERROR = 1
EXIT_INTERRUPTED = 130


class Commands(TyperGroup):
    """The group of commands; turns what a user can cause into one line on stderr and an exit code."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  # the signature is typer's
        """Return the commands in the order of the river, not of the alphabet."""
        return [name for name, _, _ in COMMANDS]

    def invoke(self, ctx: Any) -> Any:
        """Run a command.

        Raises:
            typer.Exit: 1 for an error that the user can mend, 130 for an interrupt.
        """
        try:
            return super().invoke(ctx)
        except RobotrainError as problem:
            _complain(str(problem))
            raise typer.Exit(EXIT_ERROR) from None
        except (KeyboardInterrupt, typer.Abort):
            _complain("interrupted")
            raise typer.Exit(EXIT_INTERRUPTED) from None
        except BrokenPipeError:
            raise
        except OSError as problem:  # a full disk, a folder without permission: the system's words, no traceback
            if problem.strerror is None:
                raise
            where = f" '{os.fsdecode(problem.filename)}'" if isinstance(problem.filename, str | bytes) else ""
            _complain(f"{problem.strerror}{where}")
            raise typer.Exit(EXIT_ERROR) from None


def _complain(message: str) -> None:
    log.print(f"error: {message}", markup=False, style="red", soft_wrap=True)


def _print_version(wanted: bool) -> None:  # typer calls it with the flag
    if wanted:
        out.print(f"robotrain {version('robotrain')}")
        raise typer.Exit


app = typer.Typer(
    name="robotrain",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start here: robotrain demo. Exit codes: 0 fine, 1 findings or an error you can mend, 2 wrong usage.",
)

# Name, function (or a group of commands, each with its own example), example; in the order of the river.
COMMANDS = (
    ("demo", demo.demo, demo.EXAMPLE),
    ("convert", convert.app, ""),
    ("validate-data", validate.validate_data, validate.EXAMPLE),
    ("explain", explain.explain, explain.EXAMPLE),
    ("norm-stats", stats.norm_stats, stats.EXAMPLE),
    ("train", train.train, train.EXAMPLE),
    ("eval", evaluate.evaluate, evaluate.EXAMPLE),
    ("render", render.render, render.EXAMPLE),
    ("models", models.models, models.EXAMPLE),
    ("bench-loader", bench_loader.bench_loader, bench_loader.EXAMPLE),
)


@app.callback()
def root(
    show_version: Annotated[  # its callback does the work
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Train imitation policies on egocentric human and bimanual robot data, and trust the result.

    Each command reads what the one before it wrote:
    convert, validate-data, norm-stats, train, eval, render.
    """


for _name, _command, _example in COMMANDS:
    if isinstance(_command, typer.Typer):
        app.add_typer(_command, name=_name)
    else:
        app.command(_name, epilog=f"Example: {_example}")(_command)


def main() -> None:
    """Run the program: the entry point of the package.

    Idle threads of torch's pool sleep rather than spin, unless the user says otherwise: two trainings that spin on the
    same two cores are twenty times slower than they need be. Libraries read it when they are loaded, after this.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # names in data may hold what the terminal has no letter for
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="robotrain")
