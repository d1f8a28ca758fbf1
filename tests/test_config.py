"""The one door: layers, bases, overrides, and messages that name the mistake."""

from collections.abc import Mapping
from dataclasses import FrozenInstanceError, dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml

from robotrain import config as door
from robotrain.config import Layer, compose, load_named, parse_overrides, save_config, to_plain
from robotrain.errors import ConfigError, MissingPathError, UnknownNameError


@dataclass(frozen=True, kw_only=True, slots=True)
class Loop:
    max_steps: int = 10
    lr: float = 0.1
    precision: Literal["32", "bf16"] = "32"

    def __post_init__(self) -> None:
        if self.max_steps < 1:
            raise ConfigError("max_steps must be at least 1.")


@dataclass(frozen=True, kw_only=True, slots=True)
class SmallArch:
    family: Literal["small"] = "small"
    width: int = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class DeepArch:
    family: Literal["deep"] = "deep"
    depth: int = 7


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    name: str = "run"
    note: str | None = None
    pins: tuple[str, ...] = ()
    where: dict[str, Any] = field(default_factory=dict)
    loop: Loop = field(default_factory=Loop)
    arch: Any = None


def choose(values: Mapping[str, Any]) -> type:
    return {"small": SmallArch, "deep": DeepArch}[values["family"]]


ARCH = Layer("arch", {"family": "small"}).under("arch")


def composed(*layers: Layer, overrides: tuple[str, ...] = ()) -> Run:
    return compose(Run, (ARCH, *layers), overrides=overrides, schema_for={"arch": choose})


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(door, "configs_dir", lambda: tmp_path)
    files = {
        "arch/small": "family: small\n",
        "arch/wide": "base: [small]\nwidth: 64\n",
        "loop/fast": "max_steps: 3\n",
        "recipe/plain": "base: [arch/wide, loop/fast]\nloop: {lr: 1e-4}\n",
    }
    for name, text in files.items():
        path = tmp_path / f"{name}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_later_layers_and_then_overrides_win() -> None:
    run = composed(
        Layer("a", {"loop": {"max_steps": 2, "lr": 0.5}}),
        Layer("b", {"loop": {"lr": 0.25}}),
        overrides=("loop.max_steps=9", "pins=[a, b]", "note=null"),
    )
    assert (run.loop.max_steps, run.loop.lr, run.pins, run.note) == (9, 0.25, ("a", "b"), None)


def test_among_free_values_lists_mappings_and_others_take_each_other_s_place() -> None:
    below = Layer("below", {"where": {"a": [1], "b": {"c": 1}, "d": 1, "e": {"f": [1], "g": 2}}})
    above = Layer("above", {"where": {"a": {"c": 1}, "b": [1], "d": {"c": 1}, "e": {"f": {"c": 1}}}})
    expected = {"a": {"c": 1}, "b": [1], "d": {"c": 1}, "e": {"f": {"c": 1}, "g": 2}}
    assert composed(below, above).where == expected
    assert composed(below, overrides=("where.a={c: 1}", "where.b=x")).where["a"] == {"c": 1}


def test_what_comes_out_is_frozen_and_typed() -> None:
    run = composed()
    assert type(run) is Run
    assert type(run.arch) is SmallArch
    with pytest.raises(FrozenInstanceError):
        run.name = "other"  # pyright: ignore[reportAttributeAccessIssue]


def test_the_values_pick_the_schema_of_a_group() -> None:
    layers = (Layer("a", {"arch": {"family": "deep"}}),)
    assert compose(Run, layers, overrides=("arch.depth=3",), schema_for={"arch": choose}).arch == DeepArch(depth=3)


@pytest.mark.parametrize("text", ["loop.lr=1e-4", "loop.lr=0.0001", "loop.lr=1.0e-04", "loop.lr='1e-4'"])
def test_numbers_with_exponents_are_numbers(text: str) -> None:
    assert composed(overrides=(text,)).loop.lr == 1e-4


def test_an_unknown_key_names_the_nearest_and_its_place() -> None:
    with pytest.raises(UnknownNameError, match=r"key 'loop.max_step' in the command line.*'loop.max_steps'"):
        composed(overrides=("loop.max_step=1",))
    with pytest.raises(UnknownNameError, match=r"key 'loops' in some.yaml.*'loop'"):
        composed(Layer("some.yaml", {"loops": {"max_steps": 1}}))


