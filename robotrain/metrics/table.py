"""The metrics: one table, and what it gives for predicted chunks.

A metric is chosen by the fields of the layout, never by a width. All are lower-is-better, are taken in the frames of
the interface, and do not change when prediction and truth are moved rigidly together (the two squared errors are kept
as upstream defines them and are the exception). To add a metric: one function in `steps`, one line in `METRICS`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from robotrain.embodiments.layout import Field, Kind, Layout
from robotrain.errors import LayoutError, ShapeError
from robotrain.metrics.steps import absolute_errors, point_errors, rotation_errors, squared_errors

Span = Literal["whole", "early", "mid", "late", "final"]
"""Part of the horizon: all of it; its first 10 %; 10 to 50 %; its second half; its last step."""

StepErrors = Callable[[np.ndarray, np.ndarray, Field], np.ndarray]
"""(M, width) predicted, (M, width) true, the field -> (M, things compared)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric:
    """One row of the table."""

    name: str
    kinds: tuple[Kind, ...]
    """Fields that it measures; a layout without any of them has no such metric."""
    errors: StepErrors
    span: Span = "whole"
    unit: str | None = None
    """Unit of the number; None where it is the fields' own. Fields of different units are never averaged together:
    each unit then gets a metric, with the unit in its name."""
    steps: Literal["real", "every"] = "real"
    """``every`` also counts the repeated tail and the steps of a missing hand, as upstream does."""


METRICS: tuple[Metric, ...] = (
    Metric(name="xyz_error", kinds=("xyz",), errors=point_errors),
    Metric(name="xyz_error_early", kinds=("xyz",), errors=point_errors, span="early"),
    Metric(name="xyz_error_mid", kinds=("xyz",), errors=point_errors, span="mid"),
    Metric(name="xyz_error_late", kinds=("xyz",), errors=point_errors, span="late"),
    Metric(name="xyz_error_final", kinds=("xyz",), errors=point_errors, span="final"),
    Metric(name="rotation_error", kinds=("rot6d", "ypr"), errors=rotation_errors, unit="deg"),
    Metric(name="rotation_error_final", kinds=("rot6d", "ypr"), errors=rotation_errors, unit="deg", span="final"),
    Metric(name="keypoint_error", kinds=("keypoints",), errors=point_errors),
    Metric(name="keypoint_error_early", kinds=("keypoints",), errors=point_errors, span="early"),
    Metric(name="keypoint_error_mid", kinds=("keypoints",), errors=point_errors, span="mid"),
    Metric(name="keypoint_error_late", kinds=("keypoints",), errors=point_errors, span="late"),
    Metric(name="keypoint_error_final", kinds=("keypoints",), errors=point_errors, span="final"),
    Metric(name="gripper_error", kinds=("gripper",), errors=absolute_errors),
    Metric(name="joint_error", kinds=("joint",), errors=absolute_errors),
    Metric(name="joint_error_final", kinds=("joint",), errors=absolute_errors, span="final"),
    Metric(name="paired_mse", kinds=get_args(Kind), errors=squared_errors, unit="", steps="every"),
    Metric(name="final_mse", kinds=get_args(Kind), errors=squared_errors, unit="", steps="every", span="final"),
)


@dataclass(frozen=True)
class Measurement:
    """What a metric gives for N samples."""

    unit: str
    values: np.ndarray
    """(N,) float64: the mean over the steps of each sample, NaN for a sample without a real step in the span."""

    def mean(self, rows: np.ndarray | None = None) -> float | None:
        """Return the mean over those samples (all, or these rows) that have a value; None when none has."""
        values = self.values if rows is None else self.values[rows]
        measured = values[~np.isnan(values)]
        return float(measured.mean()) if len(measured) else None

    def count(self, rows: np.ndarray | None = None) -> int:
        """Return how many samples have a value."""
        return int((~np.isnan(self.values if rows is None else self.values[rows])).sum())


def span_steps(span: Span, horizon: int) -> np.ndarray:
    """Return which steps of the horizon belong to a span, (H,) bool.

    Step h lies h / H into the horizon, so the first step is always early; a short horizon may have no mid step.
    """
    step = np.arange(horizon)
    return {
        "whole": np.full(horizon, fill_value=True),
        "early": 10 * step < horizon,
        "mid": (10 * step >= horizon) & (2 * step < horizon),
        "late": 2 * step >= horizon,
        "final": step == horizon - 1,
    }[span]


