"""`robotrain explain`: what a finding of validate-data means, how to mend it, and how to change how grave it is."""

import re
from typing import TYPE_CHECKING, Annotated

import typer

from robotrain.cli.options import JsonOption, print_json
from robotrain.cli.tables import print_table, print_wrapped
from robotrain.cli.validate import STYLES
from robotrain.console import out
from robotrain.errors import UnknownNameError

if TYPE_CHECKING:
    from robotrain.episodes.validation.codes import Code

EXAMPLE = "robotrain explain missing-shard"


def complete_code(incomplete: str) -> list[str]:
    """Complete the code of a finding."""
    from robotrain.episodes.validation.codes import CODES

    return [code for code in CODES if code.startswith(incomplete)]


def explain(
    code: Annotated[
        str | None, typer.Argument(metavar="CODE", help="One code, in full.", autocompletion=complete_code)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Tell what a finding means and how to mend it; without CODE, list them all."""
    from robotrain.episodes.validation.codes import CODES

    if code is not None and code not in CODES:
        raise UnknownNameError("code", code, tuple(CODES))
    chosen = CODES if code is None else {code: CODES[code]}
    if as_json:
        print_json({name: _to_plain(each) for name, each in chosen.items()})
    elif code is None:
        _show_all(chosen)
    else:
        _show_one(code, chosen[code])


def _to_plain(code: "Code") -> dict[str, str]:
    return {"severity": code.severity, "meaning": code.meaning, "mend": code.mend}


def _show_all(codes: "dict[str, Code]") -> None:
    rows = [(name, code.severity, _first_sentence(code.meaning)) for name, code in codes.items()]
    print_table(("code", "severity", "meaning"), rows, text=2, prose=True)
    out.print("One in full, and how to mend it: robotrain explain CODE", markup=False)


def _show_one(name: str, code: "Code") -> None:
    out.print(f"{name}: {code.severity}", style=STYLES[code.severity], markup=False)
    out.print(code.meaning, markup=False)
    out.print("\nHow to mend:", markup=False)
    out.print(code.mend, markup=False)
    other = next(severity for severity in ("off", "warning") if severity != code.severity)
    out.print("\nAnother severity (error, warning or off), for all episodes:", markup=False)
    out.print(f"  data.validation.severity.{name}={other}", markup=False, soft_wrap=True)
    print_wrapped("Keep one episode in spite of it (told as a warning); HASH alone, in spite of every finding:")
    out.print(f"  data.validation.keep=[HASH:{name}]", markup=False, soft_wrap=True)
    out.print("Both stand after 'robotrain train', or, without 'data.', in a data config.", markup=False)


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=\.)\s", text, maxsplit=1)[0]
