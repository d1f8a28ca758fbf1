import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robotrain.cache import source_digest
from robotrain.data import cached_stats
from robotrain.data.cached_stats import SOURCES, load_or_compute_stats, stats_key
from robotrain.data.pipeline import Pipeline, build_pipeline
from robotrain.embodiments.catalog import embodiment_of
from robotrain.episodes.schema import EpisodeFacts, read_facts
from tests.damage import set_texts
from tests.factories import make_eva_episode, make_human_episode, write_joints


def pipeline_of(facts: EpisodeFacts, horizon: int = 4, seconds: float | None = None) -> Pipeline:
    return build_pipeline(embodiment_of(facts.embodiment, facts.attributes), horizon=horizon, seconds=seconds)


@pytest.fixture
def eva(tmp_path: Path) -> EpisodeFacts:
    return read_facts(make_eva_episode(tmp_path / "e.zarr"))


def test_the_second_call_is_a_hit_with_the_same_numbers(eva: EpisodeFacts, capsys: pytest.CaptureFixture[str]) -> None:
    pipeline = pipeline_of(eva)
    computed, first = load_or_compute_stats([eva], pipeline)
    assert "8 samples: computed in" in capsys.readouterr().err
    cached, second = load_or_compute_stats([eva], pipeline)
    assert "8 samples: from the cache in" in capsys.readouterr().err
    assert (first.hit, second.hit) == (False, True)
    assert first.path == second.path
    assert second.path.is_file()
    assert cached.to_plain() == computed.to_plain()


def test_recompute_ignores_the_cache(eva: EpisodeFacts) -> None:
    load_or_compute_stats([eva], pipeline_of(eva))
    _, result = load_or_compute_stats([eva], pipeline_of(eva), recompute=True)
    assert not result.hit


def test_cameras_change_the_interface_and_not_the_key(eva: EpisodeFacts) -> None:
    load_or_compute_stats([eva], pipeline_of(eva))
    stats, result = load_or_compute_stats([eva], pipeline_of(eva), ("left_wrist",))
    assert result.hit
    assert stats.interface.cameras == ("left_wrist",)


def test_everything_that_shapes_the_numbers_changes_the_key(tmp_path: Path) -> None:
    human = read_facts(make_human_episode(tmp_path / "a.zarr"))
    other = read_facts(make_human_episode(tmp_path / "b.zarr", seed=1))
    embodiment = embodiment_of("human_bimanual", {})

    def key(*facts: EpisodeFacts, pool: bool = False, **how: float | str) -> str:
        settings = {"mode": None, "horizon": 4, "seconds": None, **how}
        return stats_key(facts or (human,), build_pipeline(embodiment, **settings), pool_horizon=pool)

    keys = [
        key(),
        key(other),
        key(human, other),
        key(horizon=5),
        key(seconds=0.5),
        key(mode="cartesian_6d"),
        key(pool=True),
    ]
    assert len(set(keys)) == len(keys)
    assert key(human, other) == key(other, human)


def test_one_byte_of_one_array_changes_the_key_and_a_picture_does_not(eva: EpisodeFacts) -> None:
    before = stats_key([eva], pipeline_of(eva), pool_horizon=False)
    picture = eva.path / "images.front_1" / "c" / "0"
    picture.write_bytes(picture.read_bytes() + b"x")
    assert stats_key([eva], pipeline_of(eva), pool_horizon=False) == before
    shard = eva.path / "left.cmd_ee_pose" / "c" / "0" / "0"
    content = bytearray(shard.read_bytes())
    content[10] ^= 1
    shard.write_bytes(content)
    assert stats_key([eva], pipeline_of(eva), pool_horizon=False) != before


def test_the_same_bytes_elsewhere_have_the_same_key(eva: EpisodeFacts, tmp_path: Path) -> None:
    copy = read_facts(shutil.copytree(eva.path, tmp_path / "elsewhere" / "e.zarr"))
    keys = [stats_key([facts], pipeline_of(facts), pool_horizon=False) for facts in (eva, copy)]
    assert keys[0] == keys[1]


