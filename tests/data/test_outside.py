from pathlib import Path

import numpy as np

from robotrain.data.exact_stats import compute_stats
from robotrain.data.outside import compute_outside
from robotrain.data.stats import StatsConfig, StatsMode
from robotrain.episodes.reader import open_episode
from tests.data.numpys import pipeline_of
from tests.factories import make_human_episode, write_joints


def test_shares_are_those_of_values_that_normalise_to_outside_one(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(size=(400, 3)), rng.normal(scale=2, size=(300, 3))
    ours[:, 2] = 0.5
    theirs[:, 2] = np.where(np.arange(300) < 75, 0.7, 0.5)
    given = open_episode(write_joints(tmp_path / "a.zarr", ours))
    others = [open_episode(write_joints(tmp_path / f"{i}.zarr", part)) for i, part in enumerate((theirs, theirs[:50]))]
    pipeline = pipeline_of(given, 1, 1e-3)
    stats = compute_stats([given], pipeline)
    values = np.concatenate([theirs, theirs[:50]]).astype(np.float32)
    state = stats.state
    bounds: tuple[tuple[StatsMode, np.ndarray, np.ndarray], ...] = (
        ("quantile", state.q01, state.q99),
        ("minmax", state.min, state.max),
        ("zscore", state.mean - state.std, state.mean + state.std),
    )
    for mode, low, high in bounds:
        config = StatsConfig(mode=mode)
        found = compute_outside([each.facts for each in others], pipeline, stats, config, num_processes=2)
        expected = np.mean((values < low) | (values > high), axis=0)[:2]
        np.testing.assert_allclose(found.state[:2], expected, atol=1e-12)
        np.testing.assert_allclose(found.actions, found.state, atol=1e-12)
        np.testing.assert_allclose(found.state[2], (75 + 50) / 350)  # it should not move, and does
        assert found.num_samples == 350


def test_what_does_not_count_is_not_counted_and_rotations_are_never_outside(tmp_path: Path) -> None:
    whole = open_episode(make_human_episode(tmp_path / "a.zarr", 60))
    half = open_episode(make_human_episode(tmp_path / "b.zarr", 60, missing={"left": range(20, 60)}))
    pipeline = pipeline_of(whole, 5, mode="cartesian_6d")
    stats = compute_stats([whole], pipeline)
    config = StatsConfig(mode="minmax")
    found = compute_outside([whole.facts, half.facts], pipeline, stats, config, num_processes=1)
    assert not found.actions.any()  # the same hands, seen for a shorter time
    assert not found.state.any()
    assert found.num_samples == 60 + 20
