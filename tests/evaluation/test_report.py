import json

import numpy as np
import pytest

from robotrain.embodiments.catalog import embodiment_of
from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.embodiments.layout import Field, Layout
from robotrain.errors import PredictionError
from robotrain.evaluation.report import SCHEMA_VERSION, score
from robotrain.metrics import METRICS
from robotrain.predictions import Predictions

H = 4
ARM = Layout((Field("arm.xyz", "xyz", 3, "camera", "m"), Field("arm.gripper", "gripper", 1, "", "1")))
INTERFACE = PolicyInterface("toy", "cartesian_6d", ARM, ARM, H, 1.0, ("front_1",))


def predictions_of(predicted: np.ndarray, truth: np.ndarray, mask: np.ndarray, hashes: list[str]) -> Predictions:
    num = len(hashes)
    return Predictions(
        interface=INTERFACE,
        hashes=np.array(hashes),
        frames=np.arange(num),
        predicted=predicted.astype(np.float32),
        truth=truth.astype(np.float32),
        mask=mask,
        state=np.zeros((num, 4), np.float32),
        state_mask=np.ones((num, 4), bool),
        origin={"checkpoint": "last.ckpt"},
    )


def off_by(*metres: float) -> np.ndarray:
    """Chunks whose arm is this far from the origin, one value a row."""
    chunks = np.zeros((len(metres), H, 4))
    chunks[..., 0] = np.array(metres)[:, None]
    return chunks


ALL_REAL = np.ones((3, H), bool)


def test_every_number_stands_beside_every_baseline_and_the_best_gives_the_ratio() -> None:
    found = predictions_of(off_by(0.1, 0.1, 0.4), off_by(0, 0, 0), ALL_REAL, ["a", "a", "b"])
    report = score(found, {"hold": off_by(0.5, 0.5, 0.5), "mean": off_by(0.4, 0.4, 0.4)})
    xyz = report.score("xyz_error")
    assert xyz.model == pytest.approx(0.2)
    assert xyz.baselines == {"hold": pytest.approx(0.5), "mean": pytest.approx(0.4)}
    assert xyz.best_baseline == "mean"
    assert xyz.ratio == pytest.approx(0.5)
    assert (xyz.unit, xyz.samples) == ("m", 3)
    assert report.primary == "xyz_error"


def test_each_episode_has_its_own_numbers() -> None:
    found = predictions_of(off_by(0.1, 0.3, 0.4), off_by(0, 0, 0), ALL_REAL, ["b", "b", "a"])
    report = score(found, {"hold": off_by(0.5, 0.7, 0.8)})
    assert [(episode.episode, episode.frames) for episode in report.episodes] == [("b", 2), ("a", 1)]
    plain = report.to_plain()["episodes"]
    assert plain["b"]["metrics"]["xyz_error"]["model"] == pytest.approx(0.2)
    assert plain["b"]["metrics"]["xyz_error"]["baselines"]["hold"] == pytest.approx(0.6)
    assert plain["a"]["metrics"]["xyz_error"]["ratio"] == pytest.approx(0.5)


def test_the_report_says_what_it_covers() -> None:
    mask = ALL_REAL.copy()
    mask[0, 2:] = False
    mask[2] = False
    coverage = score(predictions_of(off_by(0, 0, 0), off_by(0, 0, 0), mask, ["a", "a", "b"]), {}).coverage
    assert (coverage.episodes, coverage.frames, coverage.frames_measured) == (2, 3, 2)
    assert (coverage.steps, coverage.steps_real) == (12, 6)


def test_where_nothing_was_measured_the_json_holds_null_and_never_nan() -> None:
    mask = np.zeros((3, H), bool)
    mask[:2] = True
    report = score(predictions_of(off_by(1, 1, 1), off_by(0, 0, 0), mask, ["a", "a", "b"]), {"hold": off_by(2, 2, 2)})
    text = json.dumps(report.to_plain(), allow_nan=False)
    plain = json.loads(text)
    nothing = plain["episodes"]["b"]["metrics"]["xyz_error"]
    assert (nothing["model"], nothing["baselines"]["hold"], nothing["ratio"]) == (None, None, None)
    assert (nothing["best_baseline"], nothing["samples"]) == (None, 0)
    assert plain["metrics"]["xyz_error"]["samples"] == 2


def test_a_baseline_without_any_error_gives_no_ratio() -> None:
    report = score(predictions_of(off_by(1, 1, 1), off_by(0, 0, 0), ALL_REAL, list("aab")), {"hold": off_by(0, 0, 0)})
    assert report.score("xyz_error").ratio is None
    assert report.score("xyz_error").best_baseline == "hold"
    alone = score(predictions_of(off_by(1, 1, 1), off_by(0, 0, 0), ALL_REAL, list("aab")), {})
    assert alone.score("xyz_error").ratio is None
    json.dumps(report.to_plain(), allow_nan=False)


def test_the_plain_report_says_what_it_is() -> None:
    plain = score(predictions_of(off_by(1, 1, 1), off_by(0, 0, 0), ALL_REAL, list("aab")), {}).to_plain()
    assert plain["schema_version"] == SCHEMA_VERSION
    assert (plain["embodiment"], plain["mode"], plain["horizon"], plain["seconds"]) == ("toy", "cartesian_6d", H, 1.0)
    assert plain["origin"] == {"checkpoint": "last.ckpt"}
    assert list(plain["fields"]) == ["arm.xyz", "arm.gripper"]
    assert plain["fields"]["arm.xyz"]["model"] == pytest.approx(1.0)
    names = [metric.name for metric in METRICS]
    assert list(plain["metrics"]) == [name for name in names if name in plain["metrics"]]


def test_a_policy_that_diverged_has_no_score() -> None:
    broken = off_by(0, 0, 0)
    broken[1, 2, 0] = np.nan
    with pytest.raises(PredictionError, match="not finite in 1 of 3 frames, first in episode 'b', frame 1"):
        score(predictions_of(broken, off_by(0, 0, 0), ALL_REAL, ["a", "b", "b"]), {})
    empty = predictions_of(off_by(), off_by(), np.ones((0, H), bool), [])
    with pytest.raises(PredictionError, match="no prediction"):
        score(empty, {})


def test_eva_and_human_layouts_are_scored() -> None:
    for name, metric in (("eva_bimanual", "gripper_error"), ("human_bimanual", "keypoint_error")):
        layouts = embodiment_of(name, {}).mode(None)
        interface = PolicyInterface(name, "m", layouts.actions, layouts.state, H, 1.0, ())
        chunks = np.random.default_rng(0).normal(size=(2, H, layouts.actions.width)).astype(np.float32)
        state = np.zeros((2, layouts.state.width), np.float32)
        found = Predictions(
            interface=interface,
            hashes=np.array(["a", "b"]),
            frames=np.arange(2),
            predicted=chunks,
            truth=chunks + np.float32(0.1),
            mask=np.ones((2, H), bool),
            state=state,
            state_mask=np.ones(state.shape, bool),
            origin={},
        )
        report = score(found, {"mean": chunks})
        assert report.primary == "xyz_error"
        assert report.score("rotation_error").model is not None
        assert report.score(metric).model == pytest.approx(0.1 if metric == "gripper_error" else 0.1 * 3**0.5, rel=1e-5)
