"""Tables of episodes: what joins, what leaves an episode out, and which line is wrong."""

import builtins
import csv
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from robotrain.episodes.choice.registry import DELETED, EMPTY_PATH, find_registry, load_registry
from robotrain.errors import MissingExtraError, MissingPathError, RegistryError


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_text(text, encoding=encoding)
    return path


def write_parquet(path: Path, columns: dict[str, Sequence[Any]]) -> Path:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({name: list(cells) for name, cells in columns.items()}), path)
    return path


def test_rows_join_by_hash_with_or_without_ending(tmp_path: Path) -> None:
    text = 'operator,episode_hash,lab,scene\nop1,e1,A,"kitchen, left"\n\nop2, e2.zarr ,,"two\nlines"\n'
    registry = load_registry(write(tmp_path / "r.csv", text))
    assert registry.columns == ("operator", "lab", "scene")
    assert [registry.value("e1", name) for name in registry.columns] == ["op1", "A", "kitchen, left"]
    assert [registry.value("e2", name) for name in registry.columns] == ["op2", None, "two\nlines"]
    assert registry.value("e3", "lab") is None
    assert registry.unusable == {}


def test_a_column_hash_does_and_a_byte_order_mark_is_no_part_of_it(tmp_path: Path) -> None:
    registry = load_registry(write(tmp_path / "r.csv", "hash,lab\r\ne1,Ä\r\n", encoding="utf-8-sig"))
    assert registry.value("e1", "lab") == "Ä"
    both = load_registry(write(tmp_path / "b.csv", "hash,episode_hash\nx,e1\n"))
    assert set(both.rows) == {"e1"}


def test_columns_of_the_common_table_say_what_may_be_used(tmp_path: Path) -> None:
    text = "episode_hash,is_deleted,zarr_processed_path\na,f,p\nb,True,p\nc,false,\nd,,p\ne,1,\n"
    registry = load_registry(write(tmp_path / "r.csv", text))
    assert registry.unusable == {"b": DELETED, "c": EMPTY_PATH, "e": DELETED}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("name,lab\ne1,A\n", None, "no column is called 'episode_hash' or 'hash'; there are: name, lab"),
        ("", None, "there are: none"),
        ("hash;lab\ne1;A\n", None, "there are: hash;lab"),
        ("hash,lab\ne1,A\ne2,B\ne1.zarr,C\n", 4, "'e1' is listed in line 2 too"),
        ("hash,lab\ne1,A\ne2\n", 3, "it has 1 cells, and the header 2"),
        ("hash,lab\ne1,A\n ,B\n", 3, "the column 'hash' is empty"),
        ("hash,lab,lab\ne1,A,B\n", 1, "two columns of one name: lab"),
        ('hash,lab\ne1,"A\n', 2, "it is no CSV"),
        ("hash,is_deleted\ne1,maybe\n", 2, "'is_deleted' is 'maybe', which is neither true nor false"),
    ],
)
def test_what_is_wrong_with_a_table_is_told_with_its_line(
    tmp_path: Path, text: str, line: int | None, message: str
) -> None:
    with pytest.raises(RegistryError, match=r"r\.csv") as caught:
        load_registry(write(tmp_path / "r.csv", text))
    assert message in str(caught.value)
    assert caught.value.line == line
    assert line is None or f", line {line}: " in str(caught.value)


def test_a_table_in_another_encoding_names_the_line(tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match="line 3: it is not UTF-8"):
        load_registry(write(tmp_path / "r.csv", "hash,lab\ne1,A\ne2,Ä\n", encoding="latin-1"))


def test_a_very_long_cell_is_read_and_the_limit_of_others_left_alone(tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    registry = load_registry(write(tmp_path / "r.csv", f"hash,segments\ne1,{'x' * 200_000}\n"))
    assert len(registry.value("e1", "segments")) == 200_000
    assert csv.field_size_limit() == limit


def test_neither_a_missing_file_nor_another_format_is_read(tmp_path: Path) -> None:
    with pytest.raises(MissingPathError, match="The registry"):
        load_registry(tmp_path / "r.csv")
    with pytest.raises(RegistryError, match=r"neither with \.csv nor with \.parquet"):
        load_registry(write(tmp_path / "r.json", "{}"))


def test_parquet_says_the_same_as_csv(tmp_path: Path) -> None:
    columns = {
        "episode_hash": ["a", "b.zarr", "c"],
        "operator": ["op1", None, " "],
        "num_frames": [10, None, 30],
        "score": [0.5, float("nan"), None],
        "price": [Decimal("1.50"), None, None],
        "day": [date(2026, 1, 2), None, None],
        "moment": [datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC), None, None],
        "objects": [["cup"], None, []],
        "is_deleted": [False, True, None],
        "zarr_processed_path": ["p", "p", ""],
    }
    registry = load_registry(write_parquet(tmp_path / "r.parquet", columns))
    assert [registry.value("a", name) for name in registry.columns[:5]] == ["op1", 10, 0.5, 1.5, "2026-01-02"]
    assert registry.value("a", "moment").startswith("2026-01-02 03:04:05")
    assert registry.value("a", "objects") == ["cup"]
    assert [registry.value("b", name) for name in registry.columns[:6]] == [None] * 6
    assert registry.value("c", "operator") is None
    assert registry.unusable == {"b": DELETED, "c": EMPTY_PATH}


def test_a_parquet_file_that_is_wrong_names_the_row(tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match="row 2: 'a' is listed in row 1 too"):
        load_registry(write_parquet(tmp_path / "r.parquet", {"hash": ["a", "a"]}))
    with pytest.raises(RegistryError, match="cannot be read as Parquet") as caught:
        load_registry(write(tmp_path / "b.parquet", "no table"))
    assert "\n" not in str(caught.value)


def test_parquet_without_its_library_names_the_extra_and_csv_needs_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = write_parquet(tmp_path / "r.parquet", {"hash": ["a"]})
    real = builtins.__import__

    def without_pyarrow(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == "pyarrow":
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_pyarrow)
    with pytest.raises(MissingExtraError, match=r"robotrain\[lerobot\]"):
        load_registry(table)
    assert set(load_registry(write(tmp_path / "r.csv", "hash\na\n")).rows) == {"a"}


def test_a_relative_path_counts_from_the_data_and_then_from_where_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, root = tmp_path / "here", tmp_path / "data"
    here.mkdir()
    root.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_registry("r.csv", root) == Path("r.csv")
    write(root / "r.csv", "hash\n")
    assert find_registry("r.csv", root) == root / "r.csv"
    assert find_registry(str(here / "r.csv"), root) == here / "r.csv"
    assert find_registry("~/r.csv", root) == tmp_path / "r.csv"
