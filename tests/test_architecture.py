"""The wall: imports only fall, heavy libraries stay in their rooms, files and functions fit in a head."""

import ast
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "robotrain"

# A module belongs to the room with the longest matching prefix. Floors from the ground up; a room may import rooms on
# lower floors, and the rooms of its own floor that are named beside it here.
FLOORS: tuple[dict[str, set[str]], ...] = (
    {
        "errors": set(),
        "files": {"errors"},
        "console": set(),
        "processes": {"errors"},
        "canvas": {"errors"},
        "geometry": {"errors"},
    },
    {
        "embodiments": set(),
        "metrics": {"embodiments"},
        "batch": set(),
        "draws": {"batch"},
        "predictions": {"embodiments"},
        "config": set(),
        "cache": set(),
        "launch": set(),
    },
    {"models": set(), "episodes": set()},
    {"data": set(), "viz": set(), "convert": set()},
    {"training": set()},
    {"evaluation": set()},
    {"stages": set()},
    {"cli": set()},
)

# Rooms that must not meet though the floors would allow it.
STRANGERS: dict[str, set[str]] = {
    "models": {"data", "training", "config", "episodes"},
    "viz": {"models", "training", "data", "batch", "draws"},
    "data": {"models", "viz", "convert"},
    "convert": {"viz", "models", "data", "training"},
    "training": {"viz", "convert", "evaluation"},
    "embodiments": {"canvas"},
    "metrics": {"canvas"},
}

# Heavy libraries and the only places that may import them, by module prefix.
LIBRARIES: dict[str, tuple[str, ...]] = {
    "torch": ("batch", "draws", "metrics", "data", "models", "training", "evaluation"),
    "zarr": ("episodes.reader", "episodes.writer", "convert.replay_buffer"),
    "numcodecs": ("episodes.shards",),
    "google_crc32c": ("episodes.shards",),
    "pytorch_lightning": ("training", "data.datamodule"),
    "omegaconf": ("config",),
    "yaml": ("config",),
    "typer": ("cli",),
    "rich": ("cli", "console"),
    "cv2": ("canvas", "geometry.cameras"),
    "av": ("viz.video", "convert"),
    "simplejpeg": ("episodes", "data", "convert"),
    "submitit": ("launch.slurm",),
    "pyarrow": ("convert.lerobot", "episodes.choice.registry"),
    "tensorboard": ("training",),
    "safetensors": ("training", "models"),
    "transformers": ("models.layers.vision", "models.layers.text", "models.pi.prefix"),
    "matplotlib": ("stages.plots",),
    "boto3": (),
    "fsspec": (),
    "s3fs": (),
}

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_PARAMETERS = 7
MAX_INIT_LINES = 40
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc", "base", "tools", "stuff"}


def _files() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts)


