"""`robotrain render`: videos again, without the model."""

from pathlib import Path
from typing import Annotated

import typer

from robotrain.cli.options import JsonOption, OtherDataOption, print_json, say_path

EXAMPLE = "robotrain render runs/episodes/.../eval/last/valid/predictions.npz videos"


def render(
    source: Annotated[
        str,
        typer.Argument(
            metavar="PREDICTIONS_OR_DATA", help="A predictions.npz of eval, or DATA to draw the truth alone."
        ),
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder for the videos, one mp4 an episode.")],
    data: OtherDataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Draw overlay videos from predictions on disk, or the truth of episodes.

    Needs no model and no torch. Each video has the rate and the number of
    frames of its episode. --data says where the episodes lie when they moved
    since the evaluation.
    """
    from robotrain.stages.render import RenderConfig, run

    report = run(RenderConfig(source=source, out=str(out), data=data))
    if as_json:
        print_json(report.to_plain())
        return
    for path in report.videos:
        say_path("video", path)
