import itertools
import math
from typing import Any

import pytest
import torch
from torch import nn

from robotrain.errors import ConfigError
from robotrain.training.optim import OptimConfig, build_optimizer, rate_factor

CONFIG = OptimConfig(lr=0.5, warmup_steps=4, final_fraction=0.1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lr", -1.0),
        ("lr", math.nan),
        ("lr", math.inf),
        ("weight_decay", -0.1),
        ("warmup_steps", -4),
        ("final_fraction", -0.5),
        ("beta1", 1.0),
        ("beta2", -0.1),
    ],
)
def test_a_number_that_no_optimiser_takes_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"trainer.optim.{name} must be .*, found {value}"):
        OptimConfig(**{name: value})


def test_the_rate_warms_up_and_comes_down() -> None:
    factors = [rate_factor(step, CONFIG, 24) for step in range(25)]
    assert factors[:4] == [0.25, 0.5, 0.75, 1.0]
    assert factors[4] == 1.0
    assert factors[14] == pytest.approx(0.55)
    assert factors[24] == pytest.approx(0.1)
    assert all(later <= earlier for earlier, later in itertools.pairwise(factors[4:]))


def test_steps_beyond_the_last_keep_the_last_rate() -> None:
    assert rate_factor(99, CONFIG, 24) == pytest.approx(0.1)


def test_no_warm_up_starts_at_the_top() -> None:
    assert rate_factor(0, OptimConfig(warmup_steps=0), 10) == 1.0


def test_matrices_decay_and_vectors_do_not() -> None:
    module = nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3))
    optimizer, schedule = build_optimizer(module, OptimConfig(weight_decay=0.2), 10)
    decaying, resting = optimizer.param_groups
    assert [p.ndim for p in decaying["params"]] == [2]
    assert [p.ndim for p in resting["params"]] == [1, 1, 1]
    assert (decaying["weight_decay"], resting["weight_decay"]) == (0.2, 0.0)
    assert optimizer.param_groups[0]["lr"] == pytest.approx(1e-3 / 50)
    module(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    schedule.step()
    assert optimizer.param_groups[0]["lr"] == pytest.approx(2e-3 / 50)
