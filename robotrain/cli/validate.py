"""`robotrain validate-data`: what is wrong with these episodes, and how to mend it."""

from typing import TYPE_CHECKING, Annotated

import typer

from robotrain.cli.options import DATA_HELP, JsonOption, complete_data, print_json, say_next, say_path
from robotrain.console import count, out

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
    for finding in report.findings[:MOST_FINDINGS]:
        style = "red" if finding.severity == "error" else "yellow"
        place = finding.array + (f", frame {finding.frame}" if finding.frame is not None else "")
        out.print(f"{finding.severity:<8} {finding.code}  {finding.episode}  {place}", style=style, markup=False)
        out.print(f"         {finding.message}", markup=False, soft_wrap=True)
    if len(report.findings) > MOST_FINDINGS:
        out.print(f"... and {len(report.findings) - MOST_FINDINGS:,} more; --json lists them all")
    if report.mends:
        out.print("\nHow to mend:")
        for code, mend in report.mends.items():
            out.print(f"  {code}: {mend}", markup=False, soft_wrap=True)
        out.print()
    out.print(
        f"{count(report.num_episodes, 'episode')}, {count(report.num_frames, 'frame')}: "
        f"{count(report.num_errors, 'error')}, {count(report.num_warnings, 'warning')}"
    )
    for path in report.manifests:
        say_path("manifest", path)
    if not report.num_errors:
        say_next("robotrain norm-stats" + "".join(f" {root}" for root in report.named_roots[:1]))
