import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import pytest

from robotrain.episodes.manifest import ManifestRow, load_manifest, save_manifest
from robotrain.errors import ManifestError, MissingPathError


def test_a_manifest_comes_back_sorted_by_hash(tmp_path: Path) -> None:
    rows = [ManifestRow(name, name * 64, 3, 99, 8, "toy_arm") for name in ("b", "a")]
    save_manifest(tmp_path / "manifest.json", rows)
    assert load_manifest(tmp_path / "manifest.json") == (rows[1], rows[0])


ROW = asdict(ManifestRow("a", "a" * 64, 3, 99, 8, "toy_arm"))


def manifest_of(*rows: Mapping[str, object]) -> str:
    return json.dumps({"schema_version": 1, "episodes": rows})


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        "[" * 100_000,
        '{"schema_version": 9}',
        '{"schema_version": 1}',
        '{"schema_version": 1, "episodes": null}',
        '{"schema_version": 1, "episodes": 3}',
        manifest_of({"hash": "a"}),
        manifest_of(ROW | {"hash": ["a"]}),
        manifest_of(ROW | {"num_files": "3"}),
        manifest_of(ROW | {"num_bytes": True}),
        manifest_of(ROW, ROW),
    ],
)
def test_a_manifest_of_another_form_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(ManifestError, match=r"manifest\.json"):
        load_manifest(tmp_path / "manifest.json")


def test_where_there_is_none_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(MissingPathError):
        load_manifest(tmp_path / "nothing.json")
