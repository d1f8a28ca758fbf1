"""Zarr's own answer is the oracle: what is read directly is what Zarr reads, or Zarr reads it."""

import gc
import json
import os
import pickle
import warnings
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from zarr.codecs import BytesCodec, GzipCodec, ShardingCodec, VLenBytesCodec, ZstdCodec
from zarr.dtype import VariableLengthBytes
from zarr.errors import UnstableSpecificationWarning

from robotrain.episodes import reader as reader_module
from robotrain.episodes import shards
from robotrain.episodes.reader import open_episode
from robotrain.episodes.shards import ElementReader, read_rows
from robotrain.episodes.storage import read_stored_array
from robotrain.errors import EpisodeError
from tests.factories import make_eva_episode

FRONT = "images.front_1"
POSE = "left.obs_ee_pose"
ENCODINGS: tuple[dict[str, str], ...] = (
    {"name": "default", "separator": "/"},
    {"name": "default", "separator": "."},
    {"name": "v2", "separator": "."},
)


@pytest.fixture(autouse=True)
def _no_advice() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnstableSpecificationWarning)
        yield


@pytest.fixture
def eva(tmp_path: Path) -> Path:
    return make_eva_episode(tmp_path / "eva", num_frames=6)


@pytest.fixture
def no_zarr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_module, "_open_array", lambda _: pytest.fail("Zarr was asked"))


def write_elements(path: Path, elements: list[bytes], encoding: dict[str, str], inner: int, per_shard: int) -> None:
    """Write an array of bytes; no shards where ``per_shard`` is 0."""
    serial: dict[str, Any] = {"serializer": VLenBytesCodec(), "compressors": ZstdCodec()}
    if per_shard:
        serial["shards"] = (inner * per_shard,)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnstableSpecificationWarning)
        stored = zarr.create_array(
            path,
            shape=(len(elements),),
            dtype=VariableLengthBytes(),
            chunks=(inner,),
            fill_value=b"",
            chunk_key_encoding=encoding,  # pyright: ignore[reportArgumentType]
            config={"write_empty_chunks": True},
            **serial,
        )
    values = np.empty(len(elements), dtype=object)
    values[:] = elements
    stored[:] = values


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    elements=st.lists(st.binary(max_size=300), min_size=1, max_size=24),
    encoding=st.sampled_from(ENCODINGS),
    inner=st.integers(1, 5),
    per_shard=st.integers(0, 4),
    data=st.data(),
)
def test_elements_are_zarrs_in_any_order_of_asking(
    tmp_path_factory: pytest.TempPathFactory,
    elements: list[bytes],
    encoding: dict[str, str],
    inner: int,
    per_shard: int,
    data: st.DataObject,
) -> None:
    path = tmp_path_factory.mktemp("elements")
    write_elements(path / "a", elements, encoding, inner, per_shard)
    stored = read_stored_array(path, "a")
    assert stored.encoding is not None
    direct, oracle = ElementReader(stored, stored.encoding), zarr.open_array(path / "a", mode="r")
    for row in data.draw(st.lists(st.integers(0, len(elements) - 1), max_size=30)):
        assert direct.element(row) == np.asarray(oracle[row : row + 1])[0] == elements[row]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    shape=st.tuples(st.integers(1, 40), st.integers(1, 4)) | st.tuples(st.integers(1, 40)),
    data_type=st.sampled_from(["bool", "int8", "uint8", "int32", "uint64", "float16", "float32", "float64"]),
    endian=st.sampled_from(["little", "big"]),
    chunks=st.tuples(st.integers(1, 9), st.integers(0, 3)),
    seed=st.integers(0, 99),
    data=st.data(),
)
def test_numbers_are_zarrs(
    tmp_path_factory: pytest.TempPathFactory,
    shape: tuple[int, ...],
    data_type: str,
    endian: Literal["little", "big"],
    chunks: tuple[int, int],
    seed: int,
    data: st.DataObject,
) -> None:
    (inner, per_shard), path = chunks, tmp_path_factory.mktemp("numbers")
    values = (np.random.default_rng(seed).normal(size=shape) * 50).astype(data_type)
    more: dict[str, Any] = {"shards": (inner * per_shard, *shape[1:])} if per_shard else {}
    zarr.create_array(
        path / "a",
        data=values,
        chunks=(inner, *shape[1:]),
        serializer=BytesCodec(endian=endian),
        compressors=ZstdCodec(),
        fill_value=values.dtype.type(0),
        config={"write_empty_chunks": True},
        **more,
    )
    num_rows = data.draw(st.integers(1, shape[0]))
    found, oracle = read_rows(read_stored_array(path, "a"), num_rows), zarr.open_array(path / "a", mode="r")[:num_rows]
    assert found is not None
    assert found.dtype == np.asarray(oracle).dtype
    np.testing.assert_array_equal(found, oracle)


