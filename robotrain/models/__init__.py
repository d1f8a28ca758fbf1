"""Policies and their parts. Know normalised numbers only: no file, no statistic, no device."""
