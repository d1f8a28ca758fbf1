"""What a quick look tells exactly: which findings, where, in which words; what is no fault is not told.

That every known fault is found at all, `test_corpus` shows.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robotrain.episodes.folder import find_episodes
from robotrain.episodes.reader import Span
from robotrain.episodes.resolver import SelectionConfig
from robotrain.episodes.schema import hash_of
from robotrain.episodes.validation import CODES, Finding, check_pins, check_twins, validate_episode
from robotrain.episodes.validation.annotations import inclusive_evidence
from robotrain.errors import MissingPathError
from tests.damage import edit, edit_array, jpeg, set_rows, set_texts, without
from tests.factories import (
    SOUND_FRAMES,
    copy_sound,
    make_eva_episode,
    make_human_episode,
    make_joint_episode,
    write_numbers,
)

MATRIX = [[9.0, 0.0, 8.0], [0.0, 9.0, 6.0], [0.0, 0.0, 1.0]]
NERF = {"fl_x": 9, "fl_y": 9, "cx": 8, "cy": 6, "w": 16, "h": 12}
PLACE = [[0.0, 0.0, 1.0, 0.3], [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.5], [0.0, 0.0, 0.0, 1.0]]


@pytest.fixture
def eva(tmp_path: Path) -> Path:
    return copy_sound(tmp_path / "eva")


def told(path: Path) -> list[Finding]:
    """Return what a quick look finds and tells without being asked for more."""
    return [finding for finding in validate_episode(path) if finding.severity != "off"]


def codes(path: Path) -> list[str]:
    return [finding.code for finding in told(path)]


@pytest.mark.parametrize("make", [make_eva_episode, make_human_episode, make_joint_episode])
def test_a_sound_episode_has_no_findings(tmp_path: Path, make: Callable[..., Path]) -> None:
    assert told(make(tmp_path / "e", num_frames=30)) == []


def test_egoverses_own_episodes_have_no_errors_and_the_warnings_that_are_due(real_data: Path) -> None:
    found = {hash_of(path): validate_episode(path) for path in find_episodes(real_data / "egoverse-written")}
    by_hash = {name: [(f.severity, f.code, f.array) for f in findings] for name, findings in found.items()}
    arrays = ("left.obs_ee_pose", "left.obs_keypoints", "left.obs_wrist_pose")
    hands = [("warning", "missing-rows", array) for array in arrays]
    vendor = ("off", "embodiment-spelling", "")
    inclusive = ("warning", "inclusive-spans", "annotations")
    assert by_hash == {
        "2025-09-20-17-47-54-000000": [vendor, *hands, inclusive, ("warning", "aspect-ratio", "images.front_1")],
        "2025-12-26-18-07-46-296000": [inclusive],
        "69199812208123403bbdb24f": [
            vendor,
            ("warning", "zero-chunk", "annotations"),
            *hands,
            ("off", "annotation-coverage", "annotations"),
        ],
    }
    gone = [finding for finding in found["69199812208123403bbdb24f"] if finding.code == "missing-rows"]
    assert all("15 of 250 rows (6.0%)" in finding.message for finding in gone)
    assert {finding.frame for finding in gone} == {40}


def _own_intrinsics(**told: Any) -> Callable[[Path], Any]:
    cameras = {camera: {"K": MATRIX} for camera in ("front_1", "left_wrist", "right_wrist")}
    cameras["front_1"] |= told
    return lambda path: edit(path, schema_version="v3.1", calibration={"cameras": cameras})


NO_FAULT: dict[str, Callable[[Path], Any]] = {
    "numbers in the padding": lambda path: set_rows(path, "left.obs_gripper", slice(SOUND_FRAMES, 100), np.nan),
    "pictures in the padding": lambda path: set_rows(path, "images.front_1", slice(SOUND_FRAMES, 20), b"no JPEG"),
    "a closed gripper": lambda path: set_rows(path, "left.obs_gripper", slice(3, 6), 0.0),
    "a preview beside the episode": lambda path: (path.parent / "eva.mp4").write_bytes(b"mp4"),
    "half-open texts up to the end": lambda path: set_texts(path, ("x", 0, 14), ("y", 14, 15)),
    "overlapping texts up to the end": lambda path: set_texts(path, ("x", 0, 8), ("y", 6, 15)),
    "texts with gaps up to the end": lambda path: set_texts(path, ("x", 0, 6), ("y", 7, 15)),
    "texts that leave the end out": lambda path: set_texts(path, ("x", 0, 6), ("y", 6, 11)),
    "no texts": lambda path: [without(path, "annotations"), edit(path, features=_listed_without(path, "annotations"))],
    "a schema without its letter": lambda path: edit(path, schema_version=3.0),
    "data that are complete": lambda path: edit(path, data_status="complete"),
    "a duration within 5 %": lambda path: edit(path, duration=1.04),
    "a duration from the first frame to the last": lambda path: edit(path, duration=14 / 15),
    "a duration as text": lambda path: edit(path, duration="1.0"),
    "calibrated cameras": _own_intrinsics(),
    "a pinhole": _own_intrinsics(model="PINHOLE", distortion=[0.0] * 5),
    "a lens without distortion": _own_intrinsics(model="OPENCV", distortion=[0.0] * 5),
    "a lens whose pictures are straightened": _own_intrinsics(model="OPENCV", distortion=[0.3], rectified=True),
    "a fisheye whose pictures are straightened": _own_intrinsics(model="KANNALA_BRANDT", rectified=True),
    "Mecka's slight distortion": lambda path: edit(path, intrinsics=NERF | {"k1": 0.0532, "k2": -0.0308}),
    "a front camera alone has intrinsics": lambda path: edit(path, intrinsics={"front_1": MATRIX}),
    "a camera in its place": lambda path: edit(path, extrinsics={"left": PLACE, "right": PLACE}),
}


def _listed_without(path: Path, array: str) -> dict[str, Any]:
    features = json.loads((path / "zarr.json").read_text())["attributes"]["features"]
    return {name: entry for name, entry in features.items() if name != array}


@pytest.mark.parametrize("name", NO_FAULT)
def test_what_is_no_fault_is_not_told(eva: Path, name: str) -> None:
    NO_FAULT[name](eva)
    assert codes(eva) == []


DEFECTS: dict[str, tuple[Callable[[Path], Any], list[str]]] = {
    "nothing said": (
        lambda path: edit(path, embodiment=None, fps=0, total_frames=None),
        ["no-total-frames", "no-fps", "no-embodiment"],
    ),
    "body of EgoVerse only": (lambda path: edit(path, embodiment="eve_left_arm"), ["unsupported-embodiment"]),
    "one-armed body of another kind": (lambda path: edit(path, embodiment="scale_left_arm"), ["missing-array"]),
    "lost array": (lambda path: without(path, "right.cmd_gripper"), ["missing-array", "missing-array"]),
    "more arrays": (
        lambda path: shutil.copytree(path / "left.obs_ee_pose", path / "left.extra_pose"),
        ["unlisted-array"],
    ),
    "metadata of an array lost": (
        lambda path: without(path, "left.obs_gripper/zarr.json"),
        ["missing-array", "missing-array", "stray-file"],
    ),
    "too many frames": (lambda path: edit(path, total_frames=101), ["short-array"] * 11),
    "pose of six": (lambda path: edit_array(path, "left.obs_ee_pose", shape=[100, 6]), ["wrong-width"]),
    "lost shard": (lambda path: without(path, "left.obs_ee_pose/c/0/0"), ["missing-shard"]),
    "never written": (lambda path: without(path, "left.obs_ee_pose/c"), ["missing-or-all-fill"]),
    "cut pictures": (lambda path: (path / "images.front_1/c/0").write_bytes(b"123"), ["bad-jpeg"] * 3),
    "nan": (lambda path: set_rows(path, "left.obs_gripper", slice(3, 5), np.nan), ["non-finite"]),
    "texts of which no frame is": (
        lambda path: set_texts(path, ("x", 0, 15), ("y", 16, 20)),
        ["bad-annotations"],
    ),
    "a text of no frame beside half-open ones": (
        lambda path: set_texts(path, ("x", 0, 15), ("y", 3, 3)),
        ["bad-annotations"],
    ),
    "lost text file": (
        lambda path: without(path, "annotations/c/0"),
        ["missing-shard", "bad-annotations"],
    ),
    "text that is none": (
        lambda path: set_rows(path, "annotations", slice(0, 1), b'{"text":null,"start_idx":0,"end_idx":9}'),
        ["bad-annotations"],
    ),
    "broken calibration": (lambda path: edit(path, calibration="{"), ["bad-calibration"] * 4),
    "distortion in words": (_own_intrinsics(model="OPENCV", distortion="much"), ["bad-calibration"]),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_each_defect_is_found_under_its_codes_and_under_no_other(eva: Path, name: str) -> None:
    make, expected = DEFECTS[name]
    make(eva)
    assert codes(eva) == expected


@pytest.mark.parametrize("duration", [10**400, "1e999999999", float("nan"), [1], True])
def test_a_duration_that_is_none_is_told_and_not_worked_out(eva: Path, duration: Any) -> None:
    edit(eva, duration=duration)
    assert codes(eva) == ["duration-mismatch"]


def test_a_finding_names_array_and_frame(eva: Path) -> None:
    set_rows(eva, "images.front_1", slice(7, 8), b"")
    set_rows(eva, "left.obs_gripper", slice(3, 5), np.nan)
    number, picture = told(eva)
    assert (picture.array, picture.frame) == ("images.front_1", 7)
    assert (number.array, number.frame) == ("left.obs_gripper", 3)
    assert "2 of 15 rows" in number.message
    assert (number.episode, number.hint) == ("eva", CODES["non-finite"].mend)


def test_stray_files_are_one_finding_that_names_the_first_and_counts(eva: Path) -> None:
    for name in (".DS_Store", "images.front_1/c/0.part", "images.front_1/c/00", "notes/a.txt"):
        (eva / name).parent.mkdir(exist_ok=True)
        (eva / name).write_bytes(b"x")
    (finding,) = told(eva)
    assert finding.code == "stray-file"
    assert finding.message == "The file '.DS_Store', and 3 more, belong to no array."


def test_pictures_of_two_sizes_and_of_another_than_stated_are_told_apart(tmp_path: Path) -> None:
    small = copy_sound(tmp_path / "small", "toy")
    set_rows(small, "images.front_1", slice(SOUND_FRAMES - 1, SOUND_FRAMES), jpeg((32, 24)))
    assert codes(small) == ["image-size"]
    large = copy_sound(tmp_path / "large", "toy")
    file = large / "zarr.json"
    file.write_text(file.read_text().replace("12,", "48,"))
    assert codes(large) == ["stated-size"]


def test_a_robot_described_by_data_is_held_to_its_description(tmp_path: Path) -> None:
    path = copy_sound(tmp_path / "toy", "toy")
    fields = json.loads((path / "zarr.json").read_text())["attributes"]["fields"]
    edit(path, fields=fields | {"obs_joints": fields["obs_joints"][:2]})
    assert codes(path) == ["bad-fields"]
    edit(path, fields=fields)
    without(path, "cmd_joints")
    assert codes(path) == ["missing-array", "missing-array"]


@pytest.mark.parametrize(
    ("embodiment", "arrays", "missing"),
    [
        ("human_left_arm", ("left.obs_ee_pose", "obs_head_pose"), []),
        ("MECKA_RIGHT_ARM", ("right.obs_ee_pose", "obs_head_pose"), []),
        ("human_right_arm", ("left.obs_ee_pose", "obs_head_pose"), ["right.obs_ee_pose"]),
        ("eva_right_arm", ("right.obs_ee_pose", "right.cmd_ee_pose", "right.gripper"), []),
        ("yam_left_arm", ("left.obs_ee_pose", "left.cmd_ee_pose", "left.obs_gripper"), ["left.cmd_gripper"]),
        ("eve_bimanual", ("left.obs_joints",), []),
    ],
)
def test_one_arm_needs_its_own_arrays_only(
    tmp_path: Path, embodiment: str, arrays: tuple[str, ...], missing: list[str]
) -> None:
    numbers = {array: np.full((30, 7 if array.endswith("pose") else 1), 0.5) for array in arrays}
    findings = told(write_numbers(tmp_path / "one", embodiment, numbers))
    assert [finding.array for finding in findings if finding.code == "missing-array"] == missing
    unsupported = [finding.severity for finding in findings if finding.code == "unsupported-embodiment"]
    assert unsupported == (["warning"] if embodiment.startswith("eve") else [])


def test_a_human_has_no_base_and_its_cameras_identity_is_no_placeholder(tmp_path: Path) -> None:
    path = copy_sound(tmp_path / "human", "human")
    edit(path, extrinsics={"left": np.eye(4).tolist(), "right": np.eye(4).tolist()})
    assert codes(path) == []


def test_everything_wrong_at_once_is_all_told(eva: Path) -> None:
    edit(eva, fps="fast", embodiment="eva_bimanul")
    set_rows(eva, "left.cmd_ee_pose", slice(3, 6), 0.0)
    set_rows(eva, "left.obs_gripper", slice(0, 1), np.nan)
    without(eva, "right.obs_ee_pose/c/0/0")
    (eva / "images.left_wrist" / "c" / "0").write_bytes(b"\0")
    every = {"no-fps", "unknown-embodiment", "missing-rows", "non-finite", "missing-shard", "bad-jpeg"}
    assert set(codes(eva)) == every
    assert {finding.code for finding in validate_episode(eva, deep=True) if finding.severity != "off"} == every


@pytest.mark.parametrize(
    ("spans", "num_frames", "evidence"),
    [
        (((0, 60), (55, 136)), 137, "ends at 136, the last of 137"),
        (((0, 89),), 90, "ends at 89, the last of 90"),
        (((0, 9), (10, 19), (20, 39)), 90, "one frame before the next starts"),
        (((5, 5), (40, 60)), 90, "starts and ends at frame 5"),
        (((0, 10), (10, 20), (20, 40)), 90, ""),
        (((0, 10), (11, 90)), 90, ""),
        (((0, 40),), 90, ""),
        ((), 90, ""),
    ],
)
def test_texts_that_name_their_last_frame_are_recognised(
    spans: tuple[tuple[int, int], ...], num_frames: int, evidence: str
) -> None:
    found = inclusive_evidence([Span("lift it", start, end) for start, end in spans], num_frames)
    assert bool(found) is bool(evidence)
    assert evidence in found


def test_two_folders_of_one_hash_are_found(tmp_path: Path) -> None:
    root = tmp_path / "data"
    make_joint_episode(root / "a")
    shutil.copytree(root / "a", root / "a.zarr")
    make_joint_episode(root / "b")
    (twin,) = check_twins(find_episodes(root))
    assert (twin.code, twin.episode) == ("duplicate-hash", "a")


def test_a_folder_that_is_not_there_is_an_error_and_no_finding(tmp_path: Path) -> None:
    with pytest.raises(MissingPathError):
        validate_episode(tmp_path / "nothing")


def test_pins_are_checked_with_all_their_problems(tmp_path: Path) -> None:
    root = tmp_path / "data"
    make_joint_episode(root / "a1")
    make_eva_episode(root / "b1", cameras=())
    (make_joint_episode(root / "c1") / "zarr.json").write_text("{")
    config = SelectionConfig(pins=("a1", "a2", "b1", "c1"), embodiment="toy_arm")

    def brief(findings: tuple[Finding, ...]) -> list[tuple[str, str]]:
        return [(finding.code, finding.episode) for finding in findings]

    expected = [("missing-pin", "a2"), ("unusable-pin", "b1"), ("unusable-pin", "c1")]
    assert brief(check_pins(config, root)) == expected
    assert "Did you mean 'a1'" in check_pins(config, root)[0].message
    assert check_pins(SelectionConfig(pins=("a1",)), root) == ()


@pytest.mark.parametrize("name", CODES)
def test_every_code_has_words(name: str) -> None:
    assert name == name.lower().replace("_", "-")
    assert CODES[name].meaning.endswith(".")
    assert CODES[name].mend.endswith(".") or "robotrain validate-data" in CODES[name].mend
