"""Which episodes a run gets: found, looked at, excluded, filtered, limited; and that nothing is left out silently."""

import random
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from robotrain.config import Layer, compose, load_named, save_config
from robotrain.data.config import DataConfig
from robotrain.episodes.choice import pool
from robotrain.episodes.choice.selection import LeftOut
from robotrain.episodes.index import Entry
from robotrain.episodes.resolver import (
    Selection,
    SelectionConfig,
    find_chosen,
    resolve_episodes,
    resolving_once,
)
from robotrain.errors import BrokenEpisodesError, ConfigError, NoEpisodesError, UnknownNameError
from tests.hollow import make_hollow


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for number in range(10):
        make_hollow(tmp_path, f"e{number}" + ".zarr" * (number % 2))
    return tmp_path


def config(root: Path, **more: object) -> SelectionConfig:
    return SelectionConfig(root=str(root), **more)  # pyright: ignore[reportArgumentType]


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


def test_one_episode_alone_trains_and_who_needs_validation_is_told(tmp_path: Path) -> None:
    make_hollow(tmp_path, "only")
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
        make_hollow(tmp_path, name, embodiment)
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
    make_hollow(root, "e5.zarr", total_frames=None)
    with pytest.raises(BrokenEpisodesError) as caught:
        resolve_episodes(config(root))
    assert "2 of 10" in str(caught.value)
    assert "'e3'" in str(caught.value)
    assert "total_frames" in str(caught.value)


def test_two_folders_of_one_hash_are_refused(root: Path) -> None:
    make_hollow(root, "e1")
    with pytest.raises(ConfigError, match="one episode, with and without"):
        resolve_episodes(config(root))


@pytest.mark.parametrize("pins", [("",), (".zarr",), ({"hash": "a"},), (3,)])
def test_a_pin_that_is_no_hash_is_refused(pins: tuple[Any, ...]) -> None:
    with pytest.raises(ConfigError, match=r"episodes\.pins must be hashes of episodes"):
        SelectionConfig(pins=pins)
    with pytest.raises(ConfigError, match=r"episodes\.held_out must be hashes of episodes"):
        SelectionConfig(held_out=pins)


@pytest.mark.parametrize("more", [{"valid_ratio": 1.0}, {"valid_ratio": -0.1}, {"limit": 0}])
def test_numbers_that_select_nothing_are_refused(more: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(more))):
        SelectionConfig(**more)  # pyright: ignore[reportArgumentType]


TASKS = ("fold_clothes", "pick_up", "pour")


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """Return episodes that say more: three tasks, two operators, lengths, a vendor's body."""
    for number in range(6):
        make_hollow(
            tmp_path,
            f"t{number}",
            "ARIA_BIMANUAL" if number % 2 else "human_bimanual",
            task_name=TASKS[number % 3],
            operator=f"op{number // 3}",
            total_frames=100 * (number + 1),
            **{"rig-name.v2": f"rig{number}", "is_eval": number == 4, "objects": ["cup"]},
        )
    return tmp_path


def hashes(selection: Selection) -> list[str]:
    return [facts.hash for facts in selection.all]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"task_name": "pour"}, "t2 t5"),
        ({"operator": ["op1", "op2"]}, "t3 t4 t5"),
        ({"total_frames": {"at_least": 200, "at_most": 500}, "task_name": {"not": "pour"}}, "t1 t3 t4"),
        ({"embodiment": "mecka_bimanual"}, "t0 t1 t2 t3 t4 t5"),
        ({"hash": {"in": ["t1.zarr", "t5"]}}, "t1 t5"),
        ({"hash": {"regex": "[24]$"}}, "t2 t4"),
        ({"fps": 30, "task_name": {"prefix": "p"}}, "t1 t2 t4 t5"),
        ({"is_eval": True}, "t4"),
        ({"rig-name.v2": "rig3"}, "t3"),
        ({"rig-name.v2": {"not": {"regex": "[0-4]"}}, "operator": None}, "t5"),
    ],
)
def test_filters_take_what_passes_all_of_them(told: Path, where: dict[str, object], expected: str) -> None:
    assert hashes(resolve_episodes(config(told, where=where))) == expected.split()


def test_a_filter_that_leaves_nothing_shows_itself_the_nearest_value_and_what_there_is(told: Path) -> None:
    with pytest.raises(NoEpisodesError) as caught:
        resolve_episodes(config(told, where={"operator": "op1", "task_name": "fold_clothe", "is_eval": True}))
    assert str(caught.value).splitlines() == [
        f"No episodes in '{told}'. None passes episodes.where: task_name equals 'fold_clothe'",
        "  - 3 of 6 pass what comes before it",
        "  - the nearest value there is: fold_clothes",
        "  - values of task_name: fold_clothes (1), pick_up (1), pour (1)",
    ]


