import dataclasses

import pytest
import torch

from robotrain.batch import Batch
from robotrain.errors import UnknownNameError
from robotrain.training.module import VALID_PASS, Learning, PolicyModule, build_module
from tests.contracts.policy import ARMS
from tests.policies import TINY, interface_of, random_batch, subject_of


def module_of(seed: int = 0) -> PolicyModule:
    learning = Learning(seed=seed)
    return build_module(TINY, [subject_of(each) for each in ARMS], learning=learning, config={"name": "test"}).eval()


def test_a_prediction_is_in_raw_units() -> None:
    subject = subject_of(ARMS[0], centre=100.0, scale=0.0)
    module = build_module(TINY, [subject], learning=Learning(), config={}).eval()
    observation = random_batch(ARMS[0], 2).observation
    predicted = module.predict(observation, module.draws(observation, seed=0, pass_index=0))
    assert predicted.dtype == torch.float32
    torch.testing.assert_close(predicted, torch.full((2, 4, ARMS[0].actions.width), 100.0))
    assert not predicted.requires_grad


@pytest.mark.parametrize("interface", ARMS, ids=lambda interface: interface.embodiment)
def test_one_policy_serves_two_bodies(interface) -> None:
    module, batch = module_of(), random_batch(interface, 3)
    draws = module.draws(batch.observation, seed=0, pass_index=VALID_PASS)
    assert module.predict(batch.observation, draws).shape == batch.actions.shape


def test_the_seed_decides_the_starting_values_and_nothing_else_does() -> None:
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    first = module_of().state_dict()
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.manual_seed(6)
    second, other = module_of().state_dict(), module_of(seed=1).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)


def test_the_raw_batch_is_left_as_it_was() -> None:
    module, batch = module_of(), random_batch(ARMS[0], 3)
    copy = dataclasses.replace(batch, actions=batch.actions.clone())
    module.predict(batch.observation, module.draws(batch.observation, seed=0, pass_index=0))
    assert torch.equal(batch.actions, copy.actions)
    assert batch.observation.images["front"].dtype == torch.uint8


def test_a_stranger_is_refused() -> None:
    module, batch = module_of(), random_batch(interface_of("stranger"), 2)
    with pytest.raises(UnknownNameError, match="'stranger' in this policy"):
        module.draws(batch.observation, seed=0, pass_index=0)
    with pytest.raises(UnknownNameError, match="'stranger' in this policy"):
        module.normalizer("stranger")


def test_the_record_says_what_the_weights_mean() -> None:
    checkpoint: dict[str, object] = {}
    module_of().on_save_checkpoint(checkpoint)
    record = checkpoint["robotrain"]
    assert isinstance(record, dict)
    assert set(record) == {"schema_version", "arch", "config", "interfaces", "stats"}
    assert set(record["interfaces"]) == {"one_arm", "two_arms"}


def test_it_is_built_on_the_cpu_and_keeps_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    module = module_of()
    assert {tensor.device.type for tensor in module.state_dict().values()} == {"cpu"}
    stored = [name for name, value in vars(module).items() if isinstance(value, torch.device) and name != "_device"]
    assert not stored
    assert isinstance(random_batch(ARMS[0], 1), Batch)
