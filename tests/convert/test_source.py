import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from robotrain.convert.source import ConvertReport, Header, Source, convert_source
from robotrain.convert.synthetic.generate import SyntheticConfig, SyntheticSource
from robotrain.episodes.digest import compute_digest
from robotrain.episodes.reader import open_episode
from robotrain.episodes.writer import EpisodeWriter
from robotrain.errors import ConversionError, ExistingPathError


class Ramps(Source):
    """Three episodes of a few rows; one of them can be made to fail half way."""

    def __init__(self, broken: str = "") -> None:
        self.broken = broken

    def names(self) -> tuple[str, ...]:
        return ("a", "b", "c")

    def header(self, name: str) -> Header:
        return Header(embodiment="eva_bimanual", fps=Fraction(30), source={"kind": "ramp", "name": name})

    def write(self, name: str, writer: EpisodeWriter) -> int:
        writer.add_numbers({"obs_joints": np.arange(6.0).reshape(3, 2)})
        if name == self.broken:
            raise ConversionError(f"{name} is broken")
        return 3


def test_the_report_counts_what_was_written_and_what_was_there(tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = convert_source(Ramps(), out)
    assert (first.written, first.skipped_existing, first.frames) == (("a", "b", "c"), (), 9)
    assert first.seconds > 0
    (out / "b.zarr" / "zarr.json").unlink()
    for leftover in sorted((out / "b.zarr").rglob("*"), reverse=True):
        leftover.rmdir() if leftover.is_dir() else leftover.unlink()
    (out / "b.zarr").rmdir()
    second = convert_source(Ramps(), out)
    assert (second.written, second.skipped_existing, second.frames) == (("b",), ("a", "c"), 3)


def test_a_broken_recording_leaves_nothing_of_itself_and_all_that_came_before(tmp_path: Path) -> None:
    with pytest.raises(ConversionError, match="b is broken"):
        convert_source(Ramps(broken="b"), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.zarr"]
    assert convert_source(Ramps(), tmp_path).written == ("b", "c")


def test_a_folder_of_that_name_that_is_no_episode_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "c.zarr").mkdir()
    with pytest.raises(ExistingPathError, match=r"c\.zarr"):
        convert_source(Ramps(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["c.zarr"]


def test_leftovers_of_dead_conversions_are_removed_and_those_of_living_ones_stay(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    living = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        for process in (gone.pid, living.pid):
            (tmp_path / f".a.partial-{process}").mkdir()
        (tmp_path / f".other.partial-{gone.pid}").mkdir()
        report = convert_source(Ramps(), tmp_path)
    finally:
        living.kill()
        living.communicate()
    assert report.removed_partials == 1
    hidden = sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("."))
    assert hidden == sorted([f".a.partial-{living.pid}", f".other.partial-{gone.pid}"])


def test_a_source_that_names_an_episode_twice_is_refused(tmp_path: Path) -> None:
    class Twice(Ramps):
        def names(self) -> tuple[str, ...]:
            return ("a", "a")

    with pytest.raises(ConversionError, match="twice"):
        convert_source(Twice(), tmp_path)


CONFIG = SyntheticConfig(num_episodes=12, width=64, height=48)
CODE = """
import sys
from pathlib import Path
from robotrain.convert.source import convert_source
from robotrain.convert.synthetic.generate import SyntheticConfig, SyntheticSource
print("ready", flush=True)
convert_source(SyntheticSource(SyntheticConfig(num_episodes=12, width=64, height=48)), Path(sys.argv[1]))
"""


@pytest.mark.slow
def test_a_killed_conversion_leaves_whole_episodes_only_and_the_next_run_completes_it(tmp_path: Path) -> None:
    whole = convert_source(SyntheticSource(CONFIG), tmp_path / "whole")
    digests = {name: compute_digest(tmp_path / "whole" / f"{name}.zarr") for name in whole.written}
    out, in_between, leftovers = tmp_path / "out", 0, 0
    for moment in np.linspace(0.02, 1.2, 10):
        process = subprocess.Popen([sys.executable, "-c", CODE, str(out)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(moment * whole.seconds / 2)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        visible = _visible(out)
        for path in visible:
            assert compute_digest(path) == digests[path.stem]
        in_between += 0 < len(visible) < CONFIG.num_episodes
        leftovers += out.is_dir() and any(path.name.startswith(".") for path in out.iterdir())
    assert in_between, "no kill fell between two episodes: the test proves nothing"
    report = convert_source(SyntheticSource(CONFIG), out)
    assert set(report.written) | set(report.skipped_existing) == set(digests)
    assert not [path for path in out.iterdir() if path.name.startswith(".")], "leftovers of killed runs stayed"
    assert {path.stem: compute_digest(path) for path in _visible(out)} == digests


def _visible(out: Path) -> list[Path]:
    """Return what a reader of the folder would take for episodes, each opened to its last frame."""
    found = [path for path in out.iterdir() if not path.name.startswith(".")] if out.is_dir() else []
    for path in found:
        episode = open_episode(path)
        episode.image("front_1", episode.num_frames - 1)
    return found


def test_a_report_tells_where_the_episodes_are(tmp_path: Path) -> None:
    report = convert_source(Ramps(), tmp_path)
    assert isinstance(report, ConvertReport)
    assert report.out == tmp_path
