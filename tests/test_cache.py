from pathlib import Path

import pytest

from robotrain.cache import cache_file, load_cached, save_cached


def test_what_is_saved_is_loaded() -> None:
    assert load_cached("kind", "ab") is None
    save_cached("kind", "ab", {"value": [1, 2.5]})
    assert load_cached("kind", "ab") == {"value": [1, 2.5]}
    assert load_cached("other", "ab") is None


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b"[1]", b""])
def test_a_broken_file_warns_and_counts_as_nothing(content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    save_cached("kind", "ab", {})
    cache_file("kind", "ab").write_bytes(content)
    assert load_cached("kind", "ab") is None
    assert "warning: the cache file" in capsys.readouterr().err


def test_a_cache_that_cannot_be_written_only_warns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("ROBOTRAIN_CACHE_DIR", str(tmp_path / "file"))
    save_cached("kind", "ab", {"value": 1})
    assert "cannot be written" in capsys.readouterr().err
