"""The two consoles: results go to stdout, everything else to stderr.

Knows how to show progress, a log line and a number of things; refuses to know what is being done.
"""

import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

T = TypeVar("T")

out = Console(highlight=False)
log = Console(stderr=True, highlight=False)

PLAIN_INTERVAL_S = 10.0
"""Seconds between progress lines where stderr is not a terminal."""


class _Rate(ProgressColumn):
    def __init__(self, unit: str) -> None:
        super().__init__()
        self.unit = unit

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:.0f} {self.unit}/s" if speed else f"- {self.unit}/s", style="dim")


def say(message: str) -> None:
    """Print one log line to stderr; neither markup nor the width of the terminal breaks a path in it."""
    log.print(message, markup=False, soft_wrap=True)


def warn(message: str) -> None:
    """Print one warning line to stderr."""
    log.print(f"warning: {message}", markup=False, soft_wrap=True, style="yellow")


def count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where it is not one."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def track(items: Iterable[T], description: str, *, total: int, unit: str = "items") -> Iterator[T]:
    """Yield the items with a progress bar (rate, time left), or plain lines where stderr is not a terminal.

    Work that ends within a second shows nothing that stays.
    """
    return (
        _track_bar(items, description, total, unit)
        if log.is_terminal
        else _track_lines(items, description, total, unit)
    )


def _track_bar(items: Iterable[T], description: str, total: int, unit: str) -> Iterator[T]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _Rate(unit), TimeRemainingColumn())
    with Progress(*columns, console=log, transient=True) as progress:
        task = progress.add_task(description, total=total)
        for item in items:
            yield item
            progress.advance(task)


def _track_lines(items: Iterable[T], description: str, total: int, unit: str) -> Iterator[T]:
    begin = shown = time.monotonic()
    for done, item in enumerate(items, start=1):
        yield item
        now = time.monotonic()
        if now - shown >= PLAIN_INTERVAL_S:
            shown = now
            rate = done / (now - begin)
            say(f"{description}: {done}/{total} {unit}, {rate:.1f}/s, {(total - done) / rate:.0f} s left")
