"""`robotrain demo`: the whole river, once, on generated episodes."""

from pathlib import Path
from typing import Annotated

import typer

from robotrain.cli.evaluate import print_scores
from robotrain.cli.options import JsonOption, print_json, say_path
from robotrain.console import out

EXAMPLE = "robotrain demo my-demo"


def demo(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Where its files go.")] = Path("robotrain-demo"),
    as_json: JsonOption = False,
) -> None:
    """The whole river on generated episodes: minutes on a CPU, no data needed.

    Generates episodes, checks them, trains hpt_tiny, scores it on episodes it
    has not seen and draws the videos. The same every time; a second run reuses
    the generated episodes.
    """
    from robotrain.stages.demo import DemoConfig, run

    report = run(DemoConfig(directory=str(directory)))
    if as_json:
        print_json(report.to_plain())
        return
    out.print("\nOn episodes that the model has not seen; lower is better:")
    print_scores(report.evaluation.result)
    primary = report.evaluation.result.score(report.evaluation.result.primary)
    if primary.ratio is not None:
        out.print(
            f"{primary.metric}: {primary.ratio:.2f} of the best baseline's ({primary.best_baseline})\n", markup=False
        )
    for path in report.evaluation.videos:
        say_path("video", path)
    say_path("metrics", report.evaluation.metrics)
    say_path("run", report.run_dir)
