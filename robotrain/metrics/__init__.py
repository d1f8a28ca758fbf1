"""Errors between chunks: pure functions of numbers, a mask and a layout."""
