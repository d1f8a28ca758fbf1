import torch

from robotrain.draws import NUM_AUGMENT
from robotrain.training.augment import MEAN, STD, AugmentConfig, augment_images, prepare_images


def pictures() -> torch.Tensor:
    return torch.randint(0, 256, (3, 6, 8, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


def test_images_become_float_channels_first_and_standardised() -> None:
    images = pictures()
    found = prepare_images(images)
    assert found.shape == (3, 3, 6, 8)
    assert found.dtype == torch.float32
    for channel in range(3):
        expected = (images[..., channel].float() / 255 - MEAN[channel]) / STD[channel]
        torch.testing.assert_close(found[:, channel], expected)


def test_a_draw_in_the_middle_changes_nothing() -> None:
    middle = torch.full((3, NUM_AUGMENT), 0.5)
    torch.testing.assert_close(augment_images(pictures(), middle, AugmentConfig()), prepare_images(pictures()))


def test_brightness_scales_colours_and_contrast_keeps_the_mean() -> None:
    images = torch.full((2, 4, 4, 3), 100, dtype=torch.uint8)
    images[:, :2] = 50
    uniform = torch.tensor([[1.0, 0.5], [0.5, 1.0]])
    found = augment_images(images, torch.cat((uniform, torch.full((2, NUM_AUGMENT - 2), 0.5)), 1), AugmentConfig())
    raw = found * torch.tensor(STD)[:, None, None] + torch.tensor(MEAN)[:, None, None]
    torch.testing.assert_close(raw[0, 0, 0, 0], torch.tensor(50 / 255 * 1.1))
    torch.testing.assert_close(raw[1].mean(), torch.tensor(75 / 255))
    torch.testing.assert_close(raw[1, 0, 3, 0] - raw[1, 0, 0, 0], torch.tensor(50 / 255 * 1.1))


def test_each_row_has_its_own_jitter_wherever_it_stands() -> None:
    images, uniform = pictures(), torch.rand(3, NUM_AUGMENT)
    whole = augment_images(images, uniform, AugmentConfig())
    alone = augment_images(images[1:2], uniform[1:2], AugmentConfig())
    torch.testing.assert_close(whole[1:2], alone)
