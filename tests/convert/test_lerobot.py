import json
import sys
from pathlib import Path
from typing import Any

import av
import numpy as np
import pyarrow.parquet as pq
import pytest
import simplejpeg

from robotrain.convert.lerobot import LeRobotSource, format_episode_ranges, parse_episode_ranges
from robotrain.convert.source import Source, convert_source
from robotrain.embodiments.catalog import embodiment_of
from robotrain.embodiments.layout import Layout
from robotrain.episodes.reader import open_episode
from robotrain.episodes.writer import JPEG_QUALITY
from robotrain.errors import ConversionError, MissingExtraError, MissingPathError, UnsafePathError
from tests.contracts.source import SourceContract
from tests.convert.lerobot_datasets import (
    CAMERAS,
    LENGTHS,
    NAMES,
    TASKS,
    columns_of,
    make_dataset,
    shade_of,
    table_path,
    video_path,
    write_table,
    write_video,
)


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    return make_dataset(tmp_path / "tiny-set")


class TestLeRobot(SourceContract):
    @pytest.fixture
    def source(self, dataset: Path) -> Source:
        return LeRobotSource(dataset, "0-1")


def test_ranges_include_both_ends_and_name_each_episode_once() -> None:
    assert parse_episode_ranges("28-31,59") == (28, 29, 30, 31, 59)
    assert parse_episode_ranges(" 3 , 1-2, 2 ") == (1, 2, 3)
    assert format_episode_ranges([59, 28, 30, 29, 31]) == "28-31,59"
    assert parse_episode_ranges(format_episode_ranges(range(7))) == tuple(range(7))


@pytest.mark.parametrize("text", ["", "a", "1-", "-3", "5-2", "1,,2", "1.5", "0-99999999999"])
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(ConversionError, match="--episodes"):
        parse_episode_ranges(text)


def test_rows_frames_names_and_texts_arrive(dataset: Path, tmp_path: Path) -> None:
    report = convert_source(LeRobotSource(dataset), tmp_path / "out")
    assert report.frames == sum(LENGTHS)
    assert report.written == tuple(f"tiny-set-episode-{i:06d}" for i in range(3))
    for i, num in enumerate(LENGTHS):
        episode = open_episode(tmp_path / "out" / f"tiny-set-episode-{i:06d}.zarr")
        columns = columns_of(i, num)
        np.testing.assert_array_equal(episode.numbers("obs_joints"), np.stack(columns["observation.state"]))
        np.testing.assert_array_equal(episode.numbers("cmd_joints"), np.stack(columns["action"]))
        assert episode.numbers("obs_joints").dtype == np.float32
        assert (episode.embodiment, episode.fps, episode.num_frames) == ("tiny_arm", 10, num)
        for camera in ("front_1", "cam_left_wrist"):
            shades = [episode.image(camera, frame).mean() for frame in range(num)]
            np.testing.assert_allclose(shades, [shade_of(frame) for frame in range(num)], atol=4)


def test_the_episode_describes_its_own_robot(dataset: Path, tmp_path: Path) -> None:
    convert_source(LeRobotSource(dataset, "0"), tmp_path / "out")
    facts = open_episode(tmp_path / "out" / "tiny-set-episode-000000.zarr").facts
    body = embodiment_of(facts.embodiment, facts.attributes)
    assert body.mode("joints").actions.names == NAMES
    assert {(field.kind, field.width, field.unit) for field in body.mode("joints").state.fields} == {("joint", 1, "")}
    assert facts.attributes["source_cameras"] == {"front_1": CAMERAS[0], "cam_left_wrist": CAMERAS[1]}
    assert set(facts.cameras) == {"front_1", "cam_left_wrist"}


def test_each_run_of_a_task_becomes_a_span(dataset: Path, tmp_path: Path) -> None:
    convert_source(LeRobotSource(dataset, "0-1"), tmp_path / "out")
    one, two = (open_episode(tmp_path / "out" / f"tiny-set-episode-{i:06d}.zarr") for i in (0, 1))
    assert [(span.text, span.start, span.end) for span in one.spans] == [(TASKS[0], 0, 5)]
    assert [(span.text, span.start, span.end) for span in two.spans] == [(TASKS[0], 0, 3), (TASKS[1], 3, 7)]
    assert one.facts.task_description == TASKS[0]