def test_a_filter_on_what_no_episode_says_is_an_unknown_name_even_under_not(told: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown attribute 'taskname' in episodes.where. .*'task_name'"):
        resolve_episodes(config(told, where={"taskname": {"not": "x"}}))
    with pytest.raises(ConfigError, match=r"'objects' is a list in episode 't0', and no single value"):
        resolve_episodes(config(told, where={"objects": "cup"}))


def test_a_value_that_an_episode_does_not_say_passes_only_under_not(told: Path) -> None:
    make_hollow(told, "t9", "human_bimanual", lab="x1")
    assert hashes(resolve_episodes(config(told, where={"lab": {"prefix": "x"}}))) == ["t9"]
    assert len(resolve_episodes(config(told, where={"lab": {"not": {"prefix": "x"}}})).all) == 6


def test_a_registry_gives_columns_that_win_over_attributes_and_says_what_is_not_to_be_used(told: Path) -> None:
    rows = "t0,A,fold,f,p|t1.zarr,A,pick_up,t,p|t2,B,fold,f,|t3,B,fold,f,p|t4,A,fold,f,p"
    (told / "r.csv").write_text("episode_hash,lab,task_name,is_deleted,zarr_processed_path\n" + rows.replace("|", "\n"))
    selection = resolve_episodes(config(told, registry="r.csv", where={"lab": {"regex": "A|B"}}))
    assert hashes(selection) == ["t0", "t3", "t4"]
    assert selection.left_out == (
        LeftOut("t1", "marked deleted", is_missing=False),
        LeftOut("t2", "with an empty path", is_missing=False),
    )
    assert selection.num_missing == 0
    assert selection.remarks == (
        "2 episodes are left out: 1 marked deleted (t1), 1 with an empty path (t2)",
        f"1 of 6 episodes are not in the registry '{told / 'r.csv'}'",
    )
    assert hashes(resolve_episodes(config(told, registry="r.csv", where={"task_name": "fold"}))) == ["t0", "t3", "t4"]
    with pytest.raises(NoEpisodesError, match=r"values of task_name: fold \(3\), no value \(1\)"):
        resolve_episodes(config(told, registry="r.csv", where={"task_name": "pour"}))
    split = resolve_episodes(config(told, registry="r.csv", where={"lab": ["A", "B"]}, split_by="lab"))
    assert [facts.hash for facts in split.valid] in (["t0", "t4"], ["t3"])


def test_what_a_filter_leaves_out_is_not_counted_as_deleted(told: Path) -> None:
    (told / "r.csv").write_text("hash,is_deleted\nt0,true\nt1,true\n")
    selection = resolve_episodes(config(told, registry="r.csv", where={"task_name": "fold_clothes"}))
    assert [each.hash for each in selection.left_out] == ["t0"]


def test_structural_samples_are_never_selected(told: Path) -> None:
    make_hollow(told, "s", "human_bimanual", data_status="structural_sample")
    make_hollow(told, "whole", "human_bimanual", data_status="complete")
    selection = resolve_episodes(config(told))
    assert "s" not in hashes(selection)
    assert "whole" in hashes(selection)
    assert selection.remarks == ("1 episode is left out: 1 marked structural (s)",)


def test_where_all_are_left_out_the_error_counts_them(tmp_path: Path) -> None:
    make_hollow(tmp_path, "s", data_status="structural_sample")
    with pytest.raises(NoEpisodesError, match=r"1 episode is left out: 1 marked structural \(s\)"):
        resolve_episodes(config(tmp_path))


def test_an_allowance_leaves_unreadable_episodes_out_and_moves_no_other(root: Path) -> None:
    whole = resolve_episodes(config(root))
    for broken in ("e3.zarr", "e6"):
        (root / broken / "zarr.json").write_text("{")
    with pytest.raises(BrokenEpisodesError, match=r"2 of 10 .*(\n.*){2}\n.*--allow-missing 2"):
        resolve_episodes(config(root, allow_missing=1))
    rest = resolve_episodes(config(root, allow_missing=2))
    assert [each.hash for each in rest.left_out] == ["e3", "e6"]
    assert "cannot be read as JSON" in rest.left_out[0].detail
    assert rest.remarks == ("2 episodes are left out: 2 cannot be read (e3, e6)",)
    assert rest.num_missing == 2
    for part, before in ((rest.train, whole.train), (rest.valid, whole.valid)):
        assert [facts.hash for facts in part] == [f.hash for f in before if f.hash not in {"e3", "e6"}]


def test_a_limit_counts_what_is_left_out_and_does_not_look_beyond(root: Path) -> None:
    (root / "e1.zarr" / "zarr.json").write_text("{")
    assert hashes(resolve_episodes(config(root, limit=4, allow_missing=1))) == ["e0", "e2", "e3"]
    (root / "e9.zarr" / "zarr.json").write_text("{")
    assert resolve_episodes(config(root, limit=4, allow_missing=1)).num_missing == 1
    shutil.rmtree(root / "e0")
    with pytest.raises(NoEpisodesError, match="1 cannot be read"):
        resolve_episodes(config(root, limit=1, allow_missing=1))


def test_an_unreadable_episode_that_the_registry_filters_out_stops_nothing(root: Path) -> None:
    (root / "e1.zarr" / "zarr.json").write_text("{")
    (root / "r.csv").write_text("hash,lab\ne0,A\ne1,B\ne2,A\n")
    assert hashes(resolve_episodes(config(root, registry="r.csv", where={"lab": "A"}))) == ["e0", "e2"]
    assert hashes(resolve_episodes(config(root, where={"hash": {"not": "e1"}, "fps": 30}, limit=1))) == ["e0"]
    with pytest.raises(BrokenEpisodesError, match="1 of 10"):
        resolve_episodes(config(root, registry="r.csv", where={"lab": "B", "fps": 30}))


def test_what_a_config_is_about_can_be_asked_for_without_being_usable(told: Path) -> None:
    (told / "t2" / "zarr.json").write_text("{")
    make_hollow(told, "e", "eva_bimanual")
    (told / "r.csv").write_text("hash,lab,is_deleted\nt0,A,f\nt1,A,t\nt2,A,f\nt3,B,f\n")

    def names(**more: object) -> list[str]:
        return [path.name for path in find_chosen(config(told, **more))]

    assert names() == ["e", "t0", "t1", "t2", "t3", "t4", "t5"]
    assert names(embodiment="human_bimanual", where={"task_name": "fold_clothes"}) == ["t0", "t2", "t3"]
    assert names(registry="r.csv", where={"lab": "A"}) == ["t0", "t2"]
    assert names(pins=("t3", "t9"), held_out=("e",)) == ["e", "t3"]
    assert names(pins=("t9",), where={"fps": 30}) == []
    assert names(where={"task_name": "pick"}) == ["t2"], "nobody knows what it would say"
    with pytest.raises(NoEpisodesError, match="the nearest value there is: t2"):
        names(where={"hash": "t22"})
    (told / "r.csv").write_text("hash,is_deleted\n" + "".join(f"{name},t\n" for name in names()))
    with pytest.raises(NoEpisodesError, match="7 episodes are left out: 7 marked deleted"):
        names(registry="r.csv")


def test_where_only_unreadable_episodes_are_filtered_the_filter_is_told_too(tmp_path: Path) -> None:
    (make_hollow(tmp_path, "a") / "zarr.json").write_text("{")
    (tmp_path / "r.csv").write_text("hash,lab\na,A\n")
    with pytest.raises(NoEpisodesError, match=r"lab equals 'B'\n(.*\n)*  - values of lab: A \(1\)"):
        resolve_episodes(config(tmp_path, registry="r.csv", where={"lab": "B", "task_name": "x"}))


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows by the number of episodes whenever the index is asked."""
    counted: list[int] = []
    ask = pool.read_entries

    def count(root: Path, paths: Sequence[Path]) -> Iterator[Entry]:
        counted.append(len(paths))
        return ask(root, paths)

    monkeypatch.setattr(pool, "read_entries", count)
    return counted


def test_equal_configs_resolve_once_within_a_block_and_anew_beyond_it(
    root: Path, looks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with resolving_once():
        first = resolve_episodes(config(root, where={"fps": 30}))
        with resolving_once():
            assert resolve_episodes(config(root, where={"fps": 30})) is first
        monkeypatch.chdir(root.parent)
        assert resolve_episodes(config(Path(root.name), where={"fps": 30})) is first, "another spelling of the folder"
        assert looks == [10]
        assert resolve_episodes(config(root, where={"fps": 30}, limit=2)) is not first
        resolve_episodes(config(root, where={"fps": 30}), differs=lambda _: "")
        assert looks == [10, 10, 10]
    assert resolve_episodes(config(root, where={"fps": 30})) is not first
    resolve_episodes(config(root, where={"fps": 30}))
    assert len(looks) == 5


def test_an_error_is_not_remembered(root: Path) -> None:
    (root / "e0" / "zarr.json").rename(root / "e0" / "aside")
    (root / "e0").rename(root / "e0.zarr")
    with resolving_once():
        with pytest.raises(BrokenEpisodesError):
            resolve_episodes(config(root))
        (root / "e0.zarr" / "aside").rename(root / "e0.zarr" / "zarr.json")
        assert len(resolve_episodes(config(root)).all) == 10


EVERY_OPERATOR = """
episodes:
  registry: r.csv
  where:
    task_name: {equals: fold_clothes}
    operator: {in: [op0, op1]}
    hash: {prefix: t, regex: "^t[0-9]$", not: [t8, t9]}
    total_frames: {at_least: 100, at_most: 400.0}
    rig-name.v2: {not: {prefix: x}}
    is_eval: false
    lab: [A, B]
  held_out_where: {operator: op1}
"""


def test_a_yaml_with_every_operator_resolves_and_comes_back_from_its_saved_form(told: Path, tmp_path: Path) -> None:
    (told / "r.csv").write_text("hash,lab\nt0,A\nt3,B\n")
    file = tmp_path / "mine.yaml"
    file.write_text(EVERY_OPERATOR)
    layers = (load_named("data", "default"), load_named("data", str(file)))
    data = compose(DataConfig, (*layers, Layer("root", {"episodes": {"root": str(told)}})))
    selection = resolve_episodes(data.episodes)
    assert ([f.hash for f in selection.train], [f.hash for f in selection.valid]) == (["t0"], ["t3"])
    save_config(tmp_path / "config.yaml", data)
    assert compose(DataConfig, (load_named("data", str(tmp_path / "config.yaml")),)) == data


def test_filters_are_set_replaced_and_taken_back_on_the_command_line(told: Path) -> None:
    below = {"where": {"task_name": ["pour", "pick_up"], "operator": "op9", "total_frames": {"at_least": 200}}}
    overrides = [
        f"episodes.root={told}",
        "episodes.where.task_name={prefix: p, not: pour}",
        "episodes.where.operator=null",
        "episodes.where.total_frames.at_most=400",
    ]
    data = compose(DataConfig, (Layer("mine", {"episodes": below}),), overrides=overrides)
    assert data.episodes.where == {
        "task_name": {"prefix": "p", "not": "pour"},
        "operator": None,
        "total_frames": {"at_least": 200, "at_most": 400},
    }
    assert hashes(resolve_episodes(data.episodes)) == ["t1"]
    simple = compose(DataConfig, (), overrides=[f"episodes.root={told}", "episodes.where.task_name=pour"])
    assert hashes(resolve_episodes(simple.episodes)) == ["t2", "t5"]
    with pytest.raises(ConfigError, match="Did you mean 'at_least'"):
        compose(DataConfig, (), overrides=["episodes.where.total_frames={atleast: 3}"])
    with pytest.raises(ConfigError, match=r"'episodes.where' in the command line: Cannot assign"):
        compose(DataConfig, (), overrides=["episodes.where=pour"])


CLOUD = ("boto3", "botocore", "s3fs", "fsspec", "sqlalchemy", "psycopg2", "google", "azure")

LOCAL_ONLY = """
import sys

def cloud():
    return {{name for name in {cloud!r} if name in sys.modules}}

from robotrain.episodes.resolver import SelectionConfig, find_pin_problems, resolve_episodes
config = SelectionConfig(root={root!r}, registry="r.csv", where={{"lab": "A"}}, pins=("{name}",))
print(len(resolve_episodes(config).all), find_pin_problems(config), cloud())
import zarr  # looks for fsspec itself
from robotrain.episodes.validation import validate_episode
of_zarr = cloud() & {{"fsspec"}}
errors = [each for each in validate_episode({root!r} + "/{name}.zarr") if each.severity == "error"]
print(errors, cloud() - of_zarr)
"""


def test_nothing_of_a_cloud_is_imported_to_resolve_and_to_validate(tiny_episodes: Path, tmp_path: Path) -> None:
    episode = sorted(tiny_episodes.iterdir())[0]
    (tmp_path / episode.name).symlink_to(episode)
    (tmp_path / "r.csv").write_text(f"hash,lab\n{episode.stem},A\n")
    code = LOCAL_ONLY.format(cloud=CLOUD, root=str(tmp_path), name=episode.stem)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.stdout.splitlines() == ["1 () set()", "[] set()"], result.stderr
