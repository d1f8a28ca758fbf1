"""What a run leaves on disk, by name, and how runs are found again.

Knows paths; refuses to know models.

    LOG_DIR/<name>/<description>_<UTC time>/
        config.yaml  git_sha.txt  git.diff  git_untracked.txt  stats.json  manifest.json  metrics.csv  tensorboard/
        checkpoints/  eval/<checkpoint>/<split>/
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from robotrain.console import track
from robotrain.episodes.digest import ManifestRow, load_manifest, manifest_row
from robotrain.episodes.resolver import Selection
from robotrain.episodes.schema import EpisodeFacts
from robotrain.errors import ManifestError, MissingPathError
from robotrain.files import log_dir, write_json

CONFIG = "config.yaml"
STATS = "stats.json"
MANIFEST = "manifest.json"
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
    for number in count(1):
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


def save_split(run_dir: Path, selection: Selection) -> None:
    """Write ``manifest.json``: which episodes, what they were to the byte, and which of them are trained on.

    Digests are taken over from the data's own manifest for episodes of the same number of files and bytes.
    """
    known = _known_rows(selection.root)
    rows = track(selection.all, "digest", total=len(selection.all), unit="episodes")
    manifest = {
        "schema_version": 1,
        "root": str(selection.root),
        "train": [facts.hash for facts in selection.train],
        "valid": [facts.hash for facts in selection.valid],
        "episodes": [asdict(_row(facts, known.get(facts.hash))) for facts in rows],
    }
    write_json(run_dir / MANIFEST, manifest)


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


def _known_rows(root: Path) -> dict[str, ManifestRow]:
    path = root / MANIFEST
    return {row.hash: row for row in load_manifest(path)} if path.is_file() else {}


def _row(facts: EpisodeFacts, known: ManifestRow | None) -> ManifestRow:
    files = [path for path in facts.path.rglob("*") if path.is_file()] if known else []
    if known and (len(files), sum(path.stat().st_size for path in files)) == (known.num_files, known.num_bytes):
        return known
    return manifest_row(facts.path)
