"""The README is run: every block of commands says how, and is.

Each ```bash block has a comment above it: ``run: here`` blocks are run by the test below, one after the other in one
empty folder, as a reader would (the slow tier takes fewer steps in the one long training, the nightly one all of them);
``run: test_examples`` blocks by that test file; ``not run: REASON`` says why not.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.main import get_command

from robotrain.cli.app import app

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"(?:<!-- (.*?) -->\n)?```bash\n(.*?)```", README, flags=re.DOTALL)


def test_every_block_of_commands_says_how_it_is_run() -> None:
    assert len(BLOCKS) >= 6
    for how, block in BLOCKS:
        assert re.fullmatch(r"run: here|run: test_examples|not run: .+", how), f"no word above:\n{block}"


def test_blocks_that_the_examples_test_runs_name_an_example() -> None:
    scripts = [line.split()[1] for how, block in BLOCKS if how == "run: test_examples" for line in block.splitlines()]
    tested = (ROOT / "tests" / "test_examples.py").read_text()
    assert scripts
    for script in scripts:
        assert (ROOT / script).is_file()
        assert f'bash("{Path(script).name}"' in tested


AS_WRITTEN = "robotrain train --arch hpt_tiny            #"
SHORTENED = "robotrain train --arch hpt_tiny trainer.max_steps=100 trainer.steps_per_epoch=50 #"


@pytest.mark.parametrize(
    "train", [pytest.param(SHORTENED, marks=pytest.mark.slow), pytest.param(AS_WRITTEN, marks=pytest.mark.nightly)]
)
def test_the_commands_of_the_readme_do_what_it_says(train: str, tmp_path: Path) -> None:
    blocks = "\n".join(block for how, block in BLOCKS if how == "run: here")
    assert blocks.count(AS_WRITTEN) == 1, "the one long training, which the slow tier shortens"
    script = "set -euo pipefail\n" + blocks.replace(AS_WRITTEN, train)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {name: value for name, value in os.environ.items() if name != "ROBOTRAIN_LOG_DIR"}
    result = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**environment, "PATH": path},
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Traceback" not in result.stderr
    assert len(list(tmp_path.glob("runs/episodes/*/checkpoints/last.ckpt"))) == 2
    assert list(tmp_path.glob("runs/episodes/*/eval/*/valid/videos/*.mp4"))
    assert len(list(tmp_path.glob("truth/*.mp4"))) == 8


def test_every_command_is_in_the_readme() -> None:
    command = get_command(app)
    for name in getattr(command, "commands", {}):
        assert f"robotrain {name}" in README, name


def test_the_dependency_table_names_every_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    table = README.partition("## Dependencies")[2].partition("\n## ")[0]
    wanted = [
        *project["dependencies"],
        *(each for extra in project["optional-dependencies"].values() for each in extra),
    ]
    for name in {re.split(r"[<>=!\[ ]", each)[0] for each in wanted} - {"robotrain"}:
        assert name in table, name


def test_every_path_the_readme_names_exists() -> None:
    for name in re.findall(
        r"`((?:configs|tests|examples|robotrain|cli|models|embodiments|data|metrics|convert|viz|training|stages|episodes)/[\w/.]*)`",
        README,
    ):
        places = (ROOT / name, ROOT / "robotrain" / name)
        assert any(place.exists() for place in places), name
