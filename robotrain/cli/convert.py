"""`robotrain convert`: other people's data, or generated episodes, into episodes of ours."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robotrain.cli.options import JsonOption, print_json, say_next, say_path
from robotrain.console import count
from robotrain.console import out as console

if TYPE_CHECKING:
    from robotrain.convert.source import ConvertReport

app = typer.Typer(no_args_is_help=True, help="Convert foreign data, or generate episodes, into the EgoVerse format.")

OutArgument = Annotated[Path, typer.Argument(metavar="OUT", help="The folder for the episodes; made if absent.")]


@app.command(epilog="Example: robotrain convert lerobot g1-inspire-pick episodes --episodes 28-31,59")
def lerobot(
    source: Annotated[
        Path, typer.Argument(metavar="SRC", help="A LeRobot v2.1 data set: the folder with meta/, data/ and videos/.")
    ],
    out: OutArgument,
    episodes: Annotated[
        str | None, typer.Option(help="Which, for example 28-31,59. Left out: all.", metavar="LIST")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Convert a LeRobot v2.1 data set: tables, videos and task texts, frame by frame.

    What each column means is written into every episode, so any robot trains
    without new code. Nothing is left out silently: an episode that cannot be
    converted whole is an error.
    """
    from robotrain.stages.convert import LeRobotConfig, run

    _finish(run(LeRobotConfig(path=str(source), episodes=episodes), out=out), as_json=as_json)


@app.command(epilog="Example: robotrain convert synthetic eva_bimanual episodes --episodes 40 --width 96 --height 72")
def synthetic(
    embodiment: Annotated[str, typer.Argument(metavar="SRC", help="Which body acts: eva_bimanual or human_bimanual.")],
    out: OutArgument,
    episodes: Annotated[int, typer.Option(help="How many to generate.", metavar="N", min=1)] = 10,
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes.", metavar="N", min=0)] = 0,
    width: Annotated[int, typer.Option(help="Image width, pixels.", min=16)] = 320,
    height: Annotated[int, typer.Option(help="Image height, pixels.", min=16)] = 240,
    as_json: JsonOption = False,
) -> None:
    """Generate episodes of a small world.

    Hands reach for objects whose place is known only from the image, so that
    learning and drawing can be checked.
    """
    from robotrain.convert.synthetic.generate import SyntheticConfig
    from robotrain.stages.convert import run

    config = SyntheticConfig(
        embodiment=embodiment,  # pyright: ignore[reportArgumentType]  # checked there, against the bodies there are
        num_episodes=episodes,
        seed=seed,
        width=width,
        height=height,
    )
    _finish(run(config, out=out), as_json=as_json)


def _finish(report: "ConvertReport", *, as_json: bool) -> None:
    if as_json:
        print_json(report.to_plain())
        return
    there = f"; {len(report.skipped_existing):,} were there already" if report.skipped_existing else ""
    console.print(
        f"{count(len(report.written), 'episode')} written, {count(report.frames, 'frame')}{there}", markup=False
    )
    say_path("episodes", report.out)
    say_next(f"robotrain validate-data {report.out}")
