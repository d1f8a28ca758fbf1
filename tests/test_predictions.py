from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.embodiments.layout import Field, Layout
from robotrain.errors import MissingPathError, RobotrainError, ShapeError
from robotrain.predictions import Predictions, load_predictions, save_predictions

LAYOUT = Layout((Field("left.xyz", "xyz", 3, "camera", "m"),))
INTERFACE = PolicyInterface("eva_bimanual", "cartesian_6d", LAYOUT, LAYOUT, 4, 1.5, ("front_1",))


def _predictions() -> Predictions:
    generator = np.random.default_rng(0)
    chunk = generator.normal(size=(3, 4, 3)).astype(np.float32)
    return Predictions(
        interface=INTERFACE,
        hashes=np.array(["b", "a", "b"]),
        frames=np.array([9, 0, 2]),
        predicted=chunk,
        truth=chunk + 1,
        mask=np.ones((3, 4), bool),
        state=chunk[:, 0],
        state_mask=np.ones((3, 3), bool),
        origin={"checkpoint": "runs/x.ckpt", "seed": 0},
    )


def test_predictions_come_back_as_they_were_saved(tmp_path: Path) -> None:
    saved = _predictions()
    save_predictions(tmp_path / "predictions.npz", saved)
    loaded = load_predictions(tmp_path / "predictions.npz")
    assert loaded.interface == saved.interface
    assert loaded.origin == saved.origin
    for name in ("hashes", "frames", "predicted", "truth", "mask", "state", "state_mask"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(saved, name))


def test_rows_are_grouped_by_episode_in_order_of_frames() -> None:
    rows = {episode: index.tolist() for episode, index in _predictions().episode_rows().items()}
    assert rows == {"b": [2, 0], "a": [1]}


def test_an_array_that_does_not_fit_the_interface_is_named() -> None:
    with pytest.raises(ShapeError, match=r"predictions.truth: expected \(3, 4, 3\), found \(3, 4, 2\)"):
        replace(_predictions(), truth=np.zeros((3, 4, 2), np.float32))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not a zip", b"\x93NUMPY"])
def test_a_file_that_is_no_predictions_file_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "predictions.npz"
    path.write_bytes(content)
    with pytest.raises(RobotrainError, match="is not a predictions file"):
        load_predictions(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingPathError, match="The predictions file"):
        load_predictions(tmp_path / "gone.npz")
