"""The page is read as a browser reads it: its elements, its text, the pixels of its pictures."""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import simplejpeg

from robotrain.episodes.reader import Episode
from robotrain.episodes.validation.codes import CODES
from robotrain.episodes.validation.findings import Finding, build_finding
from robotrain.episodes.writer import EpisodeWriter
from robotrain.errors import ExistingPathError
from robotrain.viz import findings_page
from robotrain.viz.findings_page import require_page_folder, write_findings_page
from tests.factories import make_eva_episode

VOID = {"meta", "img", "br"}
OPTIONAL_END = {"tr", "td", "th"}
NUM_FRAMES = 24
RED_FRAME = 10


class Page(HTMLParser):
    """What a page says: its tags with attributes, its text by element, figures with picture and caption."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.folder = path.parent
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.sections: list[str] = []
        self.figures: list[tuple[dict[str, str | None], str, str]] = []
        self.text = ""
        self.feed(path.read_text())
        self.close()
        assert not [tag for tag in self.open if tag not in OPTIONAL_END]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "section":
            self.sections.append("")
        if tag == "figure":
            self.figures.append((dict(attrs), "", ""))
        if tag == "img":
            attributes, _, caption = self.figures[-1]
            self.figures[-1] = (attributes, dict(attrs)["src"] or "", caption)
        if tag not in VOID | OPTIONAL_END:
            self.open.append(tag)
        if tag == "br":
            self.handle_data("\n")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes what is not open"

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            return
        self.text += data
        if "section" in self.open:
            self.sections[-1] += data
        if "figure" in self.open:
            attributes, source, caption = self.figures[-1]
            self.figures[-1] = (attributes, source, " ".join(f"{caption} {data}".split()))

    def picture(self, source: str) -> np.ndarray:
        return simplejpeg.decode_jpeg((self.folder / source).read_bytes(), colorspace="RGB")


def write(folder: Path, root: Path, findings: Sequence[Finding]) -> Page:
    path = write_findings_page(folder, findings, root=root, num_episodes=1600, num_frames=123456)
    assert path == folder / "index.html"
    return Page(path)


def make_red_frame(path: Path, cameras: Sequence[str] = ("front_1",)) -> Path:
    """Write grey pictures, one of them red."""
    with EpisodeWriter(path, embodiment="eva_bimanual", fps=30) as writer:
        for camera in cameras:
            for frame in range(NUM_FRAMES):
                color = (255, 0, 0) if frame == RED_FRAME else (120, 120, 120)
                writer.add_image(camera, np.full((48, 64, 3), color, np.uint8))
    return path


def test_the_top_tells_how_much_was_checked_and_found(tmp_path: Path) -> None:
    findings = [
        build_finding("no-fps", "gone-1", "Told."),
        build_finding("no-features", "gone-1", "Told."),
        build_finding("no-features", "gone-2", "Told."),
        build_finding("no-baseline", "", "Told."),
    ]
    page = write(tmp_path / "page", tmp_path, findings)
    for told in ("1,600 episodes", "123,456 frames", "1 error", "3 warnings", "2 episodes flagged"):
        assert told in page.text


def test_every_code_is_counted_and_explained_errors_first(tmp_path: Path) -> None:
    findings = [build_finding("no-features", f"gone-{index}", "Told.") for index in range(3)]
    findings += [build_finding("non-finite", "gone-1", "Told.", array=array) for array in ("a", "b")]
    page = write(tmp_path / "page", tmp_path, findings)
    rows = [attributes["id"] for tag, attributes in page.tags if tag == "tr" and "id" in attributes]
    assert rows == ["non-finite", "no-features"]
    for code in rows:
        assert CODES[code or ""].meaning in page.text
        assert CODES[code or ""].mend in page.text
    assert re.search(r"non-finite\s*error\s*2\s*1\s*An array holds NaN", page.text)
    assert re.search(r"no-features\s*warning\s*3\s*3\s*The attribute features", page.text)


def test_a_page_without_findings_says_so(tmp_path: Path) -> None:
    page = write(tmp_path / "page", tmp_path, [])
    assert "Nothing was found." in page.text
    assert not page.sections


def test_episodes_with_errors_come_first_and_their_errors_before_their_warnings(tmp_path: Path) -> None:
    findings = [
        build_finding("no-features", "gone-a", "A warning."),
        build_finding("short-episode", "gone-b", "A warning."),
        build_finding("no-fps", "gone-b", "An error."),
    ]
    page = write(tmp_path / "page", tmp_path, findings)
    assert [section.split("\n")[0].split("It cannot")[0] for section in page.sections] == ["gone-b", "gone-a"]
    assert page.sections[0].index("An error.") < page.sections[0].index("A warning.")


def test_an_error_that_is_kept_counts_as_the_warning_it_became(tmp_path: Path) -> None:
    error = build_finding("no-fps", "gone-b", "An error.")
    kept = replace(build_finding("no-fps", "gone-a", "A kept one."), severity="warning")
    page = write(tmp_path / "page", tmp_path, [kept, error])
    assert "1 error1 warning2 episodes flagged" in page.text
    assert [section[:6] for section in page.sections] == ["gone-b", "gone-a"]
    assert "warning no-fps" in " ".join(page.sections[1].split())


def test_findings_are_read_twice_and_never_from_what_can_be_read_once(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="twice"):
        write_findings_page(tmp_path / "page", iter(()), root=tmp_path, num_episodes=0, num_frames=0)
    assert not (tmp_path / "page").exists()


def test_a_finding_is_told_with_its_place(tmp_path: Path) -> None:
    make_red_frame(tmp_path / "data" / "one.zarr")
    finding = build_finding("position-jump", "one", "It moves 3 m.", array="left.obs_ee_pose", frame=7)
    page = write(tmp_path / "page", tmp_path / "data", [finding])
    (section,) = page.sections
    told = " ".join(section.split())
    assert told.startswith("one eva_bimanual, 24 frames, 0.8 s")
    assert "warning position-jump left.obs_ee_pose, frame 7 It moves 3 m." in told


def test_what_concerns_the_whole_folder_stands_apart(tmp_path: Path) -> None:
    findings = [build_finding("bad-manifest", "", "It is no JSON."), build_finding("no-fps", "gone", "Told.")]
    page = write(tmp_path / "page", tmp_path, findings)
    assert "It is no JSON." in page.sections[0]
    assert "The whole folder" in page.sections[0]
    assert len(page.sections) == 2


def test_the_strip_shows_the_pictures_of_its_frames_and_marks_the_named_one(tmp_path: Path) -> None:
    make_red_frame(tmp_path / "data" / "one")
    finding = build_finding("blank-picture", "one", "Told.", array="images.front_1", frame=RED_FRAME)
    page = write(tmp_path / "page", tmp_path / "data", [finding])
    frames = [int(caption.split()[0]) for _, _, caption in page.figures]
    assert frames == [0, 3, 7, 10, 13, 16, 20, 23]
    for attributes, source, caption in page.figures:
        picture = page.picture(source)
        assert picture.shape == (120, 160, 3)
        is_named = caption.startswith(f"{RED_FRAME} ")
        assert (attributes.get("class") == "marked") == is_named
        assert ("blank-picture" in caption) == is_named
        color = (255, 0, 0) if is_named else (120, 120, 120)
        np.testing.assert_allclose(picture[60, 80], color, atol=8)
    sizes = [(tag["width"], tag["height"]) for name, tag in page.tags if name == "img"]
    assert set(sizes) == {("160", "120")}


def test_a_named_frame_between_the_spaced_ones_is_added_once(tmp_path: Path) -> None:
    make_red_frame(tmp_path / "data" / "one")
    findings = [build_finding(code, "one", "Told.", frame=11) for code in ("position-jump", "rotation-jump")]
    page = write(tmp_path / "page", tmp_path / "data", findings * 2)
    assert [int(caption.split()[0]) for _, _, caption in page.figures] == [0, 3, 7, 10, 11, 13, 16, 20, 23]
    assert page.figures[4][2] == "11 position-jump, rotation-jump"


def test_a_frame_named_of_one_camera_is_marked_on_that_camera_alone(tmp_path: Path) -> None:
    make_red_frame(tmp_path / "data" / "one", cameras=("front_1", "left_wrist"))
    finding = build_finding("bad-jpeg", "one", "Told.", array="images.left_wrist", frame=11)
    page = write(tmp_path / "page", tmp_path / "data", [finding])
    marked = [index for index, (attributes, _, _) in enumerate(page.figures) if attributes.get("class") == "marked"]
    assert len(page.figures) == 8 + 9
    assert marked == [8 + 4]


def test_a_frame_beyond_the_episode_is_told_and_not_shown(tmp_path: Path) -> None:
    make_red_frame(tmp_path / "data" / "one")
    findings = [build_finding("bad-annotations", "one", "Told.", frame=frame) for frame in (-1, NUM_FRAMES)]
    page = write(tmp_path / "page", tmp_path / "data", findings)
    assert len(page.figures) == 8
    assert f"frame {NUM_FRAMES}" in page.text


def test_many_named_frames_are_shown_in_part_and_the_rest_counted(tmp_path: Path) -> None:
    make_red_frame(tmp_path / "data" / "one")
    findings = [build_finding("position-jump", "one", "Told.", frame=frame) for frame in range(NUM_FRAMES)]
    page = write(tmp_path / "page", tmp_path / "data", findings)
    assert sum(attributes.get("class") == "marked" for attributes, _, _ in page.figures) == 8
    assert "16 more named frames not shown" in page.text


def test_a_broken_picture_is_a_box_that_says_so(tmp_path: Path) -> None:
    path = tmp_path / "data" / "one"
    with EpisodeWriter(path, embodiment="eva_bimanual", fps=30) as writer:
        sound = simplejpeg.encode_jpeg(np.zeros((48, 64, 3), np.uint8), quality=95)
        for frame in range(3):
            writer.add_image("front_1", sound if frame != 1 else sound[:-40])
    page = write(tmp_path / "page", tmp_path / "data", [build_finding("bad-jpeg", "one", "Told.")])
    assert [bool(source) for _, source, _ in page.figures] == [True, False, True]
    assert page.figures[1][2].startswith("cannot be read: the picture is no sound JPEG")
    assert page.figures[1][2].endswith("1")


@pytest.mark.parametrize("harm", ["metadata", "folder"])
def test_an_episode_that_cannot_be_opened_is_told_without_pictures(tmp_path: Path, harm: str) -> None:
    root = tmp_path / "data"
    root.mkdir()
    if harm == "metadata":
        path = make_eva_episode(root / "one.zarr")
        (path / "zarr.json").write_text("{")
    page = write(tmp_path / "page", root, [build_finding("not-an-episode", "one", "Told.")])
    assert "It cannot be opened:" in page.sections[0]
    assert not page.figures


def test_a_camera_with_broken_metadata_is_boxes_beside_the_others(tmp_path: Path) -> None:
    path = make_eva_episode(tmp_path / "data" / "one", cameras=("front_1", "left_wrist"))
    (path / "images.front_1" / "zarr.json").write_text("[]")
    page = write(tmp_path / "page", tmp_path / "data", [build_finding("broken-array", "one", "Told.")])
    assert [bool(source) for _, source, _ in page.figures] == [False] * 8 + [True] * 8


def test_an_episode_may_be_named_itself(tmp_path: Path) -> None:
    path = make_red_frame(tmp_path / "one.zarr")
    page = write(tmp_path / "page", path, [build_finding("no-features", "one", "Told.")])
    assert len(page.figures) == 8


def test_a_hash_that_is_a_path_leads_nowhere(tmp_path: Path) -> None:
    make_red_frame(tmp_path / "outside")
    (tmp_path / "data").mkdir()
    page = write(tmp_path / "page", tmp_path / "data", [build_finding("missing-pin", "../outside", "Told.")])
    assert not page.figures
    assert "../outside" in page.text


def test_what_comes_from_data_is_text_and_never_markup(tmp_path: Path) -> None:
    evil = "<script>alert('x')<"
    tag = '<script>alert("1")</script>&amp;'
    root = tmp_path / "data"
    make_red_frame(root / evil, cameras=('a"><script>',))
    findings = [
        build_finding("no-fps", evil, tag, array=tag, frame=3),
        build_finding("no-fps", "</section>" + tag, tag),
        build_finding("bad-manifest", "", tag),
    ]
    page = write(tmp_path / "page", root, findings)
    assert "script" not in {name for name, _ in page.tags}
    assert page.text.count(tag) >= 4
    assert evil in page.sections[1]
    assert 'a"><script>' in page.sections[1]
    assert len(page.figures) == 8
    assert all(set(attributes) <= {"class"} for attributes, _, _ in page.figures)


def test_a_name_that_is_no_utf8_is_spelled_out(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9")
    page = write(tmp_path / "page", tmp_path, [build_finding("not-an-episode", name, f"'{name}' is broken.")])
    assert r"caf\udce9" in page.sections[0]


def test_beyond_the_limit_episodes_stand_in_a_table_and_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(findings_page, "MOST_STRIPS", 2)
    monkeypatch.setattr(findings_page, "MOST_ROWS", 2)
    root = tmp_path / "data"
    for index in range(5):
        make_eva_episode(root / f"episode-{index}", num_frames=2, cameras=("front_1",))
    opened: list[str] = []
    read = Episode.image

    def image(self: Episode, camera: str, frame: int) -> np.ndarray:
        opened.append(self.hash)
        return read(self, camera, frame)

    monkeypatch.setattr(Episode, "image", image)
    findings = [build_finding("no-features", f"episode-{index}", "Told.") for index in range(5)]
    findings.append(build_finding("no-fps", "episode-4", "Told."))
    page = write(tmp_path / "page", root, findings)
    assert opened == ["episode-4", "episode-4", "episode-0", "episode-0"]  # errors first, one after the other
    assert "3 more flagged episodes, left without pictures" in page.text
    assert "episode-2" in page.sections[-1]
    assert "episode-3" not in page.text
    assert "and 1 more" in page.sections[-1]


def test_many_findings_of_one_episode_are_listed_in_part(tmp_path: Path) -> None:
    findings = [build_finding("no-features", "gone", f"Told {index}.") for index in range(60)]
    page = write(tmp_path / "page", tmp_path, findings)
    assert "Told 49." in page.text
    assert "Told 50." not in page.text
    assert "and 10 more" in page.text


def test_the_page_needs_nothing_but_its_own_folder(tmp_path: Path) -> None:
    make_red_frame(tmp_path / "data" / "one")
    page = write(tmp_path / "page", tmp_path / "data", [build_finding("no-features", "one", "Told.")])
    targets = [value or "" for _, tag in page.tags for name, value in tag.items() if name in {"src", "href"}]
    assert targets
    for target in targets:
        inside = f'id="{target[1:]}"' in (page.folder / "index.html").read_text()
        assert inside if target.startswith("#") else (page.folder / target).is_file()
    assert "url(" not in (page.folder / "index.html").read_text()


def test_a_second_run_replaces_the_page_and_its_thumbnails(tmp_path: Path) -> None:
    root = tmp_path / "data"
    for name in ("one", "two"):
        make_red_frame(root / name)
    findings = [build_finding("no-features", name, "Told.") for name in ("one", "two")]
    first = write(tmp_path / "page", root, findings)
    assert len(list((tmp_path / "page" / "thumbnails").iterdir())) == len(first.figures) == 16
    second = write(tmp_path / "page", root, findings[1:])
    assert len(list((tmp_path / "page" / "thumbnails").iterdir())) == len(second.figures) == 8
    assert [path.name for path in sorted((tmp_path / "page").iterdir())] == ["index.html", "thumbnails"]
    assert "one" not in {section.split("\n")[0] for section in second.sections}


def test_an_interrupted_run_leaves_no_page_and_the_next_one_goes_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_red_frame(tmp_path / "data" / "one")
    findings = [build_finding("no-features", "one", "Told.")]
    write(tmp_path / "page", tmp_path / "data", findings)

    def interrupt(self: Episode, camera: str, frame: int) -> np.ndarray:
        if frame > 10:
            raise KeyboardInterrupt
        return np.zeros((4, 4, 3), np.uint8)

    with monkeypatch.context() as patch:
        patch.setattr(Episode, "image", interrupt)
        with pytest.raises(KeyboardInterrupt):
            write(tmp_path / "page", tmp_path / "data", findings)
    assert [path.name for path in (tmp_path / "page").iterdir()] == ["thumbnails"]
    assert len(write(tmp_path / "page", tmp_path / "data", findings).figures) == 8


@pytest.mark.parametrize("name", ["notes.txt", "index.html", "thumbnails/mine.jpg", "link"])
def test_a_folder_that_holds_something_else_is_refused_and_left_alone(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "page"
    kept = folder / name
    kept.parent.mkdir(parents=True)
    if name == "link":
        kept.symlink_to(tmp_path)
    else:
        kept.write_text("<html>mine</html>")
    for refused in (require_page_folder, lambda place: write(place, tmp_path, [])):
        with pytest.raises(ExistingPathError, match=f"It holds '{name}'") as caught:
            refused(folder)
        assert "\n" not in str(caught.value)
    assert [path for path in folder.rglob("*") if not path.is_dir() or path.is_symlink()] == [kept]


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "page").write_text("mine")
    with pytest.raises(ExistingPathError, match="needs a folder"):
        write(tmp_path / "page", tmp_path, [])
    assert (tmp_path / "page").read_text() == "mine"
