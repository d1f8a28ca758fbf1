"""`robotrain models`: the archs there are, and how large they are."""

from typing import TYPE_CHECKING, Annotated

import typer

from robotrain.cli.options import JsonOption, complete_arch, print_json
from robotrain.cli.tables import print_table, print_wrapped
from robotrain.console import out

if TYPE_CHECKING:
    from robotrain.stages.models import ModelsReport

EXAMPLE = "robotrain models hpt_tiny"


def models(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="One arch, part by part.", autocompletion=complete_arch)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the archs of configs/arch and their sizes, without building a weight."""
    if name is not None:
        from robotrain.config import load_named

        load_named("arch", name)  # a wrong name fails here, before torch is loaded
    from robotrain.stages.models import ModelsConfig, run

    report = run(ModelsConfig(name=name))
    if as_json:
        print_json(report.to_plain())
    elif name is None:
        _show_all(report)
    else:
        _show_one(name, report)


def _show_all(report: "ModelsReport") -> None:
    every = next(iter(report.parameters.values())) if report.parameters else ()
    bodies = [body for body in every if not body.endswith("_arm")]  # the table stays as wide as a terminal
    rows = [
        (
            name,
            arch.family,
            f"{arch.width} x {arch.depth} x {arch.heads}",
            arch.horizon,
            *(sum(report.parameters[name][body].values()) for body in bodies),
        )
        for name, arch in report.archs.items()
    ]
    print_table(("arch", "family", "width x depth x heads", "horizon", *bodies), rows, text=3)
    print_wrapped(
        "Parameters by embodiment: its layouts give the widths, its cameras the stems. One arch part by part, single "
        "arms too: robotrain models NAME"
    )


def _show_one(name: str, report: "ModelsReport") -> None:
    from robotrain.config import to_yaml

    out.print(to_yaml(report.archs[name]), markup=False, soft_wrap=True)
    for body, parts in report.parameters[name].items():
        print_table((body, "parameters"), [*parts.items(), ("total", sum(parts.values()))])
