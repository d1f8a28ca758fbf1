"""Predicted chunks beside the truth, on disk: the wall between learning and drawing.

Holds enough to score and to draw again without the model. Numpy only, so a laptop without torch opens it.
"""

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.errors import MissingPathError, RobotrainError, ShapeError
from robotrain.files import replacing

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Predictions:
    """N predicted action chunks of one embodiment, in the interface's canonical layout, units and frames."""

    interface: PolicyInterface
    hashes: np.ndarray
    """(N,) str: the episode of each row."""
    frames: np.ndarray
    """(N,) int64: the frame of each row."""
    predicted: np.ndarray
    """(N, H, D) float32."""
    truth: np.ndarray
    """(N, H, D) float32."""
    mask: np.ndarray
    """(N, H) bool: real steps of the truth."""
    state: np.ndarray
    """(N, S) float32: the state at the frame."""
    state_mask: np.ndarray
    """(N, S) bool: False where a hand is missing."""
    origin: Mapping[str, Any]
    """Plain data: where the numbers come from (checkpoint, data folder, split, seed)."""

    def __post_init__(self) -> None:
        """Check every array against the interface and the number of rows."""
        num, horizon = len(self.hashes), self.interface.horizon
        chunk, state = (num, horizon, self.interface.actions.width), (num, self.interface.state.width)
        expected = {
            "frames": (num,),
            "predicted": chunk,
            "truth": chunk,
            "mask": chunk[:2],
            "state": state,
            "state_mask": state,
        }
        for name, shape in expected.items():
            if getattr(self, name).shape != shape:
                raise ShapeError(f"predictions.{name}", str(shape), getattr(self, name).shape)

    def __len__(self) -> int:
        return len(self.hashes)

    def episode_rows(self) -> dict[str, np.ndarray]:
        """Return the row numbers of each episode, by hash, in order of frames."""
        rows = {str(episode): np.flatnonzero(self.hashes == episode) for episode in dict.fromkeys(self.hashes.tolist())}
        return {episode: index[np.argsort(self.frames[index], kind="stable")] for episode, index in rows.items()}


_ARRAYS = ("hashes", "frames", "predicted", "truth", "mask", "state", "state_mask")


def save_predictions(path: Path, predictions: Predictions) -> None:
    """Write predictions as one compressed npz, atomically."""
    header = {
        "schema_version": SCHEMA_VERSION,
        "interface": predictions.interface.to_plain(),
        "origin": dict(predictions.origin),
    }
    arrays = {name: getattr(predictions, name) for name in _ARRAYS}
    with replacing(path) as partial, partial.open("wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, header=np.array(json.dumps(header)), **arrays)


def load_predictions(path: Path) -> Predictions:
    """Read predictions written by `save_predictions`.

    Raises:
        MissingPathError: when there is no such file.
        RobotrainError: when it is no predictions file, or of another schema version.
    """
    if not path.is_file():
        raise MissingPathError(path, "The predictions file")
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            header = json.loads(str(stored["header"]))
            arrays = {name: stored[name] for name in _ARRAYS}
    except (ValueError, KeyError, OSError, EOFError, TypeError, zipfile.BadZipFile):
        # What numpy says of a stranger's file is about pickles, and advises to load them.
        raise RobotrainError(f"'{path}' is not a predictions file of robotrain, or it is damaged.") from None
    if header.get("schema_version") != SCHEMA_VERSION:
        found = header.get("schema_version")
        raise RobotrainError(f"'{path}' has predictions of schema {found}; this robotrain reads {SCHEMA_VERSION}.")
    return Predictions(interface=PolicyInterface.from_plain(header["interface"]), origin=header["origin"], **arrays)
