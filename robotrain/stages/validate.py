"""Stage: what is wrong with episodes. Reads episodes; writes nothing but a manifest, where asked."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from robotrain.config import compose
from robotrain.console import track
from robotrain.data.config import DataConfig
from robotrain.episodes.digest import manifest_row, save_manifest
from robotrain.episodes.resolver import SelectionConfig, find_episodes
from robotrain.episodes.schema import EpisodeFacts, hash_of, read_facts
from robotrain.episodes.validation import Finding, check_pins, check_twins, validate_episode
from robotrain.errors import EpisodeError, UnsoundEpisodesError
from robotrain.stages.inputs import data_layers, with_root
from robotrain.stages.run_directory import MANIFEST


@dataclass(frozen=True, kw_only=True, slots=True)
class ValidateConfig:
    """What to check."""

    data: tuple[str, ...] = ()
    """Each a folder of episodes, one episode, a name in configs/data or a YAML file; empty: ROBOTRAIN_DATA_DIR."""
    write_manifest: bool = False
    """Write ``manifest.json`` with every episode's digest into each folder."""


@dataclass(frozen=True)
class ValidateReport:
    """What was found."""

    findings: tuple[Finding, ...]
    """Errors first."""
    num_episodes: int
    num_frames: int
    manifests: tuple[Path, ...]
    named_roots: tuple[str, ...]
    """What the user named, as typed."""

    @property
    def num_errors(self) -> int:
        """Number of findings that must be mended before training."""
        return sum(finding.severity == "error" for finding in self.findings)

    @property
    def num_warnings(self) -> int:
        """Number of findings to know about."""
        return len(self.findings) - self.num_errors

    @property
    def mends(self) -> Mapping[str, str]:
        """By code that was found: how to mend it."""
        return {finding.code: finding.hint for finding in self.findings}

    def to_plain(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "episodes": self.num_episodes,
            "frames": self.num_frames,
            "errors": self.num_errors,
            "warnings": self.num_warnings,
            "findings": [asdict(finding) for finding in self.findings],
            "manifests": [str(path) for path in self.manifests],
        }


def run(config: ValidateConfig) -> ValidateReport:
    """Check every episode of every named place; none is skipped. A manifest is written where nothing is wrong.

    Raises:
        MissingPathError, NoEpisodesError: when there is nothing to check.
    """
    places = [_find(spec) for spec in config.data or (None,)]
    findings: list[Finding] = []
    manifests: list[Path] = []
    for selection, paths in places:
        root = Path(selection.root or "")
        found = [*(check_pins(selection, root) if selection.pins else ()), *check_twins(paths)]
        for path in track(paths, "validate", total=len(paths), unit="episodes"):
            found += validate_episode(path)
        if config.write_manifest and not any(finding.severity == "error" for finding in found):
            manifests.append(root / MANIFEST)
            rows = [manifest_row(path) for path in track(paths, "digest", total=len(paths), unit="episodes")]
            save_manifest(manifests[-1], rows)
        findings += found
    paths = [path for _, found in places for path in found]
    errors_first = sorted(findings, key=lambda finding: finding.severity != "error")
    num_frames = sum(_num_frames(path) for path in paths)
    return ValidateReport(tuple(errors_first), len(paths), num_frames, tuple(manifests), config.data)


def require_sound(facts: Sequence[EpisodeFacts], root: Path) -> None:
    """Check episodes before a training.

    Raises:
        UnsoundEpisodesError: when any has an error; warnings pass.
    """
    first: dict[str, Finding] = {}
    for each in track(facts, "validate", total=len(facts), unit="episodes"):
        for finding in validate_episode(each.path):
            if finding.severity == "error":
                first.setdefault(each.hash, finding)
    if first:
        worst = next(iter(first.values()))
        place = f", array '{worst.array}'" if worst.array else ""
        raise UnsoundEpisodesError(
            root,
            f"episode '{worst.episode}'{place}: {worst.message}",
            num_unsound=len(first),
            num_episodes=len(facts),
        )


def _find(spec: str | None) -> tuple[SelectionConfig, tuple[Path, ...]]:
    selection = with_root(compose(DataConfig, data_layers(spec))).episodes
    paths = find_episodes(selection.root or "")
    pins = {hash_of(pin) for pin in selection.pins}
    return selection, tuple(path for path in paths if not pins or hash_of(path) in pins)


def _num_frames(path: Path) -> int:
    try:
        return read_facts(path).num_frames
    except EpisodeError:  # found by a check already
        return 0
