"""What every policy must keep: a test class that each family's tests inherit, so a new family is proven by a line."""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from robotrain.batch import Batch, Observation
from robotrain.draws import Draws, compute_draws
from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.errors import ConfigError, UnknownNameError
from robotrain.models.policy import Policy
from robotrain.models.registry import ArchConfig, build, build_on_meta, count_parameters
from tests.policies import interface_of, random_batch

ARMS = (interface_of("one_arm"), interface_of("two_arms", cameras=("front", "wrist.left")))


def fresh(config: ArchConfig, interfaces: tuple[PolicyInterface, ...] = ARMS) -> Policy:
    policy = build(config, interfaces)
    torch.manual_seed(0)
    policy.initialise()
    return policy


def draws_of(interface: PolicyInterface, observation: Observation, pass_index: int = 0) -> Draws:
    return compute_draws(
        observation.keys, seed=0, pass_index=pass_index, horizon=interface.horizon, width=interface.actions.width
    )


def rows(batch: Batch, chosen: slice) -> Batch:
    seen = batch.observation
    return Batch(
        observation=dataclasses.replace(
            seen,
            images={name: image[chosen] for name, image in seen.images.items()},
            image_mask={name: mask[chosen] for name, mask in seen.image_mask.items()},
            state=seen.state[chosen],
            state_mask=seen.state_mask[chosen],
            prompts=seen.prompts[chosen],
            keys=seen.keys[chosen],
        ),
        actions=batch.actions[chosen],
        action_mask=batch.action_mask[chosen],
    )