def test_length_rate_and_camera_pose_in_the_attributes_change_the_key(eva: EpisodeFacts) -> None:
    keys = {stats_key([eva], pipeline_of(eva), pool_horizon=False)}
    metadata = eva.path / "zarr.json"
    original = json.loads(metadata.read_text())
    for name, value in (
        ("total_frames", 7),
        ("fps", 60),
        ("extrinsics", {"left": np.eye(4).tolist(), "right": np.eye(4).tolist()}),
    ):
        metadata.write_text(json.dumps({**original, "attributes": {**original["attributes"], name: value}}))
        keys.add(stats_key([read_facts(eva.path)], pipeline_of(eva), pool_horizon=False))
    assert len(keys) == 4


def test_the_sources_that_make_the_numbers_are_all_there() -> None:
    package = Path(cached_stats.__file__).parent.parent
    assert all((package / source).exists() for source in SOURCES)
    assert source_digest(SOURCES[1:]) != source_digest(SOURCES)
    code = "import sys, robotrain.data.exact_stats; print(*(name for name in sys.modules if name.count('robotrain.')))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    files = {f"{name.removeprefix('robotrain.').replace('.', '/')}.py" for name in loaded} - {
        f"{folder}.py" for folder in ("data", "episodes", "geometry", "embodiments")
    }
    beside = {f"{name}.py" for name in ("console", "errors", "files", "processes")}  # they move numbers, and make none
    beside |= {f"episodes/{name}.py" for name in ("jpegs", "pictures")}
    assert not {file for file in files - beside if not any(file.startswith(source) for source in SOURCES)}


BROKEN = ("{", '{"stats": {"schema_version": 99}}', '{"key": 1}', '{"stats": 5}', '{"stats": [1]}', "[" * 100_000)


@pytest.mark.parametrize("content", BROKEN)
def test_a_broken_cache_file_is_computed_again(
    eva: EpisodeFacts, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, first = load_or_compute_stats([eva], pipeline_of(eva))
    first.path.write_text(content)
    stats, again = load_or_compute_stats([eva], pipeline_of(eva))
    assert not again.hit
    assert stats.num_samples == 8
    assert "warning: the cache" in " ".join(capsys.readouterr().err.split())
    assert load_or_compute_stats([eva], pipeline_of(eva))[1].hit


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("num_samples", [1]),
        ("state_counts", [float("inf")]),
        ("action_counts", [1]),
        ("interface", {"state": [3]}),
        ("interface", {"state": [None]}),
        ("interface", {"history": {"steps": 0}}),
    ],
)
def test_a_cache_file_with_one_odd_value_is_computed_again(eva: EpisodeFacts, name: str, value: Any) -> None:
    expected, first = load_or_compute_stats([eva], pipeline_of(eva))
    told = json.loads(first.path.read_text())
    told["stats"][name] = {**told["stats"][name], **value} if isinstance(value, dict) else value
    first.path.write_text(json.dumps(told))
    stats, again = load_or_compute_stats([eva], pipeline_of(eva))
    assert not again.hit
    assert stats.to_plain() == expected.to_plain()


def test_a_hit_loads_neither_torch_nor_zarr(tmp_path: Path) -> None:
    path = write_joints(tmp_path / "e.zarr", np.random.default_rng(0).normal(size=(50, 3)))
    code = f"""
import sys
from robotrain.data.pipeline import build_pipeline
from robotrain.data.cached_stats import load_or_compute_stats
from robotrain.embodiments.catalog import embodiment_of
from robotrain.episodes.schema import read_facts

facts = read_facts({str(path)!r})
pipeline = build_pipeline(embodiment_of(facts.embodiment, facts.attributes), horizon=4)
_, result = load_or_compute_stats([facts], pipeline)
print(result.hit, [name for name in ("torch", "zarr", "pytorch_lightning", "simplejpeg") if name in sys.modules])
"""
    said = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ).stdout
        for _ in range(2)
    ]
    assert said[0].startswith("False")
    assert said[1].strip() == "True []"


