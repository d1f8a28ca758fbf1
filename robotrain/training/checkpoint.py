"""Checkpoints: files of tensors and plain data that explain themselves.

Knows the file and its record; refuses to unpickle anything else. A save is atomic: a kill at any instant leaves the old
file or the new one.
"""

import pickle
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from pytorch_lightning.plugins.io import CheckpointIO
from torch import Tensor, nn

from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.errors import CheckpointError, LayoutError, UnknownNameError, first_line
from robotrain.files import replacing
from robotrain.models.registry import ArchConfig, config_from_plain

SCHEMA_VERSION = 1
RECORD_KEY = "robotrain"
FOLDER = "checkpoints"
LAST = "last.ckpt"


@dataclass(frozen=True)
class Record:
    """What the weights mean, as plain data."""

    arch: Mapping[str, Any]
    """The policy's config."""
    config: Mapping[str, Any]
    """The run's whole config."""
    interfaces: Mapping[str, Mapping[str, Any]]
    """By embodiment: `PolicyInterface.to_plain`."""
    stats: Mapping[str, Mapping[str, Any]]
    """By embodiment: the statistics trained with, `Stats.to_plain`."""

    def to_plain(self) -> dict[str, Any]:
        """Return plain data: dictionaries, lists, texts, numbers."""
        return {"schema_version": SCHEMA_VERSION, **{name: _plain(value) for name, value in asdict(self).items()}}


@dataclass(frozen=True)
class Checkpoint:
    """An opened checkpoint; tensors stay on disk until they are used."""

    path: Path
    record: Record
    interfaces: Mapping[str, PolicyInterface]
    """By embodiment."""
    state_dict: Mapping[str, Tensor]
    """Weights and normalizer buffers of a `PolicyModule`."""
    epoch: int
    step: int
    """Optimiser steps taken."""

    @property
    def config(self) -> Mapping[str, Any]:
        """The run's whole config as plain data."""
        return self.record.config

    @property
    def stats(self) -> Mapping[str, Mapping[str, Any]]:
        """By embodiment: the statistics trained with, as plain data."""
        return self.record.stats

    def arch_config(self) -> ArchConfig:
        """Return the policy's config.

        Raises:
            CheckpointError: when this robotrain does not know the family or a setting.
        """
        try:
            return config_from_plain(self.record.arch)
        except (UnknownNameError, TypeError) as problem:
            raise CheckpointError(self.path, f"its arch is not known here: {problem}") from None

    def fill(self, module: nn.Module) -> None:
        """Copy weights and buffers into a module of the same structure; nothing may be missing or left over.

        Raises:
            CheckpointError: when they do not fit.
        """
        try:
            module.load_state_dict(dict(self.state_dict), strict=True)
        except RuntimeError as problem:
            first = str(problem).strip().splitlines()
            raise CheckpointError(self.path, f"its weights do not fit: {' '.join(first[1:2]).strip()}") from None


class AtomicCheckpointIO(CheckpointIO):
    """How Lightning writes and reads checkpoint files here."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any | None = None) -> None:
        """Write aside, flush, rename."""
        if storage_options is not None:
            raise TypeError("checkpoints are plain files; storage options mean nothing here")
        with replacing(Path(path)) as partial:
            torch.save(checkpoint, partial)

    def load_checkpoint(
        self,
        path: Any,
        map_location: Callable | None = None,  # noqa: ARG002  # always the CPU: Lightning places afterwards
        weights_only: bool | None = None,  # noqa: ARG002, FBT001  # always
    ) -> dict[str, Any]:
        """Read onto the CPU, refusing anything but tensors and plain data.

        Raises:
            CheckpointError: when the file is missing or broken.
        """
        return _read(Path(path))

    def remove_checkpoint(self, path: Any) -> None:
        """Delete the file if it is there."""
        Path(path).unlink(missing_ok=True)


def load_checkpoint(path: Path) -> Checkpoint:
    """Open a checkpoint of robotrain, on the CPU.

    Raises:
        CheckpointError: when the file is missing, broken, of another program or of another schema version.
    """
    content = _read(path)
    plain = content.get(RECORD_KEY)
    if not isinstance(plain, Mapping) or "state_dict" not in content:
        raise CheckpointError(path, "it was not written by robotrain.")
    version = plain.get("schema_version")
    if version != SCHEMA_VERSION:
        raise CheckpointError(path, f"it has schema version {version}; this robotrain reads {SCHEMA_VERSION}.")
    try:
        record = Record(**{name: plain[name] for name in ("arch", "config", "interfaces", "stats")})
        interfaces = {name: PolicyInterface.from_plain(value) for name, value in record.interfaces.items()}
    except (KeyError, LayoutError) as problem:
        raise CheckpointError(path, f"its record is incomplete: {problem}") from None
    return Checkpoint(
        path=path,
        record=record,
        interfaces=interfaces,
        state_dict=content["state_dict"],
        epoch=int(content.get("epoch", 0)),
        step=int(content.get("global_step", 0)),
    )


def resolve_checkpoint(run_or_file: Path) -> Path:
    """Return the checkpoint file that a path means: itself, or the last one of a run directory.

    Raises:
        CheckpointError: when there is none.
    """
    if run_or_file.is_file():
        return run_or_file
    if not run_or_file.is_dir():
        raise CheckpointError(run_or_file, "there is no such file or run directory.")
    folder = run_or_file / FOLDER if (run_or_file / FOLDER).is_dir() else run_or_file
    if (folder / LAST).is_file():
        return folder / LAST
    others = sorted(folder.glob("epoch=*.ckpt"))
    if not others:
        raise CheckpointError(run_or_file, f"the folder holds no checkpoint (looked for {FOLDER}/{LAST}).")
    return others[-1]


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise CheckpointError(path, "there is no such file.")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except pickle.UnpicklingError:
        raise CheckpointError(path, "it holds more than tensors and plain data, so it is not loaded.") from None
    except (RuntimeError, EOFError, ValueError, OSError) as problem:
        raise CheckpointError(path, f"it is broken or no checkpoint at all ({first_line(problem)}).") from None
    if not isinstance(content, dict):
        raise CheckpointError(path, "it was not written by robotrain.")
    return content


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a checkpoint's record holds plain data only, not {type(value).__name__}")
