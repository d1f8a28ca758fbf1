"""What a user sees of `validate-data`, and what a training makes of it."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from robotrain.cli.app import app
from robotrain.episodes.digest import compute_digest
from robotrain.episodes.folder import find_episodes
from robotrain.episodes.manifest import load_manifest
from robotrain.errors import ManifestError, UnsoundEpisodesError
from robotrain.stages.recipe import TrainChoice
from robotrain.stages.train import resolve_config, run
from robotrain.stages.validate import ValidateConfig
from robotrain.stages.validate import run as validate
from tests.conftest import TINY_TRAINING
from tests.factories import make_eva_episode


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def found(*data: Path | str, deep: bool = False) -> list[tuple[str, str]]:
    """Return (code, episode) of what is found."""
    report = validate(ValidateConfig(data=tuple(map(str, data)), deep=deep))
    return [(finding.code, finding.episode) for finding in report.findings]


def record(*data: Path | str) -> None:
    report = validate(ValidateConfig(data=tuple(map(str, data)), write_manifest=True))
    assert not report.num_errors
    assert all(place.manifest for place in report.places)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sound")
    for number in range(4):
        make_eva_episode(root / f"2026-01-0{number + 1}-00-00-00-000000.zarr", num_frames=31, seed=number)
    return root


@pytest.fixture
def episodes(tmp_path: Path, sound: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "episodes"))


def episode(root: Path, number: int) -> Path:
    return find_episodes(root)[number]


def reword(path: Path) -> None:
    """Change an episode's description, and its size with it."""
    file = path / "zarr.json"
    file.write_text(file.read_text().replace("pick it up", "pick it up again"))


def yaml_of(path: Path, root: Path, *lines: str) -> Path:
    path.write_text("\n".join([f"episodes:\n  root: {root}", *(f"  {line}" for line in lines)]) + "\n")
    return path


def test_what_was_never_recorded_is_said_once_and_no_more_than_structure_is_promised(episodes: Path) -> None:
    assert found(episodes) == [("no-baseline", "")]
    result = invoke("validate-data", episodes)
    assert result.exit_code == 0
    assert "No digest of 4 of 4 episodes was ever recorded." in result.stdout
    assert "robotrain validate-data DATA --write-manifest" in result.stdout
    assert max(len(line) for line in result.stdout.splitlines()[:1]) <= 80


def test_a_manifest_ends_that_and_finds_what_is_lost_changed_removed_and_added(episodes: Path) -> None:
    record(episodes)
    assert found(episodes) == []
    first, second, third, fourth = find_episodes(episodes)
    next(first.glob("*/c/0/0")).unlink()
    reword(second)
    shutil.rmtree(third)
    shutil.copytree(fourth, episodes / "2026-02-01-00-00-00-000000.zarr")
    told = found(episodes)
    assert ("lost-file", "2026-01-01-00-00-00-000000") in told
    assert ("changed-content", "2026-01-02-00-00-00-000000") in told
    assert ("lost-episode", "2026-01-03-00-00-00-000000") in told
    assert ("unlisted-episode", "2026-02-01-00-00-00-000000") in told
    assert len(told) == 5  # the lost file is a missing shard too


