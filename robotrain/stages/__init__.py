"""The stages: each reads artefacts and writes one, behind a frozen config. Knows the order, not the contents."""