def test_what_the_writer_writes_is_read_without_zarr(eva: Path, no_zarr: None) -> None:
    episode = open_episode(eva)
    assert episode.numbers(POSE).shape == (6, 7)
    assert episode.image("front_1", 3).shape == (12, 16, 3)
    assert all(isinstance(picture, bytes) for picture in episode.jpegs("front_1"))
    episode.keep_pictures("front_1")


def test_episodes_by_egoverses_own_writer_are_read_without_zarr_and_hold_what_it_reads(
    real_data: Path, no_zarr: None
) -> None:
    for path in sorted(child for child in (real_data / "egoverse-written").iterdir() if child.is_dir()):
        episode = open_episode(path)
        for array in episode.arrays:
            oracle = np.asarray(zarr.open_array(path / array, mode="r")[: episode.num_frames])
            if array.startswith("images."):
                assert list(episode.jpegs(array.removeprefix("images."))) == oracle.tolist()
            elif array != "annotations":
                np.testing.assert_array_equal(episode.numbers(array), oracle)


@pytest.mark.parametrize(
    "codecs",
    [
        [BytesCodec(), GzipCodec()],
        [BytesCodec()],
        [BytesCodec(), ZstdCodec(), GzipCodec()],
        [ShardingCodec(chunk_shape=(2, 7), codecs=[BytesCodec(), GzipCodec()])],
        [ShardingCodec(chunk_shape=(2, 7), codecs=[BytesCodec(), ZstdCodec()], index_location="start")],
        [ShardingCodec(chunk_shape=(2, 7), codecs=[BytesCodec(), ZstdCodec()], index_codecs=[BytesCodec()])],
        [ShardingCodec(chunk_shape=(2, 1), codecs=[BytesCodec(), ZstdCodec()])],
    ],
)
def test_any_other_encoding_is_left_to_zarr(eva: Path, codecs: list[Any]) -> None:
    before = open_episode(eva).numbers(POSE)
    metadata = zarr.open_array(eva / POSE, mode="r").metadata
    group = zarr.open_group(eva, mode="r+")
    values = np.zeros(metadata.shape)
    values[:6] = before
    del group[POSE]
    sharded = isinstance(codecs[0], ShardingCodec)
    stored = group.create_array(
        POSE,
        shape=values.shape,
        dtype="float64",
        chunks=values.shape,
        serializer=codecs[0],
        compressors=() if sharded else tuple(codecs[1:]),
        fill_value=0.0,
    )
    stored[:] = values
    assert read_rows(read_stored_array(eva, POSE), 6) is None
    np.testing.assert_array_equal(open_episode(eva).numbers(POSE), before)


@pytest.mark.parametrize("at", [12, -9, None])
def test_a_broken_gzip_is_an_error_of_the_episode(eva: Path, at: int | None) -> None:
    group = zarr.open_group(eva, mode="r+")
    values = np.random.default_rng(0).normal(size=(6, 7))
    del group[POSE]
    stored = group.create_array(POSE, shape=(6, 7), dtype="float64", chunks=(6, 7), compressors=GzipCodec())
    stored[:] = values
    file = eva / POSE / "c" / "0" / "0"
    sound = file.read_bytes()
    file.write_bytes(sound[:-9] if at is None else sound[:at] + bytes([sound[at] ^ 0xFF] * 8) + sound[at:][8:])
    with pytest.raises(EpisodeError, match=rf"array '{POSE}': its bytes cannot be read: "):
        open_episode(eva).numbers(POSE)


