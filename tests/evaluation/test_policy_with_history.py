"""A policy that reads a history, from its data to what a robot calls: the same numbers everywhere."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from robotrain.batch import Batch, Observation
from robotrain.data.dataset import WindowDataset
from robotrain.data.pipeline import build_pipeline
from robotrain.draws import Draws
from robotrain.embodiments.catalog import embodiment_of
from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.embodiments.history import History
from robotrain.episodes.reader import open_episode
from robotrain.errors import CheckpointError, EpisodeError
from robotrain.evaluation.predictor import LoadedPolicy, predict_keys
from robotrain.models.policy import LossTerms, Policy
from robotrain.training.checkpoint import Checkpoint, Record
from robotrain.training.module import Learning, PolicyModule
from robotrain.training.normalizer import Affine, Normalizer
from tests.factories import make_human_episode

H = 3
HISTORY = History(steps=3, seconds=2 / 30, per_step_wrist=True)


class Remembers(Policy):
    """Predicts the mean of the states that it remembers; the state must be as wide as the action."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))

    def initialise(self) -> None:
        """Keep the value."""

    def loss(self, batch: Batch, draws: Draws) -> LossTerms:
        """Return the squared error."""
        return LossTerms((self.sample(batch.observation, draws) - batch.actions).square().mean())

    def sample(self, observation: Observation, draws: Draws) -> Tensor:
        """Return the mean over real steps, as often as the noise has steps."""
        assert observation.state_history is not None
        assert observation.history_mask is not None
        real = observation.history_mask[..., None]
        mean = (observation.state_history * real).sum(1) / real.sum(1)
        return (self.weight * mean)[:, None].expand_as(draws.noise)


def loaded_for(interface: PolicyInterface, *, mend: bool = False) -> LoadedPolicy:
    rng = np.random.default_rng(0)
    chunk, state = (H, interface.actions.width), (interface.state.width,)
    affine = Affine(
        action_centre=rng.normal(size=chunk),
        action_scale=rng.uniform(0.5, 2, chunk),
        state_centre=rng.normal(size=state),
        state_scale=rng.uniform(0.5, 2, state),
    )
    record = Record(arch={}, config={"data": {"mend_left_wrist": mend}}, interfaces={}, stats={})
    module = PolicyModule(Remembers(), [Normalizer(interface, affine)], learning=Learning(), record=record).eval()
    checkpoint = Checkpoint(Path("x.ckpt"), record, {interface.embodiment: interface}, {}, epoch=0, step=0)
    return LoadedPolicy(module, checkpoint)


def dataset_of(path: Path, history: History = HISTORY) -> WindowDataset:
    body = embodiment_of("human_bimanual", {})
    pipeline = build_pipeline(body, horizon=H, seconds=0.2, history=history)
    return WindowDataset([open_episode(path).facts], pipeline, ())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return make_human_episode(tmp_path / "e.zarr", num_frames=12)


@pytest.mark.parametrize(("frame", "rows"), [(9, (5, 7, 9)), (3, (1, 3)), (0, (0,))])
def test_act_with_k_frames_gives_what_evaluation_gives(path: Path, frame: int, rows: Sequence[int]) -> None:
    dataset = dataset_of(path)
    loaded, episode = loaded_for(dataset.interface), open_episode(path)
    predicted = predict_keys(loaded, dataset, [("e", frame)]).predicted
    wanted = dataset.pipeline.decode(predicted, dataset.pipeline.gather(episode, np.array([frame])))
    arrays = {name: episode.numbers(name)[list(rows)] for name in dataset.pipeline.arrays(episode.facts)}
    found = loaded.act(arrays, {}, key=("e", frame))
    assert set(found) == set(wanted)
    for array, chunk in found.items():
        np.testing.assert_allclose(chunk, wanted[array][0], rtol=1e-5, atol=1e-5)


def test_every_step_is_normalised_as_the_state_is(path: Path) -> None:
    dataset = dataset_of(path)
    loaded, raw = loaded_for(dataset.interface), dataset.batch([("e", 9)]).observation
    seen = loaded.module._normalised(raw)
    assert seen.state_history is not None
    torch.testing.assert_close(seen.state_history[:, -1], seen.state)
    assert raw.state_history is not None
    assert not torch.allclose(raw.state_history, seen.state_history)


def test_too_many_rows_are_refused(path: Path) -> None:
    dataset = dataset_of(path)
    episode = open_episode(path)
    arrays = {name: episode.numbers(name)[:4] for name in dataset.pipeline.arrays(episode.facts)}
    with pytest.raises(EpisodeError, match="at most 3"):
        loaded_for(dataset.interface).act(arrays, {})


def test_data_with_another_history_are_refused(path: Path) -> None:
    loaded = loaded_for(dataset_of(path).interface)
    with pytest.raises(CheckpointError, match=r"trained with history History\(steps=3"):
        predict_keys(loaded, dataset_of(path, History(steps=2)), [("e", 0)])


@pytest.mark.parametrize("mend", [False, True])
def test_a_policy_of_mended_wrists_mends_what_a_robot_gives_it(path: Path, *, mend: bool) -> None:
    loaded = loaded_for(dataset_of(path).interface, mend=mend)
    assert loaded.pipeline().plan.mended == (("left.obs_wrist_pose",) if mend else ())
    assert loaded.pipeline().history == HISTORY


def test_act_takes_earlier_pictures_by_name(tmp_path: Path) -> None:
    facts = open_episode(make_human_episode(tmp_path / "p.zarr", num_frames=12)).facts
    pipeline = build_pipeline(
        embodiment_of("human_bimanual", {}), horizon=H, seconds=0.2, history=replace(HISTORY, image_seconds=0.1)
    )
    dataset, seen = WindowDataset([facts], pipeline), []
    loaded, episode = loaded_for(dataset.interface), open_episode(facts.path)
    original = loaded.module.predict
    loaded.module.predict = lambda observation, draws: (seen.append(observation), original(observation, draws))[1]
    arrays = {name: episode.numbers(name)[[5, 7, 9]] for name in pipeline.arrays(facts)}
    pictures = {"front_1": episode.image("front_1", 9), "front_1.before": episode.image("front_1", 6)}
    loaded.act(arrays, pictures, key=("p", 9))
    loaded.act(arrays, {"front_1": pictures["front_1"]})
    expected = dataset.batch([("p", 9)]).observation
    for view, picture in expected.images.items():
        assert torch.equal(seen[0].images[view], picture)
        assert torch.equal(seen[0].image_mask[view], expected.image_mask[view])
    assert seen[1].image_mask["front_1.before"].tolist() == [False]
