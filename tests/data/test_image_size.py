from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest

from robotrain.batch import Observation
from robotrain.config import Layer, compose
from robotrain.data.config import DataConfig
from robotrain.data.dataset import WindowDataset
from robotrain.data.pipeline import build_pipeline
from robotrain.embodiments.catalog import embodiment_of
from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.embodiments.history import History
from robotrain.episodes.jpegs import decode_picture
from robotrain.episodes.reader import Episode, open_episode
from robotrain.episodes.schema import read_facts
from robotrain.errors import CheckpointError, ConfigError, EpisodeError
from robotrain.evaluation.predictor import LoadedPolicy, load_policy, predict_keys
from robotrain.stages.evaluate import EvaluateConfig, run
from robotrain.stages.inputs import resolve_inputs
from tests.evaluation.test_predictor import H, write_checkpoint
from tests.factories import make_eva_episode

BODY = embodiment_of("eva_bimanual", {})
EVA = build_pipeline(BODY, horizon=H, seconds=0.2)
HALF = (24, 32)
"""Enough of 48 x 64 pixels."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four episodes, two of whose pictures are about twice as large, and one with the front camera alone."""
    root = tmp_path_factory.mktemp("episodes")
    make_eva_episode(root / "small.zarr", num_frames=12, size=(64, 48))
    make_eva_episode(root / "large.zarr", num_frames=12, size=(128, 96), seed=1)
    make_eva_episode(root / "tall.zarr", num_frames=12, size=(128, 98), seed=1)
    make_eva_episode(root / "front.zarr", num_frames=12, size=(64, 48), seed=2, cameras=("front_1",))
    return root


def dataset_of(folder: Path, *names: str, image_size: tuple[int, int] | None = HALF) -> WindowDataset:
    return WindowDataset([read_facts(folder / f"{name}.zarr") for name in names], EVA, None, image_size)


def test_a_batch_holds_what_the_decoder_gives_at_that_size(folder: Path) -> None:
    dataset, episode = dataset_of(folder, "small"), open_episode(folder / "small.zarr")
    keys = [("small", 3), ("small", 0), ("small", 11)]
    images = dataset.batch(keys).observation.images
    for camera in ("front_1", "left_wrist", "right_wrist"):
        wanted = np.stack([decode_picture(episode.jpeg(camera, frame), least=HALF) for _, frame in keys])
        assert wanted.shape == (3, 24, 32, 3)
        np.testing.assert_array_equal(images[camera].numpy(), wanted)
        whole = np.stack([episode.image(camera, frame) for _, frame in keys])
        means = whole.reshape(3, 24, 2, 32, 2, 3).mean((2, 4))
        assert np.abs(images[camera].numpy() - means).mean() < 1  # the same picture, smaller


def test_nothing_but_the_pictures_changes(folder: Path) -> None:
    key = [("small", 4)]
    reduced = dataset_of(folder, "small").batch(key)
    whole = dataset_of(folder, "small", image_size=None).batch(key)
    assert reduced.actions.equal(whole.actions)
    assert reduced.observation.state.equal(whole.observation.state)
    assert whole.observation.images["front_1"].shape == (1, 48, 64, 3)


def test_episodes_of_two_sizes_share_a_batch_where_the_decoder_meets(folder: Path) -> None:
    keys = [("small", 1), ("large", 1)]
    assert dataset_of(folder, "small", "large").batch(keys).observation.images["front_1"].shape == (2, 24, 32, 3)
    with pytest.raises(EpisodeError, match=r"front_1.*64x48 in 'small', 128x96 in 'large'"):
        dataset_of(folder, "small", "large", image_size=None).batch(keys)
    with pytest.raises(EpisodeError, match=r"front_1.*64x48 in 'small', 64x49 in 'tall'"):
        dataset_of(folder, "small", "tall", image_size=(25, 40)).batch([("small", 1), ("tall", 1)])


def test_an_absent_camera_is_zeros_of_the_reduced_size(folder: Path) -> None:
    both = dataset_of(folder, "small", "front").batch([("front", 1)]).observation
    assert both.images["left_wrist"].shape == both.images["front_1"].shape == (1, 24, 32, 3)
    assert not both.images["left_wrist"].any()
    assert not both.image_mask["left_wrist"].any()
    alone = dataset_of(folder, "front").batch([("front", 1)]).observation
    assert alone.images["right_wrist"].shape == (1, 24, 32, 3)