@pytest.mark.parametrize(
    "more",
    [
        {"fill_value": float("nan")},
        {"storage_transformers": [{"name": "x"}]},
        {"surprise": {"must_understand": True}},
        {"attributes": 3},
        {"dimension_names": ["one"]},
        {"codecs": []},
        {"codecs": "zstd"},
        {"codecs": [{"name": "bytes"}, {"name": "zstd"}]},
        {"chunk_grid": {"name": "odd", "configuration": {"chunk_shape": [100, 7]}}},
    ],
)
def test_metadata_with_anything_unusual_are_left_to_zarr(eva: Path, more: dict[str, Any]) -> None:
    file = eva / POSE / "zarr.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | more))
    assert read_stored_array(eva, POSE).encoding is None


def test_a_chunk_that_the_shard_lacks_is_left_to_zarr_and_is_an_empty_picture(eva: Path) -> None:
    stored = zarr.open_array(eva / FRONT, mode="r+", config={"write_empty_chunks": False})
    stored[2:3] = np.array([b""], dtype=object)
    episode = open_episode(eva)
    with pytest.raises(EpisodeError, match="frame 2: the picture is empty"):
        episode.jpeg("front_1", 2)
    assert episode.jpeg("front_1", 3) == np.asarray(stored[3:4])[0]


def zarrs_answer(path: Path, frame: int) -> bytes | None:
    """Return what Zarr alone reads, or None where it complains or makes up an empty element."""
    try:
        return np.asarray(zarr.open_array(path / FRONT, mode="r")[frame : frame + 1])[0] or None
    except (ValueError, RuntimeError, OSError, KeyError, TypeError):
        return None


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1, exclude_max=True), change=st.integers(1, 255), cut=st.booleans(), frame=st.integers(0, 5))
def test_broken_bytes_are_an_error_where_zarr_has_one_and_never_other_bytes(
    eva: Path, place: float, change: int, cut: bool, frame: int
) -> None:
    file = eva / FRONT / "c" / "0"
    sound = file.read_bytes()
    at = int(place * len(sound))
    broken = sound[:at] if cut else sound[:at] + bytes([sound[at] ^ change]) + sound[at + 1 :]
    try:
        file.write_bytes(broken)
        expected = zarrs_answer(eva, frame)
        if expected is None:
            with pytest.raises(EpisodeError, match=rf"array '{FRONT}', frame {frame}"):
                open_episode(eva).jpeg("front_1", frame)
        else:
            assert open_episode(eva).jpeg("front_1", frame) == expected
    finally:
        file.write_bytes(sound)


def test_a_wrong_checksum_of_the_index_is_an_error(eva: Path) -> None:
    for array, name in ((FRONT, "c/0"), (POSE, "c/0/0")):
        file = eva / array / name
        content = bytearray(file.read_bytes())
        content[-1] ^= 1
        file.write_bytes(content)
    episode = open_episode(eva)
    with pytest.raises(EpisodeError, match=r"checksum do not match\.$"):
        episode.jpeg("front_1", 0)
    with pytest.raises(EpisodeError, match="checksum"):
        episode.numbers(POSE)


def test_a_shard_that_is_written_over_while_it_is_open_is_read_anew(eva: Path) -> None:
    episode = open_episode(eva)
    episode.jpeg("front_1", 0)
    file = eva / FRONT / "c" / "0"
    write_elements(eva / "other", [b"%d" % frame for frame in range(100)], ENCODINGS[0], 1, 100)
    with file.open("r+b") as stream:  # in place: the same file, other bytes
        stream.truncate(0)
        stream.write((eva / "other" / "c" / "0").read_bytes())
    os.utime(file, ns=(1, 1))
    assert episode.jpeg("front_1", 3) == b"3"


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts open files as Linux lists them")
def test_one_file_a_camera_is_open_and_closed_with_the_episode(eva: Path) -> None:
    gc.collect()
    before = open_files()
    episode = open_episode(eva)
    for frame in range(6):
        episode.jpeg("front_1", frame)
        episode.jpeg("left_wrist", frame)
    assert open_files() == before + 2
    again = pickle.loads(pickle.dumps(episode))  # noqa: S301
    assert open_files() == before + 2
    del episode, again
    assert open_files() == before


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts open files as Linux lists them")
def test_however_many_episodes_are_open_few_files_are(eva: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "MAX_OPEN", 3)
    before = open_files()
    episodes = [open_episode(eva) for _ in range(9)]
    first = [episode.jpeg("front_1", 1) for episode in episodes]
    assert open_files() <= before + 3
    assert [episode.jpeg("front_1", 1) for episode in episodes] == first
    assert open_files() <= before + 3
