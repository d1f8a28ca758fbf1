import torch

from robotrain.models.policy import masked_mean


def test_the_mean_is_over_real_steps_and_then_over_samples() -> None:
    error = torch.tensor([[[1.0, 3.0], [100.0, 100.0]], [[4.0, 4.0], [6.0, 6.0]]])
    mask = torch.tensor([[True, False], [True, True]])
    assert masked_mean(error, mask) == (2.0 + 5.0) / 2


def test_a_sample_without_a_real_step_does_not_count() -> None:
    error = torch.ones(2, 2, 3)
    mask = torch.tensor([[True, True], [False, False]])
    assert masked_mean(error, mask) == 1.0
    assert masked_mean(error, torch.zeros(2, 2, dtype=torch.bool)) == 0.0
