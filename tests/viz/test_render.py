from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from robotrain.data.pipeline import build_pipeline
from robotrain.embodiments.catalog import embodiment_of
from robotrain.embodiments.embodiment import Embodiment, PolicyInterface
from robotrain.embodiments.layout import Field, Layout
from robotrain.episodes.reader import Episode, open_episode
from robotrain.errors import ConfigError, ShapeError, UnknownNameError
from robotrain.geometry.cameras import unproject
from robotrain.geometry.rotations import rot6d_from_matrix
from robotrain.predictions import Predictions
from robotrain.viz.charts import plan_grid
from robotrain.viz.render import EpisodeRows, RenderOptions, View, draw_frames, render_episode, view_of
from robotrain.viz.video import probe_video
from tests.factories import make_eva_episode, make_human_episode, make_joint_episode

H = 5
SIZE = (320, 240)


def interface_of(body: Embodiment, horizon: int = H) -> PolicyInterface:
    layouts = body.mode(None)
    return PolicyInterface(
        body.name, body.default_mode, layouts.actions, layouts.state, horizon, layouts.seconds, body.cameras
    )


def eva(tmp_path: Path, num_frames: int = 4) -> tuple[Episode, PolicyInterface, View]:
    episode = open_episode(make_eva_episode(tmp_path / "eva.zarr", num_frames, SIZE, cameras=("front_1",)))
    body = embodiment_of("eva_bimanual", {})
    return episode, interface_of(body), view_of(episode, body)


def rows_of(
    interface: PolicyInterface, frames: np.ndarray, truth: np.ndarray | None, predicted: np.ndarray | None
) -> EpisodeRows:
    num, width = len(frames), interface.state.width
    return EpisodeRows(
        frames=frames,
        truth=truth,
        predicted=predicted,
        mask=np.ones((num, H), bool),
        state=np.zeros((num, width)),
        state_mask=np.ones((num, width), bool),
    )


def arm_chunks(interface: PolicyInterface, view: View, num: int, pixels: dict[str, np.ndarray]) -> np.ndarray:
    """Return chunks (num, H, D) in which each arm runs along the given pixels (H, 2), half a metre away."""
    assert view.intrinsics is not None
    chunks = np.zeros((num, H, interface.actions.width))
    for side in ("left", "right"):
        chunks[..., interface.actions.slices[f"{side}.rot6d"]] = rot6d_from_matrix(np.eye(3))
        chunks[..., interface.actions.slices[f"{side}.xyz"]] = (0, 0, -1)  # behind the camera
        if side in pixels:
            chunks[..., interface.actions.slices[f"{side}.xyz"]] = unproject(pixels[side], 0.5, view.intrinsics)
    return chunks


def reddish(image: np.ndarray) -> np.ndarray:
    return image[..., 0].astype(int) - image[..., 2] > 80


def greenish(image: np.ndarray) -> np.ndarray:
    return image[..., 1].astype(int) - image[..., 0] > 60


def middle(image: np.ndarray) -> np.ndarray:
    """The picture without legend and caption."""
    return image[40:180]


def test_predictions_and_truth_are_drawn_where_the_camera_sees_them(tmp_path: Path) -> None:
    episode, interface, view = eva(tmp_path)
    left = np.stack([np.linspace(60.5, 140.5, H), np.full(H, 80.5)], -1)
    right = np.stack([np.linspace(200.5, 280.5, H), np.full(H, 150.5)], -1)
    truth = arm_chunks(interface, view, 4, {"left": left})
    predicted = arm_chunks(interface, view, 4, {"right": right})
    frames = list(draw_frames(episode, interface, rows_of(interface, np.arange(4), truth, predicted), view))
    assert len(frames) == 4
    for frame in frames:
        assert frame.shape == (240, 320, 3)
        rows, columns = np.nonzero(greenish(middle(frame)))
        assert abs(np.median(rows + 40) - 80) <= 2
        assert columns.max() == pytest.approx(140, abs=4)
        rows, columns = np.nonzero(reddish(middle(frame)))
        assert abs(np.median(rows + 40) - 150) <= 2
        assert columns.max() == pytest.approx(280, abs=4)


def test_nothing_behind_the_camera_or_outside_the_picture_is_drawn(tmp_path: Path) -> None:
    episode, interface, view = eva(tmp_path, 2)
    outside = np.stack([np.linspace(-300.0, -20.0, H), np.full(H, 100.0)], -1)
    chunks = arm_chunks(interface, view, 2, {"left": outside})
    drawn = next(draw_frames(episode, interface, rows_of(interface, np.arange(2), chunks, chunks), view))
    none = rows_of(interface, np.arange(0), chunks[:0], chunks[:0])
    bare = next(draw_frames(episode, interface, none, view))
    np.testing.assert_array_equal(drawn, bare)


