"""Overlay videos from predictions and episodes. Knows no model and no training: a laptop renders."""
