from typing import Literal

import numpy as np
import pytest
import torch
from scipy import stats

from robotrain.models.flow import FlowConfig, flow_error, flow_point, flow_sample, flow_times
from robotrain.models.layers.embeddings import time_embedding


def test_times_are_distributed_as_the_formula_says() -> None:
    uniform = torch.from_numpy(np.random.default_rng(0).random(20_000, np.float32))
    times = flow_times(uniform).numpy()
    assert times.min() >= 0.001
    assert times.max() < 1
    assert abs(times.mean() - 0.6004) < 0.005
    assert stats.kstest((times - 0.001) / 0.999, stats.beta(1.5, 1).cdf).pvalue > 0.01


def test_time_is_told_as_the_check_value_says() -> None:
    found = time_embedding(torch.tensor([0.5], dtype=torch.float64), 8)
    expected = torch.tensor([[-3.1e-05, 6.2e-06, 1, 0.70711, 1, -1, -2.2e-06, 0.70711]], dtype=torch.float64)
    torch.testing.assert_close(found, expected, rtol=0, atol=3e-5)


def test_the_road_begins_at_the_action_and_ends_at_the_noise() -> None:
    actions, noise = torch.randn(2, 3, 4), torch.randn(2, 3, 4)
    for time, expected in ((0.0, actions), (1.0, noise)):
        x, target = flow_point(actions, noise, torch.full((2,), time))
        torch.testing.assert_close(x, expected)
        torch.testing.assert_close(target, noise - actions)


@pytest.mark.parametrize("predicts", ["direction", "action"])
def test_euler_takes_the_steps_from_one_to_zero_and_finds_the_action(predicts: Literal["direction", "action"]) -> None:
    action, noise, seen = torch.randn(2, 3, 4), torch.randn(2, 3, 4), []

    def network(x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        seen.append(round(float(time[0]), 6))
        return action if predicts == "action" else (x - action) / time[:, None, None]

    config = FlowConfig(predicts=predicts, num_steps=4)
    found = flow_sample(network, noise, config)
    assert seen == [1.0, 0.75, 0.5, 0.25]
    torch.testing.assert_close(found, action, rtol=0, atol=1e-5)
    error = flow_error(network, action, noise, torch.tensor([0.3, 0.9]), config)
    torch.testing.assert_close(error, torch.zeros_like(error), rtol=0, atol=1e-8)


def test_the_two_answers_differ_by_the_square_of_time() -> None:
    action, noise, guess = (torch.randn(2, 3, 4) for _ in range(3))
    time = torch.tensor([0.3, 0.9])
    x, _ = flow_point(action, noise, time)
    direction = flow_error(lambda *_: (x - guess) / time[:, None, None], action, noise, time, FlowConfig())
    end = flow_error(lambda *_: guess, action, noise, time, FlowConfig(predicts="action"))
    torch.testing.assert_close(end, direction * time[:, None, None] ** 2)
