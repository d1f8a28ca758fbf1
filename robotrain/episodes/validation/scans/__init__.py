"""The deep look at an opened episode: every row of every array, every picture of every camera.

Knows which scans there are; refuses to look at metadata and files, which the quick checks have seen before.
"""

from collections.abc import Iterator, Sequence

from robotrain.episodes.reader import Episode
from robotrain.episodes.validation.findings import Finding
from robotrain.episodes.validation.scans.hands import scan_hands
from robotrain.episodes.validation.scans.joints import scan_joints
from robotrain.episodes.validation.scans.pictures import scan_pictures
from robotrain.episodes.validation.scans.poses import scan_poses
from robotrain.episodes.validation.scans.timestamps import scan_timestamps
from robotrain.episodes.validation.scans.tracks import read_tracks

__all__ = ["scan_episode", "scan_pictures"]


def scan_episode(episode: Episode, arrays: Sequence[str], cameras: Sequence[str]) -> Iterator[Finding]:
    """Scan everything of an episode: numbers first, then all its pictures (`scan_pictures`).

    Args:
        episode: The episode, opened.
        arrays: Arrays whose metadata and files were found sound; what holds no numbers is passed over.
        cameras: Cameras whose metadata and files were found sound.
    """
    tracks = read_tracks(episode, arrays)
    yield from scan_timestamps(episode, arrays)
    yield from scan_poses(episode, tracks)
    yield from scan_hands(episode, tracks, cameras)
    yield from scan_joints(episode, tracks)
    yield from scan_pictures(episode, cameras)
