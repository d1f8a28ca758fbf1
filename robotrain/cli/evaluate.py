"""`robotrain eval`: a checkpoint against whole episodes and against doing without a model."""

from typing import TYPE_CHECKING, Annotated

import typer

from robotrain.cli.options import (
    JsonOption,
    OtherDataOption,
    print_json,
    say_next,
    say_path,
    short_path,
    split_arguments,
)
from robotrain.cli.tables import print_table
from robotrain.console import count, out

if TYPE_CHECKING:
    from robotrain.evaluation.report import Report
    from robotrain.stages.evaluate import EvaluateReport

EXAMPLE = "robotrain eval runs/episodes/hpt_tiny_2026-01-31T12-00-00Z --videos"


def evaluate(
    path: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN_OR_CHECKPOINT",
            help="A run directory or a checkpoint. Left out: the newest run under ROBOTRAIN_LOG_DIR (default ./runs).",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Settings, for example episodes=4 stride=5.")
    ] = None,
    data: OtherDataOption = None,
    split: Annotated[
        list[str] | None,
        typer.Option("--split", help="train, valid or all; repeatable. Default: valid, or all of --data.", metavar="S"),
    ] = None,
    videos: Annotated[bool, typer.Option("--videos", help="Draw truth and prediction over every episode.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Score a checkpoint on whole episodes, beside baselines that need no model.

    Every number stands beside what holding the current pose, the mean
    training chunk and (for poses) the mean displacement would have scored;
    the ratio to the best of them says what the model adds: below 1 is better.
    The same checkpoint gives the same bytes.
    """
    from robotrain.stages.evaluate import resolve_config, run

    run_path, overrides = split_arguments(path, settings)
    config = resolve_config(run_path, data=data, splits=tuple(split or ()), videos=videos, overrides=overrides)
    reports = run(config)
    if as_json:
        print_json([report.to_plain() for report in reports])
        return
    for report in reports:
        _show(report)
    if not videos:
        say_next(f"robotrain render {short_path(reports[-1].predictions)} videos")


def _show(report: "EvaluateReport") -> None:
    coverage = report.result.coverage
    out.print(
        f"{report.split}: {count(coverage.episodes, 'episode')}, {coverage.frames_measured:,} of {coverage.frames:,} "
        "frames with a future; lower is better",
        markup=False,
    )
    print_scores(report.result)
    say_path("metrics", report.metrics)
    say_path("predictions", report.predictions)
    for path in report.videos:
        say_path("video", path)


def print_scores(result: "Report") -> None:
    """Print each metric of the model beside each baseline's, and the ratio to the best of them."""
    baselines = tuple(result.scores[0].baselines) if result.scores else ()
    rows = [
        (score.metric, score.unit, score.model, *(score.baselines[name] for name in baselines), score.ratio)
        for score in result.scores
    ]
    print_table(("metric", "unit", "model", *baselines, "ratio"), rows, text=2)
