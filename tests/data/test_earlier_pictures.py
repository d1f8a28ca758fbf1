"""A second picture of each camera, a gap in seconds back (#678): which frame it is, when it counts, who reads it."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from robotrain.data.dataset import WindowDataset
from robotrain.data.pipeline import Pipeline, build_pipeline
from robotrain.embodiments.catalog import embodiment_of
from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.embodiments.history import History
from robotrain.episodes.reader import open_episode
from robotrain.episodes.schema import read_facts
from robotrain.errors import ConfigError
from robotrain.models.registry import build, build_on_meta, count_parameters
from tests.factories import make_eva_episode
from tests.policies import TINY

CAMERAS = ("front_1", "left_wrist")
BACK = History(image_seconds=0.1)


def pipeline_of(history: History = BACK) -> Pipeline:
    return build_pipeline(embodiment_of("eva_bimanual", {}), horizon=4, seconds=0.1, history=history)


def test_it_is_the_picture_of_so_long_before_through_each_episodes_own_rate(tmp_path: Path) -> None:
    slow = make_eva_episode(tmp_path / "slow.zarr", num_frames=9)
    fast = make_eva_episode(tmp_path / "fast.zarr", num_frames=9, fps=60, seed=1)
    dataset = WindowDataset([read_facts(slow), read_facts(fast)], pipeline_of(), CAMERAS)
    seen = dataset.batch([("slow", 5), ("fast", 7), ("slow", 3)]).observation
    assert tuple(seen.images) == dataset.interface.views
    assert dataset.interface.views == (*CAMERAS, "front_1.before", "left_wrist.before")
    for camera in CAMERAS:
        for row, (path, frame) in enumerate(((slow, 2), (fast, 1), (slow, 0))):
            np.testing.assert_array_equal(seen.images[f"{camera}.before"][row], open_episode(path).image(camera, frame))
        assert seen.image_mask[f"{camera}.before"].all()
        assert not torch.equal(seen.images[camera], seen.images[f"{camera}.before"])


def test_before_the_first_frame_it_is_the_first_and_absent(tmp_path: Path) -> None:
    path = make_eva_episode(tmp_path / "e.zarr", num_frames=9)
    dataset = WindowDataset([read_facts(path)], pipeline_of(), CAMERAS)
    seen = dataset.batch([("e", 0), ("e", 2), ("e", 3)]).observation
    assert seen.image_mask["front_1.before"].tolist() == [False, False, True]
    first = open_episode(path).image("front_1", 0)
    for row in range(3):
        np.testing.assert_array_equal(seen.images["front_1.before"][row], first)
    assert seen.image_mask["front_1"].all()


def test_a_camera_that_an_episode_lacks_has_no_earlier_picture_either(tmp_path: Path) -> None:
    whole = make_eva_episode(tmp_path / "whole.zarr", num_frames=9)
    front = make_eva_episode(tmp_path / "front.zarr", num_frames=9, cameras=("front_1",))
    dataset = WindowDataset([read_facts(whole), read_facts(front)], pipeline_of(), CAMERAS)
    seen = dataset.batch([("whole", 5), ("front", 5)]).observation
    assert seen.image_mask["left_wrist.before"].tolist() == [True, False]
    assert not seen.images["left_wrist.before"][1].any()


def test_without_a_gap_nothing_changes(tmp_path: Path) -> None:
    path = make_eva_episode(tmp_path / "e.zarr", num_frames=9)
    plain = WindowDataset([read_facts(path)], pipeline_of(History()), CAMERAS)
    assert plain.interface.views == plain.interface.cameras == CAMERAS
    assert tuple(plain.batch([("e", 5)]).observation.images) == CAMERAS


def test_it_stands_beside_a_history_of_states_and_travels() -> None:
    interface = pipeline_of(History(steps=2, image_seconds=0.5)).interface(CAMERAS)
    assert PolicyInterface.from_plain(interface.to_plain()) == interface
    assert interface.history.steps == 2
    assert pipeline_of().recipe() == pipeline_of(History()).recipe()


def test_an_arch_has_a_stem_for_each_picture_and_reads_it(tmp_path: Path) -> None:
    interface = pipeline_of().interface(CAMERAS)
    plain = dataclasses.replace(interface, history=History())
    one, two = (sum(count_parameters(build_on_meta(TINY, [each])).values()) for each in (plain, interface))
    names = [name for name in build_on_meta(TINY, [interface]).state_dict() if "before" in name]
    assert names
    assert two > one
    path = make_eva_episode(tmp_path / "e.zarr", num_frames=9)
    raw = WindowDataset([read_facts(path)], pipeline_of(), CAMERAS).batch([("e", 5)]).observation
    images = {view: image.permute(0, 3, 1, 2).float() / 255 for view, image in raw.images.items()}
    policy = build(TINY, [interface])
    policy.initialise()
    seen = dataclasses.replace(raw, images=images)
    dark = dataclasses.replace(seen, images={**images, "front_1.before": torch.zeros_like(images["front_1"])})
    assert not torch.equal(policy.conditioning(seen), policy.conditioning(dark))  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize("seconds", [0.0, -1.0, 1e6, float("nan")])
def test_a_gap_that_is_none_is_refused(seconds: float) -> None:
    with pytest.raises(ConfigError, match=r"data\.history\.image_seconds must be above 0"):
        History(image_seconds=seconds)