def test_earlier_pictures_are_as_large_as_the_others(folder: Path) -> None:
    pipeline = build_pipeline(BODY, horizon=H, seconds=0.2, history=History(image_seconds=0.1))
    batch = WindowDataset([read_facts(folder / "small.zarr")], pipeline, ("front_1",), HALF).batch([("small", 5)])
    before = open_episode(folder / "small.zarr").image("front_1", 2, least=HALF)
    np.testing.assert_array_equal(batch.observation.images["front_1.before"][0].numpy(), before)


@pytest.mark.parametrize("value", ["[0,32]", "[24]", "[24,32,3]", "[-1,32]"])
def test_a_size_that_is_none_is_refused(value: str) -> None:
    with pytest.raises(ConfigError, match=r"image_size must be a height and a width of at least 1 pixel, found \["):
        compose(DataConfig, (Layer("none", {}),), overrides=[f"image_size={value}"])


def test_the_config_decides_and_the_interface_carries_it(folder: Path) -> None:
    layers = (Layer("data", {"episodes": {"root": str(folder)}, "image_size": [24, 32]}),)
    config = compose(DataConfig, layers)
    assert config.image_size == HALF
    interface = resolve_inputs(config, horizon=H).interface
    assert interface.image_size == HALF
    assert PolicyInterface.from_plain(interface.to_plain()) == interface
    assert resolve_inputs(replace(config, image_size=None), horizon=H).interface.image_size is None


@pytest.fixture(scope="module")
def loaded(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> LoadedPolicy:
    checkpoint = tmp_path_factory.mktemp("run") / "checkpoints" / "last.ckpt"
    return load_policy(write_checkpoint(checkpoint, dataset_of(folder, "small")))


def test_a_checkpoint_knows_the_pictures_it_learned_from(folder: Path, loaded: LoadedPolicy) -> None:
    assert loaded.interface.image_size == HALF
    whole = dataset_of(folder, "small", image_size=None)
    with pytest.raises(CheckpointError, match=r"trained with image_size \(24, 32\), the data has None"):
        predict_keys(loaded, whole, [("small", 0)])


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """Return a list that fills with the front pictures (B, h, w, 3) that policies are shown."""
    pictures: list[np.ndarray] = []
    predict = LoadedPolicy.predict

    def spy(self: LoadedPolicy, observation: Observation, *, seed: int = 0) -> np.ndarray:
        pictures.append(observation.images["front_1"].numpy().copy())
        return predict(self, observation, seed=seed)

    monkeypatch.setattr(LoadedPolicy, "predict", spy)
    return pictures


def test_evaluation_reads_pictures_as_training_did_and_videos_show_them_whole(
    folder: Path, loaded: LoadedPolicy, shown: list[np.ndarray]
) -> None:
    config = EvaluateConfig(checkpoint=str(loaded.checkpoint.path), data=str(folder / "small.zarr"), videos=True)
    (report,) = run(config)
    assert {pictures.shape[1:3] for pictures in shown} == {HALF}
    with av.open(str(report.videos[0])) as video:
        frame = next(video.decode(video=0))
        assert isinstance(frame, av.VideoFrame)
        assert frame.width / frame.height == pytest.approx(64 / 48)
        assert frame.width >= 64


def test_a_robot_gives_whole_pictures_and_the_policy_is_shown_what_evaluation_shows(
    folder: Path, loaded: LoadedPolicy, shown: list[np.ndarray]
) -> None:
    dataset, episode = dataset_of(folder, "small"), Episode(read_facts(folder / "small.zarr"))
    arrays = {name: episode.numbers(name)[5] for name in dataset.pipeline.arrays(episode.facts)}
    images = {camera: episode.image(camera, 5) for camera in loaded.interface.cameras}
    told = loaded.act(arrays, images, prompt=episode.prompt(5), key=("small", 5))
    wanted = dataset.batch([("small", 5)]).observation
    assert shown[0].shape == (1, *HALF, 3)
    assert np.abs(shown[0].astype(int) - wanted.images["front_1"].numpy()).max() <= 2
    loaded.predict(wanted)
    assert (shown[0].shape, all(np.isfinite(chunk).all() for chunk in told.values())) == (shown[1].shape, True)
    only_front = loaded.act(arrays, {"front_1": images["front_1"]})
    assert only_front.keys() == told.keys()
