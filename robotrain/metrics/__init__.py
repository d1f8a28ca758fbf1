"""How good predicted chunks are, as numbers chosen by the fields of a layout."""

from robotrain.metrics.table import METRICS, Measurement, Metric, measure, measure_fields, primary_metric, span_steps

__all__ = ["METRICS", "Measurement", "Metric", "measure", "measure_fields", "primary_metric", "span_steps"]
