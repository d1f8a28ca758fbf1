"""Every shipped YAML: it opens with what it is, resolves, and builds."""

import dataclasses
from pathlib import Path

import pytest
import yaml

from robotrain.config import (
    Layer,
    compose,
    config_names,
    configs_dir,
    is_path,
    load_named,
    save_config,
    to_plain,
)
from robotrain.data.config import DataConfig
from robotrain.embodiments.catalog import available
from robotrain.episodes.resolver import SelectionConfig
from robotrain.models.registry import build_on_meta, count_parameters
from robotrain.stages.models import catalog_interface, resolve_arch
from robotrain.stages.recipe import TrainChoice
from robotrain.stages.train import TrainConfig, resolve_config
from robotrain.training.trainer import TrainerConfig

FILES = sorted(configs_dir().rglob("*.y*ml"))


def test_configs_lie_where_the_door_looks() -> None:
    assert FILES
    assert {path.parent.name for path in FILES} == {"arch", "data", "recipe", "trainer"}
    assert {path.suffix for path in FILES} == {".yaml"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_config_opens_with_what_it_is_how_to_run_it_and_what_it_costs(path: Path) -> None:
    first = path.read_text().splitlines()[:8]
    for word in ("# What: ", "# Run:  ", "# Cost: "):
        assert any(line.startswith(word) for line in first), f"{path.name} lacks a line '{word}...'"
    run = next(line for line in first if line.startswith("# Run:"))
    assert "robotrain " in run


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_config_names_a_path_or_evaluates_anything(path: Path) -> None:
    def check(value: object) -> None:
        if isinstance(value, dict):
            for each in value.values():
                check(each)
        elif isinstance(value, list):
            for each in value:
                check(each)
        elif isinstance(value, str):
            assert not value.startswith(("/", "~")), value
            assert "${" not in value, value

    check(yaml.safe_load(path.read_text()))


@pytest.mark.parametrize("name", config_names("arch"))
def test_every_arch_resolves_and_builds_for_every_embodiment(name: str) -> None:
    arch = resolve_arch(load_named("arch", name))
    assert arch.name == name, "an arch is named as its file"
    for embodiment in available():
        policy = build_on_meta(arch, [catalog_interface(embodiment, arch.horizon)])
        assert sum(count_parameters(policy).values()) == sum(p.numel() for p in policy.parameters())
        assert all(parameter.is_meta for parameter in policy.parameters())


@pytest.mark.parametrize("name", config_names("data"))
def test_every_data_config_resolves(name: str) -> None:
    assert isinstance(compose(DataConfig, (load_named("data", name),)), DataConfig)


def test_the_default_data_config_shows_every_key_of_episodes_and_each_line_resolves() -> None:
    text = (configs_dir() / "data" / "default.yaml").read_text()
    section = text[text.index("\nepisodes:") : text.index("\nstats:")]
    shown = [line.removeprefix("  ").removeprefix("# ") for line in section.splitlines()]
    lines = [line for line in shown if line[:1].isalpha() and line != "episodes:"]
    keys = []
    for line in lines:
        episodes = yaml.safe_load(line)
        keys += episodes
        data = compose(DataConfig, (load_named("data", "default"), Layer("line", {"episodes": episodes})))
        assert to_plain(data.episodes).items() >= episodes.items()
    assert sorted(keys) == sorted(each.name for each in dataclasses.fields(SelectionConfig))


@pytest.mark.parametrize("name", config_names("trainer"))
def test_every_trainer_config_resolves(name: str) -> None:
    assert isinstance(compose(TrainerConfig, (load_named("trainer", name),)), TrainerConfig)


@pytest.mark.parametrize("name", config_names("recipe"))
def test_every_recipe_resolves_and_comes_back_from_its_saved_form(name: str, tmp_path: Path) -> None:
    config = resolve_config(TrainChoice(recipe=name))
    path = tmp_path / "config.yaml"
    save_config(path, config)
    assert is_path(str(path))
    assert resolve_config(TrainChoice(recipe=str(path))) == config


@pytest.mark.parametrize("arch", config_names("arch"))
@pytest.mark.parametrize("trainer", config_names("trainer"))
def test_every_arch_goes_with_every_trainer_and_data_config(arch: str, trainer: str) -> None:
    for data in config_names("data"):
        config = resolve_config(TrainChoice(arch=arch, trainer=trainer, data=data))
        assert isinstance(config, TrainConfig)
        assert config.arch.name == arch
