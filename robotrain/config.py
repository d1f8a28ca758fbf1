"""The one door of configuration: named YAML files, overrides and schemas in, frozen dataclasses out.

Knows files, layers and types; refuses to know what any setting means, or which family owns which schema (the stage
hands that in). Past this door nothing sees OmegaConf.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from omegaconf import DictConfig, OmegaConf, read_write
from omegaconf.errors import ConfigKeyError, OmegaConfBaseException

from robotrain.errors import ConfigError, MissingPathError, UnknownNameError
from robotrain.files import write_text

T = TypeVar("T")
Plain = dict[str, Any]
SchemaFor = Mapping[str, Callable[[Mapping[str, Any]], type]]
"""By key of an untyped group: the function that picks the group's dataclass from its values."""

SUFFIXES = (".yaml", ".yml")


@dataclasses.dataclass(frozen=True)
class Layer:
    """Values on their way into a config, and where they come from, for error messages."""

    where: str
    values: Mapping[str, Any]

    def under(self, key: str) -> "Layer":
        """Return the layer one level deeper, below ``key``."""
        return Layer(self.where, {key: self.values})

    def without(self, *keys: str) -> "Layer":
        """Return the layer without these top-level keys."""
        return Layer(self.where, {key: value for key, value in self.values.items() if key not in keys})


def configs_dir() -> Path:
    """Return the folder of shipped YAMLs: inside the package in a wheel, beside it in a checkout."""
    package = Path(__file__).parent
    inside = package / "configs"
    return inside if inside.is_dir() else package.parent / "configs"


def config_names(group: str) -> tuple[str, ...]:
    """Return the names of the shipped configs of a group, sorted."""
    return tuple(sorted(path.stem for path in (configs_dir() / group).glob("*.yaml")))


def is_path(spec: str) -> bool:
    """Tell whether a value means a path rather than a shipped name."""
    return spec.endswith(SUFFIXES) or "/" in spec or spec.startswith((".", "~"))


def load_named(group: str, spec: str) -> Layer:
    """Read a shipped config by its name, or any YAML file by its path, with all its bases.

    Raises:
        UnknownNameError: when no config of that group has the name.
        MissingPathError: when the path does not exist.
        ConfigError: when the file is no mapping, or its bases form a circle.
    """
    if is_path(spec):
        path = Path(spec).expanduser()
        if not path.is_file():
            raise MissingPathError(path, f"The {group} config")
    else:
        path = configs_dir() / group / f"{spec}.yaml"
        if not path.is_file():
            raise UnknownNameError(group, spec, config_names(group))
    return Layer(str(path), _load_file(path, group, ()))


def compose(
    schema: type[T], layers: Sequence[Layer], *, overrides: Sequence[str] = (), schema_for: SchemaFor | None = None
) -> T:
    """Lay the layers over the schema's defaults, then the overrides, and return the frozen dataclass.

    Args:
        schema: the config's dataclass.
        layers: from the most general to the most particular.
        overrides: ``KEY=VALUE`` texts with dotted keys and YAML values.
        schema_for: for each untyped group of the schema, how its dataclass follows from its values.

    Raises:
        UnknownNameError: for a key that the schema lacks.
        ConfigError: for a value of the wrong type, or a config that contradicts itself.
    """
    stack = [*layers]
    if overrides:
        stack.append(parse_overrides(overrides))
    config = OmegaConf.structured(schema)
    OmegaConf.set_readonly(config, value=False)  # a frozen schema; the result of the door is frozen again
    merged: Plain = {}
    for layer in stack:
        merged = _merge(merged, layer.values)
    for key, choose in (schema_for or {}).items():
        values = merged.get(key)
        if not isinstance(values, Mapping):
            raise ConfigError(f"'{key}' must name a config or hold settings, found {values!r}.")
        OmegaConf.update(config, key, OmegaConf.structured(choose(values)), merge=False)
    for layer in stack:
        config = _lay(config, layer)
    try:
        return OmegaConf.to_object(config)  # pyright: ignore[reportReturnType]  # the schema's own type
    except OmegaConfBaseException as problem:
        raise ConfigError(_first_line(problem)) from None


def parse_overrides(overrides: Sequence[str]) -> Layer:
    """Read ``KEY=VALUE`` texts: dotted keys, YAML values (``1e-4`` is a number, ``[a, b]`` a list, ``null`` nothing).

    Raises:
        ConfigError: for a text of another form, or one key given twice.
    """
    values: Plain = {}
    seen: set[str] = set()
    for text in overrides:
        key, equals, _ = text.partition("=")
        if not equals or not all(_is_key(part) for part in key.split(".")):
            raise ConfigError(f"'{text}' is not of the form KEY=VALUE, for example trainer.max_steps=100.")
        if key in seen:
            raise ConfigError(f"'{key}' is given twice.")
        seen.add(key)
        try:
            parsed = OmegaConf.to_container(OmegaConf.from_dotlist([text]))
        except (yaml.YAMLError, OmegaConfBaseException) as problem:
            raise ConfigError(f"The value of '{text}' cannot be read: {_first_line(problem)}.") from None
        values = _merge(values, parsed)  # pyright: ignore[reportArgumentType]  # a dot list gives a mapping
    return Layer("the command line", values)


def _is_key(part: str) -> bool:
    return part.replace("-", "_").isidentifier()  # the codes of findings are keys too, and have hyphens


def to_plain(config: Any) -> Plain:
    """Return a config dataclass as plain data: dictionaries, lists, texts, numbers, booleans, None."""
    return _listed(OmegaConf.to_container(OmegaConf.structured(config), resolve=True))


def to_yaml(config: Any) -> str:
    """Return a config dataclass as YAML of plain data, in the order of its fields."""
    return yaml.safe_dump(to_plain(config), sort_keys=False, allow_unicode=True, width=120)


def save_config(path: Path, config: Any) -> None:
    """Write a resolved config as YAML, atomically. `load_named` reads it back."""
    write_text(path, to_yaml(config))


def _load_file(path: Path, group: str, above: tuple[Path, ...]) -> Plain:
    path = path.resolve()
    if path in above:
        names = " -> ".join(each.name for each in (*above[above.index(path) :], path))
        raise ConfigError(f"The bases of '{path}' form a circle: {names}.")
    values = _read_yaml(path)
    bases = values.pop("base", [])
    if not isinstance(bases, list) or not all(isinstance(entry, str) for entry in bases):
        raise ConfigError(f"'base' in '{path}' must be a list of names, found {bases!r}.")
    merged: Plain = {}
    for entry in bases:
        folder, slash, name = entry.rpartition("/")
        base_path = _base_path(path, entry, folder or group, name)
        below = _load_file(base_path, folder or group, (*above, path))
        merged = _merge(merged, {folder: below} if slash else below)
    return _merge(merged, values)


def _base_path(path: Path, entry: str, group: str, name: str) -> Path:
    """Find a base: a sibling of the file first (for a name without a group), then the shipped one."""
    sibling = path.parent / f"{name}.yaml"
    if "/" not in entry and sibling.is_file():
        return sibling
    shipped = configs_dir() / group / f"{name}.yaml"
    if not shipped.is_file():
        raise UnknownNameError(group, name, config_names(group), where=f"the base list of '{path}'")
    return shipped


def _read_yaml(path: Path) -> Plain:
    try:
        values = OmegaConf.to_container(OmegaConf.load(path))
    except (yaml.YAMLError, OmegaConfBaseException, UnicodeDecodeError, OSError) as problem:
        raise ConfigError(f"'{path}' cannot be read as YAML: {_first_line(problem)}.") from None
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise ConfigError(f"'{path}' must be a mapping of settings.")
    return values  # pyright: ignore[reportReturnType]  # its keys are texts, as just checked


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> Plain:
    """Return both mappings as one; where both hold a mapping they merge, elsewhere ``above`` wins."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = _merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def _lay(config: DictConfig, layer: Layer) -> DictConfig:
    for key, value in layer.values.items():
        if OmegaConf.is_dict(config.get(key) if key in config else None) and not isinstance(value, Mapping):
            raise ConfigError(f"'{key}' in {layer.where} is a group of settings; name one of them: {key}.KEY={value}.")
    try:
        _make_room(config, layer.values)
        return OmegaConf.merge(config, layer.values)  # pyright: ignore[reportReturnType]  # a mapping over a mapping
    except ConfigKeyError as problem:
        raise UnknownNameError(
            "key", problem.full_key or "?", _known_keys(config, problem), where=layer.where
        ) from None
    except OmegaConfBaseException as problem:
        place = f"'{problem.full_key}' in " if problem.full_key else ""
        raise ConfigError(f"{place}{layer.where}: {_first_line(problem)}") from None


def _make_room(config: DictConfig, values: Mapping[str, Any]) -> None:
    """Empty what a value of another kind comes over, mapping over list or the reverse, where the schema lets it."""
    for key, value in values.items():
        below = config.get(key) if key in config else None
        is_mapping = isinstance(value, Mapping)
        if is_mapping and isinstance(below, DictConfig):
            _make_room(below, value)
        elif OmegaConf.is_config(below) and (is_mapping or (OmegaConf.is_dict(below) and isinstance(value, list))):
            with read_write(config):  # what comes of a frozen dataclass is read-only
                config[key] = {} if is_mapping else []


def _known_keys(config: DictConfig, problem: ConfigKeyError) -> tuple[str, ...]:
    """Return every dotted key of a config, the neighbours of the unknown one first."""
    prefix = (problem.full_key or "").rpartition(".")[0]
    keys = _dotted_keys(OmegaConf.to_container(config, resolve=False, throw_on_missing=False), "")
    beside = [key for key in keys if key.rpartition(".")[0] == prefix]
    return (*beside, *(key for key in keys if key not in beside))


def _dotted_keys(values: Any, prefix: str) -> list[str]:
    """Return the dotted keys of a tree, groups before what they hold."""
    found: list[str] = []
    for key, value in values.items() if isinstance(values, Mapping) else ():
        name = f"{prefix}.{key}" if prefix else str(key)
        found += [name, *_dotted_keys(value, name)]
    return found


def _listed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _listed(each) for key, each in value.items()}
    return [_listed(each) for each in value] if isinstance(value, list | tuple) else value


def _first_line(problem: BaseException) -> str:
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else type(problem).__name__
