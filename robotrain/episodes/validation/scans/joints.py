"""Joints and grippers: angles that jump, apertures out of range, channels that never change.

Knows the columns of joint arrays as the episode describes them; refuses to judge a joint whose unit nobody tells.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from robotrain.embodiments.layout import Layout
from robotrain.episodes.reader import Episode
from robotrain.episodes.schema import CMD_JOINTS, FIELDS, OBS_JOINTS, is_gripper, is_joints, is_observed
from robotrain.episodes.validation.findings import Finding, build_finding
from robotrain.episodes.validation.scans.tracks import Track
from robotrain.errors import LayoutError, UnknownNameError

_HALF_TURNS = {"rad": np.pi, "deg": 180.0}
_ROUNDING = 1e-6
_NAMED = 6  # so many columns are named in a message


def scan_joints(episode: Episode, tracks: Mapping[str, Track]) -> Iterator[Finding]:
    """Scan joints and grippers."""
    for name, track in tracks.items():
        if is_joints(name):
            layout = _layout(episode, track)
            yield from _check_jumps(episode, track, layout)
            yield from _check_constant(episode, track, layout)
        elif is_gripper(name):
            yield from _check_range(episode, track)
            yield from _check_constant(episode, track, None)


def _layout(episode: Episode, track: Track) -> Layout | None:
    """Return what the episode says of a joint array's columns, or None when it says nothing that fits."""
    described = episode.facts.attributes.get(FIELDS)
    fields = described.get(track.name) if isinstance(described, Mapping) else None
    if not isinstance(fields, list) or not all(isinstance(field, Mapping) for field in fields):
        return None
    try:
        layout = Layout.from_plain(fields)
    except (LayoutError, UnknownNameError):
        return None  # told by the check of the attribute
    return layout if layout.width == track.values.shape[1] else None


def _half_turns(track: Track, layout: Layout | None) -> np.ndarray:
    """Return half a turn (D,) in each column's own unit; infinity where none is told. Without words joints are rad."""
    if layout is None:
        whole_robot = track.name in {OBS_JOINTS, CMD_JOINTS}
        return np.full(track.values.shape[1], np.inf if whole_robot else np.pi)
    return np.concatenate([np.full(field.width, _HALF_TURNS.get(field.unit, np.inf)) for field in layout.fields])


def _check_jumps(episode: Episode, track: Track, layout: Layout | None) -> Iterator[Finding]:
    rows = track.following
    changes = np.abs(track.values[rows] - track.values[rows - 1])
    jumps = changes > _half_turns(track, layout)
    if jumps.any():
        first = int(rows[np.argmax(jumps.any(axis=-1))])
        named = _named(track, layout, np.any(jumps, axis=0, keepdims=True)[0])
        text = (
            f"{int(jumps.any(axis=-1).sum())} of {len(rows)} steps turn {named} by more than half a turn "
            f"(up to {changes[jumps].max():.3g}), the first from frame {first - 1} to {first}."
        )
        yield build_finding("joint-jump", episode.hash, text, array=track.name, frame=first)


def _check_range(episode: Episode, track: Track) -> Iterator[Finding]:
    values = track.values[:, 0]
    outside = track.valid & ~((values >= -_ROUNDING) & (values <= 1 + _ROUNDING))
    if outside.any():
        valid, first = values[track.valid], int(np.argmax(outside))
        text = (
            f"{int(outside.sum())} of {len(valid)} apertures lie outside 0 to 1 "
            f"(from {valid.min():.4g} to {valid.max():.4g}), the first at frame {first}."
        )
        yield build_finding("gripper-range", episode.hash, text, array=track.name, frame=first)


def _check_constant(episode: Episode, track: Track, layout: Layout | None) -> Iterator[Finding]:
    values = track.values[track.valid]
    if len(values) < 2:
        return
    constant = (values == values[0]).all(axis=0)
    frozen = constant.all() and is_joints(track.name) and is_observed(track.name)  # told as a frozen track
    if constant.any() and not frozen:
        first = int(np.argmax(track.valid))
        what = f"{int(constant.sum())} of {len(constant)} columns are"
        named = f" ({_named(track, layout, constant)})" if len(constant) > 1 else ""
        what = what if len(constant) > 1 else f"It is {values[0, 0]:.4g}"
        text = f"{what} the same in all {len(values)} rows{named}, from frame {first} on."
        yield build_finding("constant-channel", episode.hash, text, array=track.name, frame=first)


def _named(track: Track, layout: Layout | None, chosen: np.ndarray) -> str:
    """Return words for chosen columns (D,) bool."""
    names = [str(index) for index in range(track.values.shape[1])] if layout is None else list(layout.columns)
    found = [name for name, is_chosen in zip(names, chosen, strict=True) if is_chosen]
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    word = "column " if len(found) == 1 else "columns "
    return (word if layout is None else "") + ", ".join(found[:_NAMED]) + more
