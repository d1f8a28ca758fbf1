"""Histories of states (#650, #670): which rows, which masks, in which frames; and the texts that end chunks (#649)."""

import dataclasses
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotrain.data import pipeline as pipeline_module
from robotrain.data.dataset import WindowDataset
from robotrain.data.exact_stats import compute_stats
from robotrain.data.past import past_rows
from robotrain.data.pipeline import Pipeline, build_pipeline
from robotrain.embodiments.catalog import embodiment_of
from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.embodiments.history import NO_HISTORY, History
from robotrain.episodes.reader import Episode, open_episode
from robotrain.errors import ConfigError, EpisodeError
from robotrain.geometry.poses import invert, transform_from_pose
from tests.damage import set_texts
from tests.factories import make_eva_episode, make_human_episode, make_joint_episode, write_joints

THREE = History(steps=3, seconds=2 / 30)
"""Rows i - 4, i - 2 and i at 30 Hz."""


def pipeline_of(
    episode: Episode, history: History = NO_HISTORY, mode: str | None = None, *, stop_at_text_end: bool = False
) -> Pipeline:
    body = embodiment_of(episode.embodiment, episode.facts.attributes)
    return build_pipeline(body, mode=mode, horizon=4, seconds=0.1, history=history, stop_at_text_end=stop_at_text_end)


def ramp(path: Path, num_frames: int = 12, fps: float = 30) -> Episode:
    """Write an episode of which every number says where it is stored: value[t, d] = 1000 t + d."""
    values = np.arange(num_frames)[:, None] * 1000.0 + np.arange(2)
    return open_episode(write_joints(path, values, fps=fps))


def test_a_history_is_rows_a_step_apart_the_current_one_last(tmp_path: Path) -> None:
    episode = ramp(tmp_path / "e.zarr")
    pipeline = pipeline_of(episode, THREE)
    encoded = pipeline.encode(pipeline.gather(episode, np.array([0, 1, 3, 11])))
    np.testing.assert_array_equal(encoded.state_history[..., 0] / 1000, [[0, 0, 0], [0, 0, 1], [0, 1, 3], [7, 9, 11]])
    np.testing.assert_array_equal(encoded.state_history[..., 1] % 1000, np.ones((4, 3)))
    np.testing.assert_array_equal(encoded.history_mask.astype(int), [[0, 0, 1], [0, 0, 1], [0, 1, 1], [1, 1, 1]])
    assert encoded.state_history_mask.all()  # what stands before the first frame is the first frame, and is known


@given(
    frames=st.lists(st.integers(0, 500), min_size=1, max_size=5),
    steps=st.integers(2, 8),
    stride=st.integers(1, 40),
)
def test_every_step_is_its_row_or_the_first(frames: list[int], steps: int, stride: int) -> None:
    rows, real = past_rows(np.array(frames), History(steps=steps), stride)
    for n, frame in enumerate(frames):
        for k in range(steps):
            wanted = frame - (steps - 1 - k) * stride
            assert rows[n, k] == max(0, wanted)
            assert real[n, k] == (wanted >= 0)


RATES = (5, 30, 60)


@pytest.fixture(scope="module")
def ramps(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Episode]:
    folder = tmp_path_factory.mktemp("ramps")
    return {fps: ramp(folder / f"{fps}.zarr", fps=fps) for fps in RATES}


@settings(max_examples=60, deadline=None)
@given(
    fps=st.sampled_from(RATES),
    seconds=st.floats(0.01, 1.0),
    history=st.builds(History, steps=st.integers(2, 5), seconds=st.floats(0.01, 1.0)),
    frames=st.lists(st.integers(0, 11), min_size=1, max_size=4),
)
def test_every_number_of_a_ramp_is_where_an_oracle_says(
    ramps: dict[int, Episode], fps: int, seconds: float, history: History, frames: list[int]
) -> None:
    """#674: value[t, d] = 1000 t + d, for every window, stride, history and padding, one entry at a time."""
    episode, last = ramps[fps], 11
    rows, stride = round(seconds * fps) + 1, max(1, round(history.seconds * fps))
    body = embodiment_of(episode.embodiment, episode.facts.attributes)
    pipeline = build_pipeline(body, horizon=rows, seconds=seconds, history=history)  # no step between two rows
    encoded = pipeline.encode(pipeline.gather(episode, np.array(frames)))
    for n, frame in enumerate(frames):
        for step in range(rows):
            assert encoded.actions[n, step].tolist() == [1000 * min(frame + step, last) + d for d in range(2)]
            assert encoded.action_mask[n, step] == (frame + step <= last)
        for step in range(history.steps):
            row = frame - (history.steps - 1 - step) * stride
            assert encoded.state_history[n, step].tolist() == [1000 * max(row, 0) + d for d in range(2)]
            assert encoded.history_mask[n, step] == (row >= 0)
        assert encoded.state[n].tolist() == [1000 * frame, 1000 * frame + 1]


