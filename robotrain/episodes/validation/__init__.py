"""Findings about episodes, each with a code, a place and a mend."""