def test_a_hit_on_unchanged_episodes_reads_no_array(eva: EpisodeFacts, monkeypatch: pytest.MonkeyPatch) -> None:
    load_or_compute_stats([eva], pipeline_of(eva))
    read: list[Path] = []
    digest = cached_stats.digest_of_arrays
    monkeypatch.setattr(
        cached_stats, "digest_of_arrays", lambda path, arrays: read.append(path) or digest(path, arrays)
    )
    assert load_or_compute_stats([eva], pipeline_of(eva))[1].hit
    assert not read
    os.utime(eva.path / "left.cmd_ee_pose" / "c" / "0" / "0")  # it may have changed, and has not
    assert load_or_compute_stats([eva], pipeline_of(eva))[1].hit
    assert read == [eva.path]
    load_or_compute_stats([eva], pipeline_of(eva))
    assert len(read) == 1


def test_a_change_that_sets_the_time_back_is_seen(eva: EpisodeFacts) -> None:
    before = stats_key([eva], pipeline_of(eva), pool_horizon=False)
    shard = eva.path / "left.cmd_ee_pose" / "c" / "0" / "0"
    status, content = shard.stat(), bytearray(shard.read_bytes())
    content[10] ^= 1
    shard.write_bytes(content)
    os.utime(shard, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert stats_key([eva], pipeline_of(eva), pool_horizon=False) != before


def test_other_arrays_of_the_same_episode_have_another_digest(tmp_path: Path) -> None:
    human = read_facts(make_human_episode(tmp_path / "a.zarr"))
    embodiment = embodiment_of("human_bimanual", {})
    keys = [
        stats_key([human], build_pipeline(embodiment, mode=mode, horizon=4), pool_horizon=False)
        for mode in ("cartesian_6d", "keypoints_wristframe_6d", "cartesian_6d")
    ]
    assert keys[0] == keys[2] != keys[1]


def test_a_cache_that_cannot_be_written_costs_time_and_nothing_else(
    eva: EpisodeFacts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ROBOTRAIN_CACHE_DIR", str(tmp_path / "file"))
    stats, result = load_or_compute_stats([eva], pipeline_of(eva))
    assert not result.hit
    assert stats.num_samples == 8
    assert "cannot be written" in " ".join(capsys.readouterr().err.split())


def test_processes_that_compute_the_same_at_once_all_succeed(tmp_path: Path) -> None:
    path = write_joints(tmp_path / "e.zarr", np.random.default_rng(0).normal(size=(50, 3)))
    code = f"""
from robotrain.data.pipeline import build_pipeline
from robotrain.data.cached_stats import load_or_compute_stats
from robotrain.embodiments.catalog import embodiment_of
from robotrain.episodes.schema import read_facts

facts = read_facts({str(path)!r})
pipeline = build_pipeline(embodiment_of(facts.embodiment, facts.attributes), horizon=4)
print(load_or_compute_stats([facts], pipeline, recompute=True)[1].path.read_text())
"""
    command = [sys.executable, "-c", code]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    said = [each.communicate() for each in running]
    assert [each.returncode for each in running] == [0] * 4
    assert len({out for out, _ in said}) == 1
    assert not any("warning" in err for _, err in said)


def test_texts_count_only_where_they_end_chunks(eva: EpisodeFacts) -> None:
    embodiment = embodiment_of(eva.embodiment, eva.attributes)
    pipelines = [build_pipeline(embodiment, horizon=4, stop_at_text_end=stop) for stop in (False, True)]
    before = [stats_key([eva], pipeline, pool_horizon=False) for pipeline in pipelines]
    set_texts(eva.path, ("reach", 0, 3))
    after = [stats_key([eva], pipeline, pool_horizon=False) for pipeline in pipelines]
    assert before[0] == after[0]
    assert before[1] != after[1]
    assert before[0] != before[1]