@pytest.mark.parametrize("names", [None, ["a", "b", "c"], [["a", "b", "c"]], {"motors": ["a", "b"], "hand": ["c"]}])
def test_names_are_found_in_lists_within_lists_in_groups_or_made_up(names: Any, tmp_path: Path) -> None:
    make_dataset(tmp_path / "set")
    layout = LeRobotSource(_changed_feature(tmp_path / "set", "action", {"names": names})).meta.layouts["action"]
    assert layout.names == (("joint_0", "joint_1", "joint_2") if names is None else ("a", "b", "c"))


@pytest.mark.parametrize(("names", "told"), [(["a", "b"], "2 names"), (["a", "b", "a"], "twice: a")])
def test_names_that_do_not_fit_are_refused(names: list[str], told: str, dataset: Path) -> None:
    with pytest.raises(ConversionError, match=told):
        LeRobotSource(_changed_feature(dataset, "action", {"names": names}))


def test_what_is_not_converted_is_told(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _changed_feature(dataset, "observation.velocity", {"dtype": "float32", "shape": [3], "names": None})
    source = LeRobotSource(dataset)
    assert source.meta.left_out == ("observation.velocity",)
    assert "observation.velocity" in capsys.readouterr().err
    assert source.header(source.names()[0]).source["left_out"] == ["observation.velocity"]


def test_an_episode_without_its_video_is_refused_by_name_before_anything_is_written(
    dataset: Path, tmp_path: Path
) -> None:
    video_path(dataset, 2).unlink()
    with pytest.raises(ConversionError, match=r"episode 2 has no 'videos.*episode_000002\.mp4'.*--episodes 0-1"):
        convert_source(LeRobotSource(dataset), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert len(convert_source(LeRobotSource(dataset, "0-1"), tmp_path / "out").written) == 2


def test_an_episode_that_does_not_exist_is_refused_by_number(dataset: Path) -> None:
    with pytest.raises(ConversionError, match="episode 9 does not exist"):
        LeRobotSource(dataset, "0,9").names()


@pytest.mark.parametrize("num", [6, 8])
def test_a_video_of_another_length_than_its_table_is_refused_and_leaves_nothing(
    num: int, dataset: Path, tmp_path: Path
) -> None:
    write_video(video_path(dataset, 1, CAMERAS[1]), num)
    with pytest.raises(ConversionError, match=rf"cam_left_wrist/episode_000001\.mp4' has {num} frames.* 7 rows"):
        convert_source(LeRobotSource(dataset, "1"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"frame_index": np.arange(5)[::-1]}, "frame_index"),
        ({"episode_index": np.array([0, 0, 1, 0, 0])}, "another episode"),
        ({"timestamp": np.array([0, 0.1, 0.2, 0.2, 0.4], dtype=np.float32)}, "row 3 lies at 0.2000 s"),
        ({"timestamp": np.array([0, 0.1, np.nan, 0.3, 0.4], dtype=np.float32)}, "row 2"),
        ({"action": list(np.zeros((5, 2), dtype=np.float32))}, r"'action' has shape \(5, 2\)"),
        ({"task_index": None}, "task_index"),
    ],
)
def test_a_table_that_contradicts_itself_is_refused_before_anything_is_written(
    changes: dict[str, Any], told: str, dataset: Path, tmp_path: Path
) -> None:
    write_table(dataset, 0, 5, **changes)
    with pytest.raises(ConversionError, match=told):
        convert_source(LeRobotSource(dataset), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_table_of_another_length_than_promised_is_refused(dataset: Path, tmp_path: Path) -> None:
    write_table(dataset, 0, 4)
    with pytest.raises(ConversionError, match="4 rows, and the metadata promise 5"):
        convert_source(LeRobotSource(dataset), tmp_path / "out")


def test_a_table_that_is_no_parquet_is_refused(dataset: Path) -> None:
    table_path(dataset, 0).write_bytes(b"nothing of the kind")
    source = LeRobotSource(dataset)
    with pytest.raises(ConversionError, match="cannot be read as a table"):
        source.header(source.names()[0])


@pytest.mark.parametrize("version", ["v3.0", "v1.6", None])
def test_other_versions_are_refused_and_the_supported_ones_are_named(version: str | None, tmp_path: Path) -> None:
    make_dataset(tmp_path / "set", codebase_version=version)
    with pytest.raises(ConversionError, match=rf"version {version}.*v2\.0 and v2\.1"):
        LeRobotSource(tmp_path / "set")


@pytest.mark.parametrize("template", ["../../{episode_index}.mp4", "/etc/{episode_index}"])
def test_a_path_that_leaves_the_dataset_is_refused(template: str, tmp_path: Path) -> None:
    make_dataset(tmp_path / "set", video_path=template)
    with pytest.raises(UnsafePathError):
        LeRobotSource(tmp_path / "set").names()


def test_a_broken_path_template_is_refused(tmp_path: Path) -> None:
    make_dataset(tmp_path / "set", video_path="videos/{file_index}.mp4")
    with pytest.raises(ConversionError, match="file_index"):
        LeRobotSource(tmp_path / "set").names()


def test_pictures_inside_tables_and_datasets_without_a_camera_are_refused(dataset: Path) -> None:
    _changed_feature(dataset, CAMERAS[0], {"dtype": "image"})
    with pytest.raises(ConversionError, match="cam_high keep pictures inside the tables"):
        LeRobotSource(dataset)
    for camera in CAMERAS:
        _changed_feature(dataset, camera, {"dtype": "float32"})
    with pytest.raises(ConversionError, match="no camera"):
        LeRobotSource(dataset)


def test_a_folder_that_is_no_dataset_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingPathError, match=r"info\.json"):
        LeRobotSource(tmp_path)
    with pytest.raises(MissingPathError, match="nowhere"):
        LeRobotSource(tmp_path / "nowhere")


