from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from robotrain.errors import MissingPathError, ShapeError, VideoError
from robotrain.viz.video import probe_video, read_video, write_video

RATES = [Fraction(15), Fraction(30000, 1001), Fraction(2997, 100), Fraction(30), Fraction(60)]


def pictures(num: int, size: tuple[int, int] = (48, 32)) -> Iterator[np.ndarray]:
    """A white square that moves 2 pixels right each frame, on grey."""
    width, height = size
    for i in range(num):
        picture = np.full((height, width, 3), 90, np.uint8)
        picture[8:16, 2 * i % (width - 8) : 2 * i % (width - 8) + 8] = 255
        yield picture


@pytest.mark.parametrize("fps", RATES, ids=str)
def test_a_video_read_back_has_exactly_its_rate_size_and_frames(tmp_path: Path, fps: Fraction) -> None:
    path = tmp_path / "a.mp4"
    written = write_video(path, pictures(37), fps)
    assert written == probe_video(path)
    assert (written.width, written.height, written.fps, written.num_frames) == (48, 32, fps, 37)


@pytest.mark.parametrize("fps", RATES, ids=str)
def test_frame_i_is_shown_at_exactly_i_over_the_rate(tmp_path: Path, fps: Fraction) -> None:
    path = tmp_path / "a.mp4"
    write_video(path, pictures(20), fps)
    with av.open(str(path)) as container:
        base = container.streams.video[0].time_base
        assert base is not None
        times = [frame.pts * base for frame in container.decode(video=0) if frame.pts is not None]
    assert times == [i / fps for i in range(20)]


def test_a_single_frame_is_a_video_too(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    write_video(path, pictures(1), Fraction(30))
    assert probe_video(path).num_frames == 1


def test_the_pictures_come_back_in_order_and_look_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    write_video(path, pictures(12), Fraction(30))
    for wanted, found in zip(pictures(12), read_video(path), strict=True):
        assert np.abs(wanted.astype(int) - found).mean() < 4


def test_an_odd_size_is_padded_by_repeating_the_last_row_and_column(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    picture = np.zeros((31, 47, 3), np.uint8)
    picture[-1], picture[:, -1] = 200, 200
    written = write_video(path, [picture] * 3, Fraction(30))
    assert (written.width, written.height) == (48, 32)
    found = next(read_video(path))
    assert found[31, :46].mean() > 150
    assert found[:30, 47].mean() > 150
    assert found[:28, :44].mean() < 30


def test_the_index_stands_in_front_so_that_browsers_start_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    write_video(path, pictures(10), Fraction(30))
    content = path.read_bytes()
    assert 0 < content.index(b"moov") < content.index(b"mdat")
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert (stream.codec_context.name, stream.pix_fmt) == ("h264", "yuv420p")


def test_there_is_a_keyframe_every_second(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    write_video(path, pictures(35), Fraction(10))
    with av.open(str(path)) as container:
        keys = [index for index, frame in enumerate(container.decode(video=0)) if frame.key_frame]
    assert {0, 10, 20, 30} <= set(keys)


def test_frames_are_taken_one_at_a_time(tmp_path: Path) -> None:
    alive = 0
    most = 0

    class Counted(np.ndarray):
        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    def counted() -> Iterator[np.ndarray]:
        nonlocal alive, most
        for picture in pictures(60):
            frame = picture.view(Counted)
            alive += 1
            most = max(most, alive)
            yield frame

    write_video(tmp_path / "a.mp4", counted(), Fraction(30))
    assert most < 10


def test_a_failure_leaves_no_file_and_keeps_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    write_video(path, pictures(3), Fraction(30))
    before = path.read_bytes()

    def breaking() -> Iterator[np.ndarray]:
        yield from pictures(3)
        raise VideoError("source", "it broke")

    with pytest.raises(VideoError, match="it broke"):
        write_video(path, breaking(), Fraction(30))
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["a.mp4"]


def test_what_is_no_video_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(VideoError, match="no frame to write"):
        write_video(tmp_path / "a.mp4", [], Fraction(30))
    with pytest.raises(VideoError, match="0 frames a second"):
        write_video(tmp_path / "a.mp4", pictures(1), Fraction(0))
    with pytest.raises(ShapeError, match=r"video frame 1.*\(32, 48, 3\).*\(16, 48, 3\)"):
        write_video(tmp_path / "a.mp4", [*pictures(1), *pictures(1, (48, 16))], Fraction(30))
    with pytest.raises(ShapeError, match="uint8"):
        write_video(tmp_path / "a.mp4", [np.zeros((4, 4, 3))], Fraction(30))
    with pytest.raises(MissingPathError):
        probe_video(tmp_path / "none.mp4")
    (tmp_path / "text.mp4").write_text("no video")
    with pytest.raises(VideoError, match="cannot be decoded"):
        probe_video(tmp_path / "text.mp4")
    assert [file.name for file in tmp_path.iterdir()] == ["text.mp4"]
