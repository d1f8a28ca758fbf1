"""Statistics as a stage: tables, given statistics, what is refused, and what a run keeps of it."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from robotrain.cli.app import app
from robotrain.data.stats import Stats
from robotrain.errors import ConfigError, MissingExtraError, StatsError, UnknownNameError
from robotrain.stages import plots
from robotrain.stages.evaluate import EvaluateConfig
from robotrain.stages.evaluate import run as evaluate
from robotrain.stages.recipe import TrainChoice
from robotrain.stages.stats import StatsRequest, check, run
from robotrain.stages.train import resolve_config
from robotrain.stages.train import run as train
from tests.conftest import TINY_TRAINING
from tests.factories import make_human_episode, make_joint_episode, write_joints


def invoke(*arguments: object) -> Result:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.output
    return result


def test_the_table_tells_range_constant_missing_and_far_out_in_80_columns(tmp_path: Path) -> None:
    for index in range(3):
        make_human_episode(tmp_path / f"e{index}.zarr", 40, seed=index, missing={"left": range(10, 14)})
    shown = invoke("norm-stats", tmp_path, "--arch", "hpt_tiny").stdout
    assert max(len(line) for line in shown.splitlines() if "/" not in line) <= 80
    rows = run(StatsRequest(data=str(tmp_path), arch="hpt_tiny")).rows("actions")
    row = next(row for row in rows if row[0] == "left.xyz")
    assert row[1] == "m"
    assert float(row[2]) <= float(row[3]) < float(row[4]) <= float(row[5])
    assert row[6] == "5 %"  # the first of 20 steps is where the wrist is
    assert row[7].endswith(" %")
    assert next(row for row in rows if row[0] == "left.rot6d")[6] == "-"


def test_rows_count_what_is_missing_and_what_is_far_out(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(1000, 2)).astype(np.float32)
    values[:3] = 1e4
    write_joints(tmp_path / "e.zarr", values)
    report = run(StatsRequest(data=str(tmp_path), arch="hpt_tiny"))
    assert report.rows("state")[0][7:] == ("0", "0.3 %")
    horizon, rows = report.stats.interface.horizon, 44
    ahead = np.floor(np.arange(horizon) * rows / (horizon - 1) + 1 - 1e-9)  # rows that each step needs beyond its frame
    assert report.rows("actions")[0][7] == f"{100 * ahead.mean() / 1000:.2g} %"


def run_config(data: Path, *overrides: str) -> TrainChoice:
    return TrainChoice(arch="hpt_tiny", data=str(data), overrides=(*TINY_TRAINING, *overrides))


def test_given_statistics_are_trained_with_and_recorded(tiny_episodes: Path, tiny_run: Path, tmp_path: Path) -> None:
    told = json.loads((tiny_run / "stats.json").read_text())
    told["actions"]["q99"][0][0] += 0.125
    (tmp_path / "mine.json").write_text(json.dumps(told))
    choice = run_config(tiny_episodes, f"data.stats.file={tmp_path / 'mine.json'}")
    run_dir = train(resolve_config(choice), log_dir=tmp_path / "runs").run_dir
    assert json.loads((run_dir / "stats.json").read_text())["actions"] == told["actions"]
    assert f"file: {tmp_path / 'mine.json'}" in (run_dir / "config.yaml").read_text()


def test_training_episodes_are_known_as_such_whatever_given_statistics_rest_on(
    tiny_episodes: Path, tiny_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = json.loads((tiny_run / "stats.json").read_text())
    (tmp_path / "mine.json").write_text(json.dumps({**told, "episodes": ["elsewhere"]}))
    choice = run_config(tiny_episodes, f"data.stats.file={tmp_path / 'mine.json'}")
    run_dir = train(resolve_config(choice), log_dir=tmp_path / "runs").run_dir
    evaluate(EvaluateConfig(checkpoint=str(run_dir), data=str(tiny_episodes), stride=6))
    assert "3 of the 4 episodes of 'episodes' were trained on" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("place", ["stats.json", "", "checkpoints/last.ckpt"])
def test_statistics_are_found_where_runs_leave_them(tiny_episodes: Path, tiny_run: Path, place: str) -> None:
    report = check(StatsRequest(data=str(tiny_episodes), arch="hpt_tiny"), tiny_run / place)
    assert report.num_episodes == 4
    assert 0 < report.outside.state[0] < 0.5
    assert [row[0] for row in report.rows("state")] == ["left.xyz", "left.gripper", "right.xyz", "right.gripper"]


def test_the_files_of_the_cache_are_statistics_too(tiny_episodes: Path) -> None:
    request = StatsRequest(data=str(tiny_episodes), arch="hpt_tiny")
    report = run(request)
    assert check(request, report.cache.path).stats.to_plain() == report.stats.to_plain()


def test_statistics_of_another_recipe_are_refused_by_name(tiny_episodes: Path, tiny_run: Path, tmp_path: Path) -> None:
    """A9: relative actions normalised by the statistics of absolute ones, without a word."""
    told = json.loads((tiny_run / "stats.json").read_text())
    for change, words in (
        ({"horizon": 7}, "horizon is 7 there and 20 here"),
        ({"mode": "cartesian_ypr"}, "mode is cartesian_ypr there and cartesian_6d here"),
        ({"plan": {}}, "other arrays or transforms"),
    ):
        other = {**told, "recipe": {**told["recipe"], **change}}
        (tmp_path / "other.json").write_text(json.dumps(other))
        with pytest.raises(StatsError, match=words):
            check(StatsRequest(data=str(tiny_episodes), arch="hpt_tiny"), tmp_path / "other.json")
        choice = run_config(tiny_episodes, f"data.stats.file={tmp_path / 'other.json'}")
        with pytest.raises(StatsError, match=words):
            train(resolve_config(choice), log_dir=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()
    choice = run_config(tiny_episodes, f"data.stats.file={tiny_run}", "data.stats.pool_horizon=true")
    with pytest.raises(StatsError, match="pool_horizon is False there and True here"):
        train(resolve_config(choice), log_dir=tmp_path / "runs")


def test_another_body_is_refused(tiny_run: Path, tmp_path: Path) -> None:
    make_joint_episode(tmp_path / "e" / "a.zarr", 20)
    request = StatsRequest(data=str(tmp_path / "e"), arch="hpt_tiny")
    with pytest.raises(StatsError, match="embodiment is eva_bimanual there and toy_arm here"):
        check(request, tiny_run)
    with pytest.raises(UnknownNameError, match="Available: eva_bimanual"):
        check(request, tiny_run / "checkpoints" / "last.ckpt")


def test_a_file_and_computing_anew_contradict_each_other(tiny_episodes: Path, tiny_run: Path, tmp_path: Path) -> None:
    config = tmp_path / "mine.yaml"
    config.write_text(f"episodes: {{root: {tiny_episodes}}}\nstats: {{file: {tiny_run}}}\n")
    request = StatsRequest(data=str(config), arch="hpt_tiny")
    assert run(request).stats.episodes
    with pytest.raises(ConfigError, match="nothing to compute"):
        run(StatsRequest(data=str(config), arch="hpt_tiny", recompute=True))


def test_modes_reach_the_weights_and_a_misspelt_one_is_told(
    tiny_episodes: Path, tiny_run: Path, tmp_path: Path
) -> None:
    from robotrain.training.checkpoint import load_checkpoint

    choice = run_config(tiny_episodes, "data.stats.modes.gripper=minmax")
    run_dir = train(resolve_config(choice), log_dir=tmp_path / "runs").run_dir
    state = load_checkpoint(run_dir / "checkpoints" / "last.ckpt").state_dict
    stats = Stats.from_plain(json.loads((run_dir / "stats.json").read_text()))
    scale = next(value.numpy() for name, value in state.items() if name.endswith("state_scale"))
    column = stats.interface.state.slices["left.gripper"].start
    np.testing.assert_allclose(scale[column], (stats.state.max - stats.state.min)[column] / 2, rtol=1e-6)
    np.testing.assert_allclose(scale[0], (stats.state.q99 - stats.state.q01)[0] / 2, rtol=1e-6)
    with pytest.raises(UnknownNameError, match="Did you mean 'gripper'"):
        train(resolve_config(run_config(tiny_episodes, "data.stats.modes.griper=minmax")), log_dir=tmp_path / "runs")


def test_the_command_checks_and_draws(tiny_episodes: Path, tiny_run: Path, tmp_path: Path) -> None:
    shown = invoke("norm-stats", tiny_episodes, "--arch", "hpt_tiny", "--check", tiny_run).stdout
    assert "values outside -1 to 1" in " ".join(shown.split())
    assert "left.gripper" in shown
    told = json.loads(invoke("norm-stats", tiny_episodes, "--arch", "hpt_tiny", "--check", tiny_run, "--json").stdout)
    assert set(told["outside"]["state"]) >= {"left.xyz[0]", "left.gripper"}
    result = CliRunner().invoke(app, ["norm-stats", str(tiny_episodes), "--check", str(tiny_run), "--recompute"])
    assert result.exit_code == 1
    assert "leave --recompute and --plot out" in " ".join(result.stderr.split())


def test_a_picture_is_drawn_for_each_field(tiny_episodes: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    import cv2

    report = run(StatsRequest(data=str(tiny_episodes), arch="hpt_tiny", plot=tmp_path / "plots"))
    assert [file.name for file in report.pictures][:3] == [
        "00_left.xyz.png",
        "01_left.rot6d.png",
        "02_left.gripper.png",
    ]
    pictures = [np.asarray(cv2.imread(str(file))) for file in report.pictures]
    assert all(picture.ndim == 3 and picture.std() > 10 for picture in pictures)
    assert pictures[0].shape[1] > 2 * pictures[2].shape[1]  # three columns beside one


def test_without_matplotlib_the_extra_is_named(tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    stats = Stats.from_plain(json.loads((tiny_run / "stats.json").read_text()))
    with pytest.raises(MissingExtraError, match=r"robotrain\[plots\]"):
        plots.plot_stats(stats, tmp_path / "plots")
    assert not (tmp_path / "plots").exists()


def test_a_resumed_run_keeps_its_own_statistics(tiny_episodes: Path, tiny_run: Path, tmp_path: Path) -> None:
    given = shutil.copy(tiny_run / "stats.json", tmp_path / "given.json")
    choice = run_config(tiny_episodes, f"data.stats.file={given}")
    run_dir = train(resolve_config(choice), log_dir=tmp_path / "runs").run_dir
    again = resolve_config(TrainChoice(resume=run_dir, overrides=("trainer.max_steps=3",)))
    assert train(again, resume=run_dir).step == 3