def test_broken_metadata_are_refused_by_file(dataset: Path) -> None:
    (dataset / "meta" / "info.json").write_text("{")
    with pytest.raises(ConversionError, match=r"info\.json' is no JSON"):
        LeRobotSource(dataset)


def test_a_missing_library_names_the_extra(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"robotrain\[lerobot\]"):
        LeRobotSource(dataset)


def _changed_feature(root: Path, feature: str, changes: dict[str, Any]) -> Path:
    path = root / "meta" / "info.json"
    info = json.loads(path.read_text())
    info["features"][feature] = info["features"].get(feature, {}) | changes
    path.write_text(json.dumps(info))
    return root


@pytest.fixture
def real(real_data: Path) -> Path:
    path = real_data / "g1-inspire-pick"
    if not path.is_dir():
        pytest.skip(f"no dataset at {path}")
    return path


def test_a_real_episode_arrives_number_by_number_and_frame_by_frame(real: Path, tmp_path: Path) -> None:
    _check_real(real, tmp_path, "28", frames=(0, 1, 140, 277))


def test_real_episodes_without_videos_are_refused_by_name(real: Path) -> None:
    with pytest.raises(ConversionError, match=r"episode 27 has no .*--episodes 28-31,59"):
        LeRobotSource(real, "27-28").names()


def test_a_real_dataset_of_version_3_is_refused(real_data: Path) -> None:
    path = real_data / "g1-inspire-v30"
    if not path.is_dir():
        pytest.skip(f"no dataset at {path}")
    with pytest.raises(ConversionError, match=r"v3\.0"):
        LeRobotSource(path)


@pytest.mark.slow
def test_all_real_episodes_with_videos_arrive(real: Path, tmp_path: Path) -> None:
    _check_real(real, tmp_path, "28-31,59", frames=None)


def _check_real(real: Path, tmp_path: Path, episodes: str, frames: tuple[int, ...] | None) -> None:
    """Compare converted episodes with the tables, and with pictures decoded here, one by one."""
    report = convert_source(LeRobotSource(real, episodes), tmp_path)
    assert len(report.written) == len(parse_episode_ranges(episodes))
    for i in parse_episode_ranges(episodes):
        frame = -1
        table = pq.read_table(table_path(real, i))
        episode = open_episode(tmp_path / f"g1-inspire-pick-episode-{i:06d}.zarr")
        assert (episode.embodiment, episode.fps, episode.num_frames) == ("unitree_g1_inspire", 30, len(table))
        for array, column in (("obs_joints", "observation.state"), ("cmd_joints", "action")):
            np.testing.assert_array_equal(episode.numbers(array), np.array(table[column].to_pylist(), dtype=np.float32))
            fields = Layout.from_plain(episode.facts.attributes["fields"][array])
            assert (len(fields.names), fields.names[0]) == (26, "kLeftShoulderPitch")
        assert [(span.text, span.start, span.end) for span in episode.spans] == [
            ("Pick up the yellow bottle on the table.", 0, len(table))
        ]
        with av.open(str(video_path(real, i))) as container:
            for frame, picture in enumerate(container.decode(video=0)):
                if frames is None or frame in frames:
                    wanted = simplejpeg.encode_jpeg(picture.to_ndarray(format="rgb24"), JPEG_QUALITY, "RGB", "444")
                    assert episode.jpeg("front_1", frame) == wanted
        assert frame == episode.num_frames - 1
