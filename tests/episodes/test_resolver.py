import json
import random
import shutil
from pathlib import Path

import pytest

from robotrain.episodes.resolver import SelectionConfig, find_episodes, resolve_episodes
from robotrain.episodes.splits import split_hashes
from robotrain.errors import (
    BrokenEpisodesError,
    ConfigError,
    MissingPathError,
    NoEpisodesError,
    PinError,
)


def make(root: Path, name: str, embodiment: str = "eva_bimanual", **attributes: object) -> Path:
    """Make a folder that says of itself what an episode says, without arrays."""
    path = root / name
    path.mkdir(parents=True)
    told = {"embodiment": embodiment, "total_frames": 4, "fps": 30} | attributes
    metadata = {"attributes": told, "zarr_format": 3, "node_type": "group"}
    (path / "zarr.json").write_text(json.dumps(metadata))
    return path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for number in range(10):
        make(tmp_path, f"e{number}" + ".zarr" * (number % 2))
    return tmp_path


def config(root: Path, **more: object) -> SelectionConfig:
    return SelectionConfig(root=str(root), **more)  # pyright: ignore[reportArgumentType]


def test_episodes_are_found_by_hash_with_and_without_ending(root: Path) -> None:
    assert [path.name for path in find_episodes(root)][:3] == ["e0", "e1.zarr", "e2"]


def test_unfinished_and_foreign_folders_are_left_alone_and_broken_episodes_are_not(tmp_path: Path) -> None:
    make(tmp_path, "a")
    make(tmp_path, ".b.partial-17")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "x.txt").write_text("")
    (tmp_path / "lost.zarr").mkdir()
    make(tmp_path / "headless", "images.front_1")
    (tmp_path / "manifest.json").write_text("{}")
    assert [path.name for path in find_episodes(tmp_path)] == ["a", "headless", "lost.zarr"]


def test_a_missing_folder_and_an_empty_one_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(MissingPathError):
        find_episodes(tmp_path / "nothing")
    with pytest.raises(NoEpisodesError):
        find_episodes(tmp_path)


def test_the_split_is_the_first_fifth_of_a_seeded_shuffle(root: Path) -> None:
    hashes = [f"e{number}" for number in range(10)]
    random.Random(42).shuffle(hashes)
    selection = resolve_episodes(config(root))
    assert {facts.hash for facts in selection.valid} == set(hashes[:2])
    assert {facts.hash for facts in selection.train} == set(hashes[2:])
    assert [facts.hash for facts in selection.all] == sorted(hashes)
    other = resolve_episodes(config(root, split_seed=1))
    assert other.valid != selection.valid
    assert selection.root == root


@pytest.mark.parametrize(
    ("num", "ratio", "num_valid"), [(1, 0.2, 0), (2, 0.2, 1), (3, 0.2, 1), (10, 0.35, 3), (10, 0.0, 0), (2, 0.99, 1)]
)
def test_at_least_one_episode_trains_and_one_validates_where_there_are_two(
    num: int, ratio: float, num_valid: int
) -> None:
    train, valid = split_hashes([f"h{number}" for number in range(num)], ratio, 42)
    assert (len(train), len(valid)) == (num - num_valid, num_valid)
    assert not set(train) & set(valid)


def test_one_episode_alone_trains_and_who_needs_validation_is_told(tmp_path: Path) -> None:
    make(tmp_path, "only")
    selection = resolve_episodes(config(tmp_path))
    assert [facts.hash for facts in selection.train] == ["only"]
    with pytest.raises(ConfigError, match="no episode to validate on"):
        selection.require_valid()


def test_the_data_folder_comes_from_the_environment_when_the_config_names_none(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROBOTRAIN_DATA_DIR", str(root))
    assert len(resolve_episodes(SelectionConfig()).all) == 10


def test_several_embodiments_need_a_choice_and_vendors_count_as_their_body(tmp_path: Path) -> None:
    for name, embodiment in (("a", "eva_bimanual"), ("b", "MECKA_BIMANUAL"), ("c", "human_bimanual")):
        make(tmp_path, name, embodiment)
    with pytest.raises(ConfigError, match=r"eva_bimanual \(1\), human_bimanual \(2\)"):
        resolve_episodes(config(tmp_path))
    for chosen in ("human_bimanual", "aria_bimanual"):
        assert [f.hash for f in resolve_episodes(config(tmp_path, embodiment=chosen)).all] == ["b", "c"]
    with pytest.raises(NoEpisodesError, match="Did you mean 'human_bimanual'"):
        resolve_episodes(config(tmp_path, embodiment="humanbimanual"))


def test_a_limit_takes_the_first_by_hash(root: Path) -> None:
    assert [facts.hash for facts in resolve_episodes(config(root, limit=3)).all] == ["e0", "e1", "e2"]


def test_an_episode_that_cannot_be_read_stops_the_run_and_every_one_is_named(root: Path) -> None:
    (root / "e3.zarr" / "zarr.json").write_text("{")
    shutil.rmtree(root / "e5.zarr")
    make(root, "e5.zarr", total_frames=None)
    with pytest.raises(BrokenEpisodesError) as caught:
        resolve_episodes(config(root))
    assert "2 of 10" in str(caught.value)
    assert "'e3'" in str(caught.value)
    assert "total_frames" in str(caught.value)


def test_pins_choose_and_do_not_look_at_the_others(root: Path) -> None:
    (root / "e3.zarr" / "zarr.json").write_text("{")
    selection = resolve_episodes(config(root, pins=("e4", "e1.zarr", "e0")))
    assert [facts.hash for facts in selection.all] == ["e0", "e1", "e4"]


def test_every_problem_of_every_pin_is_told_at_once(root: Path) -> None:
    (root / "e3.zarr" / "zarr.json").write_text("{")
    make(root, "x1", "human_bimanual")
    pins = ("e0", "e3", "e00", "x1", "e2")
    with pytest.raises(PinError) as caught:
        resolve_episodes(config(root, pins=pins, embodiment="eva_bimanual", limit=1))
    told = str(caught.value)
    assert "4 of 5" in told
    assert "'e3'" in told
    assert "'e00' is not there. Did you mean 'e0'?" in told
    assert "'x1' is of embodiment 'human_bimanual', not 'eva_bimanual'" in told
    assert "'e2' is beyond the limit of 1" in told


def test_two_folders_of_one_hash_are_refused(root: Path) -> None:
    make(root, "e1")
    with pytest.raises(ConfigError, match="one episode, with and without"):
        resolve_episodes(config(root))


@pytest.mark.parametrize("more", [{"valid_ratio": 1.0}, {"valid_ratio": -0.1}, {"limit": 0}])
def test_numbers_that_select_nothing_are_refused(more: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(more))):
        SelectionConfig(**more)  # pyright: ignore[reportArgumentType]
