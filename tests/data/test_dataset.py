import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from robotrain.batch import Batch
from robotrain.data import dataset as dataset_module
from robotrain.data.dataset import WindowDataset
from robotrain.data.pipeline import Pipeline, build_pipeline
from robotrain.embodiments.catalog import embodiment_of
from robotrain.episodes import reader as reader_module
from robotrain.episodes.reader import Episode, open_episode
from robotrain.episodes.schema import EpisodeFacts, read_facts
from robotrain.errors import ConfigError, EpisodeError, UnknownNameError
from tests.factories import make_eva_episode, make_human_episode, write_joints, write_numbers

EVA = build_pipeline(embodiment_of("eva_bimanual", {}), horizon=6, seconds=0.1)
HUMAN = build_pipeline(embodiment_of("human_bimanual", {}), horizon=6, seconds=0.1)


@pytest.fixture(scope="module")
def eva(tmp_path_factory: pytest.TempPathFactory) -> list[EpisodeFacts]:
    folder = tmp_path_factory.mktemp("eva")
    return [read_facts(make_eva_episode(folder / f"e{i}.zarr", num_frames=5 + i, seed=i)) for i in range(3)]


def same(one: Batch, other: Batch) -> bool:
    tensors = ("state", "state_mask")
    first, second = one.observation, other.observation
    return (
        all(torch.equal(getattr(first, name), getattr(second, name)) for name in tensors)
        and all(torch.equal(image, second.images[camera]) for camera, image in first.images.items())
        and all(torch.equal(mask, second.image_mask[camera]) for camera, mask in first.image_mask.items())
        and torch.equal(one.actions, other.actions)
        and torch.equal(one.action_mask, other.action_mask)
        and (first.prompts, first.keys) == (second.prompts, second.keys)
    )


def test_every_frame_is_a_sample_in_the_order_of_the_episodes(eva: list[EpisodeFacts]) -> None:
    dataset = WindowDataset(eva, EVA)
    assert len(dataset) == 5 + 6 + 7
    keys = [dataset.keys(index) for index in range(len(dataset))]
    assert keys == [(facts.hash, frame) for facts in eva for frame in range(facts.num_frames)]
    assert dataset.num_left_out == 0
    with pytest.raises(IndexError):
        dataset.keys(18)


def test_a_batch_holds_what_the_pipeline_encodes_and_the_stored_pictures(eva: list[EpisodeFacts]) -> None:
    dataset = WindowDataset(eva, EVA)
    keys = [("e1", 4), ("e0", 0), ("e1", 2), ("e2", 6)]
    batch = dataset.batch(keys)
    assert batch.observation.keys == tuple(keys)
    for row, (name, frame) in enumerate(keys):
        episode = open_episode(next(facts.path for facts in eva if facts.hash == name))
        encoded = EVA.encode(EVA.gather(episode, np.array([frame])))
        np.testing.assert_array_equal(batch.actions[row], encoded.actions[0])
        np.testing.assert_array_equal(batch.action_mask[row], encoded.action_mask[0])
        np.testing.assert_array_equal(batch.observation.state[row], encoded.state[0])
        for camera in ("front_1", "left_wrist", "right_wrist"):
            picture = batch.observation.images[camera][row]
            assert picture.dtype == torch.uint8
            np.testing.assert_array_equal(picture, episode.image(camera, frame))
            assert batch.observation.image_mask[camera][row]


def test_the_loaders_entrance_gives_the_same_batch(eva: list[EpisodeFacts]) -> None:
    dataset = WindowDataset(eva, EVA)
    assert same(dataset.__getitems__([7, 0]), dataset.batch([dataset.keys(7), dataset.keys(0)]))
    assert len(dataset[3]) == 1


def test_a_row_does_not_depend_on_its_batch(eva: list[EpisodeFacts]) -> None:
    dataset = WindowDataset(eva, EVA)
    together, alone = dataset.__getitems__([2, 9, 14]), dataset.__getitems__([9])
    assert torch.equal(together.actions[1], alone.actions[0])
    assert torch.equal(together.observation.images["front_1"][1], alone.observation.images["front_1"][0])


