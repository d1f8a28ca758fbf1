"""Before a training: the episodes are sound, and they are what the manifest says. Shared by the stages that train.

Knows what is refused and what a config lets pass; refuses to know what is looked at.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import get_args

from robotrain.console import count, track, warn
from robotrain.data.config import DataConfig
from robotrain.episodes.baseline import ChangeCode, read_manifest
from robotrain.episodes.index import open_index
from robotrain.episodes.resolver import Selection
from robotrain.episodes.validation import Finding
from robotrain.episodes.validation.policy import judge
from robotrain.episodes.validation.survey import survey
from robotrain.errors import ManifestError, UnsoundEpisodesError
from robotrain.stages.inputs import manifest_path


@dataclass(frozen=True)
class Sound:
    """Episodes that may be trained on."""

    selection: Selection
    differs: Mapping[str, str] = field(default_factory=dict)
    """By hash: how an episode differs from what was recorded of it, where the config lets it."""


def require_sound(selection: Selection, data: DataConfig) -> Sound:
    """Check episodes before a training: errors, and whether they are what the manifest says.

    Args:
        selection: the episodes.
        data: how they were selected, with a root.

    Returns:
        The episodes that may be trained on; unsound ones are left out as far as ``allow_missing`` lets them.

    Raises:
        UnsoundEpisodesError: when more have an error; warnings pass.
        ManifestError: when they are not what the manifest says, and ``allow_changed`` is not set.
    """
    manifest = manifest_path(None, data)
    recorded = read_manifest(manifest)
    unsound: dict[str, Finding] = {}
    differs: dict[str, str] = {}
    with open_index(selection.root) as index:
        paths = [facts.path for facts in selection.all]
        for each in track(survey(index, paths, manifest=recorded), "validate", total=len(paths), unit="episodes"):
            for finding in judge(each.findings, data.validation):
                if finding.severity != "error":
                    continue
                if finding.code in get_args(ChangeCode):
                    differs[finding.episode] = finding.message
                else:
                    unsound.setdefault(finding.episode, finding)
    if recorded:
        there = {facts.hash for facts in selection.all}
        differs |= dict.fromkeys(sorted(there - recorded.keys()), "The manifest does not name it.")
        if data.manifest is not None:  # it is of exactly these episodes; that of a folder may name others
            differs |= dict.fromkeys(sorted(recorded.keys() - there), "The manifest names it, and it is not selected.")
    if differs and not data.allow_changed:
        if recorded:
            raise ManifestError(manifest, _words(differs))
        name, message = next(iter(differs.items()))
        raise _unsound(selection, f"episode '{name}': {message}", len(differs))
    for name, message in differs.items():
        warn(f"trained on as asked, though episode '{name}' differs from what was recorded: {message}")
    return Sound(_without(selection, unsound, data), differs)


def _words(differs: Mapping[str, str]) -> str:
    name, message = next(iter(differs.items()))
    return (
        f"{count(len(differs), 'episode')} differ from it, first '{name}': {message} "
        "See them all: robotrain validate-data. Record them as they are: robotrain validate-data --write-manifest. "
        "Train all the same: data.allow_changed=true"
    )


def _without(selection: Selection, unsound: Mapping[str, Finding], data: DataConfig) -> Selection:
    """Leave out unsound episodes, as far as the config lets us."""
    if not unsound:
        return selection
    allowed = data.episodes.allow_missing - selection.num_missing
    if len(unsound) <= allowed:
        return selection.without({name: f"{each.code}: {each.message}" for name, each in unsound.items()})
    worst = next(iter(unsound.values()))
    place = f", array '{worst.array}'" if worst.array else ""
    raise _unsound(selection, f"episode '{worst.episode}'{place}: {worst.message}", len(unsound))


def _unsound(selection: Selection, first: str, num_unsound: int) -> UnsoundEpisodesError:
    return UnsoundEpisodesError(selection.root, first, num_unsound=num_unsound, num_episodes=len(selection.all))
