from pathlib import Path

import numpy as np
import pytest

from robotrain.convert.source import Source, convert_source
from robotrain.convert.synthetic.generate import SyntheticConfig, SyntheticSource, hash_of_index
from robotrain.embodiments.catalog import embodiment_of
from robotrain.episodes.digest import compute_digest, digest_of_arrays
from robotrain.episodes.reader import open_episode
from robotrain.errors import ConfigError, UnknownNameError
from tests.contracts.source import SourceContract

TINY = {"num_episodes": 2, "width": 32, "height": 24, "seconds": 0.4}


class TestGeneratedEva(SourceContract):
    @pytest.fixture
    def source(self) -> Source:
        return SyntheticSource(SyntheticConfig(**TINY))


class TestGeneratedHuman(SourceContract):
    @pytest.fixture
    def source(self) -> Source:
        return SyntheticSource(SyntheticConfig(embodiment="human_bimanual", **TINY))


def test_more_episodes_leave_the_earlier_ones_as_they_are(tmp_path: Path) -> None:
    convert_source(SyntheticSource(SyntheticConfig(**TINY)), tmp_path / "two")
    more = SyntheticSource(SyntheticConfig(**{**TINY, "num_episodes": 3}))
    convert_source(more, tmp_path / "three")
    for path in (tmp_path / "two").iterdir():
        assert compute_digest(path) == compute_digest(tmp_path / "three" / path.name)
    report = convert_source(more, tmp_path / "two")
    assert (len(report.written), len(report.skipped_existing)) == (1, 2)


def test_another_seed_gives_other_names_and_other_numbers() -> None:
    first, second = (SyntheticSource(SyntheticConfig(seed=seed, **TINY)) for seed in (0, 1))
    assert not set(first.names()) & set(second.names())
    arrays = [source.record(source.names()[0])[1].arrays["left.obs_ee_pose"] for source in (first, second)]
    assert not np.allclose(arrays[0], arrays[1])


def test_names_look_like_times_of_recording() -> None:
    assert hash_of_index(0, 0) == "2026-01-01-00-00-00-000000"
    assert hash_of_index(7, 61) == "2026-01-01-01-01-00-000007"
    names = SyntheticSource(SyntheticConfig(num_episodes=3000)).names()
    assert list(names) == sorted(names)


def test_blank_pictures_stand_beside_the_very_same_numbers(tmp_path: Path) -> None:
    for images in ("rendered", "blank"):
        convert_source(SyntheticSource(SyntheticConfig(images=images, **TINY)), tmp_path / images)
    for path in (tmp_path / "rendered").iterdir():
        twin = tmp_path / "blank" / path.name
        rendered, blank = open_episode(path), open_episode(twin)
        numbers = [array for array in rendered.arrays if not array.startswith("images.")]
        assert digest_of_arrays(path, numbers) == digest_of_arrays(twin, numbers)
        assert len(np.unique(blank.image("front_1", 3))) == 1
        assert len(np.unique(rendered.image("front_1", 3))) > 50


@pytest.mark.parametrize("embodiment", ["eva_bimanual", "human_bimanual"])
def test_an_episode_tells_its_calibration_for_the_stored_size(embodiment: str, tmp_path: Path) -> None:
    source = SyntheticSource(SyntheticConfig(embodiment=embodiment, **TINY))  # pyright: ignore[reportArgumentType]
    convert_source(source, tmp_path)
    episode = open_episode(tmp_path / f"{source.names()[0]}.zarr")
    intrinsics = episode.intrinsics("front_1")
    assert intrinsics is not None
    assert (intrinsics.width, intrinsics.height) == (32, 24)
    assert intrinsics.fx == pytest.approx(266.50860444 / 20)
    poses = embodiment_of(embodiment, {}).camera_poses
    for arm in ("left", "right"):
        told = episode.camera_pose(arm)
        if poses is None:
            assert told is None
        else:
            np.testing.assert_array_equal(told, poses[arm])


def test_prompts_are_half_open_spans_that_name_hand_and_block(tmp_path: Path) -> None:
    source = SyntheticSource(SyntheticConfig(**TINY))
    convert_source(source, tmp_path)
    episode = open_episode(tmp_path / f"{source.names()[0]}.zarr")
    assert [(span.text, span.start, span.end) for span in episode.spans] == [
        ("reach for the red block with the left hand", 0, 12),
        ("reach for the blue block with the right hand", 0, 12),
    ]


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"seconds": 0.1, "fps": 5}, "two frames"),
        ({"num_episodes": 0}, "num_episodes"),
        ({"seed": -1}, "seed"),
        ({"distractors": 9}, "distractors"),
        ({"missing_rate": 0.1}, "human_bimanual"),
        ({"width": 0}, "width"),
    ],
)
def test_a_config_that_makes_no_episode_is_refused_by_the_name_of_its_field(changed: dict, named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        SyntheticConfig(**changed)


def test_an_unknown_body_gets_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match="eva_bimanual"):
        SyntheticConfig(embodiment="eva_bimanul")  # pyright: ignore[reportArgumentType]


def test_hands_that_are_not_seen_are_zero_rows_and_are_not_drawn() -> None:
    source = SyntheticSource(SyntheticConfig(embodiment="human_bimanual", missing_rate=0.3, num_episodes=1))
    _, recording = source.record(source.names()[0])
    for side in ("left", "right"):
        lost = ~recording.arrays[f"{side}.obs_keypoints"].any(axis=1)
        assert 0.05 < lost.mean() < 0.7
        for array in (f"{side}.obs_ee_pose", f"{side}.obs_wrist_pose"):
            np.testing.assert_array_equal(~recording.arrays[array].any(axis=1), lost)
        drawn = [any(hand.side == side for hand in hands) for hands in recording.hands]
        np.testing.assert_array_equal(drawn, ~lost)
