import dataclasses
from pathlib import Path

import numpy as np
import pytest

from robotrain.data.exact_stats import compute_stats
from robotrain.data.pipeline import Pipeline, build_pipeline
from robotrain.data.stats import Stats
from robotrain.embodiments.catalog import embodiment_of
from robotrain.embodiments.layout import Field, Layout
from robotrain.episodes.reader import Episode, open_episode
from robotrain.errors import StatsError
from robotrain.evaluation.baselines import HOLD, MEAN_CHUNK, MEAN_DISPLACEMENT, compute_baselines
from robotrain.evaluation.report import score
from robotrain.predictions import Predictions
from tests.factories import make_eva_episode, make_human_episode, make_joint_episode

H = 5


def setting(path: Path) -> tuple[Episode, Pipeline, Stats, Predictions]:
    episode = open_episode(path)
    pipeline = build_pipeline(embodiment_of(episode.embodiment, episode.facts.attributes), horizon=H, seconds=0.2)
    encoded = pipeline.encode(pipeline.gather(episode, np.arange(episode.num_frames)))
    num = episode.num_frames
    predictions = Predictions(
        interface=pipeline.interface(),
        hashes=np.array([episode.hash] * num),
        frames=np.arange(num),
        predicted=encoded.actions,
        truth=encoded.actions,
        mask=encoded.action_mask,
        state=encoded.state,
        state_mask=encoded.state_mask,
        origin={},
    )
    return episode, pipeline, compute_stats([episode], pipeline, None, pool_horizon=False), predictions


def test_pose_layouts_have_three_baselines(tmp_path: Path) -> None:
    _, _, stats, predictions = setting(make_eva_episode(tmp_path / "a.zarr", 40))
    baselines = compute_baselines(predictions, stats)
    assert list(baselines) == [HOLD, MEAN_CHUNK, MEAN_DISPLACEMENT]
    for chunks in baselines.values():
        assert chunks.shape == predictions.truth.shape
        assert np.isfinite(chunks).all()
    layout = predictions.interface.actions
    held = baselines[HOLD][:, :, layout.slices["left.xyz"]]
    now = predictions.state[:, predictions.interface.state.slices["left.xyz"]]
    np.testing.assert_allclose(held, np.repeat(now[:, None], H, 1), atol=1e-6)
    np.testing.assert_allclose(baselines[MEAN_CHUNK][0], stats.mean_chunk)


def test_a_smooth_motion_is_closer_to_where_it_starts_than_to_the_mean(tmp_path: Path) -> None:
    _, _, stats, predictions = setting(make_eva_episode(tmp_path / "a.zarr", 60))
    report = score(predictions, compute_baselines(predictions, stats))
    errors = report.score("xyz_error").baselines
    held, mean = errors[HOLD], errors[MEAN_CHUNK]
    assert held is not None
    assert mean is not None
    assert 0 < held < mean
    assert report.score("xyz_error").model == 0.0
    assert report.score("xyz_error").ratio == 0.0


def test_joint_layouts_have_no_displacement_in_space(tmp_path: Path) -> None:
    _, _, stats, predictions = setting(make_joint_episode(tmp_path / "a.zarr", 20))
    assert list(compute_baselines(predictions, stats)) == [HOLD, MEAN_CHUNK]


def test_where_a_hand_is_missing_its_columns_start_from_the_mean(tmp_path: Path) -> None:
    path = make_human_episode(tmp_path / "a.zarr", 30, missing={"left": range(10, 14)})
    episode = open_episode(path)
    body = embodiment_of("human_bimanual", {})
    pipeline = build_pipeline(body, mode="cartesian_6d", horizon=H, seconds=0.2)
    encoded = pipeline.encode(pipeline.gather(episode, np.arange(30)))
    predictions = Predictions(
        interface=pipeline.interface(),
        hashes=np.array([episode.hash] * 30),
        frames=np.arange(30),
        predicted=encoded.actions,
        truth=encoded.actions,
        mask=encoded.action_mask,
        state=encoded.state,
        state_mask=encoded.state_mask,
        origin={},
    )
    stats = compute_stats([episode], pipeline, None, pool_horizon=False)
    baselines = compute_baselines(predictions, stats)
    left = predictions.interface.actions.slices["left.xyz"]
    right = predictions.interface.actions.slices["right.xyz"]
    for name in (HOLD, MEAN_DISPLACEMENT):
        np.testing.assert_allclose(baselines[name][11][:, left], stats.mean_chunk[:, left])
        assert not np.allclose(baselines[name][11][:, right], stats.mean_chunk[:, right])
        assert not np.allclose(baselines[name][20][:, left], stats.mean_chunk[:, left])


def test_a_state_of_other_fields_leaves_the_mean_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, _, stats, predictions = setting(make_joint_episode(tmp_path / "a.zarr", 20))
    other = Layout((Field("odd", "joint", predictions.interface.state.width, "", "rad"),))
    interface = dataclasses.replace(predictions.interface, state=other)
    stats = dataclasses.replace(stats, interface=interface)
    baselines = compute_baselines(dataclasses.replace(predictions, interface=interface), stats)
    assert list(baselines) == [MEAN_CHUNK]
    assert HOLD in capsys.readouterr().err


def test_stats_of_another_interface_are_refused(tmp_path: Path) -> None:
    _, _, stats, predictions = setting(make_joint_episode(tmp_path / "a.zarr", 20))
    other = dataclasses.replace(stats, interface=dataclasses.replace(stats.interface, horizon=9))
    with pytest.raises(StatsError, match=r"another horizon \(9, not 5\)"):
        compute_baselines(predictions, other)