def test_masked_steps_of_the_truth_are_not_drawn(tmp_path: Path) -> None:
    episode, interface, view = eva(tmp_path, 2)
    path = np.stack([np.linspace(60.5, 260.5, H), np.full(H, 100.5)], -1)
    rows = rows_of(interface, np.arange(2), arm_chunks(interface, view, 2, {"left": path}), None)
    rows.mask[:, 2:] = False
    frame = middle(next(draw_frames(episode, interface, rows, view)))
    assert np.nonzero(greenish(frame))[1].max() < 120
    assert not reddish(frame).any()


def test_traces_are_drawn_only_on_the_frame_that_they_belong_to(tmp_path: Path) -> None:
    episode, interface, view = eva(tmp_path, 4)
    path = np.stack([np.linspace(60.5, 260.5, H), np.full(H, 100.5)], -1)
    rows = rows_of(interface, np.array([2]), None, arm_chunks(interface, view, 1, {"left": path}))
    drawn = [bool(reddish(middle(frame)).any()) for frame in draw_frames(episode, interface, rows, view)]
    assert drawn == [False, False, True, False]


@pytest.mark.parametrize("scale", [1, 2])
def test_the_video_has_the_sources_rate_and_frames_and_its_size_times_the_scale(tmp_path: Path, scale: int) -> None:
    episode, interface, view = eva(tmp_path, 7)
    chunks = arm_chunks(interface, view, 7, {"left": np.full((H, 2), 100.0)})
    rows = rows_of(interface, np.arange(7), chunks, chunks)
    path = tmp_path / "a.mp4"
    facts = render_episode(episode, interface, rows, view, path, options=RenderOptions(scale=scale))
    assert facts == probe_video(path)
    assert (facts.width, facts.height, facts.fps, facts.num_frames) == (320 * scale, 240 * scale, 30, 7)


def test_a_small_picture_is_enlarged_by_a_whole_number(tmp_path: Path) -> None:
    episode = open_episode(make_eva_episode(tmp_path / "a.zarr", 2, (64, 48), cameras=("front_1",)))
    body = embodiment_of("eva_bimanual", {})
    interface, view = interface_of(body), view_of(episode, body)
    rows = rows_of(interface, np.arange(2), arm_chunks(interface, view, 2, {}), None)
    assert next(draw_frames(episode, interface, rows, view)).shape == (384, 512, 3)
    with pytest.raises(ConfigError, match="scale 0"):
        RenderOptions(scale=0)


def test_traces_scale_with_the_picture(tmp_path: Path) -> None:
    episode, interface, view = eva(tmp_path, 1)
    path = np.stack([np.linspace(60.5, 140.5, H), np.full(H, 100.5)], -1)
    rows = rows_of(interface, np.arange(1), None, arm_chunks(interface, view, 1, {"left": path}))
    frame = next(draw_frames(episode, interface, rows, view, options=RenderOptions(scale=2)))
    found, columns = np.nonzero(reddish(frame[80:360]))
    assert abs(np.median(found + 80) - 201) <= 2
    assert columns.max() == pytest.approx(281, abs=6)


def test_joint_robots_get_charts_beside_the_picture(tmp_path: Path) -> None:
    path = make_joint_episode(tmp_path / "arm.zarr", 6, SIZE, fps=Fraction(15))
    episode = open_episode(path)
    body = embodiment_of(episode.embodiment, episode.facts.attributes)
    interface, view = interface_of(body), view_of(episode, body)
    truth = np.random.default_rng(0).normal(size=(6, H, interface.actions.width))
    rows = rows_of(interface, np.arange(6), truth, truth + 0.1)
    facts = render_episode(episode, interface, rows, view, tmp_path / "a.mp4")
    panel = plan_grid(interface.actions.width, 240).width
    assert (facts.width, facts.height, facts.fps, facts.num_frames) == (320 + panel, 240, 15, 6)
    frame = next(draw_frames(episode, interface, rows, view))
    assert greenish(frame[40:, 320:]).any()
    assert reddish(frame[40:, 320:]).any()


