"""`robotrain validate-data`: what is wrong with these episodes, and how to mend it."""

from typing import TYPE_CHECKING, Annotated

import typer

from robotrain.cli.options import DATA_HELP, JsonOption, complete_data, print_json, say_next, say_path
from robotrain.cli.tables import print_table
from robotrain.console import out

if TYPE_CHECKING:
    from robotrain.stages.validate import ValidateReport

EXAMPLE = "robotrain validate-data ~/episodes"
MOST_FINDINGS = 20


def validate_data(
    data: Annotated[
        list[str] | None, typer.Argument(help=DATA_HELP, metavar="DATA", autocompletion=complete_data)
    ] = None,
    write_manifest: Annotated[
        bool,
        typer.Option("--write-manifest", help="Write manifest.json, the content digest of every episode, into DATA."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check episodes before anything learns from them.

    Reads attributes, lengths, the files behind every array, all numbers, and
    the first, middle and last image of each camera. Exit code 1 when an
    episode has an error; warnings alone are fine.
    """
    from robotrain.stages.validate import ValidateConfig, run

    report = run(ValidateConfig(data=tuple(data or ()), write_manifest=write_manifest))
    if as_json:
        print_json(report.to_plain())
    else:
        _show(report)
    if report.num_errors:
        raise typer.Exit(1)


def _show(report: "ValidateReport") -> None:
    if report.findings:
        rows = [
            (finding.severity, finding.code, finding.episode, _place(finding.array, finding.frame), finding.message)
            for finding in report.findings[:MOST_FINDINGS]
        ]
        print_table(("", "code", "episode", "where", "finding"), rows, text=5)
        if len(report.findings) > MOST_FINDINGS:
            out.print(f"... and {len(report.findings) - MOST_FINDINGS:,} more; --json lists them all")
        for code, mend in report.mends.items():
            out.print(f"{code}: {mend}", markup=False)
    out.print(
        f"{report.num_episodes:,} episodes, {report.num_frames:,} frames: "
        f"{report.num_errors:,} errors, {report.num_warnings:,} warnings"
    )
    for path in report.manifests:
        say_path("manifest", path)
    if not report.num_errors:
        say_next("robotrain norm-stats" + "".join(f" {root}" for root in report.named_roots[:1]))


def _place(array: str, frame: int | None) -> str:
    return f"{array}[{frame}]" if frame is not None else array
