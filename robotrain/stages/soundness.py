"""Before a training: the episodes are sound, and they are what the manifest says. Shared by the stages that train.

Knows what is refused and what a config lets pass; refuses to know what is looked at.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from robotrain.console import count, track, warn
from robotrain.data.config import DataConfig
from robotrain.episodes.index import Index, open_index
from robotrain.episodes.manifest import ManifestRow, read_manifest
from robotrain.episodes.records import ChangeCode, changed_digest
from robotrain.episodes.resolver import Selection
from robotrain.episodes.schema import hash_of
from robotrain.episodes.validation.findings import Finding, build_finding
from robotrain.episodes.validation.policy import judge
from robotrain.episodes.validation.survey import read_digests, survey
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
    unsound, changed = _errors(selection, data, recorded)
    others = _other_than_recorded(selection, recorded, data) if recorded else {}
    if data.allow_changed:
        differs = changed | others
        for name, message in differs.items():
            warn(f"trained on as asked, though '{name}' differs from what was recorded: {message}")
        return Sound(_without(unsound, selection, data), differs)
    wrong = unsound | changed
    too_many = len(wrong) > _allowance(selection, data)
    if recorded and not unsound and (others or (changed and too_many)):
        raise ManifestError(manifest, _words(changed | others))
    return Sound(_without(wrong, selection, data))


def _errors(
    selection: Selection, data: DataConfig, recorded: Mapping[str, ManifestRow]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return by hash what makes episodes unsound, and how others differ from what was recorded of them."""
    unsound: dict[str, str] = {}
    changed: dict[str, str] = {}
    paths = [facts.path for facts in selection.all]
    with open_index(selection.root) as index:
        for each in track(survey(index, paths, manifest=recorded), "validate", total=len(paths), unit="episodes"):
            for finding in judge(each.findings, data.validation):
                if finding.severity != "error":
                    continue
                place = f"array '{finding.array}': " if finding.array else ""
                told = changed if finding.code in get_args(ChangeCode) else unsound
                told.setdefault(finding.episode, f"{finding.code}: {place}{finding.message}")
        rest = [path for path in paths if hash_of(path) in recorded.keys() - unsound.keys() - changed.keys()]
        for finding in judge(_other_bytes(index, rest, recorded), data.validation):
            if finding.severity == "error":
                changed[finding.episode] = f"{finding.code}: {finding.message}"
    return unsound, {name: told for name, told in changed.items() if name not in unsound}


def _other_bytes(index: Index, paths: Sequence[Path], recorded: Mapping[str, ManifestRow]) -> Iterator[Finding]:
    """Yield a finding for each episode whose digest is not the manifest's; the run keeps the digests that are read."""
    for entry, digest in track(read_digests(index, paths), "compare", total=len(paths), unit="episodes"):
        if change := changed_digest(digest, recorded[entry.hash].digest):
            yield build_finding(change.code, entry.hash, change.message)


def _other_than_recorded(selection: Selection, recorded: Mapping[str, ManifestRow], data: DataConfig) -> dict[str, str]:
    """Return by hash which episodes are selected and not in the manifest, and the other way round."""
    there = {facts.hash for facts in selection.all}
    found = dict.fromkeys(sorted(there - recorded.keys()), "The manifest does not name it.")
    if data.manifest is not None:  # it is of exactly these episodes; that of a folder may name others
        gone = recorded.keys() - there - {each.hash for each in selection.left_out}
        found |= dict.fromkeys(sorted(gone), "The manifest names it, and it is not selected.")
    return found


def _allowance(selection: Selection, data: DataConfig) -> int:
    """Return how many more episodes may be left out."""
    return data.episodes.allow_missing - selection.num_missing


def _words(differs: Mapping[str, str]) -> str:
    name, message = next(iter(differs.items()))
    verb = "differs" if len(differs) == 1 else "differ"
    return (
        f"{count(len(differs), 'episode')} {verb} from it, first '{name}': {message} "
        "See them all: robotrain validate-data. Record them as they are: robotrain validate-data --write-manifest. "
        "Train all the same: data.allow_changed=true"
    )


def _without(wrong: Mapping[str, str], selection: Selection, data: DataConfig) -> Selection:
    """Leave out unsound episodes, as far as the config lets us."""
    if not wrong:
        return selection
    if len(wrong) <= _allowance(selection, data):
        return selection.without(wrong)
    name, message = next(iter(wrong.items()))
    raise UnsoundEpisodesError(
        selection.root, f"'{name}', {message}", num_unsound=len(wrong), num_episodes=len(selection.all)
    )
