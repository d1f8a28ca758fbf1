"""Every family of policies: one visible table, one row a family.

Knows names, config types and builders; refuses to know how a policy is trained.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any, get_type_hints

import torch
from torch import nn

from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.errors import ConfigError, UnknownNameError
from robotrain.models.hpt.config import HptConfig
from robotrain.models.hpt.policy import build_hpt
from robotrain.models.policy import Policy

ArchConfig = HptConfig
"""Any family's config; a union once there are more."""


@dataclass(frozen=True)
class Family:
    """A row of the table."""

    config: type[ArchConfig]
    build: Callable[[Any, Sequence[PolicyInterface]], Policy]


FAMILIES: Mapping[str, Family] = {
    "hpt": Family(HptConfig, build_hpt),
}


def available() -> tuple[str, ...]:
    """Return the names of all families."""
    return tuple(FAMILIES)


def config_type(family: str) -> type[ArchConfig]:
    """Return the config dataclass of a family.

    Raises:
        UnknownNameError: when there is no such family.
    """
    return _row(family).config


def config_from_plain(plain: Mapping[str, Any]) -> ArchConfig:
    """Return the config of a family from plain data, as a checkpoint records it.

    Raises:
        UnknownNameError: when there is no such family.
        TypeError: when a setting is missing or unknown.
    """
    return _from_plain(config_type(str(plain.get("family"))), plain)


def build(config: ArchConfig, interfaces: Sequence[PolicyInterface]) -> Policy:
    """Return a policy's structure, on whatever device is torch's default; `Policy.initialise` gives it values.

    Raises:
        ConfigError: when the interfaces do not fit the config or each other.
    """
    if not interfaces:
        raise ConfigError(f"Arch '{config.name}' cannot be built for no embodiment at all.")
    names = [interface.embodiment for interface in interfaces]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ConfigError(f"Arch '{config.name}': these embodiments are named twice: {', '.join(twice)}.")
    for interface in interfaces:
        if interface.horizon != config.horizon:
            raise ConfigError(
                f"Arch '{config.name}' predicts {config.horizon} steps, but the data of '{interface.embodiment}' "
                f"has chunks of {interface.horizon}."
            )
    return _row(config.family).build(config, interfaces)


def build_on_meta(config: ArchConfig, interfaces: Sequence[PolicyInterface]) -> Policy:
    """Return a policy's structure without a single value, on the meta device: to count, at no cost.

    Raises:
        ConfigError: as `build`.
    """
    with torch.device("meta"):
        return build(config, interfaces)


def count_parameters(policy: nn.Module) -> dict[str, int]:
    """Return the number of parameters of each part: the trunk, and stems and head of each embodiment.

    Works on the meta device. A part is a child of the policy, or a child of such a child where that is keyed by
    embodiment: ``trunk``, ``stems.eva_bimanual``, ``heads.eva_bimanual``.
    """
    counts: dict[str, int] = {}
    for name, parameter in policy.named_parameters():
        child = name.split(".")[0]
        keyed = isinstance(getattr(policy, child), nn.ModuleDict)
        part = ".".join(name.split(".")[: 2 if keyed else 1])
        counts[part] = counts.get(part, 0) + parameter.numel()
    return counts


def _row(family: str) -> Family:
    if family not in FAMILIES:
        raise UnknownNameError("model family", family, available())
    return FAMILIES[family]


def _from_plain(kind: type[Any], plain: Mapping[str, Any]) -> Any:
    """Build a config dataclass of plain data: nested configs from mappings, tuples from lists."""
    types = get_type_hints(kind)
    values = {}
    for name, value in plain.items():
        if isinstance(value, Mapping) and is_dataclass(types.get(name)):
            values[name] = _from_plain(types[name], value)
        else:
            values[name] = tuple(value) if isinstance(value, list) else value
    return kind(**values)
