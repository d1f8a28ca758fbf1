"""Predictions of a trained policy, the baselines beside them, and the report. Knows nothing of drawing."""
