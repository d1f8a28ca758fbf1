#!/usr/bin/env bash
# A real robot's recordings, from a LeRobot v2.1 data set to an overlay video of held-out episodes.
#   bash examples/real_robot.sh PATH_TO_LEROBOT_DATASET OUT [EPISODES] [KEY=VALUE ...]
#   bash examples/real_robot.sh g1-inspire-pick out 28-31,59
#   bash examples/real_robot.sh g1-inspire-pick out 28-31,59 trainer.max_steps=500
# EPISODES: which episodes of the source (default: all). KEY=VALUE: settings of the training.
# Needs robotrain with its lerobot extra:  pip install 'robotrain[lerobot]'
set -euo pipefail
if [ "$#" -lt 2 ]; then
    sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
fi
source_path="$1" out="$2"
shift 2
episodes=()
if [ "$#" -gt 0 ] && [[ "$1" != *=* ]]; then
    episodes=(--episodes "$1")
    shift
fi
robotrain="$(command -v robotrain || echo "$(dirname "${BASH_SOURCE[0]}")/../.venv/bin/robotrain")"
export ROBOTRAIN_LOG_DIR="$out/runs"

"$robotrain" convert lerobot "$source_path" "$out/episodes" "${episodes[@]}"
"$robotrain" validate-data "$out/episodes"
"$robotrain" norm-stats "$out/episodes"
"$robotrain" train --arch hpt_tiny --data "$out/episodes" "$@"
"$robotrain" eval --videos
