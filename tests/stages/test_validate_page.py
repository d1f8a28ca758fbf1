from pathlib import Path

import pytest

from robotrain.errors import ExistingPathError
from robotrain.stages import validate
from robotrain.stages.validate import ValidateConfig, run
from tests.factories import make_eva_episode


def test_a_page_shows_the_episodes_with_findings(tmp_path: Path) -> None:
    broken = make_eva_episode(tmp_path / "data" / "broken.zarr")
    make_eva_episode(tmp_path / "data" / "sound.zarr", num_frames=60, seed=1)
    (broken / "left.obs_gripper" / "zarr.json").unlink()
    report = run(ValidateConfig(data=(str(tmp_path / "data"),), html=tmp_path / "page"))
    assert report.num_errors
    page = (tmp_path / "page" / "index.html").read_text()
    assert "<h2>broken</h2>" in page
    assert "<h2>sound</h2>" not in page
    assert "2 episodes" in page
    assert list((tmp_path / "page" / "thumbnails").iterdir())


def test_several_folders_have_a_page_each(tmp_path: Path) -> None:
    folders = [make_eva_episode(tmp_path / name / "episode.zarr").parent for name in ("one", "two")]
    run(ValidateConfig(data=tuple(map(str, folders)), html=tmp_path / "pages"))
    pages = {path.parent.name: path.read_text() for path in tmp_path.glob("pages/*/index.html")}
    assert {name: f"Findings in {name[2:]}<" in text for name, text in pages.items()} == {"1_one": True, "2_two": True}


def test_a_page_that_cannot_be_written_is_refused_before_anything_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_eva_episode(tmp_path / "data" / "one.zarr")
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "mine.txt").write_text("mine")

    def fail(*_: object) -> None:
        raise AssertionError("checked")

    monkeypatch.setattr(validate, "open_index", fail)
    with pytest.raises(ExistingPathError, match=r"It holds 'mine\.txt'"):
        run(ValidateConfig(data=(str(tmp_path / "data"),), html=tmp_path / "page"))
