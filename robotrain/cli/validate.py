"""`robotrain validate-data`: what is wrong with these episodes, and how to mend it."""

import json
import sys
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robotrain.cli.options import DATA_HELP, JsonOption, complete_data, say_next, say_path
from robotrain.cli.tables import print_wrapped
from robotrain.console import count, out

if TYPE_CHECKING:
    from robotrain.stages.validate import ValidateReport

EXAMPLE = "robotrain validate-data ~/episodes --deep"
MOST_FINDINGS = 20
STYLES = {"error": "red", "warning": "yellow", "off": "dim"}


def validate_data(
    data: Annotated[
        list[str] | None, typer.Argument(help=DATA_HELP, metavar="DATA", autocompletion=complete_data)
    ] = None,
    deep: Annotated[
        bool,
        typer.Option("--deep", help="Read every byte: digests, every picture, how the numbers move."),
    ] = False,
    write_manifest: Annotated[
        bool,
        typer.Option("--write-manifest", help="Record every episode's digest as it is, in manifest.json."),
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", help="Write a page with pictures of the episodes that have findings.", metavar="DIR"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check episodes before anything learns from them.

    Looks at attributes, lengths, the files behind every array, all numbers,
    and the first, middle and last image of each camera; a second time only at
    what has changed since. Exit code 1 when an episode has an error; warnings
    alone are fine. What a code means: robotrain explain CODE.
    """
    from robotrain.stages.validate import ValidateConfig, run

    report = run(ValidateConfig(data=tuple(data or ()), deep=deep, write_manifest=write_manifest, html=html))
    if as_json:
        _print_json(report)
    else:
        _show(report)
    if report.num_errors:
        raise typer.Exit(1)


def _show(report: "ValidateReport") -> None:
    most = MOST_FINDINGS + (report.num_findings == MOST_FINDINGS + 1)  # to count one more takes as much room
    for finding in islice(report.findings, most):
        place = finding.array + (f", frame {finding.frame}" if finding.frame is not None else "")
        words = (f"{finding.severity:<8} {finding.code}", finding.episode, place)
        print_wrapped("  ".join(word for word in words if word), hanging=9, style=STYLES[finding.severity])
        print_wrapped(finding.message, indent=9)
    if report.num_findings > most:
        out.print(f"... and {report.num_findings - most:,} more; --json lists them all, --html shows them")
    if report.num_findings:
        _show_mends(report)
    out.print(
        f"{count(report.num_episodes, 'episode')}, {count(report.num_frames, 'frame')}: "
        f"{count(report.num_errors, 'error')}, {count(report.num_warnings, 'warning')}"
    )
    for place in report.places:
        if place.manifest:
            say_path("manifest", place.manifest)
        if place.page:
            say_path("page", place.page)
    if report.num_errors:
        say_next(f"robotrain explain {next(report.findings).code}")
    else:
        say_next("robotrain norm-stats" + "".join(f" {root}" for root in report.named[:1]))


def _show_mends(report: "ValidateReport") -> None:
    from robotrain.episodes.validation.codes import CODES

    out.print("\nHow to mend:")
    for code, number in report.num_by_code.items():
        out.print(f"  {code} ({number:,})", markup=False)
        print_wrapped(CODES[code].mend, indent=4)
    out.print()


def _print_json(report: "ValidateReport") -> None:
    """Print the report as JSON, finding by finding: there may be more than memory holds."""
    head = json.dumps(report.to_plain(), indent=2)[:-2]
    sys.stdout.write(f'{head},\n  "findings": [')
    for number, finding in enumerate(report.findings):
        sys.stdout.write(f"{',' if number else ''}\n    {json.dumps(asdict(finding))}")
    sys.stdout.write(f"{chr(10) + '  ' if report.num_findings else ''}]\n}}\n")