@pytest.mark.parametrize(("fps", "stride"), [(30, 3), (60, 6), (Fraction(30000, 1001), 3), (5, 1), (1, 1)])
def test_seconds_between_steps_become_rows_through_the_episodes_own_rate(fps: Fraction, stride: int) -> None:
    assert History(steps=2, seconds=0.1).stride(Fraction(fps)) == stride


def test_an_episode_at_twice_the_rate_is_read_at_twice_the_stride(tmp_path: Path) -> None:
    episode = ramp(tmp_path / "e.zarr", fps=60)
    pipeline = pipeline_of(episode, THREE)
    encoded = pipeline.encode(pipeline.gather(episode, np.array([9])))
    np.testing.assert_array_equal(encoded.state_history[0, :, 0] / 1000, [1, 5, 9])


@pytest.mark.parametrize("make", [make_eva_episode, make_human_episode, make_joint_episode])
def test_one_step_is_what_it_was_without_a_history(tmp_path: Path, make: type) -> None:
    episode = open_episode(make(tmp_path / "e.zarr", num_frames=9))
    plain, one = pipeline_of(episode), pipeline_of(episode, History(steps=1, seconds=0.5))
    assert one == plain
    many = pipeline_of(episode, THREE)
    frames = np.arange(9)
    expected, found = (each.encode(each.gather(episode, frames)) for each in (plain, many))
    assert expected.state_history.shape[1] == 0
    for name in ("actions", "action_mask", "state", "state_mask"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    batch = WindowDataset([episode.facts], plain).batch([("e", 3)])
    assert batch.observation.state_history is batch.observation.history_mask is None


@pytest.mark.parametrize("make", [make_eva_episode, make_human_episode, make_joint_episode])
def test_the_last_step_is_the_current_state(tmp_path: Path, make: type) -> None:
    episode = open_episode(make(tmp_path / "e.zarr", num_frames=9))
    for mode in embodiment_of(episode.embodiment, episode.facts.attributes).modes:
        pipeline = pipeline_of(episode, THREE, mode)
        encoded = pipeline.encode(pipeline.gather(episode, np.arange(9)))
        np.testing.assert_allclose(encoded.state_history[:, -1], encoded.state, atol=1e-6)
        np.testing.assert_array_equal(encoded.state_history_mask[:, -1], encoded.state_mask)
        assert encoded.history_mask[:, -1].all()


def test_all_steps_stand_in_the_frames_of_the_current_one(tmp_path: Path) -> None:
    episode = open_episode(make_human_episode(tmp_path / "e.zarr", num_frames=9))
    pipeline = pipeline_of(episode, THREE)
    encoded = pipeline.encode(pipeline.gather(episode, np.array([8])))
    layout = pipeline.layouts.state
    camera_from_world = invert(transform_from_pose(episode.numbers("obs_head_pose")[8]))
    wrist_from_world = invert(transform_from_pose(episode.numbers("left.obs_wrist_pose")[8]))
    for step, row in enumerate((4, 6, 8)):
        parts = layout.split(encoded.state_history[0, step])
        wrist = camera_from_world @ transform_from_pose(episode.numbers("left.obs_wrist_pose")[row])
        np.testing.assert_allclose(parts["left.xyz"], wrist[:3, 3], atol=1e-6)
        points = episode.numbers("left.obs_keypoints")[row].reshape(21, 3)
        expected = points @ wrist_from_world[:3, :3].T + wrist_from_world[:3, 3]
        np.testing.assert_allclose(parts["left.keypoints"], expected.ravel(), atol=1e-6)


def test_keypoints_may_stand_in_the_wrist_of_their_own_step(tmp_path: Path) -> None:
    """#670: what a step shows is then what the current state of that frame showed, and the same statistics hold."""
    episode = open_episode(make_human_episode(tmp_path / "e.zarr", num_frames=9))
    own = pipeline_of(episode, History(steps=3, seconds=2 / 30, per_step_wrist=True))
    shared = pipeline_of(episode, THREE)
    found, plain = (each.encode(each.gather(episode, np.array([8]))) for each in (own, shared))
    then = own.encode(own.gather(episode, np.array([4, 6, 8])))
    layout = own.layouts.state
    for field in layout.fields:
        columns = layout.slices[field.name]
        if field.kind == "keypoints":
            np.testing.assert_allclose(found.state_history[0, :, columns], then.state[:, columns], atol=1e-6)
            assert np.abs(plain.state_history[0, :, columns] - then.state[:, columns]).max() > 1e-3
        else:
            np.testing.assert_array_equal(found.state_history[..., columns], plain.state_history[..., columns])
    np.testing.assert_array_equal(found.actions, plain.actions)


@pytest.mark.parametrize(("kind", "mode"), [(make_human_episode, "cartesian_wristframe_6d"), (make_eva_episode, None)])
def test_wrists_of_their_own_are_refused_where_the_state_knows_none(tmp_path: Path, kind: type, mode: str) -> None:
    episode = open_episode(kind(tmp_path / "e.zarr"))
    with pytest.raises(ConfigError, match=r"per_step_wrist says nothing in mode 'cartesian_"):
        pipeline_of(episode, History(steps=2, per_step_wrist=True), mode)


def test_a_hand_that_was_missing_then_is_masked_there_and_nowhere_else(tmp_path: Path) -> None:
    episode = open_episode(make_human_episode(tmp_path / "e.zarr", num_frames=12, missing={"left": (4,)}))
    pipeline = pipeline_of(episode, THREE, "cartesian_6d")
    encoded = pipeline.encode(pipeline.gather(episode, np.array([6, 8, 4])))
    left = pipeline.layouts.state.slices["left.rot6d"]
    right = pipeline.layouts.state.slices["right.xyz"]
    known = encoded.state_history_mask[..., left].all(-1).astype(int)
    np.testing.assert_array_equal(known, [[1, 0, 1], [0, 1, 1], [1, 1, 0]])
    assert encoded.state_history_mask[..., right].all()
    assert not encoded.state_history[0, 1, left].any()
    assert encoded.history_mask.all()


def test_a_wrist_that_is_missing_now_gives_no_frame_to_earlier_keypoints(tmp_path: Path) -> None:
    episode = open_episode(make_human_episode(tmp_path / "e.zarr", num_frames=12, missing={"left": (8,)}))
    for per_step, expected in ((False, [0, 0, 0]), (True, [1, 1, 0])):
        pipeline = pipeline_of(episode, History(steps=3, seconds=2 / 30, per_step_wrist=per_step))
        encoded = pipeline.encode(pipeline.gather(episode, np.array([8])))
        points = pipeline.layouts.state.slices["left.keypoints"]
        np.testing.assert_array_equal(encoded.state_history_mask[0, :, points].all(-1).astype(int), expected)


@settings(max_examples=10, deadline=None)
@given(frame=st.integers(0, 11), steps=st.integers(2, 5))
def test_a_robot_that_keeps_its_last_rows_sees_what_training_saw(
    tmp_path_factory: pytest.TempPathFactory, frame: int, steps: int
) -> None:
    folder = tmp_path_factory.getbasetemp() / "observed"
    path = folder / "e.zarr"
    if not path.exists():
        make_human_episode(path, num_frames=12)
    episode = open_episode(path)
    pipeline = pipeline_of(episode, History(steps=steps, seconds=1 / 30, per_step_wrist=True))
    encoded = pipeline.encode(pipeline.gather(episode, np.array([frame])))
    first = max(0, frame - steps + 1)
    arrays = {name: episode.numbers(name)[first : frame + 1] for name in pipeline.arrays(episode.facts)}
    observed = pipeline.observe(arrays)
    state, _ = pipeline.encode_state(observed)
    np.testing.assert_allclose(state, encoded.state, atol=1e-7)
    states, columns, steps_real = pipeline.encode_history(observed)
    np.testing.assert_allclose(states, encoded.state_history, atol=1e-7)
    np.testing.assert_array_equal(columns, encoded.state_history_mask)
    np.testing.assert_array_equal(steps_real, encoded.history_mask)


def test_more_rows_than_steps_or_rows_that_differ_are_refused(tmp_path: Path) -> None:
    episode = open_episode(make_eva_episode(tmp_path / "e.zarr"))
    pipeline = pipeline_of(episode, THREE)
    arrays = {name: episode.numbers(name)[:4] for name in pipeline.arrays(episode.facts)}
    with pytest.raises(EpisodeError, match=r"at most 3; found left\.obs_ee_pose 4"):
        pipeline.observe(arrays)
    arrays |= {"left.obs_ee_pose": arrays["left.obs_ee_pose"][:2]}
    with pytest.raises(EpisodeError, match="same number of rows"):
        pipeline.observe({name: rows[:3] for name, rows in arrays.items()})


def test_a_batch_carries_it_and_moves_it(tmp_path: Path) -> None:
    paths = [ramp(tmp_path / "a.zarr").facts, ramp(tmp_path / "b.zarr", fps=60).facts]
    pipeline = pipeline_of(open_episode(tmp_path / "a.zarr"), THREE)
    dataset = WindowDataset(paths, pipeline, ())
    batch = dataset.batch([("b", 9), ("a", 9), ("a", 1)])
    seen = batch.observation
    assert seen.state_history is not None
    assert seen.history_mask is not None
    assert (seen.state_history[..., 0] / 1000).tolist() == [[1, 5, 9], [5, 7, 9], [0, 0, 1]]
    assert seen.history_mask.tolist() == [[True] * 3, [True] * 3, [False, False, True]]
    moved = batch.to("meta").observation
    assert moved.state_history is not None
    assert moved.state_history.is_meta
    assert dataset.interface.history == THREE


def test_the_interface_travels_with_it(tmp_path: Path) -> None:
    interface = pipeline_of(ramp(tmp_path / "e.zarr"), THREE).interface()
    assert PolicyInterface.from_plain(interface.to_plain()) == interface
    assert interface != pipeline_of(ramp(tmp_path / "f.zarr")).interface()


def test_statistics_neither_depend_on_it_nor_gather_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    episode = ramp(tmp_path / "e.zarr")
    plain, many = pipeline_of(episode), pipeline_of(episode, THREE)
    assert many.recipe() == plain.recipe()
    expected = compute_stats([episode], plain)
    monkeypatch.setattr(pipeline_module, "gather_past", lambda *_: pytest.fail("a history was gathered"))
    found = compute_stats([episode], many)
    assert found.interface.history == THREE
    assert dataclasses.replace(found, interface=expected.interface).to_plain() == expected.to_plain()


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"steps": 0}, "data.history.steps must be at least 1"),
        ({"steps": 65}, "data.history.steps must be at least 1 and at most 64"),
        ({"steps": 2, "seconds": 0.0}, "data.history.seconds must be above 0"),
        ({"steps": 2, "seconds": float("nan")}, "data.history.seconds must be above 0"),
        ({"per_step_wrist": True}, "says nothing with one step"),
    ],
)
def test_numbers_that_make_no_history_are_refused(settings_: Mapping[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        History(**settings_)  # pyright: ignore[reportArgumentType]


# ---- texts that end chunks ----


def test_steps_past_the_end_of_the_text_are_not_real(tmp_path: Path) -> None:
    """#649: frames 0 to 4 reach, 4 to 8 lift; what comes after a text is not what it asked for."""
    path = make_eva_episode(tmp_path / "e.zarr", num_frames=10, cameras=())
    set_texts(path, ("reach", 0, 4), ("lift", 4, 8))
    episode = open_episode(path)
    ending = pipeline_of(episode, stop_at_text_end=True)
    window = ending.gather(episode, np.array([1, 3, 4, 7, 8]))
    mask = ending.encode(window).action_mask.astype(int)
    np.testing.assert_array_equal(mask, [[1, 1, 1, 0], [1, 0, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0], [1, 1, 0, 0]])
    np.testing.assert_array_equal(ending.real_steps(ending.load(episode))[[1, 3, 4, 7, 8]], mask)
    plain = pipeline_of(episode)
    assert plain.encode(plain.gather(episode, np.array([1, 3]))).action_mask.all()
    assert plain.recipe() != ending.recipe()
    assert set(ending.digested_arrays(episode.facts)) - set(plain.digested_arrays(episode.facts)) == {"annotations"}


def test_of_texts_that_overlap_the_one_that_is_read_ends_the_chunk(tmp_path: Path) -> None:
    path = make_eva_episode(tmp_path / "e.zarr", num_frames=10, cameras=())
    set_texts(path, ("reach", 2, 4), ("tidy up", 0, 9))
    episode = open_episode(path)
    pipeline = pipeline_of(episode, stop_at_text_end=True)
    mask = pipeline.encode(pipeline.gather(episode, np.array([1, 2, 4, 7]))).action_mask.astype(int)
    np.testing.assert_array_equal(mask, [[1, 1, 1, 1], [1, 1, 0, 0], [1, 1, 1, 1], [1, 1, 0, 0]])
    assert episode.prompt(2) == "reach"


def test_texts_that_begin_or_end_before_the_first_frame_end_what_they_hold_for(tmp_path: Path) -> None:
    path = make_eva_episode(tmp_path / "e.zarr", num_frames=10, cameras=())
    set_texts(path, ("reach", -2, 4), ("gone", -7, -3))
    episode = open_episode(path)
    assert [episode.prompt(frame) for frame in range(10)] == ["reach"] * 4 + ["pick it up"] * 6
    numbers = pipeline_of(episode, stop_at_text_end=True).load(episode)
    assert numbers.text_ends is not None
    assert numbers.text_ends.tolist() == [4] * 4 + [10] * 6


def test_texts_that_cannot_be_read_end_nothing_silently(tmp_path: Path) -> None:
    path = make_eva_episode(tmp_path / "e.zarr", num_frames=10, cameras=())
    set_texts(path, ("reach", 0, 4))
    (path / "annotations" / "c" / "0").unlink()
    episode = open_episode(path)
    with pytest.raises(EpisodeError, match="'e': its texts are to end chunks, and"):
        pipeline_of(episode, stop_at_text_end=True).load(episode)
