import dataclasses

import pytest

from robotrain.errors import UnknownNameError
from robotrain.models.registry import FAMILIES, available, build_on_meta, config_from_plain, config_type
from tests.contracts.policy import ARMS
from tests.policies import TINY_CONFIGS


def test_every_family_has_a_small_config_that_is_proven() -> None:
    assert set(TINY_CONFIGS) == set(available()) == set(FAMILIES)


@pytest.mark.parametrize("family", available())
def test_a_config_survives_being_plain_data(family: str) -> None:
    config = TINY_CONFIGS[family]
    assert isinstance(config, config_type(family))
    plain = dataclasses.asdict(config)
    plain["stems"]["image_channels"] = list(plain["stems"]["image_channels"])  # as JSON and checkpoints hold it
    assert config_from_plain(plain) == config


def test_an_unknown_family_is_told_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown model family 'htp'.*Did you mean 'hpt'"):
        config_type("htp")


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(TypeError, match="widht"):
        config_from_plain({**dataclasses.asdict(TINY_CONFIGS["hpt"]), "widht": 3})


def test_structures_are_built_without_memory() -> None:
    policy = build_on_meta(TINY_CONFIGS["hpt"], ARMS)
    assert all(parameter.is_meta for parameter in policy.parameters())
