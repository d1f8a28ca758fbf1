"""The stages: each reads artefacts and writes one, behind a frozen config. Knows the order of a stage, not its contents."""