def measure(predicted: np.ndarray, truth: np.ndarray, mask: np.ndarray, layout: Layout) -> dict[str, Measurement]:
    """Return every metric that fits the layout, by name, in the order of the table.

    Args:
        predicted: (N, H, D), in the layout's units and frames, unnormalised.
        truth: (N, H, D), likewise.
        mask: (N, H) bool, True for real steps.
        layout: of the D columns.

    Raises:
        LayoutError: when the chunks are not D wide, or no metric measures any field of the layout.
        ShapeError: when prediction, truth and mask do not fit each other.
    """
    _check(predicted, truth, mask, layout)
    found: dict[str, Measurement] = {}
    for metric in METRICS:
        for name, fields in _groups(metric, layout).items():
            values = _sample_means(metric, fields, predicted, truth, mask, layout)
            found[name] = Measurement(unit=_unit(metric, fields[0]), values=values)
    return found


def measure_fields(
    predicted: np.ndarray, truth: np.ndarray, mask: np.ndarray, layout: Layout
) -> dict[str, Measurement]:
    """Return the error of each field by its own name, over the whole horizon: what `measure` averages.

    Takes and raises what `measure` does.
    """
    _check(predicted, truth, mask, layout)
    found: dict[str, Measurement] = {}
    for field in layout.fields:
        metric = next(row for row in METRICS if field.kind in row.kinds)
        values = _sample_means(metric, (field,), predicted, truth, mask, layout)
        found[field.name] = Measurement(unit=_unit(metric, field), values=values)
    return found


def primary_metric(layout: Layout) -> str:
    """Return the name of the number to look at first: the first metric that the table has for this layout.

    Raises:
        LayoutError: when it has none.
    """
    for metric in METRICS:
        if groups := _groups(metric, layout):
            return next(iter(groups))
    raise LayoutError(_nothing_measures(layout))


def _groups(metric: Metric, layout: Layout) -> dict[str, tuple[Field, ...]]:
    """Return the fields that a metric measures by the metric's full name; more than one where units differ."""
    fields = layout.of_kind(*metric.kinds)
    if not fields:
        return {}
    units = tuple(dict.fromkeys(field.unit for field in fields))
    if metric.unit is not None or len(units) == 1:
        return {metric.name: fields}
    words = {unit: {"1": "ratio", "": "unitless"}.get(unit, unit) for unit in units}
    return {f"{metric.name}_{words[unit]}": tuple(f for f in fields if f.unit == unit) for unit in units}


def _unit(metric: Metric, field: Field) -> str:
    return field.unit if metric.unit is None else metric.unit


def _sample_means(
    metric: Metric,
    fields: Sequence[Field],
    predicted: np.ndarray,
    truth: np.ndarray,
    mask: np.ndarray,
    layout: Layout,
) -> np.ndarray:
    """Return the mean over the steps of each sample, (N,) float64, NaN where there is none.

    Steps that do not count are never computed, so whatever stands there (zeros, sentinels) does no harm.
    """
    num, horizon = mask.shape
    steps = np.broadcast_to(span_steps(metric.span, horizon), mask.shape)
    sample, step = np.nonzero(steps & mask if metric.steps == "real" else steps)
    compared = [
        metric.errors(predicted[sample, step, layout.slices[f.name]], truth[sample, step, layout.slices[f.name]], f)
        for f in fields
    ]
    errors = np.concatenate(compared, axis=-1).mean(-1)
    sums = np.bincount(sample, weights=errors, minlength=num)
    counts = np.bincount(sample, minlength=num)
    return np.divide(sums, counts, out=np.full(num, np.nan), where=counts > 0)


def _check(predicted: np.ndarray, truth: np.ndarray, mask: np.ndarray, layout: Layout) -> None:
    if not layout.fields:
        raise LayoutError(_nothing_measures(layout))
    if predicted.ndim != 3 or predicted.shape[-1] != layout.width:
        fields = ", ".join(f"{field.name} {field.width}" for field in layout.fields)
        raise LayoutError(
            f"Predicted chunks of shape {predicted.shape} do not have this layout of {layout.width} columns: {fields}."
        )
    if truth.shape != predicted.shape:
        raise ShapeError("truth", f"{predicted.shape}, the prediction's", truth.shape)
    if mask.shape != predicted.shape[:2]:
        raise ShapeError("mask", f"{predicted.shape[:2]}, the prediction's (N, H)", mask.shape)


def _nothing_measures(layout: Layout) -> str:
    fields = ", ".join(f"{field.name} ({field.kind})" for field in layout.fields) or "no fields"
    return f"No metric measures this layout: {fields}."
