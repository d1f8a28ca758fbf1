import numpy as np

from robotrain.embodiments.hands import hand_edges
from robotrain.viz.charts import Chart
from robotrain.viz.overlay import Caption, draw_caption, draw_insets, draw_legend, draw_tracks
from robotrain.viz.palette import PREDICTION, TRUTH
from robotrain.viz.tracks import Track

CAPTION = Caption("pick up the can", "2025-12-26-18-07-46-296000", 12, 137, 0.4)


def picture(width: int = 640, height: int = 480) -> np.ndarray:
    return np.full((height, width, 3), 128, np.uint8)


def reddish(image: np.ndarray) -> np.ndarray:
    return image[..., 0].astype(int) - image[..., 2] > 60


def greenish(image: np.ndarray) -> np.ndarray:
    return image[..., 1].astype(int) - image[..., 0] > 40


def arm_track(start: tuple[float, float], end: tuple[float, float], num: int = 10) -> Track:
    pixels = np.linspace(start, end, num)[:, None]
    return Track("left.xyz", "xyz", "left", np.zeros((num, 1, 3)), pixels, np.ones((num, 1), bool))


def test_truth_is_green_and_prediction_is_red_where_their_tracks_run() -> None:
    image = picture()
    draw_tracks(
        image,
        [(TRUTH, [arm_track((100, 100), (300, 100))]), (PREDICTION, [arm_track((100, 300), (300, 300))])],
        (),
    )
    rows, columns = np.nonzero(greenish(image))
    assert 90 < rows.min() <= rows.max() < 110
    assert columns.max() >= 299
    rows, columns = np.nonzero(reddish(image))
    assert 290 < rows.min() <= rows.max() < 310
    assert columns.max() >= 299


def test_both_are_seen_where_they_run_on_top_of_each_other() -> None:
    image = picture()
    same = [arm_track((100, 100), (300, 100))]
    draw_tracks(image, [(TRUTH, same), (PREDICTION, same)], ())
    assert greenish(image)[:, 200:290].any()
    assert reddish(image)[:, 200:290].any()


def test_a_hand_shows_its_skeleton_now_and_at_the_end() -> None:
    angle = np.linspace(0, 2 * np.pi, 21)
    hand = np.stack([60 * np.cos(angle), 60 * np.sin(angle)], -1)
    pixels = np.stack([hand + np.array([150 + 10 * step, 200]) for step in range(21)])
    track = Track("left.keypoints", "keypoints", "left", np.zeros((21, 21, 3)), pixels, np.ones((21, 21), bool))
    image = picture()
    draw_tracks(image, [(TRUTH, [track])], hand_edges())
    changed = (image != 128).any(-1)
    for step in (0, 20):
        assert all(changed[int(y), int(x)] for x, y in pixels[step])
    image = picture()
    nowhere = Track(track.name, track.kind, track.limb, track.points, pixels, np.zeros((21, 21), bool))
    draw_tracks(image, [(TRUTH, [nowhere])], hand_edges())
    assert (image == 128).all()


def test_the_legend_stays_in_its_corner_and_fits_small_pictures() -> None:
    for width, height in ((640, 480), (320, 180), (1280, 960)):
        image = picture(width, height)
        draw_legend(image, {"truth": TRUTH, "prediction": PREDICTION}, "light: now, full: in 1.5 s")
        rows, columns = np.nonzero((image != 128).any(-1))
        assert rows.max() < 0.14 * height
        assert columns.max() < width - 1
        assert greenish(image).any()
        assert reddish(image).any()
    alone = picture()
    draw_legend(alone, {"truth": TRUTH}, "")
    assert not reddish(alone).any()


def test_the_caption_is_a_band_at_the_lower_edge() -> None:
    image = picture()
    draw_caption(image, CAPTION)
    rows, _ = np.nonzero((image != 128).any(-1))
    assert rows.min() > 0.85 * 480
    assert image.max() > 200
    lower = picture()
    draw_caption(lower, Caption("", CAPTION.episode, 12, 137, 0.4))
    assert (lower != 128).any(-1).sum() < (image != 128).any(-1).sum()


def test_a_long_prompt_does_not_reach_over_the_edge() -> None:
    image = picture(320, 180)
    draw_caption(image, Caption("put the very large red can on the small blue plate " * 4, "hash", 0, 1, 0.0))
    assert image[-40:, -4:].max() <= 128


def test_the_caption_says_where_in_the_episode_one_is() -> None:
    assert CAPTION.lines() == ("pick up the can", "2025-12-26-18-07-46-296000   frame 12/136   0.40 s")


def test_grippers_are_drawn_only_where_there_is_room() -> None:
    chart = Chart("left.gripper", ((np.linspace(0, 1, 10), TRUTH),), (0.0, 1.0))
    small, large = picture(320, 240), picture()
    draw_insets(small, [chart, chart])
    draw_insets(large, [chart, chart])
    assert (small == 128).all()
    columns = np.nonzero((large != 128).any(-1))[1]
    assert (columns.min(), columns.max()) == (0, 639)
    assert not (large[:, 200:440] != 128).any()
