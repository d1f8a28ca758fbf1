"""Drawing is right, not merely consistent: what is stored is found again in the picture, by its colour."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from robotrain.convert.source import convert_source
from robotrain.convert.synthetic.generate import SyntheticConfig, SyntheticSource
from robotrain.convert.synthetic.painter import HAND_COLORS, PALM_RADIUS, DrawnHand, Painter, Stroke
from robotrain.convert.synthetic.world import SIDES, Side, camera_from_table
from robotrain.episodes.reader import Episode, open_episode
from robotrain.geometry.cameras import Intrinsics, project
from robotrain.geometry.poses import invert, transform_from_pose, transform_points

BODIES = ("eva_bimanual", "human_bimanual")
TOLERANCE = 2.0  # pixels of a 640 x 480 picture


@dataclass(frozen=True)
class Found:
    """A converted episode, and where each hand was found in its pictures by colour alone."""

    episode: Episode
    intrinsics: Intrinsics
    centroids: dict[Side, np.ndarray]
    """By side: (T, 2) pixels."""


@pytest.fixture(scope="module", params=BODIES)
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Found:
    out = tmp_path_factory.mktemp("drawn")
    config = SyntheticConfig(embodiment=request.param, num_episodes=1, seed=3, width=640, height=480, fps=8)
    source = SyntheticSource(config)
    convert_source(source, out)
    episode = open_episode(out / f"{source.names()[0]}.zarr")
    intrinsics = episode.intrinsics("front_1")
    assert intrinsics is not None
    images = [episode.image("front_1", frame) for frame in range(episode.num_frames)]
    return Found(episode, intrinsics, {side: np.array([centroid(image, side) for image in images]) for side in SIDES})


def palms_in_camera(episode: Episode) -> dict[Side, np.ndarray]:
    """Return the stored palms (T, 3) by side, metres, in the camera's frame, through the stored calibration."""
    palms: dict[Side, np.ndarray] = {}
    for side in SIDES:
        stored = episode.numbers(f"{side}.obs_ee_pose")
        if episode.embodiment == "eva_bimanual":
            base_from_camera = episode.camera_pose(side)
            assert base_from_camera is not None
            frames = np.broadcast_to(invert(base_from_camera), (len(stored), 4, 4))
        else:
            frames = invert(transform_from_pose(episode.numbers("obs_head_pose")))
        palms[side] = transform_points(frames, stored[:, None, :3])[:, 0]
    return palms


def centroid(image: np.ndarray, side: Side) -> np.ndarray:
    """Return the centre (2,) in pixels of all that has a hand's colour; a pixel's centre is its index + 0.5."""
    color = np.array(HAND_COLORS[side], dtype=np.float32)
    share = np.clip(1.0 - np.linalg.norm(image - color, axis=-1) / 120.0, 0.0, None)
    rows, columns = np.mgrid[: image.shape[0], : image.shape[1]] + 0.5
    return np.array([(share * columns).sum(), (share * rows).sum()]) / share.sum()


def distances(found: Found, intrinsics: Intrinsics) -> np.ndarray:
    """Return how far each hand is from the projection of what is stored, pixels, frame by frame, where all is seen."""
    palms = palms_in_camera(found.episode)
    pixels = {side: project(palms[side], intrinsics)[0] for side in SIDES}
    radii = {side: 1.3 * PALM_RADIUS * intrinsics.fx / palms[side][:, 2] for side in SIDES}
    is_apart = np.linalg.norm(pixels["left"] - pixels["right"], axis=-1) > radii["left"] + radii["right"]
    seen = []
    for side in SIDES:
        edge = np.minimum(pixels[side], [intrinsics.width, intrinsics.height] - pixels[side]).min(axis=-1)
        away = np.linalg.norm(found.centroids[side] - pixels[side], axis=-1)
        seen.append(away[is_apart & (edge > radii[side])])
    assert sum(map(len, seen)) > 0.9 * 2 * found.episode.num_frames, "hands are nearly always in view and apart"
    return np.concatenate(seen)


