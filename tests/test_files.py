import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotrain import files
from robotrain.errors import ConfigError, MissingPathError, UnsafePathError


def test_a_failed_write_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "stats.json"
    files.write_text(path, "old")

    def fail_half_way() -> None:
        with files.replacing(path) as partial:
            partial.write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_half_way()
    assert path.read_text() == "old"
    assert [child.name for child in tmp_path.iterdir()] == ["stats.json"]


def test_a_written_file_is_readable_by_others_as_the_umask_allows(tmp_path: Path) -> None:
    plain, ours = tmp_path / "plain", tmp_path / "ours"
    plain.write_text("x")
    files.write_text(ours, "x")
    assert stat.S_IMODE(ours.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_json_refuses_numbers_that_json_does_not_have(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        files.write_json(tmp_path / "x.json", {"loss": float("nan")})
    assert not list(tmp_path.iterdir())


plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), plain_values))
def test_canonical_json_does_not_depend_on_the_order_of_keys(value: dict[str, object]) -> None:
    turned = dict(reversed(list(value.items())))
    assert files.canonical_json(turned) == files.canonical_json(value)
    assert json.loads(files.canonical_json(value)) == value


@pytest.mark.parametrize("relative", ["../elsewhere", "a/../../b", "/etc/passwd"])
def test_a_path_from_a_data_file_never_leaves_the_root(tmp_path: Path, relative: str) -> None:
    with pytest.raises(UnsafePathError, match="leaves the data root"):
        files.inside(tmp_path / "root", relative)


def test_a_link_that_leaves_the_root_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(tmp_path)
    with pytest.raises(UnsafePathError):
        files.inside(root, "link/secret")


def test_the_data_folder_must_be_named_and_must_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROBOTRAIN_DATA_DIR", raising=False)
    with pytest.raises(ConfigError, match="name a folder of episodes, or set ROBOTRAIN_DATA_DIR"):
        files.data_dir()
    monkeypatch.setenv("ROBOTRAIN_DATA_DIR", str(tmp_path / "gone"))
    with pytest.raises(MissingPathError, match="gone"):
        files.data_dir()
    monkeypatch.setenv("ROBOTRAIN_DATA_DIR", str(tmp_path))
    assert files.data_dir() == tmp_path


def test_a_user_without_a_home_has_a_cache_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("ROBOTRAIN_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "expanduser", fail)
    monkeypatch.setattr(files.tempfile, "gettempdir", lambda: str(tmp_path))
    assert files.cache_dir() == tmp_path / f"robotrain-{os.getuid()}"
