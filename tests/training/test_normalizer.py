import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from robotrain.errors import StatsError
from robotrain.training.normalizer import Affine, Normalizer
from tests.policies import interface_of

INTERFACE = interface_of("robot")
H, D, S = INTERFACE.horizon, INTERFACE.actions.width, INTERFACE.state.width


def affine(**changed: np.ndarray) -> Affine:
    rng = np.random.default_rng(0)
    numbers = {
        "action_centre": rng.normal(size=(H, D)),
        "action_scale": rng.uniform(0.1, 2, (H, D)),
        "state_centre": rng.normal(size=S),
        "state_scale": rng.uniform(0.1, 2, S),
    }
    return Affine(**{**numbers, **changed})


@given(st.integers(0, 2**31), st.floats(1e-3, 1e3))
def test_inverting_gives_back_what_was_normalised(seed: int, size: float) -> None:
    normalizer = Normalizer(INTERFACE, affine())
    raw = torch.from_numpy(np.random.default_rng(seed).normal(size=(3, H, D)).astype(np.float32) * size)
    back = normalizer.invert_actions(normalizer.normalize_actions(raw))
    torch.testing.assert_close(back, raw, rtol=1e-5, atol=1e-5)


def test_a_constant_column_normalises_to_zero_and_inverts_to_its_centre() -> None:
    scale = np.ones((H, D))
    scale[0] = 0
    normalizer = Normalizer(INTERFACE, affine(action_scale=scale))
    normalised = normalizer.normalize_actions(torch.full((2, H, D), 5.0))
    assert (normalised[:, 0] == 0).all()
    back = normalizer.invert_actions(torch.full((2, H, D), 7.0))
    torch.testing.assert_close(back[:, 0], normalizer.action_centre[0].expand(2, -1))


def test_a_missing_hand_is_zero_whatever_the_column_holds() -> None:
    normalizer = Normalizer(INTERFACE, affine(state_scale=np.array([1, 0, 1, 1.0])))
    mask = torch.tensor([[True, True, False, False]])
    state = normalizer.normalize_state(torch.full((1, S), 9.0), mask)
    assert state[0, 0] != 0
    assert (state[0, 1:] == 0).all()


def test_numbers_that_do_not_fit_are_refused() -> None:
    with pytest.raises(StatsError, match=r"action_scale has shape \(2, 2\), expected \(4, 4\)"):
        Normalizer(INTERFACE, affine(action_scale=np.ones((2, 2))))
    for name, value in (("state_scale", -1.0), ("state_centre", np.nan)):
        with pytest.raises(StatsError, match=f"{name} has a number that cannot be used"):
            Normalizer(INTERFACE, affine(**{name: np.full(S, value)}))


def test_its_numbers_travel_with_the_module() -> None:
    normalizer, other = Normalizer(INTERFACE, affine()), Normalizer(INTERFACE)
    other.load_state_dict(normalizer.state_dict())
    torch.testing.assert_close(other.action_scale, normalizer.action_scale)
    assert set(normalizer.state_dict()) == {"action_centre", "action_scale", "state_centre", "state_scale"}
