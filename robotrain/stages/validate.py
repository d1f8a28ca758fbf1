"""Stage: what is wrong with episodes.

Reads episodes; writes what it learned into the index and, where asked, a manifest and a page.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robotrain.config import compose
from robotrain.console import count, track, warn
from robotrain.data.config import DataConfig
from robotrain.episodes.folder import EpisodePaths, find_episodes
from robotrain.episodes.index import Index, open_index
from robotrain.episodes.manifest import MANIFEST, ManifestRow, read_manifest, save_manifest
from robotrain.episodes.resolver import find_chosen
from robotrain.episodes.schema import hash_of
from robotrain.episodes.validation import CODES, Finding, check_pins, check_twins
from robotrain.episodes.validation.findings import build_finding
from robotrain.episodes.validation.log import FindingLog
from robotrain.episodes.validation.policy import judge, kept_in_vain
from robotrain.episodes.validation.survey import equal_contents, survey
from robotrain.errors import ManifestError
from robotrain.stages.inputs import data_layers, manifest_path, with_root


@dataclass(frozen=True, kw_only=True, slots=True)
class ValidateConfig:
    """What to check."""

    data: tuple[str, ...] = ()
    """Each a folder of episodes, one episode, a name in configs/data or a YAML file; empty: ROBOTRAIN_DATA_DIR."""
    deep: bool = False
    """Read every byte: digests, every picture, how the numbers move."""
    write_manifest: bool = False
    """Take the episodes as they are, and write their digests into a manifest."""
    html: Path | None = None
    """Folder for a page with a strip of pictures of every episode that has findings; None writes none."""


@dataclass(frozen=True)
class Place:
    """One folder of episodes, as far as it is to be checked."""

    data: DataConfig
    root: Path
    paths: EpisodePaths
    folder: EpisodePaths
    """All episodes of the folder."""
    manifest: Path

    @property
    def is_whole(self) -> bool:
        """Whether all episodes of the folder are to be checked."""
        return len(self.paths) == len(self.folder)

    @property
    def owns_manifest(self) -> bool:
        """Whether the manifest is of these episodes alone, and not of the whole folder."""
        return self.is_whole or self.manifest != self.root / MANIFEST


@dataclass(frozen=True)
class PlaceReport:
    """What was found in one folder."""

    root: Path
    findings: FindingLog
    num_episodes: int
    num_frames: int
    manifest: Path | None
    """Where digests were written."""
    page: Path | None
    """Where findings are shown with pictures."""


@dataclass(frozen=True)
class ValidateReport:
    """What was found."""

    places: tuple[PlaceReport, ...]
    deep: bool
    named: tuple[str, ...]
    """What the user named, as typed."""

    @property
    def findings(self) -> Iterator[Finding]:
        """The findings, folder by folder, each's errors first."""
        return (finding for place in self.places for finding in place.findings)

    @property
    def num_findings(self) -> int:
        """Number of all findings."""
        return self.num_errors + self.num_warnings

    @property
    def num_errors(self) -> int:
        """Number of findings that must be mended before training."""
        return sum(place.findings.num_errors for place in self.places)

    @property
    def num_warnings(self) -> int:
        """Number of findings to know about."""
        return sum(place.findings.num_warnings for place in self.places)

    @property
    def num_by_code(self) -> Mapping[str, int]:
        """How often each code was found, in the order of the table of codes."""
        return {
            code: number for code in CODES if (number := sum(place.findings.num_by_code[code] for place in self.places))
        }

    @property
    def num_episodes(self) -> int:
        """Number of episodes that were checked."""
        return sum(place.num_episodes for place in self.places)

    @property
    def num_frames(self) -> int:
        """Number of their frames."""
        return sum(place.num_frames for place in self.places)

    def to_plain(self) -> dict[str, Any]:
        """Return plain data for JSON: all but the findings, which may be too many to hold."""
        return {
            "episodes": self.num_episodes,
            "frames": self.num_frames,
            "deep": self.deep,
            "errors": self.num_errors,
            "warnings": self.num_warnings,
            "codes": dict(self.num_by_code),
            "manifests": [str(place.manifest) for place in self.places if place.manifest],
            "pages": [str(place.page) for place in self.places if place.page],
        }


def run(config: ValidateConfig) -> ValidateReport:
    """Check every episode of every named place; none is skipped. A manifest is written where nothing is wrong.

    Raises:
        MissingPathError, NoEpisodesError: when there is nothing to check.
        ExistingPathError: when the folder for the page holds something else.
        WorkerDiedError: when a process that shares the work is killed.
    """
    places = [_find(spec) for spec in config.data or (None,)]
    pages = [_page_folder(config.html, places, place) for place in places]
    reports = tuple(_check(place, config, page) for place, page in zip(places, pages, strict=True))
    return ValidateReport(reports, config.deep, config.data)


