"""`robotrain bench-loader`: whether the loader keeps up, and with how many workers."""

from typing import TYPE_CHECKING, Annotated

import typer

from robotrain.cli.options import (
    DATA_HELP,
    ArchOption,
    JsonOption,
    complete_data,
    print_json,
    split_arguments,
)
from robotrain.cli.tables import print_table, print_wrapped
from robotrain.console import count, out

if TYPE_CHECKING:
    from robotrain.stages.bench_loader import BenchReport

EXAMPLE = "robotrain bench-loader ~/episodes --arch hpt_tiny --step-ms 150"


def bench_loader(
    data: Annotated[str | None, typer.Argument(help=DATA_HELP, metavar="DATA", autocompletion=complete_data)] = None,
    settings: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Settings of the data, for example batch_size=64.")
    ] = None,
    arch: ArchOption = None,
    step_ms: Annotated[
        float | None,
        typer.Option("--step-ms", help="Time of your training step; says how many workers it needs.", metavar="MS"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how many samples a second the loader gives.

    Beside it stands how fast the same JPEGs decode from memory: no loader can
    be faster. Reads training episodes, writes nothing, takes about a minute.
    """
    from robotrain.stages.bench_loader import BenchRequest, run

    data, overrides = split_arguments(data, settings)
    report = run(BenchRequest(data=data, arch=arch, step_ms=step_ms, overrides=tuple(overrides)))
    if as_json:
        print_json(report.to_plain())
    else:
        show(report)


def show(report: "BenchReport") -> None:
    """Print the measurements, and the workers that training steps need."""
    cameras = count(len(report.cameras), "camera")
    batch = f"batches of {report.batch_size}"
    out.print(f"{report.embodiment}: {report.horizon} steps, {cameras}, {batch}", markup=False)
    rows = [(what, round(rate), share) for what, rate, share in report.rows()]
    print_table(("what", "samples/s", "of the bound"), rows)
    bound = "the JPEGs, decoded in one process" if report.cameras else "the loader, in the main process"
    print_wrapped(
        f"bound: {bound}; chunks of one step: the same samples without a future; numbers alone: without pictures, "
        "through the whole pipeline or as they are stored."
    )
    for step in report.step_times_ms:
        out.print(f"A step of {step:g} ms needs {count(report.workers_for(step), 'worker')}.", markup=False)
