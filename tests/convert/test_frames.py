from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from robotrain.convert.frames import decode_frames
from robotrain.errors import ConversionError
from tests.convert.lerobot_datasets import FPS, SIZE, shade_of, write_video

RATE = Fraction(FPS)


def test_every_frame_comes_once_and_in_order(tmp_path: Path) -> None:
    write_video(tmp_path / "a.mp4", 9)
    pictures = list(decode_frames(tmp_path / "a.mp4", RATE, 9))
    assert {picture.shape for picture in pictures} == {(SIZE[1], SIZE[0], 3)}
    assert {picture.dtype for picture in pictures} == {np.dtype(np.uint8)}
    np.testing.assert_allclose([picture.mean() for picture in pictures], [shade_of(i) for i in range(9)], atol=3)


@pytest.mark.parametrize("num", [8, 10])
def test_another_count_is_refused_with_both_numbers(num: int, tmp_path: Path) -> None:
    write_video(tmp_path / "a.mp4", 9)
    with pytest.raises(ConversionError, match=f"has 9 frames, and its table {num} rows"):
        list(decode_frames(tmp_path / "a.mp4", RATE, num))


def test_a_frame_out_of_its_place_is_refused(tmp_path: Path) -> None:
    write_video(tmp_path / "a.mp4", 5, times=[0, 1, 2, 5, 6])
    with pytest.raises(ConversionError, match=r"frame 3 lies at 0\.500 s"):
        list(decode_frames(tmp_path / "a.mp4", RATE, 5))


def test_another_rate_is_refused(tmp_path: Path) -> None:
    write_video(tmp_path / "a.mp4", 5)
    with pytest.raises(ConversionError, match="at 30 frames a second"):
        list(decode_frames(tmp_path / "a.mp4", Fraction(30), 5))


def test_what_is_no_video_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.mp4").write_bytes(b"no video at all" * 100)
    with pytest.raises(ConversionError, match=r"a\.mp4' cannot be decoded"):
        list(decode_frames(tmp_path / "a.mp4", RATE, 5))


def test_a_truncated_video_is_refused(tmp_path: Path) -> None:
    write_video(tmp_path / "a.mp4", 30)
    content = (tmp_path / "a.mp4").read_bytes()
    (tmp_path / "a.mp4").write_bytes(content[: len(content) // 2])
    with pytest.raises(ConversionError, match=r"a\.mp4"):
        list(decode_frames(tmp_path / "a.mp4", RATE, 30))
