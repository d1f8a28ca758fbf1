import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from robotrain.batch import Batch
from robotrain.data.dataset import WindowDataset
from robotrain.data.exact_stats import compute_stats
from robotrain.data.pipeline import build_pipeline
from robotrain.data.stats import affine
from robotrain.embodiments.catalog import embodiment_of
from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.episodes.reader import Episode, open_episode
from robotrain.errors import CheckpointError, EpisodeError, PredictionError, ShapeError
from robotrain.evaluation.predictor import LoadedPolicy, load_policy, predict_keys
from robotrain.models.flow import FlowConfig
from robotrain.models.heads import FlowHeadConfig
from robotrain.models.hpt.config import HptConfig
from robotrain.models.stems import StemsConfig
from robotrain.predictions import load_predictions, save_predictions
from robotrain.training.checkpoint import RECORD_KEY, AtomicCheckpointIO
from robotrain.training.module import Learning, Subject, build_module
from robotrain.training.normalizer import Affine
from tests.factories import make_eva_episode, make_human_episode, make_joint_episode

H = 4
ARCH = HptConfig(
    name="test_tiny",
    horizon=H,
    width=16,
    depth=1,
    heads=2,
    stems=StemsConfig(image_channels=(4,), keypoints=2, heads=2, word_buckets=16),
    head=FlowHeadConfig(width=16, depth=1, heads=2),
    flow=FlowConfig(num_steps=2),
)
MAKERS = {"eva": make_eva_episode, "human": make_human_episode, "joint": make_joint_episode}


def dataset_of(paths: Sequence[Path], seconds: float = 0.2) -> WindowDataset:
    facts = [open_episode(path).facts for path in paths]
    body = embodiment_of(facts[0].embodiment, facts[0].attributes)
    return WindowDataset(facts, build_pipeline(body, horizon=H, seconds=seconds))


def write_checkpoint(path: Path, dataset: WindowDataset) -> Path:
    """Write the checkpoint of an untrained policy with the statistics of a data set, as training writes it."""
    episodes = [Episode(facts) for facts in dataset.facts.values()]
    stats = compute_stats(episodes, dataset.pipeline, dataset.interface.cameras, pool_horizon=False)
    action_centre, action_scale = affine(stats.actions, stats.interface.actions, "quantile")
    state_centre, state_scale = affine(stats.state, stats.interface.state, "quantile")
    numbers = Affine(
        action_centre=action_centre, action_scale=action_scale, state_centre=state_centre, state_scale=state_scale
    )
    subject = Subject(interface=dataset.interface, affine=numbers, stats=stats.to_plain())
    module = build_module(ARCH, [subject], learning=Learning(), config={"name": "test"})
    content = {"state_dict": module.state_dict(), "epoch": 3, "global_step": 40, RECORD_KEY: module.record.to_plain()}
    path.parent.mkdir(parents=True, exist_ok=True)
    AtomicCheckpointIO().save_checkpoint(content, path)
    return path


@pytest.fixture(scope="module")
def eva(tmp_path_factory: pytest.TempPathFactory) -> tuple[WindowDataset, LoadedPolicy]:
    root = tmp_path_factory.mktemp("eva")
    dataset = dataset_of([make_eva_episode(root / f"{name}.zarr", 12, seed=seed) for seed, name in enumerate("ab")])
    return dataset, load_policy(write_checkpoint(root / "run" / "checkpoints" / "last.ckpt", dataset))


def keys_of(dataset: WindowDataset) -> list[tuple[str, int]]:
    return [(episode, int(frame)) for episode in dataset.hashes for frame in dataset.frames_of(episode)]


def test_a_policy_is_loaded_from_its_checkpoint_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    dataset = dataset_of([make_eva_episode(folder / "a.zarr", 12)])
    path = write_checkpoint(tmp_path / "run" / "checkpoints" / "last.ckpt", dataset)
    interface = dataset.interface
    shutil.rmtree(folder)
    for source in (path, tmp_path / "run", str(path)):
        loaded = load_policy(source)
        assert loaded.interface == interface
        assert loaded.embodiments == ("eva_bimanual",)
        assert loaded.stats.interface == interface
        assert loaded.config["name"] == "test"
        assert not loaded.module.training
        assert {p.device.type for p in loaded.module.parameters()} == {"cpu"}
        assert loaded.module.normalizer("eva_bimanual").action_scale.any()


def test_predictions_hold_rows_truth_and_origin_in_the_order_of_the_keys(
    eva: tuple[WindowDataset, LoadedPolicy], tmp_path: Path
) -> None:
    dataset, loaded = eva
    keys = [("b", 3), ("a", 11), ("b", 0), ("a", 2)]
    found = predict_keys(loaded, dataset, keys, origin={"split": "valid"})
    assert list(zip(found.hashes.tolist(), found.frames.tolist(), strict=True)) == keys
    wanted = dataset.batch(keys)
    np.testing.assert_array_equal(found.truth, wanted.actions.numpy())
    np.testing.assert_array_equal(found.mask, wanted.action_mask.numpy())
    np.testing.assert_array_equal(found.state, wanted.observation.state.numpy())
    assert np.isfinite(found.predicted).all()
    assert (found.origin["step"], found.origin["epoch"], found.origin["split"]) == (40, 3, "valid")
    save_predictions(tmp_path / "p.npz", found)
    np.testing.assert_array_equal(load_predictions(tmp_path / "p.npz").predicted, found.predicted)


