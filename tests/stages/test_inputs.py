"""What a user names as DATA, and what becomes of it."""

from pathlib import Path

import pytest

from robotrain.config import Layer, compose
from robotrain.data.config import DataConfig
from robotrain.errors import ConfigError, EpisodeError, MissingPathError, UnknownNameError
from robotrain.stages.inputs import arch_horizon, data_layers, resolve_inputs, with_root
from tests.factories import make_eva_episode, make_joint_episode


def data_of(spec: str | None) -> DataConfig:
    return with_root(compose(DataConfig, data_layers(spec)))


def test_a_folder_is_its_episodes(tiny_episodes: Path) -> None:
    data = data_of(str(tiny_episodes))
    assert (data.name, data.episodes.root, data.episodes.pins) == ("episodes", str(tiny_episodes), ())


def test_one_episode_is_a_pin(tiny_episodes: Path) -> None:
    path = sorted(tiny_episodes.iterdir())[0]
    data = data_of(str(path))
    assert (data.episodes.root, data.episodes.pins) == (str(tiny_episodes), (path.stem,))
    assert [facts.path for facts in resolve_inputs(data, horizon=4).selection.all] == [path]


def test_a_yaml_file_names_more(tiny_episodes: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"name: mine\nepisodes: {{root: {tiny_episodes}, limit: 2}}\nbatch_size: 3\n")
    data = data_of(str(path))
    assert (data.name, data.batch_size, data.episodes.limit, data.episodes.valid_ratio) == ("mine", 3, 2, 0.2)


def test_nothing_named_is_the_folder_of_the_environment(tiny_episodes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROBOTRAIN_DATA_DIR", str(tiny_episodes))
    assert data_of(None).episodes.root == str(tiny_episodes)
    monkeypatch.setenv("ROBOTRAIN_DATA_DIR", str(tiny_episodes / "gone"))
    with pytest.raises(MissingPathError, match="ROBOTRAIN_DATA_DIR"):
        data_of(None)


def test_a_name_wins_over_a_folder_of_that_name_which_a_path_still_reaches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_eva_episode(tmp_path / "default" / "a.zarr")
    monkeypatch.chdir(tmp_path)
    assert data_layers("default")[-1].where.endswith("configs/data/default.yaml")
    assert data_layers("./default")[-1].values["name"] == "default"


def test_what_is_neither_is_told_apart() -> None:
    with pytest.raises(
        UnknownNameError, match=r"Unknown data 'defaul' .* no folder has this name. Did you mean 'default'"
    ):
        data_layers("defaul")
    with pytest.raises(MissingPathError, match="The data folder 'some/where'"):
        data_layers("some/where")
    with pytest.raises(MissingPathError, match=r"The data config 'mine.yaml'"):
        data_layers("mine.yaml")


def test_cameras_are_those_that_an_episode_has(tmp_path: Path) -> None:
    make_eva_episode(tmp_path / "a.zarr", cameras=("front_1",))
    make_eva_episode(tmp_path / "b.zarr", cameras=("front_1", "right_wrist"))
    inputs = resolve_inputs(data_of(str(tmp_path)), horizon=4)
    assert inputs.interface.cameras == ("front_1", "right_wrist")
    assert (inputs.interface.horizon, inputs.interface.actions.width) == (4, 20)


def test_robots_that_describe_themselves_must_agree(tmp_path: Path) -> None:
    from robotrain.embodiments.layout import Field, Layout

    make_joint_episode(tmp_path / "a.zarr")
    assert resolve_inputs(data_of(str(tmp_path)), horizon=4).interface.mode == "joints"
    make_joint_episode(tmp_path / "b.zarr", layout=Layout((Field("arm.other", "joint", 2, "", "rad"),)))
    with pytest.raises(EpisodeError, match="its fields differ"):
        resolve_inputs(data_of(str(tmp_path)), horizon=4)


def test_the_horizon_of_an_arch_is_read_without_its_schema() -> None:
    assert arch_horizon(Layer("a.yaml", {"horizon": 16})) == 16
    for wrong in ({}, {"horizon": 0}, {"horizon": "16"}):
        with pytest.raises(ConfigError, match=r"'a.yaml' must name a horizon"):
            arch_horizon(Layer("a.yaml", wrong))


def test_a_file_is_no_folder_of_episodes(tmp_path: Path) -> None:
    (tmp_path / "episodes.zip").touch()
    with pytest.raises(ConfigError, match=r"episodes.zip' is a file"):
        data_layers(str(tmp_path / "episodes.zip"))
