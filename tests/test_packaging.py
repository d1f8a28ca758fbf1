"""What is installed is what was tested: the wheel, built and used away from the checkout."""

import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from robotrain.config import configs_dir

ROOT = Path(__file__).parent.parent

RESOLVE = """
import sys
from pathlib import Path
import robotrain
from robotrain.config import config_names, configs_dir
from robotrain.stages.models import ModelsConfig, run
from robotrain.stages.recipe import TrainChoice
from robotrain.stages.train import resolve_config

inside = Path(robotrain.__file__).parent
assert inside.is_relative_to(sys.prefix), inside
assert configs_dir() == inside / "configs", configs_dir()
for recipe in config_names("recipe"):
    resolve_config(TrainChoice(recipe=recipe))
for arch in config_names("arch"):
    for trainer in config_names("trainer"):
        for data in config_names("data"):
            resolve_config(TrainChoice(arch=arch, trainer=trainer, data=data))
print(len(run(ModelsConfig()).archs))
"""


@pytest.mark.slow
def test_the_wheel_works_in_an_empty_environment_from_another_folder(tmp_path: Path) -> None:
    # sdist and wheel: the wheel is built from the sdist, so both are whole
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path / "dist"), cwd=ROOT)
    (wheel,) = (tmp_path / "dist").glob("robotrain-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    shipped = {name.removeprefix("robotrain/configs/") for name in names if name.startswith("robotrain/configs/")}
    assert shipped == {path.relative_to(configs_dir()).as_posix() for path in configs_dir().rglob("*.yaml")}
    assert {name.split("/")[0] for name in names} == {"robotrain", wheel.name.split("-py3")[0] + ".dist-info"}
    assert "robotrain/py.typed" in names

    environment = tmp_path / "venv"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    _run(str(python), "-m", "pip", "install", "--no-deps", "--no-index", str(wheel), cwd=tmp_path)
    # the dependencies are this environment's: a plain path, so that its editable robotrain stays out
    site = Path(_run(str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).strip())
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")

    assert int(_run(str(python), "-c", RESOLVE, cwd=tmp_path)) > 0
    assert "Start here: robotrain demo" in _run(str(environment / "bin" / "robotrain"), "--help", cwd=tmp_path)


def test_constraints_fix_every_dependency_and_name_no_build_and_no_host() -> None:
    text = (ROOT / "constraints.txt").read_text()
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*", line) for line in lines), "NAME==VERSION, no '+cpu', no URL"
    pinned = {line.split("==")[0] for line in lines}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(each for extra in project["optional-dependencies"].values() for each in extra),
    ]
    names = {re.split(r"[<>=!\[ ]", each)[0] for each in wanted} - {"robotrain"}
    assert names <= pinned, f"constraints.txt lacks {sorted(names - pinned)}"


def test_no_file_names_a_registry_or_a_path_of_one_machine() -> None:
    listed = subprocess.run(["git", "ls-files"], check=False, cwd=ROOT, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("not a git checkout: which files are ours is not known")
    forbidden = re.compile(
        r"--(extra-)?index-url|--find-links|registry=\S*//|://\S+/(simple|whl)\b|(?<![\w.])/(home|root|opt|work)/"
    )
    for name in listed.stdout.split():
        path = ROOT / name
        if path.suffix in {".py", ".toml", ".txt", ".yaml", ".yml", ".sh", ".md"} and path != Path(__file__):
            found = forbidden.search(path.read_text())
            assert not found, f"{name} names {found.group()}" if found else ""


def _run(*command: str, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ROBOTRAIN_", "PYTHON"))}
    result = subprocess.run(command, check=False, cwd=cwd, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout
