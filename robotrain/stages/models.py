"""Stage: the archs of configs/arch and their sizes, counted on structures without values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from robotrain.config import Layer, compose, config_names, load_named, to_plain
from robotrain.data.pipeline import build_pipeline
from robotrain.embodiments.catalog import available, embodiment_of
from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.errors import ConfigError
from robotrain.models.registry import build_on_meta, config_type, count_parameters


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelsConfig:
    """Which archs to tell about."""

    name: str | None = None
    """One arch, part by part; None tells about all."""


@dataclass(frozen=True)
class ModelsReport:
    """Archs and their parameters by embodiment."""

    archs: Mapping[str, Any]
    """By name: the config dataclass."""
    parameters: Mapping[str, Mapping[str, Mapping[str, int]]]
    """By arch, embodiment and part: number of parameters."""

    def to_plain(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            name: {
                "config": to_plain(arch),
                "parameters": {
                    body: {**parts, "total": sum(parts.values())} for body, parts in self.parameters[name].items()
                },
            }
            for name, arch in self.archs.items()
        }


def run(config: ModelsConfig) -> ModelsReport:
    """Build the structure of every arch for every embodiment of the catalog, default mode, all cameras.

    Raises:
        UnknownNameError: when there is no arch of that name.
    """
    names = (config.name,) if config.name is not None else config_names("arch")
    archs = {name: resolve_arch(load_named("arch", name)) for name in names}
    return ModelsReport(archs, {name: _parameters(arch) for name, arch in archs.items()})


def resolve_arch(layer: Layer) -> Any:
    """Return the config dataclass of an arch's YAML; its ``family`` picks the schema.

    Raises:
        ConfigError: when it names no family.
        UnknownNameError: when there is no such family, or no such setting in it.
    """
    return compose(arch_schema(layer.values), (layer,))


def arch_schema(values: Mapping[str, Any]) -> type:
    """Return the config dataclass that an arch's values are of.

    Raises:
        ConfigError: when they name no family.
        UnknownNameError: when there is no such family.
    """
    family = values.get("family")
    if not isinstance(family, str):
        raise ConfigError("The arch does not say its family, for example 'family: hpt'.")
    return config_type(family)


def catalog_interface(embodiment: str, horizon: int) -> PolicyInterface:
    """Return the interface of an embodiment of the catalog: default mode, all cameras."""
    return build_pipeline(embodiment_of(embodiment, {}), horizon=horizon).interface()


def _parameters(arch: Any) -> dict[str, dict[str, int]]:
    return {
        body: count_parameters(build_on_meta(arch, [catalog_interface(body, arch.horizon)])) for body in available()
    }