def test_the_drawn_hand_lies_where_the_stored_point_projects(found: Found) -> None:
    assert distances(found, found.intrinsics).max() < TOLERANCE


def test_with_a_focal_length_that_is_off_by_five_percent_it_does_not(found: Found) -> None:
    told = found.intrinsics
    for wrong in (0.95, 1.05):
        off = Intrinsics(told.fx * wrong, told.fy * wrong, told.cx, told.cy, told.width, told.height)
        assert distances(found, off).max() > TOLERANCE


def test_half_a_pixel_of_shift_would_be_seen(found: Found) -> None:
    assert np.median(distances(found, found.intrinsics)) < 0.35


def test_nothing_else_has_a_hand_s_colour() -> None:
    source = SyntheticSource(SyntheticConfig(num_episodes=3, width=320, height=240, distractors=4))
    for name in source.names():
        scene, recording = source.record(name)
        image = Painter(scene.prisms, source.intrinsics()).draw(recording.camera_from_table[0], ())
        for color in HAND_COLORS.values():
            assert np.linalg.norm(image - np.array(color, dtype=float), axis=-1).min() > 120


def test_a_hand_is_drawn_over_everything_else() -> None:
    source = SyntheticSource(SyntheticConfig(num_episodes=1, width=320, height=240))
    scene, _ = source.record(source.names()[0])
    inside_a_block = np.append(scene.prisms[0].centre, 0.01)
    image = Painter(scene.prisms, source.intrinsics()).draw(
        camera_from_table(),
        [DrawnHand("left", inside_a_block, (Stroke(np.ones((2, 3)) * inside_a_block, 0.01, (0, 0, 0)),))],
    )
    pixel = project(transform_points(camera_from_table(), inside_a_block[None]), source.intrinsics())[0][0]
    assert np.linalg.norm(centroid(image, "left") - pixel) < 0.5


@pytest.mark.parametrize("size", [(96, 72), (128, 96)])
def test_small_pictures_still_show_both_blocks(size: tuple[int, int]) -> None:
    source = SyntheticSource(SyntheticConfig(num_episodes=20, width=size[0], height=size[1]))
    for name in source.names():
        scene, recording = source.record(name)
        image = Painter(scene.prisms, source.intrinsics()).draw(recording.camera_from_table[0], recording.hands[0])
        red, green, blue = np.moveaxis(image.astype(int), -1, 0)
        assert ((red > 2 * green) & (red > 2 * blue)).sum() >= 6
        assert ((blue > 1.6 * red) & (blue > 1.6 * green)).sum() >= 6


def test_a_bar_that_reaches_behind_the_camera_is_drawn_as_far_as_it_is_seen() -> None:
    source = SyntheticSource(SyntheticConfig(num_episodes=1, width=320, height=240))
    table_from_camera = invert(camera_from_table())
    ends = transform_points(table_from_camera, np.array([[0.0, 0.0, -1.0], [0.0, 0.1, 0.6]]))
    behind = transform_points(table_from_camera, np.array([[0.0, 0.0, -1.0], [0.0, 0.1, -0.6]]))
    painter, palm = Painter((), source.intrinsics()), np.array([0.3, 0.2, 0.1])
    plain = painter.draw(camera_from_table(), [DrawnHand("left", palm, (Stroke(behind, 0.01, (1, 2, 3)),))])
    drawn = painter.draw(camera_from_table(), [DrawnHand("left", palm, (Stroke(ends, 0.01, (1, 2, 3)),))])
    assert (drawn[130:, 155:165] == (1, 2, 3)).all(axis=-1).any()
    assert not (plain == (1, 2, 3)).all(axis=-1).any()


def test_pictures_are_found_under_the_front_camera(tmp_path: Path) -> None:
    source = SyntheticSource(SyntheticConfig(num_episodes=1, width=64, height=48, seconds=0.2))
    convert_source(source, tmp_path)
    episode = open_episode(tmp_path / f"{source.names()[0]}.zarr")
    assert episode.cameras == ("front_1",)
    assert episode.image_size("front_1") == (64, 48)
