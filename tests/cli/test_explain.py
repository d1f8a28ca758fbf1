import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from robotrain.cli.app import app
from robotrain.cli.explain import complete_code
from robotrain.config import compose
from robotrain.data.config import DataConfig
from robotrain.episodes.validation.codes import CODES

NARROW = {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}


def explain(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["explain", *arguments], env=NARROW)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_code_is_told_with_its_severity_its_meaning_and_its_mend() -> None:
    told = " ".join(explain("missing-shard").split())
    assert told.startswith("missing-shard: error")
    assert CODES["missing-shard"].meaning in told
    assert CODES["missing-shard"].mend in told


@pytest.mark.parametrize("code", CODES)
def test_every_code_reads_within_80_columns_and_its_settings_can_be_copied(code: str) -> None:
    lines = explain(code).splitlines()
    assert max(map(len, lines)) <= 80
    settings = [line.strip().removeprefix("data.") for line in lines if line.startswith("  data.")]
    validation = compose(DataConfig, (), overrides=settings).validation
    assert validation.severity == {code: "warning" if CODES[code].severity == "off" else "off"}
    assert validation.keep == (f"HASH:{code}",)


def test_the_list_holds_every_code_and_reads_within_80_columns() -> None:
    lines = explain().splitlines()
    assert max(map(len, lines)) <= 80
    rows = {line.split()[0]: line.split()[1] for line in lines if line.split()[:1] and line.split()[0] in CODES}
    assert rows == {name: code.severity for name, code in CODES.items()}


def test_the_list_tells_the_first_sentence_of_a_meaning() -> None:
    told = " ".join(explain().split())
    assert "missing-shard error A file that an array's metadata promise is missing or empty. missing" in told


def test_an_unknown_code_names_the_nearest() -> None:
    result = CliRunner().invoke(app, ["explain", "missing-shards"])
    assert result.exit_code == 1
    assert result.stderr.startswith("error: Unknown code 'missing-shards'. Did you mean 'missing-shard'?")
    assert result.stdout == ""


def test_json_holds_one_code_or_all_of_them() -> None:
    code = CODES["no-fps"]
    assert json.loads(explain("no-fps", "--json")) == {
        "no-fps": {"severity": code.severity, "meaning": code.meaning, "mend": code.mend}
    }
    assert list(json.loads(explain("--json"))) == list(CODES)


def test_codes_complete_in_the_shell() -> None:
    assert complete_code("missing-s") == ["missing-shard"]
    assert complete_code("") == list(CODES)
    assert complete_code("x") == []


def test_explaining_loads_no_heavy_library() -> None:
    heavy = ("torch", "zarr", "pytorch_lightning", "cv2", "omegaconf", "simplejpeg")
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom robotrain.cli.app import app\n"
        "assert CliRunner().invoke(app, ['explain', 'missing-shard']).exit_code == 0\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
