"""`robotrain models`: the archs there are, and how large they are."""

from typing import Annotated

import typer

from robotrain.cli.options import JsonOption, complete_arch, print_json
from robotrain.cli.tables import print_table
from robotrain.console import out

EXAMPLE = "robotrain models hpt_tiny"


def models(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="One arch, part by part.", autocompletion=complete_arch)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the archs of configs/arch and their sizes, without building a weight."""
    from robotrain.stages.models import ModelsConfig, run

    report = run(ModelsConfig(name=name))
    if as_json:
        print_json(report.to_plain())
        return
    if name is None:
        print_table(report.columns, report.rows, text=2)
        out.print("Parameters depend on the embodiment: its layouts give the widths, its cameras the stems.")
        return
    out.print(report.yaml, markup=False, soft_wrap=True)
    print_table(report.columns, report.rows)