def _module(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _imports(path: Path) -> list[tuple[str, int]]:
    """Return (absolute module name, line) of every import of a file, those inside functions too."""
    found: list[tuple[str, int]] = []
    package = ["robotrain", *path.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            stem = ".".join(package[: len(package) - node.level + 1] if node.level else [])
            name = ".".join(part for part in (stem, node.module) if part)
            found.append((name, node.lineno))
            # "from robotrain.data import stats" imports a module, not only a package
            found += [
                (f"{name}.{alias.name}", node.lineno) for alias in node.names if _is_module(f"{name}.{alias.name}")
            ]
    return found


def _is_module(name: str) -> bool:
    path = ROOT / name.replace(".", "/")
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


ROOMS = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}


def _room(module: str) -> str:
    return module.split(".", maxsplit=1)[0]


FILES = [pytest.param(path, id=_module(path) or "robotrain") for path in _files()]


def test_every_file_stands_in_a_room_of_the_table() -> None:
    strays = {_room(_module(path)) for path in _files()} - set(ROOMS) - {""}
    assert not strays, f"rooms without a floor: {strays}"


@pytest.mark.parametrize("path", FILES)
def test_imports_only_fall(path: Path) -> None:
    here = _room(_module(path))
    if not here:
        return
    for name, line in _imports(path):
        if not name.startswith("robotrain."):
            continue
        there = _room(name.removeprefix("robotrain."))
        if there in {here, ""} or there not in ROOMS:
            continue
        place = f"{path.relative_to(ROOT)}:{line}"
        beside = FLOORS[ROOMS[here]][here]
        assert ROOMS[there] < ROOMS[here] or there in beside, f"{place}: {here} must not import {there}"
        assert there not in STRANGERS.get(here, set()), f"{place}: {here} and {there} must not meet"


@pytest.mark.parametrize("path", FILES)
def test_heavy_libraries_stay_in_their_rooms(path: Path) -> None:
    module = _module(path)
    for name, line in _imports(path):
        library = name.split(".")[0]
        if library in LIBRARIES:
            allowed = LIBRARIES[library]
            fits = any(module == prefix or module.startswith(f"{prefix}.") for prefix in allowed)
            assert fits, f"{path.relative_to(ROOT)}:{line}: {library} may be imported only in {', '.join(allowed)}"


def test_modules_import_each_other_in_no_circle() -> None:
    graph: dict[str, set[str]] = {}
    for path in _files():
        names = {name for name, _ in _imports(path) if name.startswith("robotrain.")}
        graph[_module(path)] = {name.removeprefix("robotrain.") for name in names}
    done: set[str] = set()

    def visit(module: str, above: tuple[str, ...]) -> None:
        assert module not in above, f"a circle of imports: {' -> '.join((*above[above.index(module) :], module))}"
        if module in done:
            return
        for below in sorted(graph.get(module, set()) - {module}):
            visit(below, (*above, module))
        done.add(module)

    for module in graph:
        visit(module, ())


@pytest.mark.parametrize("path", FILES)
def test_files_and_functions_fit_in_a_head(path: Path) -> None:
    lines = len(path.read_text().splitlines())
    limit = MAX_INIT_LINES if path.name == "__init__.py" else MAX_FILE_LINES
    assert lines <= limit, f"{path.relative_to(ROOT)} has {lines} lines"
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= MAX_FUNCTION_LINES, f"{path.name}:{node.lineno} {node.name} has {length} lines"
            arguments = node.args
            count = len([a for a in (*arguments.args, *arguments.kwonlyargs) if a.arg not in {"self", "cls"}])
            is_command = _module(path).startswith("cli.")  # a command's parameters are its options
            assert is_command or count <= MAX_PARAMETERS, (
                f"{path.name}:{node.lineno} {node.name} takes {count} parameters"
            )
            is_catch_all = arguments.kwarg is not None
            assert not is_catch_all, f"{path.name}:{node.lineno} {node.name} has a catch-all **{arguments.kwarg}"


@pytest.mark.parametrize("path", FILES)
def test_names_say_something(path: Path) -> None:
    vague = VAGUE & set(Path(_module(path).replace(".", "/")).parts)
    assert not vague, f"{path.relative_to(ROOT)}: a room needs a name of its own"


@pytest.mark.parametrize("path", FILES)
def test_all_lists_what_exists(path: Path) -> None:
    defined: set[str] = set()
    listed: list[str] = []
    for node in _tree(path).body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            defined |= set(names)
            if names == ["__all__"] and node.value is not None:
                listed = ast.literal_eval(node.value)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            defined |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined.add(node.name)
    if listed == ["__all__"] or "__getattr__" in defined:
        return
    assert not set(listed) - defined, f"stale __all__ in {path.relative_to(ROOT)}: {set(listed) - defined}"


PLACING_ROOMS = ("training", "launch")


@pytest.mark.parametrize("path", FILES)
def test_only_training_and_launch_place_anything(path: Path) -> None:
    """No line outside training/ and launch/ names a device or moves a module to one."""
    if _room(_module(path)) in PLACING_ROOMS:
        return
    for node in ast.walk(_tree(path)):
        line = getattr(node, "lineno", 0)
        place = f"{path.relative_to(ROOT)}:{line}"
        if isinstance(node, ast.Attribute):
            assert node.attr not in {"cuda", "mps", "xpu"}, f"{place}: names a device"
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert node.value.split(":")[0] not in {"cpu", "cuda", "mps", "xpu"}, f"{place}: names a device"


def test_the_command_line_starts_without_heavy_libraries() -> None:
    heavy = ("torch", "zarr", "pytorch_lightning", "transformers", "omegaconf", "av", "cv2", "submitit")
    code = f"import sys, robotrain.cli.app; print([name for name in {heavy!r} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert result.stdout.strip() == "[]"


BAD_FILES = [
    ("models/thief.py", "from robotrain.data import stats\n", test_imports_only_fall),
    ("models/thief.py", "def f():\n    import robotrain.config\n", test_imports_only_fall),
    ("geometry/thief.py", "from robotrain.cli import app\n", test_imports_only_fall),
    ("viz/thief.py", "from robotrain.batch import Batch\n", test_imports_only_fall),
    ("stages/thief.py", "import torch.nn as nn\n", test_heavy_libraries_stay_in_their_rooms),
    ("episodes/index.py", "import zarr\n", test_heavy_libraries_stay_in_their_rooms),
    ("models/thief.py", "x = model.to('cuda:0')\n", test_only_training_and_launch_place_anything),
    ("models/thief.py", "x = model.cuda()\n", test_only_training_and_launch_place_anything),
    ("models/utils.py", "", test_names_say_something),
    ("models/thief.py", "__all__ = ['gone']\n", test_all_lists_what_exists),
    ("models/thief.py", "x = 1\n" * 401, test_files_and_functions_fit_in_a_head),
    ("models/thief.py", "def f():\n" + "    x = 1\n" * 60, test_files_and_functions_fit_in_a_head),
    ("models/thief.py", "def f(a, b, c, d, e, f, g, h): ...\n", test_files_and_functions_fit_in_a_head),
    ("models/thief.py", "def f(**kwargs): ...\n", test_files_and_functions_fit_in_a_head),
]


@pytest.mark.parametrize(("name", "content", "law"), BAD_FILES)
def test_the_wall_stops_what_it_should(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: str, law: Callable[[Path], None]
) -> None:
    for module in ("data/stats", "cli/app", "batch", "config"):
        (tmp_path / "robotrain" / module).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "robotrain" / module).with_suffix(".py").touch()
    path = tmp_path / "robotrain" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path / "robotrain")
    with pytest.raises(AssertionError):
        law(path)
