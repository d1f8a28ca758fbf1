"""`robotrain norm-stats`: the numbers that normalisation rests on."""

from typing import TYPE_CHECKING, Annotated

import typer

from robotrain.cli.options import (
    DATA_HELP,
    AllowMissingOption,
    ArchOption,
    JsonOption,
    complete_data,
    print_json,
    say_next,
    say_path,
)
from robotrain.cli.tables import print_table
from robotrain.console import count, out

if TYPE_CHECKING:
    from robotrain.stages.stats import StatsReport

EXAMPLE = "robotrain norm-stats ~/episodes --arch hpt_tiny"


def norm_stats(
    data: Annotated[str | None, typer.Argument(help=DATA_HELP, metavar="DATA", autocompletion=complete_data)] = None,
    arch: ArchOption = None,
    allow_missing: AllowMissingOption = None,
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Compute again, even where the cache has them.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Compute the statistics of actions and states over the training split.

    Exactly: every frame counts, padded and missing rows do not, and no image
    is read. The result lies in the cache, keyed by the content of the
    episodes, where train finds it.
    """
    from robotrain.stages.stats import StatsRequest, run

    report = run(StatsRequest(data=data, arch=arch, recompute=recompute, allow_missing=allow_missing))
    if as_json:
        print_json(report.to_plain())
        return
    _show(report)
    say_next(f"robotrain train --arch {arch or report.arch}" + (f" --data {data}" if data else ""))


def _show(report: "StatsReport") -> None:
    interface = report.stats.interface
    out.print(
        f"{interface.embodiment}, {interface.mode}: {interface.horizon} steps over {interface.seconds:.3g} s, "
        f"{count(report.stats.num_samples, 'sample')} of {count(len(report.stats.episodes), 'training episode')}",
        markup=False,
    )
    for group in ("actions", "state"):
        print_table((group, "unit", "width", "1 %", "99 %", "largest std"), report.rows(group), text=2)
    for remark in report.remarks:
        out.print(f"note: {remark}", markup=False)
    say_path("from cache" if report.cache.hit else "computed", report.cache.path)
