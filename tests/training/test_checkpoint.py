import dataclasses
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch

from robotrain.errors import CheckpointError
from robotrain.models.hpt.config import HptConfig
from robotrain.training.checkpoint import (
    RECORD_KEY,
    SCHEMA_VERSION,
    AtomicCheckpointIO,
    Record,
    load_checkpoint,
    resolve_checkpoint,
)
from robotrain.training.module import Learning, PolicyModule, restore_module
from robotrain.training.normalizer import Normalizer
from tests.contracts.policy import ARMS, fresh
from tests.policies import TINY

RECORD = Record(
    arch=dataclasses.asdict(TINY),
    config={"name": "test", "rates": (1, 2.5), "nothing": None},
    interfaces={each.embodiment: each.to_plain() for each in ARMS},
    stats={each.embodiment: {"mean": [0.0]} for each in ARMS},
)


def content(**changed: Any) -> dict[str, Any]:
    normalizers = [Normalizer(each) for each in ARMS]
    module = PolicyModule(fresh(TINY), normalizers, learning=Learning(), record=RECORD)
    whole = {"state_dict": module.state_dict(), "epoch": 2, "global_step": 30, RECORD_KEY: RECORD.to_plain()}
    return {**whole, **changed}


def written(path: Path, whole: dict[str, Any]) -> Path:
    AtomicCheckpointIO().save_checkpoint(whole, path)
    return path


def test_a_checkpoint_explains_itself(tmp_path: Path) -> None:
    found = load_checkpoint(written(tmp_path / "a.ckpt", content()))
    assert (found.epoch, found.step) == (2, 30)
    assert found.arch_config() == TINY
    assert found.interfaces == {each.embodiment: each for each in ARMS}
    assert found.config == {"name": "test", "rates": [1, 2.5], "nothing": None}
    assert found.stats["one_arm"] == {"mean": [0.0]}
    json.dumps(found.record.to_plain())


def test_its_weights_come_back_for_two_bodies(tmp_path: Path) -> None:
    whole = content()
    module = restore_module(load_checkpoint(written(tmp_path / "a.ckpt", whole)))
    assert not module.training
    for name, value in whole["state_dict"].items():
        assert torch.equal(module.state_dict()[name], value), name


def test_a_record_holds_plain_data_only() -> None:
    with pytest.raises(TypeError, match="plain data only, not PosixPath"):
        dataclasses.replace(RECORD, config={"where": Path("/")}).to_plain()


def _truncated(path: Path) -> None:
    whole = written(path, content()).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


def _foreign_pickle(path: Path) -> None:
    path.write_bytes(pickle.dumps({"state_dict": {}}))


def _object(path: Path) -> None:
    torch.save({**content(), "ours": HptConfig(name="x", horizon=1, width=4, depth=1, heads=1)}, path)


@pytest.mark.parametrize(
    ("write", "problem"),
    [
        (Path.exists, "there is no such file"),
        (lambda path: path.write_text("not a checkpoint"), "broken or no checkpoint"),
        (lambda path: path.write_bytes(b""), "broken or no checkpoint"),
        (_truncated, "broken or no checkpoint"),
        (_foreign_pickle, "broken or no checkpoint"),
        (_object, "more than tensors and plain data"),
        (lambda path: torch.save([1, 2], path), "not written by robotrain"),
        (lambda path: torch.save({"state_dict": {}}, path), "not written by robotrain"),
        (
            lambda path: torch.save(content(**{RECORD_KEY: {"schema_version": SCHEMA_VERSION + 1}}), path),
            f"schema version {SCHEMA_VERSION + 1}; this robotrain reads {SCHEMA_VERSION}",
        ),
        (
            lambda path: torch.save(content(**{RECORD_KEY: {"schema_version": SCHEMA_VERSION}}), path),
            "its record is incomplete: 'arch'",
        ),
    ],
    ids=["missing", "text", "empty", "truncated", "pickle", "object", "list", "foreign", "schema", "incomplete"],
)
def test_a_file_that_is_no_checkpoint_of_ours_gets_one_clear_line(tmp_path: Path, write: Any, problem: str) -> None:
    path = tmp_path / "bad.ckpt"
    write(path)
    with pytest.raises(CheckpointError, match=problem) as caught:
        load_checkpoint(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_weights_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    whole = content()
    del whole["state_dict"]["policy.trunk.action_tokens"]
    with pytest.raises(CheckpointError, match=r"weights do not fit: Missing key.*action_tokens"):
        restore_module(load_checkpoint(written(tmp_path / "a.ckpt", whole)))


def test_an_arch_from_elsewhere_is_refused(tmp_path: Path) -> None:
    for arch in ({**RECORD.arch, "family": "other"}, {**RECORD.arch, "wings": 2}):
        record = dataclasses.replace(RECORD, arch=arch).to_plain()
        found = load_checkpoint(written(tmp_path / "a.ckpt", content(**{RECORD_KEY: record})))
        with pytest.raises(CheckpointError, match="its arch is not known here"):
            restore_module(found)


def test_a_save_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = written(tmp_path / "a.ckpt", content())
    before = path.read_bytes()
    with pytest.raises((AttributeError, pickle.PicklingError)):
        written(path, {"cannot": lambda: None})
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["a.ckpt"]


def test_a_run_directory_means_its_last_checkpoint(tmp_path: Path) -> None:
    folder = tmp_path / "run" / "checkpoints"
    path = written(folder / "epoch=0001-step=0000020.ckpt", content())
    assert resolve_checkpoint(path) == path
    assert resolve_checkpoint(tmp_path / "run") == path, "a link lost on the way does not lose the run"
    written(folder / "epoch=0000-step=0000010.ckpt", content())
    (folder / "last.ckpt").symlink_to("epoch=0000-step=0000010.ckpt")
    assert resolve_checkpoint(tmp_path / "run") == folder / "last.ckpt"
    assert resolve_checkpoint(folder) == folder / "last.ckpt"


def test_a_path_without_a_checkpoint_is_said_to_be_one(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no such file or run directory"):
        resolve_checkpoint(tmp_path / "nowhere")
    with pytest.raises(CheckpointError, match="holds no checkpoint"):
        resolve_checkpoint(tmp_path)
