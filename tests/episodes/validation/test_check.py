"""Each defect is made on a sound episode, and must be found under its code and nothing else."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

from robotrain.episodes.resolver import SelectionConfig, find_episodes
from robotrain.episodes.schema import hash_of
from robotrain.episodes.validation import CODES, Finding, check_pins, check_twins, validate_episode
from robotrain.errors import MissingPathError
from tests.factories import make_eva_episode, make_human_episode, make_joint_episode


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_eva_episode(tmp_path_factory.mktemp("sound") / "eva", num_frames=9, fps=9)


@pytest.fixture
def eva(sound: Path, tmp_path: Path) -> Path:
    return shutil.copytree(sound, tmp_path / "eva")


def told(path: Path) -> list[Finding]:
    """Return what a quick look finds and tells without being asked for more."""
    return [finding for finding in validate_episode(path) if finding.severity != "off"]


def codes(path: Path) -> list[str]:
    return [finding.code for finding in told(path)]


def edit(path: Path, **attributes: Any) -> None:
    """Change attributes in zarr.json; None removes one."""
    file = path / "zarr.json"
    metadata = json.loads(file.read_text())
    kept = metadata["attributes"] | attributes
    metadata["attributes"] = {name: value for name, value in kept.items() if value is not None}
    file.write_text(json.dumps(metadata))


def edit_array(path: Path, array: str, **metadata: Any) -> None:
    file = path / array / "zarr.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | metadata))


def set_rows(path: Path, array: str, rows: slice, value: Any) -> None:
    stored = zarr.open_array(path / array, mode="r+")
    if isinstance(value, bytes):
        replaced = np.empty(rows.stop - rows.start, dtype=object)
        replaced[:] = [value] * len(replaced)
        stored[rows] = replaced
    else:
        stored[rows] = value


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


DEFECTS: dict[str, tuple[Callable[[Path], Any], list[str]]] = {
    "broken json": (lambda path: (path / "zarr.json").write_text("{"), ["not-an-episode"]),
    "no json": (lambda path: (path / "zarr.json").unlink(), ["not-an-episode"]),
    "no length": (lambda path: edit(path, total_frames=None), ["no-total-frames"]),
    "length in words": (lambda path: edit(path, total_frames="nine"), ["no-total-frames"]),
    "no rate": (lambda path: edit(path, fps=None), ["no-fps"]),
    "no body": (lambda path: edit(path, embodiment=None), ["no-embodiment"]),
    "nothing said": (
        lambda path: edit(path, embodiment=None, fps=0, total_frames=None),
        ["no-total-frames", "no-fps", "no-embodiment"],
    ),
    "misspelt body": (lambda path: edit(path, embodiment="eva_bimanul"), ["unknown-embodiment"]),
    "one-armed body": (lambda path: edit(path, embodiment="yam_left_arm"), ["unsupported-embodiment"]),
    "one-armed body of another kind": (
        lambda path: edit(path, embodiment="scale_left_arm"),
        ["missing-array", "unsupported-embodiment"],
    ),
    "body without description": (lambda path: edit(path, embodiment="x", fields={}), ["bad-fields"]),
    "no features": (lambda path: edit(path, features=None), ["no-features"]),
    "lost array": (lambda path: shutil.rmtree(path / "right.cmd_gripper"), ["missing-array", "missing-array"]),
    "lost camera": (lambda path: shutil.rmtree(path / "images.left_wrist"), ["missing-array"]),
    "lost texts": (lambda path: shutil.rmtree(path / "annotations"), ["bad-annotations"]),
    "more arrays": (
        lambda path: shutil.copytree(path / "left.obs_ee_pose", path / "left.extra_pose"),
        ["unlisted-array"],
    ),
    "broken metadata": (lambda path: (path / "left.obs_gripper" / "zarr.json").write_text("{"), ["broken-array"]),
    "too many frames": (
        lambda path: edit(path, total_frames=101),
        ["short-array"] * 11,
    ),
    "pose of six": (
        lambda path: edit_array(path, "left.obs_ee_pose", shape=[100, 6]),
        ["wrong-width"],
    ),
    "lost shard": (lambda path: (path / "left.obs_ee_pose" / "c" / "0" / "0").unlink(), ["missing-shard"]),
    "empty shard": (lambda path: (path / "images.front_1" / "c" / "0").write_bytes(b""), ["missing-shard"]),
    "never written": (lambda path: shutil.rmtree(path / "left.obs_ee_pose" / "c"), ["missing-or-all-fill"]),
    "cut numbers": (
        lambda path: (path / "left.obs_ee_pose" / "c" / "0" / "0").write_bytes(b"123"),
        ["unreadable-array"],
    ),
    "cut pictures": (lambda path: (path / "images.front_1" / "c" / "0").write_bytes(b"123"), ["bad-jpeg"] * 3),
    "first picture": (lambda path: set_rows(path, "images.front_1", slice(0, 1), b"no jpeg"), ["bad-jpeg"]),
    "middle picture": (lambda path: set_rows(path, "images.front_1", slice(4, 5), b""), ["bad-jpeg"]),
    "last picture": (lambda path: set_rows(path, "images.front_1", slice(8, 9), b"\xff\xd8\xff"), ["bad-jpeg"]),
    "nan": (lambda path: set_rows(path, "left.obs_gripper", slice(3, 5), np.nan), ["non-finite"]),
    "infinity": (lambda path: set_rows(path, "left.cmd_ee_pose", slice(3, 5), np.inf), ["non-finite"]),
    "nan in the padding": (lambda path: set_rows(path, "left.obs_gripper", slice(9, 100), np.nan), []),
    "zeros": (lambda path: set_rows(path, "left.cmd_ee_pose", slice(3, 6), 0.0), ["missing-rows"]),
    "closed gripper": (lambda path: set_rows(path, "left.obs_gripper", slice(3, 6), 0.0), []),
    "sentinels": (lambda path: set_rows(path, "left.obs_gripper", slice(3, 6), 1e9), ["missing-rows"]),
    "broken text": (lambda path: set_rows(path, "annotations", slice(0, 1), b"{"), ["bad-annotations"]),
    "text beyond": (
        lambda path: set_rows(path, "annotations", slice(0, 1), b'{"text":"x","start_idx":0,"end_idx":10}'),
        ["bad-annotations"],
    ),
    "inclusive text": (
        lambda path: set_rows(path, "annotations", slice(0, 1), b'{"text":"x","start_idx":0,"end_idx":8}'),
        [],
    ),
    "lost text file": (
        lambda path: (path / "annotations" / "c" / "0").unlink(),
        ["missing-shard", "bad-annotations"],
    ),
    "broken intrinsics": (lambda path: edit(path, intrinsics={"front_1": [1, 2]}), ["bad-calibration"]),
    "broken extrinsics": (lambda path: edit(path, extrinsics={"right": [[0.0] * 4] * 4}), ["bad-calibration"]),
    "other shape": (
        lambda path: edit(path, intrinsics={"fx": 9, "fy": 9, "cx": 8, "cy": 8, "width": 16, "height": 16}),
        ["aspect-ratio"],
    ),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_each_defect_is_found_under_its_code_and_under_no_other(eva: Path, name: str) -> None:
    make, expected = DEFECTS[name]
    make(eva)
    findings = told(eva)
    assert [finding.code for finding in findings] == expected
    for finding in findings:
        assert finding.episode == "eva"
        assert finding.severity == CODES[finding.code].severity
        assert finding.hint == CODES[finding.code].mend
        assert finding.message


def test_a_finding_names_array_and_frame(eva: Path) -> None:
    set_rows(eva, "images.front_1", slice(4, 5), b"")
    set_rows(eva, "left.obs_gripper", slice(3, 5), np.nan)
    number, picture = told(eva)
    assert (picture.array, picture.frame) == ("images.front_1", 4)
    assert (number.array, number.frame) == ("left.obs_gripper", 3)
    assert "2 of 9 rows" in number.message


def test_pictures_of_two_sizes_and_of_another_than_stated_are_told_apart(tmp_path: Path) -> None:
    small, large = (make_joint_episode(tmp_path / name, 30, size) for name, size in (("s", (16, 12)), ("l", (32, 24))))
    picture = np.asarray(zarr.open_array(large / "images.front_1", mode="r")[0:1])[0]
    set_rows(small, "images.front_1", slice(29, 30), picture)
    assert codes(small) == ["image-size"]
    file = large / "zarr.json"
    file.write_text(file.read_text().replace("24", "48"))
    assert codes(large) == ["stated-size"]


def test_a_robot_described_by_data_is_held_to_its_description(tmp_path: Path) -> None:
    path = make_joint_episode(tmp_path / "toy", 30)
    fields = json.loads((path / "zarr.json").read_text())["attributes"]["fields"]
    edit(path, fields=fields | {"obs_joints": fields["obs_joints"][:2]})
    assert codes(path) == ["bad-fields"]
    edit(path, fields=fields)
    shutil.rmtree(path / "cmd_joints")
    assert codes(path) == ["missing-array", "missing-array"]


def test_an_episode_without_pictures_is_warned_of(tmp_path: Path) -> None:
    path = make_eva_episode(tmp_path / "blind", 30, cameras=())
    assert codes(path) == ["no-camera"]


def test_everything_wrong_at_once_is_all_told(eva: Path) -> None:
    edit(eva, fps="fast", embodiment="eva_bimanul")
    set_rows(eva, "left.cmd_ee_pose", slice(3, 6), 0.0)
    set_rows(eva, "left.obs_gripper", slice(0, 1), np.nan)
    (eva / "right.obs_ee_pose" / "c" / "0" / "0").unlink()
    (eva / "images.left_wrist" / "c" / "0").write_bytes(b"\0")
    assert set(codes(eva)) == {
        "no-fps",
        "unknown-embodiment",
        "missing-rows",
        "non-finite",
        "missing-shard",
        "bad-jpeg",
    }


def test_two_folders_of_one_hash_are_found(tmp_path: Path) -> None:
    root = tmp_path / "data"
    make_joint_episode(root / "a")
    shutil.copytree(root / "a", root / "a.zarr")
    make_joint_episode(root / "b")
    assert [(finding.code, finding.episode) for finding in check_twins(find_episodes(root))] == [
        ("duplicate-hash", "a")
    ]


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