def test_prompts_are_the_annotation_else_the_description_else_the_task(tmp_path: Path) -> None:
    annotated = read_facts(make_eva_episode(tmp_path / "a.zarr"))
    dataset = WindowDataset([annotated], EVA)
    assert dataset.batch([("a", 0), ("a", 7)]).observation.prompts == ("reach for it", "lift it")
    bare = write_joints(tmp_path / "b.zarr", np.zeros((3, 2)))
    pipeline = build_pipeline(embodiment_of("toy_arm", read_facts(bare).attributes), horizon=2)
    for description, task, expected in (
        ("wave at it", "wave_arm", "wave at it"),
        ("", "wave_arm", "wave arm"),
        ("", "", ""),
    ):
        facts = read_facts(bare)
        facts = EpisodeFacts(**{**_fields(facts), "task_description": description, "task_name": task})
        assert WindowDataset([facts], pipeline).prompt("b", 1) == expected


def _fields(facts: EpisodeFacts) -> dict[str, object]:
    return {name: getattr(facts, name) for name in facts.__dataclass_fields__}


def test_annotations_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    path = make_eva_episode(tmp_path / "e.zarr")
    (path / "annotations" / "c" / "0").unlink()
    dataset = WindowDataset([read_facts(path)], EVA)
    assert len(dataset.remarks) == 1
    assert "annotations of 'e' cannot be read: the file" in dataset.remarks[0]
    assert dataset.prompt("e", 0) == "pick it up"


def test_frames_without_a_real_step_are_left_out_and_counted(tmp_path: Path) -> None:
    facts = read_facts(make_human_episode(tmp_path / "e.zarr", num_frames=20, missing={"left": (4, 5)}))
    dataset = WindowDataset([facts], HUMAN)
    assert dataset.num_left_out == 2
    assert dataset.remarks == ("2 of 20 frames are no samples: no step of their chunk was recorded",)
    assert [frame for _, frame in map(dataset.keys, range(len(dataset)))] == [f for f in range(20) if f not in {4, 5}]
    np.testing.assert_array_equal(dataset.frames_of("e"), np.arange(20))
    assert 4 not in dataset.samples_of("e")
    batch = dataset.batch([("e", 4)])  # a video shows it all the same
    assert not batch.action_mask.any()
    assert not batch.observation.state_mask.all()
    assert torch.isfinite(batch.actions).all()


def test_an_absent_camera_is_zeros_of_the_others_size_and_masked(tmp_path: Path) -> None:
    whole = read_facts(make_eva_episode(tmp_path / "whole.zarr", size=(16, 12)))
    front = read_facts(make_eva_episode(tmp_path / "front.zarr", size=(16, 12), cameras=("front_1",)))
    batch = WindowDataset([whole, front], EVA).batch([("whole", 1), ("front", 1)])
    image, mask = batch.observation.images["left_wrist"], batch.observation.image_mask["left_wrist"]
    assert mask.tolist() == [True, False]
    assert image[0].any()
    assert not image[1].any()
    assert image.shape == (2, 12, 16, 3)
    alone = WindowDataset([front], EVA).batch([("front", 1)])
    assert alone.observation.images["right_wrist"].shape == (1, 12, 16, 3)
    assert not alone.observation.image_mask["right_wrist"].any()


def test_pictures_of_two_sizes_in_one_batch_are_refused_by_name(tmp_path: Path) -> None:
    small = read_facts(make_eva_episode(tmp_path / "small.zarr", size=(16, 12)))
    large = read_facts(make_eva_episode(tmp_path / "large.zarr", size=(32, 24)))
    dataset = WindowDataset([small, large], EVA)
    assert len(dataset.batch([("small", 0)])) == len(dataset.batch([("large", 0)])) == 1
    with pytest.raises(EpisodeError, match=r"front_1.*16x12 in 'small', 32x24 in 'large'"):
        dataset.batch([("small", 0), ("large", 0)])


