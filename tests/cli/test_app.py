"""The program as a whole: its help, its exit codes, how fast it starts."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from robotrain.cli.app import app
from robotrain.cli.options import split_arguments
from robotrain.errors import PinError

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "cli_help.txt"
COMMANDS = (
    (),
    ("demo",),
    ("convert",),
    ("convert", "lerobot"),
    ("convert", "synthetic"),
    ("validate-data",),
    ("explain",),
    ("norm-stats",),
    ("train",),
    ("eval",),
    ("render",),
    ("models",),
    ("bench-loader",),
)


def help_of(*command: str) -> str:
    """Return a command's help at 80 columns, without colours and without blanks at line ends."""
    environment = {**os.environ, "COLUMNS": "80", "TERMINAL_WIDTH": "80", "NO_COLOR": "1", "TERM": "dumb"}
    result = CliRunner().invoke(app, [*command, "--help"], env=environment, prog_name="robotrain")
    assert result.exit_code == 0, result.output
    return "".join(f"{line.rstrip()}\n" for line in result.output.strip().splitlines())


def all_help() -> str:
    return "\n".join(f"$ robotrain {' '.join((*command, '--help'))}\n{help_of(*command)}" for command in COMMANDS)


def test_every_command_and_option_is_as_the_golden_file_says() -> None:
    # After a wanted change: python tests/cli/test_app.py > tests/golden/cli_help.txt
    assert all_help() == GOLDEN.read_text()


def test_the_golden_file_knows_every_command() -> None:
    command: Any = get_command(app)
    found = {(name,) for name in command.commands} | {
        ("convert", name) for name in command.commands["convert"].commands
    }
    assert found == set(COMMANDS) - {()}


@pytest.mark.parametrize(
    "command", [command for command in COMMANDS if command not in {(), ("convert",)}], ids=" ".join
)
def test_every_command_shows_an_example(command: tuple[str, ...]) -> None:
    assert f"Example: robotrain {' '.join(command)}" in help_of(*command)


@pytest.mark.parametrize("arguments", [("trian",), ("train", "--archs", "x"), ("render",), ("convert", "csv")])
def test_wrong_usage_exits_with_2(arguments: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert result.stdout == ""


def test_the_version_is_the_package_s() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.stdout.startswith("robotrain 0.")


@pytest.mark.parametrize(
    ("problem", "code", "line"),
    [
        (
            PinError("d", {"absent": ["one"]}, num_wrong=1, num_pins=2),
            1,
            "error: 1 of 2 pinned episodes of 'd' cannot be used: 1 absent",
        ),
        (KeyboardInterrupt(), 130, "error: interrupted"),
        (PermissionError(13, "Permission denied", "/nowhere"), 1, "error: Permission denied '/nowhere'"),
    ],
)
def test_what_a_user_can_cause_is_one_line_and_an_exit_code(
    problem: BaseException, code: int, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> NoReturn:
        raise problem

    monkeypatch.setattr("robotrain.stages.validate.run", fail)
    result = CliRunner().invoke(app, ["validate-data"])
    assert result.exit_code == code
    assert result.stderr.splitlines()[0] == line
    assert "Traceback" not in result.output


def test_a_mistake_of_ours_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> NoReturn:
        raise AssertionError("ours")

    monkeypatch.setattr("robotrain.stages.validate.run", fail)
    with pytest.raises(AssertionError, match="ours"):
        CliRunner().invoke(app, ["validate-data"], catch_exceptions=False)


def test_a_setting_may_stand_where_a_path_may_be_left_out(tmp_path: Path) -> None:
    odd = tmp_path / "a=b"
    odd.mkdir()
    assert split_arguments(None, None) == (None, [])
    assert split_arguments("stride=2", ["episodes=1"]) == (None, ["stride=2", "episodes=1"])
    assert split_arguments("runs/x", ["stride=2"]) == ("runs/x", ["stride=2"])
    assert split_arguments(str(odd), []) == (str(odd), [])


def test_ctrl_c_is_one_line_and_exit_130(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "robotrain.cli", "convert", "synthetic", "eva_bimanual", str(tmp_path / "out")]
    with subprocess.Popen([*command, "--episodes", "500"], stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 30
        while not list(tmp_path.glob("out/2026-*")) and time.monotonic() < deadline:  # the first whole episode
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert stderr.strip().endswith("error: interrupted")
    assert "Traceback" not in stderr
    assert not [path for path in (tmp_path / "out").iterdir() if "partial" in path.name]


def test_a_name_without_letters_in_the_terminal_is_shown_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "überall").mkdir()
    command = [sys.executable, "-m", "robotrain.cli", "validate-data", str(tmp_path / "überall")]
    poor = os.environ | {"PYTHONIOENCODING": "ascii:strict"}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=poor)
    assert result.returncode == 1
    assert result.stderr.startswith("error: No episodes in")
    assert "\\xfcberall" in result.stderr


if __name__ == "__main__":
    sys.stdout.write(all_help())
