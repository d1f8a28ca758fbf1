import dataclasses
import re
from typing import Any

import pytest
import torch

from robotrain.embodiments.history import History
from robotrain.errors import ConfigError
from robotrain.models.chassis import Chassis
from robotrain.models.flow import FlowConfig
from robotrain.models.hpt.config import HptConfig
from robotrain.models.layers.embeddings import sinusoid
from robotrain.models.registry import build, count_parameters
from robotrain.models.stems import StemsConfig
from tests.contracts.policy import ARMS, PolicyContract, draws_of, fresh
from tests.policies import TINY, random_batch


class TestHpt(PolicyContract):
    @pytest.fixture
    def config(self) -> HptConfig:
        return TINY


def test_stems_and_heads_belong_to_a_body_and_the_trunk_to_all() -> None:
    counts = count_parameters(build(TINY, ARMS))
    assert set(counts) == {"trunk", "stems.one_arm", "stems.two_arms", "heads.one_arm", "heads.two_arms"}
    alone = count_parameters(build(TINY, ARMS[:1]))
    assert alone == {name: counts[name] for name in alone}


def test_action_tokens_stand_in_front_and_condition_the_head() -> None:
    policy = fresh(TINY)
    assert isinstance(policy, Chassis)
    batch = random_batch(ARMS[0], 3, floating=True)
    assert policy.conditioning(batch.observation).shape == (3, TINY.action_tokens, TINY.width)


def test_the_prompt_matters_only_where_language_is_read() -> None:
    for language in ("words", "none"):
        config = dataclasses.replace(TINY, stems=dataclasses.replace(TINY.stems, language=language))
        policy, batch = fresh(config, ARMS[:1]), random_batch(ARMS[0], 3, floating=True)
        draws = draws_of(ARMS[0], batch.observation)
        told = dataclasses.replace(batch.observation, prompts=("pour the water",) * 3)
        same = torch.equal(policy.sample(batch.observation, draws), policy.sample(told, draws))
        assert same == (language == "none")


def test_dropout_drops_in_training_only() -> None:
    policy, batch = fresh(dataclasses.replace(TINY, dropout=0.5)), random_batch(ARMS[0], 3, floating=True)
    draws = draws_of(ARMS[0], batch.observation)
    first, second = (policy.loss(batch, draws).total for _ in range(2))
    assert not torch.equal(first, second)
    policy.eval()
    first, second = (policy.loss(batch, draws).total for _ in range(2))
    assert torch.equal(first, second)


@pytest.mark.parametrize(("change", "what"), [({"heads": 3}, "the trunk"), ({"width": 18}, "the trunk")])
def test_a_width_that_heads_cannot_share_is_refused(change: dict[str, int], what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        build(dataclasses.replace(TINY, **change), ARMS)


def test_positions_are_those_of_the_paper() -> None:
    codes = sinusoid(3, 4, torch.zeros(1))
    expected = torch.tensor(
        [[0, 1, 0, 1], [0.841471, 0.540302, 0.01, 0.99995], [0.909297, -0.416147, 0.019999, 0.9998]]
    )
    torch.testing.assert_close(codes, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 0}, "arch.width must be at least 1, found 0"),
        ({"heads": 0}, "arch.heads must be at least 1, found 0"),
        ({"depth": -1}, "arch.depth must be at least 1, found -1"),
        ({"flow": FlowConfig(num_steps=0)}, "arch.flow.num_steps must be at least 1, found 0"),
        ({"stems": StemsConfig(keypoints=0)}, "arch.stems.keypoints must be at least 1, found 0"),
        ({"stems": StemsConfig(image_channels=())}, "arch.stems.image_channels must hold at least 1 number"),
        ({"stems": StemsConfig(image_channels=(16, 0))}, "arch.stems.image_channels must be at least 1, found 0"),
        ({"dropout": 2.0}, "arch.dropout must be at least 0 and below 1, found 2.0"),
    ],
)
def test_a_size_that_builds_no_policy_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        build(dataclasses.replace(TINY, **changes), ARMS)


def test_a_history_is_refused_naming_the_arch_and_the_data() -> None:
    interface = dataclasses.replace(ARMS[0], history=History(steps=3))
    with pytest.raises(ConfigError, match=r"'test_tiny' reads one state, .* 'one_arm' has histories of 3"):
        build(TINY, [interface])
