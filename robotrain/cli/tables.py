"""Tables and sentences for a terminal of 80 columns. Knows text; refuses to know what it means."""

from collections.abc import Sequence
from textwrap import wrap

from rich import box
from rich.table import Table

from robotrain.console import out


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[object]], *, text: int = 1, prose: bool = False
) -> None:
    """Print a table to stdout, with an empty line above and below.

    Args:
        columns: headings.
        rows: cells; floats are shown with four significant digits.
        text: how many columns from the left hold text; the others hold numbers and stand at the right.
        prose: whether the last column holds sentences, which take the room that is left and wrap.
    """
    cells = [[_cell(value) for value in row] for row in rows]
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for index, column in enumerate(columns):
        if prose and index == len(columns) - 1:
            table.add_column(column, overflow="fold")
        elif index < text:
            table.add_column(column, no_wrap=True)
        else:  # as narrow as its longest word: headings wrap, numbers never do
            words = [*column.split(), *(row[index] for row in cells)]
            table.add_column(column, justify="right", width=max(len(word) for word in words))
    for row in cells:
        table.add_row(*row)
    out.print()
    out.print(table)
    out.print()


def print_wrapped(text: str, *, indent: int = 0, hanging: int = 0, style: str | None = None) -> None:
    """Print a text to stdout in lines of the terminal's width; a path or another long word is never broken.

    Args:
        text: what to print.
        indent: columns before each line.
        hanging: more columns before each line but the first.
        style: how it looks, in rich's words.
    """
    lines = wrap(
        text,
        width=out.width,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hanging),
        break_long_words=False,
        break_on_hyphens=False,
    )
    out.print("\n".join(lines), markup=False, soft_wrap=True, style=style)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