def test_a_key_without_its_group_finds_its_way() -> None:
    with pytest.raises(UnknownNameError, match=r"Did you mean 'loop.max_steps'"):
        composed(overrides=("max_steps=1",))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("loop.max_steps=many", "'loop.max_steps' in the command line: Value 'many'"),
        ("loop.precision=8", r"expected one of \['32', 'bf16'\]"),
        ("loop=3", "'loop' in the command line is a group of settings"),
        ("arch=3", "'arch' must name a config"),
        ("loop.max_steps=0", "max_steps must be at least 1"),
        ("note=${nowhere}", "nowhere"),
        ("max_steps", "not of the form KEY=VALUE"),
        ("=3", "not of the form KEY=VALUE"),
        ("loop..lr=3", "not of the form KEY=VALUE"),
        ("pins=[a", "cannot be read"),
        ("pins={a: 1}", "'pins' in the command line: "),
        ("where=3", "'where' in the command line"),
        ("note=${oops", "cannot be read"),
    ],
)
def test_a_wrong_override_is_one_clear_line(override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        composed(overrides=(override,))
    assert "\n" not in str(caught.value)


def test_a_key_may_have_hyphens_as_the_codes_of_findings_have() -> None:
    assert parse_overrides(["severity.bad-jpeg=warning"]).values == {"severity": {"bad-jpeg": "warning"}}


def test_a_key_given_twice_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"'loop.lr' is given twice"):
        parse_overrides(["loop.lr=1", "loop.lr=2"])


def test_bases_lie_below_the_file_under_their_group(shipped: Path) -> None:
    layer = load_named("recipe", "plain")
    assert layer.values == {"arch": {"family": "small", "width": 64}, "loop": {"max_steps": 3, "lr": 1e-4}}


def test_a_file_of_the_user_may_stand_on_a_shipped_one(shipped: Path, tmp_path: Path) -> None:
    own = tmp_path / "elsewhere" / "mine.yaml"
    own.parent.mkdir()
    own.write_text("base: [wide]\nwidth: 65\n")
    assert load_named("arch", str(own)).values == {"family": "small", "width": 65}


def test_a_circle_of_bases_is_named(shipped: Path) -> None:
    (shipped / "arch" / "one.yaml").write_text("base: [two]\n")
    (shipped / "arch" / "two.yaml").write_text("base: [one]\n")
    with pytest.raises(ConfigError, match=r"circle: one.yaml -> two.yaml -> one.yaml"):
        load_named("arch", "one")


def test_an_unknown_file_lists_what_there_is(shipped: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown arch 'widee'. Did you mean 'wide'\? Available: small, wide"):
        load_named("arch", "widee")
    with pytest.raises(MissingPathError, match=r"arch config 'widee.yaml' does not exist"):
        load_named("arch", "./widee.yaml")
    (shipped / "arch" / "lost.yaml").write_text("base: [nobody]\n")
    with pytest.raises(UnknownNameError, match=r"'nobody' in the base list of .*lost.yaml"):
        load_named("arch", "lost")


@pytest.mark.parametrize("text", ["- a\n", "a: [\n", "base: small\n", "3: x\n", "a: 1\na: 2\n"])
def test_a_file_that_is_no_mapping_is_one_clear_line(shipped: Path, text: str) -> None:
    (shipped / "arch" / "bad.yaml").write_text(text)
    with pytest.raises(ConfigError, match=r"bad.yaml") as caught:
        load_named("arch", "bad")
    assert "\n" not in str(caught.value)


def test_the_saved_config_gives_the_same_config_again(tmp_path: Path) -> None:
    run = composed(overrides=("pins=[a, b]", "loop.lr=1e-12", "note='yes'", "arch.width=3"))
    path = tmp_path / "config.yaml"
    save_config(path, run)
    assert compose(Run, (load_named("recipe", str(path)),), schema_for={"arch": choose}) == run
    plain = yaml.safe_load(path.read_text())
    assert plain["pins"] == ["a", "b"]
    assert to_plain(run)["arch"] == {"family": "small", "width": 3}
