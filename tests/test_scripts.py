"""The scripts that make an environment and run everything: once, and the same everywhere."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a stand-in for a checkout, with an environment whose Python writes down how it is called."""
    for name in ("pyproject.toml", "constraints.txt", "tests/environment.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/calls\n')
    python.chmod(0o755)
    return tmp_path


def make_environment(checkout: Path, extra: str = "") -> list[str]:
    """Ask for the environment and return what was installed, call by call, since the checkout was made."""
    script = f"set -euo pipefail; source tests/environment.sh; make_environment {extra}"
    subprocess.run(["bash", "-c", script], cwd=checkout, check=True, capture_output=True, text=True)
    calls = checkout / "calls"
    return [line.split()[-1] for line in calls.read_text().splitlines()] if calls.exists() else []


def test_an_environment_is_installed_once(checkout: Path) -> None:
    assert make_environment(checkout) == ["."]
    assert make_environment(checkout) == ["."]


def test_the_test_environment_serves_plain_robotrain_too(checkout: Path) -> None:
    assert make_environment(checkout, "test") == [".[test]"]
    assert make_environment(checkout) == [".[test]"]
    assert make_environment(checkout, "test") == [".[test]"]


def test_other_dependencies_are_installed_again(checkout: Path) -> None:
    make_environment(checkout, "test")
    (checkout / "constraints.txt").write_text("numpy==2.4.6\n")
    assert make_environment(checkout, "test") == [".[test]", ".[test]"]


def test_a_failed_install_is_tried_again(checkout: Path) -> None:
    python = checkout / ".venv" / "bin" / "python"
    works = python.read_text()
    python.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(subprocess.CalledProcessError):
        make_environment(checkout)
    python.write_text(works)
    assert make_environment(checkout) == ["."]


def test_an_old_python_is_told_what_is_needed(checkout: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("bash", "cat"):
        (tools / name).symlink_to(shutil.which(name) or "")
    result = subprocess.run(
        ["bash", "-c", "set -e; source tests/environment.sh; make_environment"],
        cwd=checkout,
        env={"PATH": str(tools)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode != 0
    assert "Python 3.11 or newer" in result.stderr


def test_the_workflow_runs_the_same_scripts_and_nothing_else() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    commands = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    assert {"lint", "types", "tests", "wheel"} <= set(workflow["jobs"])
    assert "bash .ci/run" in commands
    for command in commands:
        assert command == "bash .ci/run" or command.removeprefix("PYTHON=python ").startswith("bash tests/run.sh")


def test_the_scripts_can_be_started() -> None:
    for script in (".ci/run", "tests/run.sh", "examples/quickstart.sh", "examples/real_robot.sh"):
        subprocess.run(["bash", "-n", str(ROOT / script)], check=True)
        assert os.access(ROOT / script, os.X_OK) or script.startswith("examples"), script
    assert "bash tests/run.sh --all" in (ROOT / ".ci" / "run").read_text()
