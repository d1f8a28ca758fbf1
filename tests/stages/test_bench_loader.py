import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from robotrain.cli.app import app
from robotrain.errors import ConfigError
from robotrain.stages.bench_loader import BenchReport, BenchRequest, run
from tests.factories import make_eva_episode, write_joints


def report(**more: Any) -> BenchReport:
    told: dict[str, Any] = {
        "embodiment": "toy",
        "horizon": 100,
        "cameras": ("front_1",),
        "batch_size": 64,
        "decode": 1000.0,
        "loaded": {0: 900.0, 1: 800.0, 2: 1500.0},
        "loaded_short": 950.0,
        "gathered": 60000.0,
        "encoded": 5000.0,
        "step_times_ms": (100.0,),
    }
    return BenchReport(**told | more)


@pytest.mark.parametrize(("step_ms", "workers"), [(100, 1), (80, 1), (79, 2), (10, 8)])
def test_workers_are_as_many_as_give_a_batch_within_a_step(step_ms: float, workers: int) -> None:
    assert report().workers_for(step_ms) == workers  # one worker gives a batch of 64 in 80 ms


def test_shares_are_of_the_bound_or_of_the_main_process_where_there_is_nothing_to_decode() -> None:
    assert [share for _, _, share in report().rows()] == ["", "90%", "80%", "150%", "95%", "", ""]
    assert [share for _, _, share in report(decode=None, cameras=()).rows()] == ["100%", "89%", "167%", "106%", "", ""]


def test_a_folder_is_measured_and_printed(tmp_path: Path) -> None:
    for index in range(2):
        make_eva_episode(tmp_path / f"2026-01-01-00-00-00-00000{index}.zarr", num_frames=8, seed=index)
    result = CliRunner().invoke(app, ["bench-loader", str(tmp_path), "batch_size=4", "--step-ms", "50", "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert (told["horizon"], told["batch_size"], told["cameras"]) == (20, 4, ["front_1", "left_wrist", "right_wrist"])
    rates = told["samples_per_second"]
    assert set(rates["loaded"]) == {"0", "1", "2"}
    assert all(
        rate > 0 for rate in (rates["decode"], rates["loaded_short"], rates["encoded"], *rates["loaded"].values())
    )
    assert set(told["workers_for_step_ms"]) == {"50"}


def test_data_without_pictures_have_no_bound(tmp_path: Path) -> None:
    for index in range(2):
        write_joints(tmp_path / f"e{index}.zarr", np.random.default_rng(index).normal(size=(9, 2)))
    found = run(BenchRequest(data=str(tmp_path), samples=8, rounds=1, workers=(), overrides=("cameras=[]",)))
    assert found.decode is None
    assert found.loaded[0] > 0


@pytest.mark.parametrize("more", [{"samples": 0}, {"rounds": 0}, {"step_ms": 0.0}, {"step_ms": float("nan")}])
def test_numbers_that_measure_nothing_are_refused(more: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        BenchRequest(**more)