def test_charts_keep_the_latest_chunk_and_move_the_cursor_until_its_horizon_ends(tmp_path: Path) -> None:
    layout = Layout((Field("elbow", "joint", 1, "", "rad"),))
    episode = open_episode(make_joint_episode(tmp_path / "arm.zarr", 8, SIZE, fps=10, layout=layout))
    interface = PolicyInterface("toy_arm", "joints", layout, layout, H, 0.4, ("front_1",))
    chunk = np.linspace(0, 1, H).reshape(1, H, 1)
    rows = rows_of(interface, np.array([2]), None, chunk)
    panels = [f[:, 320:] for f in draw_frames(episode, interface, rows, View("front_1", None))]
    drawn = [bool(reddish(panel).any()) for panel in panels]
    assert drawn == [False, False, True, True, True, True, True, False]
    # the curve stays; only the cursor's columns change, and further right each time
    moved = [np.nonzero((a != b).any((0, 2)))[0].max() for a, b in pairwise(panels[2:7])]
    assert moved == sorted(moved)
    assert len(set(moved)) == len(moved)


def test_hands_are_drawn_where_their_keypoints_are(tmp_path: Path) -> None:
    episode = open_episode(make_human_episode(tmp_path / "h.zarr", 2, SIZE))
    body = embodiment_of("human_bimanual", {})
    interface, view = interface_of(body), view_of(episode, body)
    rows = rows_of(interface, np.arange(2), np.zeros((2, H, 144)), None)
    for side, x in (("left", -0.2), ("right", 0.2)):
        rows.state[:, interface.state.slices[f"{side}.xyz"]] = (x, 0, 0.5)
        rows.state[:, interface.state.slices[f"{side}.rot6d"]] = rot6d_from_matrix(np.eye(3))
    rows.state_mask[:, :72] = False  # the left hand is missing
    frame = middle(next(draw_frames(episode, interface, rows, view)))
    found, columns = np.nonzero(greenish(frame))
    assert view.intrinsics is not None
    assert columns.mean() == pytest.approx(160 + 0.2 / 0.5 * view.intrinsics.fx, abs=2)
    assert found.mean() + 40 == pytest.approx(120, abs=2)


def test_rows_of_another_layout_are_refused(tmp_path: Path) -> None:
    episode, interface, view = eva(tmp_path, 1)
    rows = rows_of(interface, np.arange(1), np.zeros((1, H, 7)), None)
    with pytest.raises(ShapeError, match=r"rows\.truth"):
        render_episode(episode, interface, rows, view, tmp_path / "a.mp4")
    with pytest.raises(ShapeError, match=r"rows\.mask"):
        EpisodeRows(np.arange(2), None, None, np.ones((1, H), bool), np.zeros((2, 20)), np.ones((2, 20), bool))
    assert not (tmp_path / "a.mp4").exists()


def test_the_rows_of_an_episode_come_from_predictions_in_order_of_frames() -> None:
    interface = interface_of(embodiment_of("eva_bimanual", {}))
    chunks = np.arange(3, dtype=np.float32)[:, None, None] * np.ones((3, H, 20), np.float32)
    predictions = Predictions(
        interface=interface,
        hashes=np.array(["b", "a", "b"]),
        frames=np.array([4, 0, 2]),
        predicted=chunks,
        truth=chunks + 10,
        mask=np.ones((3, H), bool),
        state=np.zeros((3, 20), np.float32),
        state_mask=np.ones((3, 20), bool),
        origin={},
    )
    rows = EpisodeRows.of(predictions, "b")
    assert rows.frames.tolist() == [2, 4]
    assert rows.predicted is not None
    assert rows.predicted[:, 0, 0].tolist() == [2, 0]
    with pytest.raises(UnknownNameError, match="'c'"):
        EpisodeRows.of(predictions, "c")


@pytest.mark.parametrize("name", ["2025-12-26-18-07-46-296000", "2025-09-20-17-47-54-000000.zarr"])
def test_a_real_episode_becomes_a_video_of_its_own_rate_size_and_length(
    name: str, real_data: Path, tmp_path: Path
) -> None:
    episode = open_episode(real_data / "egoverse-written" / name)
    body = embodiment_of(episode.embodiment, {})
    pipeline = build_pipeline(body, horizon=20)
    encoded = pipeline.encode(pipeline.gather(episode, np.arange(episode.num_frames)))
    rows = EpisodeRows(
        frames=np.arange(episode.num_frames),
        truth=encoded.actions,
        predicted=None,
        mask=encoded.action_mask,
        state=encoded.state,
        state_mask=encoded.state_mask,
    )
    view = view_of(episode, body)
    facts = render_episode(episode, pipeline.interface(), rows, view, tmp_path / "a.mp4")
    found = probe_video(tmp_path / "a.mp4")
    assert found == facts
    assert (found.width, found.height) == episode.image_size(view.camera)
    assert (found.fps, found.num_frames) == (episode.fps, episode.num_frames)