def test_two_evaluations_give_the_same_bits_and_another_seed_gives_others(
    eva: tuple[WindowDataset, LoadedPolicy],
) -> None:
    dataset, loaded = eva
    keys = keys_of(dataset)
    first, second = (predict_keys(loaded, dataset, keys).predicted for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert not np.allclose(first, predict_keys(loaded, dataset, keys, seed=1).predicted)


def test_a_row_does_not_depend_on_the_other_rows(eva: tuple[WindowDataset, LoadedPolicy]) -> None:
    dataset, loaded = eva
    keys = keys_of(dataset)
    whole = predict_keys(loaded, dataset, keys, batch_size=8).predicted
    order = np.random.default_rng(0).permutation(len(keys))[:9]
    some = predict_keys(loaded, dataset, [keys[i] for i in order], batch_size=8).predicted
    np.testing.assert_allclose(some, whole[order], rtol=1e-5, atol=1e-6)
    other = predict_keys(loaded, dataset, keys, batch_size=5).predicted
    np.testing.assert_allclose(other, whole, rtol=1e-5, atol=1e-6)


def test_every_forward_pass_has_the_same_rows_of_one_episode(eva: tuple[WindowDataset, LoadedPolicy]) -> None:
    dataset, loaded = eva

    class Watched:
        interface: PolicyInterface = dataset.interface
        seen: list[Sequence[tuple[str, int]]] = []  # noqa: RUF012

        def batch(self, keys: Sequence[tuple[str, int]]) -> Batch:
            self.seen.append(keys)
            return dataset.batch(keys)

    predict_keys(loaded, Watched(), keys_of(dataset)[:14], batch_size=5)
    assert [len(keys) for keys in Watched.seen] == [5] * 4
    assert [{episode for episode, _ in keys} for keys in Watched.seen] == [{"a"}, {"a"}, {"a"}, {"b"}]


@pytest.mark.parametrize("kind", MAKERS)
def test_act_gives_what_evaluation_gives_in_the_robots_own_frame(kind: str, tmp_path: Path) -> None:
    path = MAKERS[kind](tmp_path / "a.zarr", 12)
    dataset = dataset_of([path])
    loaded = load_policy(write_checkpoint(tmp_path / "last.ckpt", dataset))
    episode = open_episode(path)
    arrays = {name: episode.numbers(name)[5] for name in dataset.pipeline.arrays(episode.facts)}
    images = {camera: episode.image(camera, 5) for camera in dataset.interface.cameras}
    found = loaded.act(arrays, images, prompt=dataset.prompt("a", 5), key=("a", 5))
    predicted = predict_keys(loaded, dataset, [("a", 5)]).predicted
    wanted = dataset.pipeline.decode(predicted, dataset.pipeline.gather(episode, np.array([5])))
    assert set(found) == set(wanted)
    for array, chunk in found.items():
        assert chunk.shape == (H, episode.numbers(array).shape[1])
        np.testing.assert_allclose(chunk, wanted[array][0], rtol=1e-4, atol=1e-5)


def test_act_takes_a_camera_that_is_missing_but_not_all_of_them(eva: tuple[WindowDataset, LoadedPolicy]) -> None:
    dataset, loaded = eva
    episode = Episode(dataset.facts["a"])
    arrays = {name: episode.numbers(name)[0] for name in dataset.pipeline.arrays(episode.facts)}
    front = {"front_1": episode.image("front_1", 0)}
    assert np.isfinite(loaded.act(arrays, front)["left.cmd_ee_pose"]).all()
    with pytest.raises(PredictionError, match="front_1"):
        loaded.act(arrays, {})
    with pytest.raises(ShapeError, match="uint8"):
        loaded.act(arrays, {"front_1": np.zeros((16, 16, 3))})
    with pytest.raises(EpisodeError, match=r"left\.obs_ee_pose"):
        loaded.act({name: row for name, row in arrays.items() if name != "left.obs_ee_pose"}, front)


def test_a_checkpoint_of_another_embodiment_is_refused_naming_both(
    eva: tuple[WindowDataset, LoadedPolicy], tmp_path: Path
) -> None:
    _, loaded = eva
    human = dataset_of([make_human_episode(tmp_path / "h.zarr", 12)])
    with pytest.raises(CheckpointError, match=r"'eva_bimanual'.*'human_bimanual'"):
        predict_keys(loaded, human, keys_of(human))


@pytest.mark.parametrize("change", ["horizon", "seconds", "mode", "cameras", "actions"])
def test_data_that_the_policy_was_not_trained_on_is_refused(
    change: str, eva: tuple[WindowDataset, LoadedPolicy]
) -> None:
    _, loaded = eva
    ours = loaded.interface
    others = {
        "horizon": 7,
        "seconds": 9.0,
        "mode": "joints",
        "cameras": ("front_1",),
        "actions": ours.state.__class__(ours.state.fields[:2]),
    }
    loaded.check(ours)
    with pytest.raises(CheckpointError, match=change):
        loaded.check(replace(ours, **{change: others[change]}))


def test_weights_that_do_not_fit_are_refused(eva: tuple[WindowDataset, LoadedPolicy], tmp_path: Path) -> None:
    _, loaded = eva
    content = torch.load(loaded.checkpoint.path, weights_only=True)
    content["state_dict"].popitem()
    broken = tmp_path / "broken.ckpt"
    torch.save(content, broken)
    with pytest.raises(CheckpointError, match="do not fit"):
        load_policy(broken)
    with pytest.raises(CheckpointError, match="no such"):
        load_policy(tmp_path / "none")


def test_nothing_to_predict_is_said(eva: tuple[WindowDataset, LoadedPolicy]) -> None:
    dataset, loaded = eva
    with pytest.raises(PredictionError, match="no frame"):
        predict_keys(loaded, dataset, [])