def test_only_the_named_cameras_are_read(eva: list[EpisodeFacts], monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = WindowDataset(eva, EVA, ("left_wrist",))
    read: list[tuple[str, int]] = []
    original = Episode.jpeg
    monkeypatch.setattr(Episode, "jpeg", lambda self, c, f: (read.append((c, f)), original(self, c, f))[1])
    batch = dataset.batch([("e0", 1), ("e2", 3)])
    assert list(batch.observation.images) == ["left_wrist"]
    assert read == [("left_wrist", 1), ("left_wrist", 3)]  # one picture a camera and row


def test_a_policy_without_cameras_needs_no_picture(tmp_path: Path) -> None:
    whole = open_episode(make_eva_episode(tmp_path / "whole.zarr"))
    arrays = {name: whole.numbers(name) for name in EVA.arrays(whole.facts)}
    facts = read_facts(write_numbers(tmp_path / "e.zarr", "eva_bimanual", arrays))
    assert WindowDataset([facts], EVA, ()).batch([("e", 0)]).observation.images == {}
    with pytest.raises(ConfigError, match="No episode has any of the cameras"):
        WindowDataset([facts], EVA)


def test_numbers_of_many_episodes_stay_within_their_budget(
    eva: list[EpisodeFacts], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = WindowDataset(eva, EVA).batch([("e0", 0), ("e1", 1), ("e2", 2)])
    monkeypatch.setattr(dataset_module, "NUMBERS_BUDGET", 1)
    dataset = WindowDataset(eva, EVA)
    assert same(dataset.batch([("e0", 0), ("e1", 1), ("e2", 2)]), expected)
    assert len(dataset._opened) == 1


def test_each_array_is_read_once_however_many_batches(eva: list[EpisodeFacts], monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    original = Pipeline.load
    monkeypatch.setattr(Pipeline, "load", lambda self, episode: (read.append(episode.hash), original(self, episode))[1])
    dataset = WindowDataset(eva, EVA)
    for index in range(len(dataset)):
        dataset.__getitems__([index])
    assert read == ["e0", "e1", "e2"]


def test_it_travels_to_another_process_without_what_it_opened(eva: list[EpisodeFacts]) -> None:
    dataset = WindowDataset(eva, EVA)
    copy = pickle.loads(pickle.dumps(dataset))  # noqa: S301
    assert not copy._opened
    assert same(copy.__getitems__([1, 8]), dataset.__getitems__([1, 8]))


def test_what_is_not_there_is_named(eva: list[EpisodeFacts]) -> None:
    dataset = WindowDataset(eva, EVA)
    with pytest.raises(UnknownNameError, match="episode 'e9'"):
        dataset.batch([("e9", 0)])
    with pytest.raises(EpisodeError, match="'e0', frame 5: there is no such frame among 5"):
        dataset.batch([("e0", 5)])
    with pytest.raises(ConfigError, match="at least one episode"):
        WindowDataset([], EVA)
    with pytest.raises(EpisodeError, match="expected 'human_bimanual'"):
        WindowDataset(eva, HUMAN)


def test_the_last_action_of_an_episode_is_never_taught_twice(eva: list[EpisodeFacts]) -> None:
    """openpi#894: a policy freezes where demonstrations end, because the repeated last action was trained on."""
    batch = WindowDataset(eva, EVA).batch([("e0", 4)])
    assert batch.action_mask[0].tolist() == [True] + [False] * 5


def test_a_batch_may_mix_episodes_of_different_rates_and_calibration(tmp_path: Path) -> None:
    turned = np.eye(4)
    turned[:3, 3] = 0.1, 0.2, 0.3
    poses = {"left": turned.tolist(), "right": np.eye(4).tolist()}
    facts = [
        read_facts(make_eva_episode(tmp_path / "slow", num_frames=9, fps=30)),
        read_facts(make_eva_episode(tmp_path / "fast", num_frames=9, fps=60)),
        read_facts(make_eva_episode(tmp_path / "moved", num_frames=9, fps=30, attributes={"extrinsics": poses})),
    ]
    dataset = WindowDataset(facts, EVA)
    keys = [("fast", 3), ("slow", 1), ("moved", 1), ("fast", 0), ("slow", 8)]
    together = dataset.batch(keys)
    for row, key in enumerate(keys):
        alone = dataset.batch([key])
        assert torch.equal(together.actions[row], alone.actions[0])
        assert torch.equal(together.action_mask[row], alone.action_mask[0])
        assert torch.equal(together.observation.state[row], alone.observation.state[0])
    assert not torch.equal(together.actions[1], together.actions[2])


def test_pictures_beyond_the_budget_are_read_one_by_one_and_are_the_same(
    eva: list[EpisodeFacts], monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [("e0", 1), ("e2", 3)]
    kept = WindowDataset(eva, EVA).batch(keys)
    monkeypatch.setattr(dataset_module, "PICTURES_BUDGET", 0)
    monkeypatch.setattr(Episode, "keep_pictures", lambda *_: pytest.fail("kept beyond the budget"))
    assert same(WindowDataset(eva, EVA).batch(keys), kept)


def test_opening_a_data_set_reads_no_pictures_of_it_and_a_batch_reads_an_episodes_once(
    eva: list[EpisodeFacts], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    original = reader_module._Pictures.keep
    monkeypatch.setattr(
        reader_module._Pictures,
        "keep",
        lambda self: (read.append(self._name) if self._kept is None else None, original(self))[1],
    )
    dataset = WindowDataset(eva, EVA, ("front_1",))
    assert read == []
    for _ in range(2):
        dataset.batch([("e0", 0), ("e0", 1), ("e2", 3)])
    assert read == ["images.front_1"] * 2


@pytest.mark.parametrize("num_frames", [1, 7, 100, 101, 250])
@pytest.mark.parametrize("rows", [1, 2, 6, 40])
@pytest.mark.parametrize("stride", [1, 3])
def test_every_window_of_a_ramp_holds_the_rows_it_should(
    tmp_path: Path, num_frames: int, rows: int, stride: int
) -> None:
    """EgoVerse#674's oracle: value[t, d] = t * 1000 + d, so that every number tells where it came from."""
    ramp = np.arange(num_frames)[:, None] * 1000.0 + np.arange(5)
    facts = read_facts(write_joints(tmp_path / "ramp", ramp, -ramp, fps=10))
    seconds = max((rows - 1) * stride, 1) / 10  # steps of a chunk lie `stride` stored rows apart
    pipeline = build_pipeline(embodiment_of("toy_arm", facts.attributes), horizon=rows, seconds=seconds)
    dataset = WindowDataset([facts], pipeline, ())
    assert len(dataset) == num_frames
    frames = np.random.default_rng(0).permutation(num_frames)
    batch = dataset.batch([("ramp", int(frame)) for frame in frames])
    steps = frames[:, None] + stride * np.arange(rows)
    np.testing.assert_array_equal(batch.action_mask, steps < num_frames)
    np.testing.assert_array_equal(batch.actions, ramp[np.minimum(steps, num_frames - 1)])
    np.testing.assert_array_equal(batch.observation.state, -ramp[frames])


def test_numbers_that_are_kept_are_never_written_over(eva: list[EpisodeFacts]) -> None:
    dataset = WindowDataset(eva, EVA)
    keys = [dataset.keys(index) for index in range(len(dataset))]
    kept = [dataset.encode(keys[start : start + 4]) for start in range(0, 16, 4)]
    alone = [dataset.encode([key]) for key in keys[:16]]
    together = np.concatenate([each.actions for each in kept])
    np.testing.assert_array_equal(together, np.concatenate([each.actions for each in alone]))


def test_memory_of_numbers_is_used_again_once_their_batch_is_gone(eva: list[EpisodeFacts]) -> None:
    dataset = WindowDataset(eva, EVA)
    batch = dataset.batch([("e0", 0), ("e1", 1)])
    place = batch.actions.data_ptr()
    del batch
    assert dataset.batch([("e2", 2), ("e2", 3)]).actions.data_ptr() == place
