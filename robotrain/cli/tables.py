"""Tables for a terminal of 80 columns. Knows rows of text; refuses to know what they mean."""

from collections.abc import Sequence

from rich import box
from rich.table import Table

from robotrain.console import out


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, title: str = "", text: int = 1) -> None:
    """Print a table to stdout.

    Args:
        columns: headings.
        rows: cells; floats are shown with four significant digits.
        title: a line above the table.
        text: how many columns from the left hold text; the others hold numbers and stand at the right.
    """
    table = Table(title=title or None, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index < text else "right", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    out.print(table)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
