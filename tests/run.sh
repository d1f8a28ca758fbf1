#!/usr/bin/env bash
# Lint, types and tests, in an environment of their own (.venv).
#
#   bash tests/run.sh                lint, types and the default tests (minutes)
#   bash tests/run.sh --all          the slow and slurm tests too
#   bash tests/run.sh --everything   the nightly tests too
#   bash tests/run.sh lint | types   only that part
#   bash tests/run.sh tests/geometry ...   only these tests: anything else is handed to pytest
#
# A second run reuses the environment unless pyproject.toml or constraints.txt changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

source tests/environment.sh
make_environment test

lint() {
    .venv/bin/ruff check .
    .venv/bin/ruff format --check .
}

types() {
    .venv/bin/pyright --pythonpath .venv/bin/python
}

case "${1:-}" in
lint | types)
    "$1"
    exit
    ;;
-* | "")
    lint
    types
    ;;
esac

export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}" # pytest's workers share the cores
.venv/bin/python -m pytest -n "${ROBOTRAIN_TEST_WORKERS:-2}" --dist worksteal "$@"
