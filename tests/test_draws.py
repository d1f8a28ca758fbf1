import numpy as np
import torch

from robotrain.draws import compute_draws

KEYS = (("a", 0), ("a", 1), ("b", 0))


def _noise(keys: tuple[tuple[str, int], ...], *, seed: int = 0, pass_index: int = 0) -> torch.Tensor:
    return compute_draws(keys, seed=seed, pass_index=pass_index, horizon=4, width=3).noise


def test_a_row_has_the_same_draws_in_any_batch() -> None:
    together = _noise(KEYS)
    alone = torch.cat([_noise((key,)) for key in KEYS])
    assert torch.equal(together, alone)


def test_seed_pass_episode_and_frame_each_change_the_draws() -> None:
    first = _noise((("a", 0),))
    others = [
        _noise((("a", 0),), seed=1),
        _noise((("a", 0),), pass_index=1),
        _noise((("b", 0),)),
        _noise((("a", 1),)),
    ]
    assert not any(torch.equal(first, other) for other in others)


def test_draws_have_the_distributions_they_promise() -> None:
    keys = tuple(("episode", frame) for frame in range(2000))
    draws = compute_draws(keys, seed=3, pass_index=0, horizon=5, width=4)
    assert draws.noise.dtype == draws.time.dtype == draws.augment.dtype == torch.float32
    noise, time = draws.noise.numpy(), draws.time.numpy()
    assert abs(noise.mean()) < 0.02
    assert abs(noise.std() - 1) < 0.02
    assert time.min() >= 0
    assert time.max() < 1
    assert abs(time.mean() - 0.5) < 0.02
    assert abs(np.corrcoef(noise[:, 0, 0], noise[:, 0, 1])[0, 1]) < 0.08