class PolicyContract(ABC):
    """Run over a family's small config, for a body with one arm and camera and one with two of each, in one policy."""

    @pytest.fixture
    @abstractmethod
    def config(self) -> ArchConfig:
        """Return the family's small config."""

    @pytest.fixture
    def policy(self, config: ArchConfig) -> Policy:
        return fresh(config)

    @pytest.fixture(params=ARMS, ids=lambda interface: interface.embodiment)
    def interface(self, request: pytest.FixtureRequest) -> PolicyInterface:
        return request.param

    @pytest.fixture
    def batch(self, interface: PolicyInterface) -> Batch:
        return random_batch(interface, 4, floating=True)

    def test_the_loss_is_a_finite_number(self, policy: Policy, interface: PolicyInterface, batch: Batch) -> None:
        terms = policy.loss(batch, draws_of(interface, batch.observation))
        assert terms.total.ndim == 0
        assert torch.isfinite(terms.total)
        assert all(not part.requires_grad for part in terms.parts.values())

    def test_every_parameter_learns(self, policy: Policy) -> None:
        for interface in ARMS:
            batch = random_batch(interface, 4, floating=True)
            policy.loss(batch, draws_of(interface, batch.observation)).total.backward()
        without = [n for n, p in policy.named_parameters() if p.requires_grad and not _has_gradient(p.grad)]
        assert not without

    def test_a_sample_is_a_chunk_for_every_row(self, policy: Policy, interface: PolicyInterface, batch: Batch) -> None:
        chunk = policy.sample(batch.observation, draws_of(interface, batch.observation))
        assert chunk.shape == batch.actions.shape
        assert torch.isfinite(chunk).all()

    def test_the_same_draws_give_the_same_bits_and_others_do_not(
        self, policy: Policy, interface: PolicyInterface, batch: Batch
    ) -> None:
        policy.eval()
        draws, others = (draws_of(interface, batch.observation, i) for i in (0, 1))
        torch.manual_seed(1)
        first, loss = policy.sample(batch.observation, draws), policy.loss(batch, draws).total
        torch.manual_seed(2)
        assert torch.equal(first, policy.sample(batch.observation, draws))
        assert torch.equal(loss, policy.loss(batch, draws).total)
        assert not torch.equal(first, policy.sample(batch.observation, others))
        assert not torch.equal(loss, policy.loss(batch, others).total)

    def test_a_row_does_not_depend_on_the_other_rows(
        self, policy: Policy, interface: PolicyInterface, batch: Batch
    ) -> None:
        policy.eval()
        halves = [rows(batch, slice(0, 1)), rows(batch, slice(1, 4))]
        whole = policy.sample(batch.observation, draws_of(interface, batch.observation))
        parts = [policy.sample(half.observation, draws_of(interface, half.observation)) for half in halves]
        torch.testing.assert_close(torch.cat(parts), whole, rtol=0, atol=1e-6)
        losses = torch.stack([policy.loss(half, draws_of(interface, half.observation)).total for half in halves])
        mean = (losses * torch.tensor([1.0, 3.0])).sum() / 4
        torch.testing.assert_close(
            policy.loss(batch, draws_of(interface, batch.observation)).total, mean, rtol=1e-6, atol=1e-6
        )

    def test_masked_steps_do_not_teach(self, policy: Policy, interface: PolicyInterface, batch: Batch) -> None:
        policy.eval()
        mask = batch.action_mask.clone()
        mask[0] = False
        spoiled = dataclasses.replace(batch, action_mask=mask, actions=batch.actions * (1 + 9 * ~mask[..., None]))
        loss = policy.loss(spoiled, draws_of(interface, batch.observation)).total
        others = rows(batch, slice(1, 4))
        expected = policy.loss(others, draws_of(interface, others.observation)).total
        torch.testing.assert_close(loss, expected, rtol=1e-6, atol=1e-6)

    def test_what_is_absent_does_not_matter(self, policy: Policy, interface: PolicyInterface, batch: Batch) -> None:
        policy.eval()
        seen = batch.observation
        camera = interface.cameras[0]
        absent = dataclasses.replace(seen, image_mask={**seen.image_mask, camera: torch.zeros(4, dtype=torch.bool)})
        noise = torch.randn(seen.images[camera].shape, generator=torch.Generator().manual_seed(3))
        other = dataclasses.replace(absent, images={**seen.images, camera: noise})
        draws = draws_of(interface, seen)
        first = policy.sample(absent, draws)
        assert torch.isfinite(first).all()
        torch.testing.assert_close(first, policy.sample(other, draws), rtol=0, atol=1e-6)
        assert not torch.allclose(first, policy.sample(seen, draws), atol=1e-6)

    def test_nothing_but_state_is_enough(self, policy: Policy, interface: PolicyInterface, batch: Batch) -> None:
        seen = batch.observation
        bare = dataclasses.replace(
            seen,
            image_mask={camera: torch.zeros(4, dtype=torch.bool) for camera in seen.images},
            state_mask=torch.zeros_like(seen.state_mask),
            state=torch.zeros_like(seen.state),
            prompts=("",) * 4,
        )
        assert torch.isfinite(policy.sample(bare, draws_of(interface, bare))).all()

    def test_its_structure_costs_nothing_and_its_values_come_later(self, config: ArchConfig) -> None:
        structure = build_on_meta(config, ARMS)
        assert {p.device.type for p in structure.parameters()} == {"meta"}
        assert sum(count_parameters(structure).values()) == sum(p.numel() for p in structure.parameters())
        policy = structure.to_empty(device="cpu")
        for tensor in _tensors(policy):
            tensor.data.fill_(float("nan"))
        torch.manual_seed(0)
        policy.initialise()
        assert all(torch.isfinite(tensor).all() for tensor in _tensors(policy))
        batch = random_batch(ARMS[0], 2, floating=True)
        expected = fresh(config).loss(batch, draws_of(ARMS[0], batch.observation)).total
        assert torch.equal(policy.loss(batch, draws_of(ARMS[0], batch.observation)).total, expected)

    def test_it_is_built_where_torch_builds_and_nowhere_else(self, config: ArchConfig) -> None:
        with _Places() as places:
            fresh(config)
        assert places.seen == {"cpu"}
        with _Places() as places:
            build_on_meta(config, ARMS)
        assert places.seen <= {"meta"}

    def test_it_learns_one_batch_by_heart(self, config: ArchConfig) -> None:
        interface = ARMS[0]
        policy, batch = fresh(config, (interface,)), random_batch(interface, 4, floating=True)
        optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
        losses = []
        for step in range(300):
            loss = policy.loss(batch, draws_of(interface, batch.observation, step)).total
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert sum(losses[-20:]) < 0.35 * sum(losses[:20])

    def test_a_body_it_was_not_built_for_is_refused(self, policy: Policy) -> None:
        stranger = interface_of("stranger")
        batch = random_batch(stranger, 2, floating=True)
        with pytest.raises(UnknownNameError, match="Unknown embodiment 'stranger' in this policy"):
            policy.loss(batch, draws_of(stranger, batch.observation))

    def test_interfaces_that_do_not_fit_are_refused(self, config: ArchConfig) -> None:
        with pytest.raises(ConfigError, match="predicts 4 steps, but the data of 'one_arm' has chunks of 5"):
            build(config, [interface_of("one_arm", horizon=5)])
        with pytest.raises(ConfigError, match="named twice: one_arm"):
            build(config, [ARMS[0], ARMS[0]])
        with pytest.raises(ConfigError, match="no embodiment at all"):
            build(config, [])


class _Places(TorchDispatchMode):
    """Notes on which device types tensors are made."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        self.seen |= {each.device.type for each in _flat(result)}
        return result


def _flat(value: object) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _flat(each)


def _tensors(policy: Policy) -> list[Tensor]:
    return [*policy.parameters(), *policy.buffers()]


def _has_gradient(gradient: Tensor | None) -> bool:
    return gradient is not None and bool((gradient != 0).any())
