"""Which code made a run: the commit, what differed from it, and what it did not know.

Knows git; refuses to fail a run. Where there is no git, the files say so.
"""

import subprocess
from pathlib import Path

from robotrain import console
from robotrain.files import write_text

TIMEOUT_S = 20.0
PACKAGE = Path(__file__).parent.parent


def save_provenance(run_dir: Path, *, source: Path = PACKAGE) -> None:
    """Write `git_sha.txt`, `git.diff` and `git_untracked.txt` into a run directory.

    Args:
        run_dir: where the files go.
        source: a folder of the code that runs; robotrain's own when not told.
    """
    tracked = _git(source, "ls-files", "--error-unmatch", ".")
    found = {
        "git_sha.txt": _git(source, "rev-parse", "HEAD") if tracked else None,
        "git.diff": _git(source, "diff", "HEAD", "--", ":/") if tracked else None,
        "git_untracked.txt": _git(source, "ls-files", "--others", "--exclude-standard", "--full-name", "--", ":/")
        if tracked
        else None,
    }
    for name, content in found.items():
        try:
            write_text(run_dir / name, content if content is not None else "not a git checkout\n")
        except OSError as problem:
            console.warn(f"{name} could not be written: {problem}")


def _git(folder: Path, *arguments: str) -> str | None:
    """Return what git prints, or None when there is no git, no repository or no time."""
    try:
        result = subprocess.run(
            ("git", "-C", str(folder), *arguments), capture_output=True, check=True, timeout=TIMEOUT_S
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.decode(errors="replace")
