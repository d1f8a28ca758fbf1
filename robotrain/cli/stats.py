"""`robotrain norm-stats`: the numbers that normalisation rests on."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robotrain.cli.options import (
    DATA_HELP,
    ArchOption,
    JsonOption,
    complete_data,
    print_json,
    say_next,
    say_path,
)
from robotrain.cli.tables import print_table, print_wrapped
from robotrain.console import count, out

if TYPE_CHECKING:
    from robotrain.stages.stats import CheckReport, StatsReport

EXAMPLE = "robotrain norm-stats ~/episodes --arch hpt_tiny"


def norm_stats(
    data: Annotated[str | None, typer.Argument(help=DATA_HELP, metavar="DATA", autocompletion=complete_data)] = None,
    arch: ArchOption = None,
    allow_missing: Annotated[
        int | None,
        typer.Option(
            "--allow-missing", help="Leave out up to N episodes that are absent or unreadable.", metavar="N", min=0
        ),
    ] = None,
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Compute again, even where the cache has them.")
    ] = False,
    check: Annotated[
        Path | None,
        typer.Option(
            "--check",
            help="Hold these statistics (stats.json, run, checkpoint) against the data: what lies outside -1 to 1.",
            metavar="FILE",
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw a picture per field of the actions.", metavar="DIR")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compute the statistics of actions and states over the training split.

    Exactly: every frame counts, padded and missing rows do not, and no image
    is read. The result lies in the cache, keyed by the content of the
    episodes, where train finds it.
    """
    from robotrain.errors import ConfigError, EpisodeError
    from robotrain.stages.stats import StatsRequest, run
    from robotrain.stages.stats import check as check_stats

    request = StatsRequest(data=data, arch=arch, recompute=recompute, allow_missing=allow_missing, plot=plot)
    if check is not None:
        if recompute or plot is not None:
            raise ConfigError("--check computes and draws no statistics: leave --recompute and --plot out.")
        checked = check_stats(request, check)
        if as_json:
            print_json(checked.to_plain())
        else:
            _show_check(checked)
        return
    try:
        report = run(request)
    except EpisodeError as problem:
        more = f"{problem.problem} To see more: robotrain validate-data" + (f" {data}" if data else "")
        raise EpisodeError(problem.episode, more, array=problem.array, frame=problem.frame) from None
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
        headings = (group, "unit", "min", "1%", "99%", "max", "flat", "missing", "far out")
        print_table(headings, report.rows(group), text=2)
    print_wrapped(
        "flat: columns that never move and normalise to 0; missing: values that do not count, because a hand was not "
        "seen or the episode had ended; far out: values more than 5 times as far from the middle as the 1 % and 99 % "
        "quantiles."
    )
    for remark in report.remarks:
        print_wrapped(f"note: {remark}")
    origin = "given" if not report.cache.key else "from cache" if report.cache.hit else "computed"
    say_path(origin, report.cache.path)
    if report.pictures:
        say_path("pictures", report.pictures[0].parent)


def _show_check(report: "CheckReport") -> None:
    print_wrapped(
        f"{count(report.outside.num_samples, 'sample')} of {count(report.num_episodes, 'episode')}, "
        f"normalised by the statistics of {count(len(report.stats.episodes), 'episode')}: "
        "values outside -1 to 1"
    )
    for group in ("actions", "state"):
        print_table((group, "unit", "outside", "most of all"), report.rows(group), text=2)
    print_wrapped("Usual where the data are alike: 2 % by quantile, none by minmax, a third by zscore.")
    say_path("statistics", report.file)