def test_a_manifest_travels_with_the_data_to_another_machine(
    episodes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(episodes)
    monkeypatch.setenv("ROBOTRAIN_CACHE_DIR", str(tmp_path / "another"))
    copy = Path(shutil.copytree(episodes, tmp_path / "copy"))
    assert found(copy) == []
    file = next(episode(copy, 1).glob("*/c/0/0"))
    file.write_bytes(bytes([file.read_bytes()[0] ^ 1]) + file.read_bytes()[1:])
    assert "changed-content" not in {code for code, _ in found(copy)}  # a quick look counts bytes
    assert ("changed-content", "2026-01-02-00-00-00-000000") in found(copy, deep=True)
    shutil.rmtree(copy / "2026-01-01-00-00-00-000000.zarr" / "left.obs_gripper")
    assert ("lost-file", "2026-01-01-00-00-00-000000") in found(copy)


def test_a_deep_look_records_too(episodes: Path) -> None:
    assert found(episodes, deep=True) == []
    assert found(episodes) == []
    reword(episode(episodes, 1))
    assert found(episodes) == [("changed-content", "2026-01-02-00-00-00-000000")]


def test_writing_the_manifest_again_accepts_what_is_there(episodes: Path) -> None:
    record(episodes)
    reword(episode(episodes, 1))
    shutil.rmtree(episode(episodes, 2))
    record(episodes)
    assert found(episodes, deep=True) == []
    rows = load_manifest(episodes / "manifest.json")
    assert [(row.hash, row.digest) for row in rows] == [
        (path.stem, compute_digest(path)) for path in find_episodes(episodes)
    ]


def test_the_manifest_of_a_folder_keeps_its_other_rows_when_one_episode_is_recorded(episodes: Path) -> None:
    record(episodes)
    reword(episode(episodes, 1))
    record(episode(episodes, 1))
    assert len(load_manifest(episodes / "manifest.json")) == 4
    assert found(episodes, deep=True) == []


def test_a_broken_manifest_is_a_finding_and_is_written_anew(episodes: Path) -> None:
    (episodes / "manifest.json").write_text("{")
    assert ("bad-manifest", "") in found(episodes)
    record(episodes)
    assert found(episodes) == []


def test_a_config_has_a_manifest_beside_it_of_exactly_its_episodes(episodes: Path, tmp_path: Path) -> None:
    config = yaml_of(tmp_path / "two.yaml", episodes, "pins: [2026-01-01-00-00-00-000000, 2026-01-02-00-00-00-000000]")
    record(config)
    assert {row.hash[:10] for row in load_manifest(tmp_path / "two.manifest.json")} == {"2026-01-01", "2026-01-02"}
    assert not (episodes / "manifest.json").exists()
    assert found(config) == []
    yaml_of(config, episodes, "pins: [2026-01-01-00-00-00-000000, 2026-01-03-00-00-00-000000]")
    assert set(found(config)) == {
        ("lost-episode", "2026-01-02-00-00-00-000000"),
        ("unlisted-episode", "2026-01-03-00-00-00-000000"),
    }


def test_only_what_a_config_chooses_is_checked(episodes: Path, tmp_path: Path) -> None:
    next(episode(episodes, 0).glob("*/c/0/0")).unlink()
    chosen = yaml_of(tmp_path / "late.yaml", episodes, "where: {hash: {not: {prefix: 2026-01-01}}}")
    report = validate(ValidateConfig(data=(str(chosen),)))
    assert (report.num_episodes, report.num_errors) == (3, 0)


def test_pins_are_checked_with_all_their_problems(episodes: Path, tmp_path: Path) -> None:
    config = yaml_of(tmp_path / "pins.yaml", episodes, "pins: [2026-01-01-00-00-00-000000, 2026-01-09-00-00-00-000000]")
    assert ("missing-pin", "2026-01-09-00-00-00-000000") in found(config)


def test_severity_and_keep_list_of_a_config_are_followed(episodes: Path, tmp_path: Path) -> None:
    next(episode(episodes, 0).glob("*/c/0/0")).unlink()
    config = tmp_path / "kept.yaml"
    config.write_text(
        f"episodes: {{root: {episodes}}}\n"
        "validation:\n  severity: {no-baseline: off}\n  keep: ['2026-01-01-00-00-00-000000:missing-shard']\n"
    )
    result = invoke("validate-data", config, "--json")
    assert result.exit_code == 0, result.output
    (finding,) = json.loads(result.stdout)["findings"]
    assert finding["severity"] == "warning"
    assert finding["message"].startswith("kept: ")
    assert "validation.keep" not in result.stderr


def test_keeping_an_episode_that_is_not_there_is_told_with_the_nearest(episodes: Path, tmp_path: Path) -> None:
    record(episodes)
    shutil.rmtree(episode(episodes, 3))
    config = yaml_of(tmp_path / "kept.yaml", episodes)
    kept = "[2026-01-04-00-00-00-000000:lost-episode, 2026-01-01-00-00-00-00000:bad-jpeg]"
    config.write_text(f"{config.read_text()}manifest: {episodes / 'manifest.json'}\nvalidation: {{keep: {kept}}}\n")
    result = invoke("validate-data", config)
    assert result.stderr.count("validation.keep") == 1
    assert "names '2026-01-01-00-00-00-00000:bad-jpeg', and there is no such episode. Did you mean" in result.stderr


def test_json_and_page_tell_the_same(episodes: Path, tmp_path: Path) -> None:
    next(episode(episodes, 0).glob("*/c/0/0")).unlink()
    result = invoke("validate-data", episodes, "--json", "--html", tmp_path / "page")
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert (told["episodes"], told["errors"], told["warnings"]) == (4, 1, 1)
    assert told["codes"] == {"missing-shard": 1, "no-baseline": 1}
    assert [finding["severity"] for finding in told["findings"]] == ["error", "warning"]
    assert told["pages"] == [str(tmp_path / "page" / "index.html")]
    page = (tmp_path / "page" / "index.html").read_text()
    assert "missing-shard" in page
    assert "2026-01-01-00-00-00-000000" in page
    clean = json.loads(invoke("validate-data", episode(episodes, 1), "--json").stdout)
    assert [finding["code"] for finding in clean["findings"]] == ["no-baseline"]


def test_two_folders_have_a_page_each(episodes: Path, tmp_path: Path) -> None:
    other = shutil.copytree(episodes, tmp_path / "other" / "episodes")
    assert invoke("validate-data", episodes, other, "--html", tmp_path / "pages").exit_code == 0
    assert sorted(path.name for path in (tmp_path / "pages").iterdir()) == ["1_episodes", "2_episodes"]


def train(episodes: Path, tmp_path: Path, *overrides: str) -> Path:
    choice = TrainChoice(arch="hpt_tiny", data=str(episodes), overrides=(*TINY_TRAINING, *overrides))
    return run(resolve_config(choice), log_dir=tmp_path / "runs").run_dir


def test_training_refuses_what_differs_from_its_manifest_and_records_what_is_let_pass(
    episodes: Path, tmp_path: Path
) -> None:
    record(episodes)
    reword(episode(episodes, 1))
    with pytest.raises(ManifestError, match="'2026-01-02-00-00-00-000000'"):
        train(episodes, tmp_path)
    assert not (tmp_path / "runs").exists()
    told = json.loads((train(episodes, tmp_path, "data.allow_changed=true") / "manifest.json").read_text())
    assert list(told["differs"]) == ["2026-01-02-00-00-00-000000"]
    rows = {row["hash"]: row["digest"] for row in told["episodes"]}
    assert rows["2026-01-02-00-00-00-000000"] == compute_digest(episode(episodes, 1))


def test_training_compares_every_byte_with_a_manifest_that_came_with_the_data(
    episodes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(episodes)
    monkeypatch.setenv("ROBOTRAIN_CACHE_DIR", str(tmp_path / "another"))  # whose index knows nothing
    told = episode(episodes, 1) / "zarr.json"
    told.write_bytes(told.read_bytes().replace(b'"task_name": "', b'"task_nome": "'))  # of the same size
    with pytest.raises(ManifestError, match="'2026-01-02-00-00-00-000000': changed-content: Its digest is"):
        train(episodes, tmp_path)
    assert not (tmp_path / "runs").exists()


def test_a_quick_look_remembers_a_change_that_a_deep_one_found(
    episodes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(episodes)
    told, before = episode(episodes, 1) / "zarr.json", (episode(episodes, 1) / "zarr.json").read_bytes()
    monkeypatch.setenv("ROBOTRAIN_CACHE_DIR", str(tmp_path / "another"))
    told.write_bytes(before.replace(b'"task_name": "', b'"task_nome": "'))
    change = ("changed-content", "2026-01-02-00-00-00-000000")
    assert change not in found(episodes)
    assert change in found(episodes, deep=True)
    assert change in found(episodes)
    told.write_bytes(before)
    assert found(episodes) == []


@pytest.mark.parametrize("change", ["added", "removed"])
def test_training_refuses_other_episodes_than_the_manifest_of_its_config_names(
    change: str, episodes: Path, tmp_path: Path
) -> None:
    config = yaml_of(tmp_path / "all.yaml", episodes)
    record(config)
    if change == "added":
        shutil.copytree(episode(episodes, 0), episodes / "2026-02-01-00-00-00-000000.zarr")
    else:
        shutil.rmtree(episode(episodes, 0))
    with pytest.raises(ManifestError, match="differ"):
        train(config, tmp_path)


def test_training_refuses_a_change_since_its_last_run_even_without_a_manifest(episodes: Path, tmp_path: Path) -> None:
    train(episodes, tmp_path)
    file = next(episode(episodes, 1).glob("*/c/0/0"))
    content = file.read_bytes()
    file.write_bytes(content)
    train(episodes, tmp_path)  # the same bytes written again are no change
    reword(episode(episodes, 1))
    with pytest.raises(UnsoundEpisodesError, match="not as it was recorded"):
        train(episodes, tmp_path)


def test_an_allowance_leaves_out_unsound_episodes_and_the_run_says_which(episodes: Path, tmp_path: Path) -> None:
    whole = json.loads((train(episodes, tmp_path) / "manifest.json").read_text())
    harmed = whole["train"][0]
    next((episodes / f"{harmed}.zarr").glob("*/c/0/0")).unlink()
    with pytest.raises(UnsoundEpisodesError, match=harmed):
        train(episodes, tmp_path)
    told = json.loads((train(episodes, tmp_path, "data.episodes.allow_missing=1") / "manifest.json").read_text())
    assert list(told["left_out"]) == [harmed]
    assert "missing-shard" in told["left_out"][harmed]
    assert told["train"] == [each for each in whole["train"] if each != harmed]
    assert told["valid"] == whole["valid"]


def test_statistics_that_cannot_be_computed_name_the_check_that_tells_more(episodes: Path) -> None:
    (episode(episodes, 0) / "left.cmd_ee_pose" / "c" / "0" / "0").unlink()
    (episode(episodes, 1) / "left.cmd_ee_pose" / "c" / "0" / "0").unlink()  # one of both is trained on
    refused = invoke("norm-stats", episodes)
    assert refused.exit_code == 1
    assert f"is missing or empty. To see more: robotrain validate-data {episodes}" in refused.stderr


def test_a_training_whose_held_out_episodes_are_all_left_out_says_so(
    episodes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (held_out,) = json.loads((train(episodes, tmp_path) / "manifest.json").read_text())["valid"]
    next((episodes / f"{held_out}.zarr").glob("*/c/0/0")).unlink()
    capsys.readouterr()
    told = json.loads((train(episodes, tmp_path, "data.episodes.allow_missing=1") / "manifest.json").read_text())
    assert told["valid"] == []
    assert "warning: nothing is held out to validate with" in capsys.readouterr().err


def test_findings_are_listed_to_a_limit_and_read_within_80_columns(
    episodes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for array in ("left.obs_ee_pose", "right.obs_ee_pose"):
        next((episode(episodes, 0) / array).glob("c/0/0")).unlink()
    shown = invoke("validate-data", episodes).stdout
    assert max(map(len, shown.splitlines()[:-1])) <= 80
    monkeypatch.setattr("robotrain.cli.validate.MOST_FINDINGS", 1)
    assert "... and 2 more; --json lists them all" in invoke("validate-data", episodes).stdout
    monkeypatch.setattr("robotrain.cli.validate.MOST_FINDINGS", 2)
    assert "more;" not in invoke("validate-data", episodes).stdout


def test_the_allowance_is_an_option_of_the_commands_that_choose_episodes(episodes: Path, tmp_path: Path) -> None:
    (episode(episodes, 0) / "zarr.json").write_text("{")
    refused = invoke("norm-stats", episodes)
    assert refused.exit_code == 1
    assert "--allow-missing 1" in refused.stderr
    allowed = invoke("norm-stats", episodes, "--allow-missing", 1)
    assert allowed.exit_code == 0, allowed.output
    assert "1 episode is left out" in allowed.stderr