def _find(spec: str | None) -> Place:
    data = with_root(compose(DataConfig, data_layers(spec)))
    root = Path(data.episodes.root or "")
    chosen = find_chosen(data.episodes)
    return Place(data, root, chosen, find_episodes(root), manifest_path(spec, data))


def _page_folder(html: Path | None, places: list[Place], place: Place) -> Path | None:
    """Return where the page of a place goes: each in a folder of its own where there are several.

    Raises:
        ExistingPathError: when it cannot go there, which is told before anything is checked.
    """
    if html is None:
        return None
    from robotrain.viz.findings_page import require_page_folder

    folder = html if len(places) == 1 else html / f"{places.index(place) + 1}_{place.root.name}"
    require_page_folder(folder)
    return folder


def _check(place: Place, config: ValidateConfig, page: Path | None) -> PlaceReport:
    """Check one folder of episodes."""
    log = FindingLog()
    rows: dict[str, ManifestRow] = {}
    num_frames = num_unrecorded = 0
    with open_index(place.root) as index:
        recorded = {} if config.write_manifest else _read_manifest(place, log)
        checked = survey(index, place.paths, manifest=recorded, deep=config.deep, record=config.write_manifest)
        for each in track(checked, "validate", total=len(place.paths), unit="episodes"):
            num_frames += each.entry.num_frames
            num_unrecorded += not each.is_recorded
            _add(log, each.findings, place)
            if each.content is not None and not each.entry.problem:
                rows[each.entry.hash] = each.entry.manifest_row(each.content.digest)
        _add(log, _of_the_folder(place, index, recorded), place)
        if num_unrecorded and not recorded and not config.write_manifest and not config.deep:
            text = f"No digest of {num_unrecorded} of {count(len(place.paths), 'episode')} was ever recorded."
            _add(log, [build_finding("no-baseline", "", text)], place)
    if place.data.validation.keep:
        asked = (*place.data.episodes.pins, *place.data.episodes.held_out)
        there = {hash_of(name) for name in (*place.folder.names, *asked)} | recorded.keys()
        for remark in kept_in_vain(place.data.validation, there):
            warn(remark)
    written = config.write_manifest and not log.num_errors
    if written:
        _write_manifest(place, rows)
    shown = _write_page(page, place, log, num_frames)
    return PlaceReport(place.root, log, len(place.paths), num_frames, place.manifest if written else None, shown)


def _add(log: FindingLog, findings: Iterable[Finding], place: Place) -> None:
    for finding in judge(findings, place.data.validation):
        log.add(finding)


def _read_manifest(place: Place, log: FindingLog) -> dict[str, ManifestRow]:
    try:
        return read_manifest(place.manifest)
    except ManifestError as problem:
        _add(log, [build_finding("bad-manifest", "", str(problem))], place)
        return {}


def _of_the_folder(place: Place, index: Index, recorded: Mapping[str, ManifestRow]) -> Iterator[Finding]:
    """Yield what is wrong with the folder as a whole: pins, twins, and what the manifest knows beside."""
    if place.data.episodes.pins or place.data.episodes.held_out:
        yield from check_pins(place.data.episodes, place.root)
    yield from check_twins(place.paths)
    there = {hash_of(name) for name in place.paths.names} if recorded else set()
    if place.owns_manifest:
        for lost in sorted(recorded.keys() - there):
            yield build_finding("lost-episode", lost, f"'{place.manifest.name}' names it.")
    for unlisted in sorted(there - recorded.keys()) if recorded else ():
        yield build_finding("unlisted-episode", unlisted, f"'{place.manifest.name}' does not name it.")
    if place.is_whole:
        index.forget_all_but(place.paths.names)
    yield from equal_contents(index)


def _write_manifest(place: Place, rows: Mapping[str, ManifestRow]) -> None:
    """Write what was read; a manifest of the whole folder keeps its rows of other episodes."""
    others: Mapping[str, ManifestRow] = {} if place.owns_manifest else read_manifest(place.manifest)
    save_manifest(place.manifest, tuple({**others, **rows}.values()))


def _write_page(folder: Path | None, place: Place, log: FindingLog, num_frames: int) -> Path | None:
    if folder is None:
        return None
    from robotrain.viz.findings_page import write_findings_page

    return write_findings_page(folder, log, root=place.root, num_episodes=len(place.paths), num_frames=num_frames)
