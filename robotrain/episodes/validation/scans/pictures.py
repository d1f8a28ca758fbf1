"""Every picture of every camera: that it decodes, has the size of the others, shows something, and something new.

Knows encoded and decoded pictures; refuses to know what is in them. A JPEG carries no checksum: decoding finds every
one that was cut short and nearly every longer run of foreign bytes. Of real pictures 7 in 10 single changed bits, 1 in
8 runs of 50 foreign bytes and 1 in 40 of 200 decode without complaint: only a digest finds those.
"""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import combinations

import numpy as np

from robotrain.episodes.jpegs import decode_picture
from robotrain.episodes.reader import Episode
from robotrain.episodes.schema import image_array
from robotrain.episodes.validation.content import check_stated_size
from robotrain.episodes.validation.findings import Finding, build_finding
from robotrain.episodes.validation.scans.tracks import rate_of
from robotrain.errors import EpisodeError

_BLANK_TOLERANCE = 2  # of 255, for what the encoder makes of one colour
_MIN_BLANK_SHARE = 0.5
_MIN_REPEATED_SHARE = 0.1
_FROZEN_SECONDS = 1.0
_MIN_TWIN_SHARE = 0.9
_SPARSE = 61  # every so many pixels are looked at first: few pictures that are not blank look so there


class _Camera:
    """What is remembered of one camera's pictures: a few numbers a frame."""

    def __init__(self, name: str, num_frames: int) -> None:
        self.name = name
        self.problems: dict[int, str] = {}
        """By frame: why there is no picture."""
        self.sizes = np.zeros((num_frames, 2), dtype=np.int32)
        """(T, 2) width and height in pixels; zero where there is no picture."""
        self.blank = np.zeros(num_frames, dtype=bool)
        self.hashes = np.zeros(num_frames, dtype=np.uint64)
        """(T,) of the encoded bytes."""

    @property
    def there(self) -> np.ndarray:
        """(T,) bool: frames with a picture."""
        return self.sizes[:, 0] > 0


def scan_pictures(episode: Episode, cameras: Sequence[str]) -> Iterator[Finding]:
    """Decode every picture once; tell at most one finding for each code and camera."""
    seen: list[_Camera] = []
    for name in cameras:
        try:
            camera = _look_at(episode, name)
        except EpisodeError as problem:
            yield build_finding("bad-jpeg", episode.hash, problem.problem, array=image_array(name), frame=0)
            continue
        seen.append(camera)
        yield from _check_sound(episode, camera)
        yield from _check_sizes(episode, camera)
        yield from _check_blank(episode, camera)
        yield from _check_repeats(episode, camera)
    for first, second in combinations(seen, 2):
        yield from _check_twins(episode, first, second)


def _look_at(episode: Episode, name: str) -> _Camera:
    camera = _Camera(name, episode.num_frames)
    for frame, encoded in enumerate(episode.jpegs(name)):
        if isinstance(encoded, EpisodeError):
            camera.problems[frame] = encoded.problem
            continue
        try:
            picture = decode_picture(encoded)
        except ValueError as problem:
            camera.problems[frame] = f"The picture is no sound JPEG: {problem}."
            continue
        camera.sizes[frame] = picture.shape[1::-1]
        camera.blank[frame] = _is_blank(picture)
        camera.hashes[frame] = int.from_bytes(blake2b(encoded, digest_size=8).digest(), "little")
    return camera


def _is_blank(picture: np.ndarray) -> bool:
    """Say whether a picture (h, w, 3) uint8 has one colour only."""
    pixels = picture.reshape(-1, 3)
    return _of_one_colour(pixels[::_SPARSE]) and _of_one_colour(pixels)


def _of_one_colour(pixels: np.ndarray) -> bool:
    return bool(np.all(np.abs(pixels.astype(np.int16) - pixels[0]) <= _BLANK_TOLERANCE))


def _check_sound(episode: Episode, camera: _Camera) -> Iterator[Finding]:
    if camera.problems:
        first, problem = next(iter(camera.problems.items()))
        count = f"{len(camera.problems)} of {episode.num_frames} pictures are broken, the first at frame {first}"
        text = f"{count}: {problem[:1].lower()}{problem[1:]}"
        yield build_finding("bad-jpeg", episode.hash, text, array=image_array(camera.name), frame=first)


def _check_sizes(episode: Episode, camera: _Camera) -> Iterator[Finding]:
    there, array = np.flatnonzero(camera.there), image_array(camera.name)
    if not len(there):
        return
    width, height = map(int, camera.sizes[there[0]])
    other = there[np.any(camera.sizes[there] != (width, height), axis=-1)]
    if len(other):
        across, down = camera.sizes[other[0]]
        text = (
            f"{len(other)} of {len(there)} pictures are not {width}x{height} pixels as frame {there[0]} is, "
            f"the first, {across}x{down}, at frame {other[0]}."
        )
        yield build_finding("image-size", episode.hash, text, array=array, frame=int(other[0]))
    yield from check_stated_size(episode, camera.name, (width, height), int(there[0]))


def _check_blank(episode: Episode, camera: _Camera) -> Iterator[Finding]:
    num, num_blank = int(camera.there.sum()), int(camera.blank.sum())
    if num_blank and num_blank >= _MIN_BLANK_SHARE * num:
        first = int(np.argmax(camera.blank))
        text = f"{num_blank} of {num} pictures ({num_blank / num:.1%}) have one colour only, first at frame {first}."
        yield build_finding("blank-picture", episode.hash, text, array=image_array(camera.name), frame=first)


def _check_repeats(episode: Episode, camera: _Camera) -> Iterator[Finding]:
    """Tell of pictures that repeat the one before; of blank ones another finding tells."""
    shown = camera.there & ~camera.blank
    repeats = np.zeros(episode.num_frames, dtype=bool)
    repeats[1:] = shown[1:] & shown[:-1] & (camera.hashes[1:] == camera.hashes[:-1])
    num = int(camera.there.sum())
    longest, start = _longest_run(repeats)
    rate = rate_of(episode)
    stood = rate is not None and longest >= _FROZEN_SECONDS * rate
    if repeats.any() and (stood or repeats.sum() >= _MIN_REPEATED_SHARE * num):
        first = int(np.argmax(repeats))
        text = (
            f"{int(repeats.sum())} of {num} pictures ({repeats.sum() / num:.1%}) repeat the one before, "
            f"the first at frame {first}; up to {longest} on end, from frame {start}."
        )
        yield build_finding("repeated-frames", episode.hash, text, array=image_array(camera.name), frame=first)


def _longest_run(mask: np.ndarray) -> tuple[int, int]:
    """Return the length of the longest run of true values in (T,) bool, and where it starts."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]])))
    lengths = edges[1::2] - edges[::2]
    if not len(lengths):
        return 0, 0
    longest = int(np.argmax(lengths))
    return int(lengths[longest]), int(edges[2 * longest])


def _check_twins(episode: Episode, first: _Camera, second: _Camera) -> Iterator[Finding]:
    both = first.there & second.there & ~(first.blank & second.blank)
    same = both & (first.hashes == second.hashes)
    if same.any() and same.sum() >= _MIN_TWIN_SHARE * both.sum():
        frame = int(np.argmax(same))
        text = (
            f"{int(same.sum())} of {int(both.sum())} pictures are byte for byte those of camera '{first.name}', "
            f"the first at frame {frame}."
        )
        yield build_finding("twin-cameras", episode.hash, text, array=image_array(second.name), frame=frame)
