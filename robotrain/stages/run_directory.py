"""What a run leaves on disk, by name, and how runs are found again.

Knows paths; refuses to know models.

    LOG_DIR/<name>/<description>_<UTC time>/
        config.yaml  git_sha.txt  git.diff  git_untracked.txt  stats.json  manifest.json  metrics.csv  tensorboard/
        checkpoints/  eval/<checkpoint>/<split>/
"""

import itertools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from robotrain.console import count, track
from robotrain.episodes.index import open_index
from robotrain.episodes.manifest import MANIFEST, SCHEMA_VERSION, read_manifest
from robotrain.episodes.resolver import Selection
from robotrain.episodes.validation.survey import read_digests
from robotrain.errors import ManifestError, MissingPathError, listing
from robotrain.files import log_dir, write_json

CONFIG = "config.yaml"
STATS = "stats.json"
CHECKPOINTS = "checkpoints"
LAST = f"{CHECKPOINTS}/last.ckpt"
EVAL = "eval"
ANNOUNCED = "ROBOTRAIN_RUN_DIR"
"""Environment variable, set while a run trains: its directory."""


@dataclass(frozen=True)
class Split:
    """Which episodes a run trained on and which it held out, by hash."""

    root: Path
    train: tuple[str, ...]
    valid: tuple[str, ...]


def create_run_directory(name: str, description: str, logs: Path | None = None) -> Path:
    """Make a new run directory, named by description and UTC time, and return it, absolute."""
    moment = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
    parent = (logs or log_dir()).resolve() / name
    parent.mkdir(parents=True, exist_ok=True)
    for number in itertools.count(1):
        path = parent / (f"{description}_{moment}" if number == 1 else f"{description}_{moment}-{number}")
        try:
            path.mkdir()
        except FileExistsError:  # two runs in one second
            continue
        return path
    raise AssertionError("count never ends")


def announced_run() -> Path | None:
    """Return the run directory that the first process announced, in those that Lightning starts by the same command.

    In the first process itself it is None.
    """
    path = os.environ.get(ANNOUNCED)
    return Path(path) if path and os.environ.get("LOCAL_RANK", "0") != "0" else None


@contextmanager
def announced(run_dir: Path) -> Iterator[None]:
    """Let the processes that are started meanwhile share this run directory."""
    os.environ[ANNOUNCED] = str(run_dir)
    try:
        yield
    finally:
        del os.environ[ANNOUNCED]


def newest_run(logs: Path | None = None) -> Path:
    """Return the run directory whose last checkpoint is the newest.

    Raises:
        MissingPathError: when no run has a checkpoint.
    """
    folder = logs or log_dir()
    found = sorted(folder.glob(f"*/*/{LAST}"), key=lambda path: (path.stat().st_mtime_ns, str(path)))
    if not found:
        hint = "Train first (robotrain train), name a run, or set ROBOTRAIN_LOG_DIR."
        raise MissingPathError(folder / "*" / "*" / LAST, "A run with a checkpoint", hint=hint)
    return found[-1].parent.parent


def run_of(checkpoint: Path) -> Path | None:
    """Return the run directory that a checkpoint lies in, or None where it was taken elsewhere."""
    folder = checkpoint.parent.parent
    return folder if checkpoint.parent.name == CHECKPOINTS and (folder / MANIFEST).is_file() else None


def save_split(run_dir: Path, selection: Selection, differs: Mapping[str, str] | None = None) -> None:
    """Write ``manifest.json``: which episodes, what they were to the byte, which are trained on, which were left out.

    Digests are taken over from the index for episodes that have not changed since; others are computed and recorded.

    Args:
        run_dir: the run.
        selection: its episodes.
        differs: by hash, how an episode differs from the data's manifest, where it was trained on all the same.
    """
    with open_index(selection.root) as index:
        paths = [facts.path for facts in selection.all]
        digests = track(read_digests(index, paths, record=True), "digest", total=len(paths), unit="episodes")
        episodes = [asdict(entry.manifest_row(digest)) for entry, digest in digests]
    manifest = {
        "schema_version": SCHEMA_VERSION,
        "root": str(selection.root),
        "train": [facts.hash for facts in selection.train],
        "valid": [facts.hash for facts in selection.valid],
        "left_out": {each.hash: ": ".join(filter(None, (each.reason, each.detail))) for each in selection.left_out},
        "differs": dict(differs or {}),
        "episodes": episodes,
    }
    write_json(run_dir / MANIFEST, manifest)


def changed_since(run_dir: Path, root: Path, paths: Sequence[Path], *, allowed: bool, setting: str) -> dict[str, str]:
    """Return by hash how episodes differ, to the byte, from what they were when a run recorded them.

    Args:
        run_dir: the run.
        root: the folder of episodes.
        paths: its episodes, or some of them.
        allowed: whether they may differ.
        setting: what lets them, for the message.

    Raises:
        ManifestError: when one differs, and may not.
    """
    manifest = run_dir / MANIFEST
    recorded = read_manifest(manifest)
    with open_index(root) as index:
        digests = track(read_digests(index, paths), "compare", total=len(paths), unit="episodes")
        now = {entry.hash: digest for entry, digest in digests if entry.hash in recorded}
    changed = {
        each: f"Its digest is {digest[:12]}..., and {recorded[each].digest[:12]}... when the run began."
        for each, digest in now.items()
        if digest != recorded[each].digest
    }
    if changed and not allowed:
        names = f"{count(len(changed), 'episode')} of the run changed since it began: {listing(changed)}."
        raise ManifestError(manifest, f"{names} Fetch what it began with; to go on all the same: {setting}=true")
    return changed


def load_split(run_dir: Path) -> Split:
    """Read which episodes a run trained on and held out.

    Raises:
        MissingPathError: when the run has no manifest.
        ManifestError: when it cannot be read.
    """
    path = run_dir / MANIFEST
    if not path.is_file():
        raise MissingPathError(path, "The run's manifest")
    try:
        told = json.loads(path.read_bytes())
        return Split(Path(told["root"]), tuple(told["train"]), tuple(told["valid"]))
    except (ValueError, KeyError, TypeError) as problem:
        raise ManifestError(path, f"it is no manifest of a run: {problem!r}.") from None
