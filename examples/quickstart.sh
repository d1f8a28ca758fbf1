#!/usr/bin/env bash
# From a fresh checkout to an overlay video, on any machine with Python 3.11 or newer; no GPU, no data needed.
#   bash examples/quickstart.sh [DIR]     DIR: where the demo's files go (default: ./robotrain-demo)
# Makes .venv once; a second run installs nothing and reuses the generated episodes.
set -euo pipefail
where="${1:-robotrain-demo}"
[[ "$where" = /* ]] || where="$PWD/$where"
cd "$(dirname "${BASH_SOURCE[0]}")/.."

source tests/environment.sh
make_environment
.venv/bin/robotrain demo "$where"
