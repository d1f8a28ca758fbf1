"""A table of episodes that someone keeps beside them: one row a hash, columns such as operator, lab, scene.

Knows CSV (comma, UTF-8, one header) and Parquet, and two columns of EgoVerse's own table that say whether an episode
may be used; refuses to know where episodes lie.
"""

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from robotrain.episodes.choice.filters import Scalar, read_flag
from robotrain.episodes.schema import hash_of
from robotrain.errors import MissingExtraError, MissingPathError, RegistryError, first_line, listing

__all__ = ["DELETED", "EMPTY_PATH", "Registry", "find_registry", "load_registry"]

HASH_COLUMNS = ("episode_hash", "hash")
"""Names of the column by which rows are joined, the better one first."""
IS_DELETED = "is_deleted"
PROCESSED_PATH = "zarr_processed_path"

DELETED = "deleted"
EMPTY_PATH = "with an empty path"


@dataclass(frozen=True)
class Registry:
    """What a table says of episodes."""

    path: Path
    columns: tuple[str, ...]
    """Names, without the one that holds the hash."""
    rows: Mapping[str, tuple[Any, ...]] = field(repr=False)
    """By hash: the values of the columns; None where a cell is empty."""
    unusable: Mapping[str, str]
    """By hash: `DELETED` or `EMPTY_PATH`, where the table says that an episode is not to be used."""

    def value(self, episode: str, column: str) -> Any:
        """Return a cell, or None where it is empty or the table does not list the episode."""
        row = self.rows.get(episode)
        return None if row is None else row[self.columns.index(column)]


def find_registry(name: str, root: Path) -> Path:
    """Return the file that a config names: in the folder of episodes when it is there, else from where one stands.

    Args:
        name: A path; ``~`` is expanded.
        root: The folder of episodes.
    """
    path = Path(name).expanduser()
    inside = root / path  # the path itself where it is absolute
    return inside if inside.is_file() else path


def load_registry(path: Path) -> Registry:
    """Read a table of episodes.

    Raises:
        MissingPathError: when there is no such file.
        RegistryError: naming the line, when it cannot be read, lists a hash twice, or has no column of hashes.
        MissingExtraError: when it is Parquet, and pyarrow is not installed.
    """
    if not path.is_file():
        raise MissingPathError(path, "The registry")
    match path.suffix.lower():
        case ".csv":
            return _build(path, _csv_rows(path), "line")
        case ".parquet":
            return _build(path, _parquet_rows(path), "row")
        case _:
            raise RegistryError(path, "its name ends neither with .csv nor with .parquet.")


def _build(path: Path, numbered: Iterator[tuple[int, Sequence[Any]]], unit: str) -> Registry:
    """Join rows by hash; the first row of ``numbered`` is the header, and every row comes with its place."""
    _, header = next(numbered, (1, ()))
    names = [str(name).strip() for name in header]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise RegistryError(path, f"it has two columns of one name: {listing(twice)}.", line=1, unit=unit)
    key = next((name for name in HASH_COLUMNS if name in names), None)
    if key is None:
        wanted = " or ".join(f"'{name}'" for name in HASH_COLUMNS)
        raise RegistryError(path, f"no column is called {wanted}; there are: {listing(names) or 'none'}.")
    place = names.index(key)
    rows: dict[str, tuple[Any, ...]] = {}
    lines: dict[str, int] = {}
    unusable: dict[str, str] = {}
    for line, cells in numbered:
        episode = hash_of(str(cells[place]).strip()) if cells[place] is not None else ""
        if not episode:
            raise RegistryError(path, f"the column '{key}' is empty.", line=line, unit=unit)
        if episode in rows:
            raise RegistryError(path, f"'{episode}' is listed in {unit} {lines[episode]} too.", line=line, unit=unit)
        rows[episode], lines[episode] = (*cells[:place], *cells[place + 1 :]), line
        try:
            reason = _unusable(dict(zip(names, cells, strict=True)))
        except ValueError as problem:
            raise RegistryError(path, str(problem), line=line, unit=unit) from None
        if reason:
            unusable[episode] = reason
    return Registry(path, (*names[:place], *names[place + 1 :]), rows, unusable)


def _unusable(row: Mapping[str, Scalar]) -> str:
    deleted = row.get(IS_DELETED)
    flag = False if deleted is None else read_flag(deleted)
    if flag is None:
        raise ValueError(f"'{IS_DELETED}' is '{deleted}', which is neither true nor false.")
    if flag:
        return DELETED
    return EMPTY_PATH if PROCESSED_PATH in row and row[PROCESSED_PATH] is None else ""


def _csv_rows(path: Path) -> Iterator[tuple[int, list[str | None]]]:
    """Yield the rows of a CSV file with the line that each ends on; an empty cell is None."""
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise RegistryError(path, "it is not UTF-8; save it as 'CSV UTF-8'.", line=line) from None
    limit = csv.field_size_limit(max(len(text), 1))  # segments of an episode may be one long cell
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    width: int | None = None
    try:
        for cells in reader:
            if not cells:  # a blank line
                continue
            width = len(cells) if width is None else width
            if len(cells) != width:
                raise RegistryError(path, f"it has {len(cells)} cells, and the header {width}.", line=reader.line_num)
            yield reader.line_num, [cell if cell.strip() else None for cell in cells]
    except csv.Error as problem:
        raise RegistryError(path, f"it is no CSV: {problem}.", line=reader.line_num) from None
    finally:
        csv.field_size_limit(limit)


def _parquet_rows(path: Path) -> Iterator[tuple[int, Sequence[Any]]]:
    """Yield the names of the columns, then the rows of a Parquet file with their numbers from 1."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise MissingExtraError("pyarrow", "lerobot", "A registry in Parquet") from None
    try:
        table = parquet.ParquetFile(path).read()
        columns = [
            (column.cast(pa.string()) if pa.types.is_temporal(column.type) else column).to_pylist()
            for column in table.columns
        ]
    except (OSError, ValueError, NotImplementedError) as problem:  # pyarrow's own errors derive from these
        raise RegistryError(path, f"it cannot be read as Parquet: {first_line(problem)}") from None
    yield 1, table.column_names
    for number, cells in enumerate(zip(*columns, strict=True), start=1):
        yield number, [_cell(cell) for cell in cells]


def _cell(value: Any) -> Any:
    """Return a Parquet cell as a CSV one would be: what is null, NaN or blank is empty."""
    if isinstance(value, str) and not value.strip():
        return None
    if isinstance(value, Decimal):
        return float(value)
    return None if isinstance(value, float) and math.isnan(value) else value
