"""What a policy must beat: chunks that need no learning, made of the current state and the training statistics.

Knows displacements and means; refuses to know policies. The names are those that tables and metrics.json show.
"""

import numpy as np

from robotrain.console import warn
from robotrain.data.stats import Stats
from robotrain.embodiments.displacement import chunk_from_displacement, has_poses, hold_chunk, hold_sources
from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.errors import LayoutError, StatsError
from robotrain.predictions import Predictions

HOLD = "hold current pose"
MEAN_CHUNK = "mean training chunk"
MEAN_DISPLACEMENT = "mean displacement chunk"


def compute_baselines(predictions: Predictions, stats: Stats) -> dict[str, np.ndarray]:
    """Return the baselines' chunks for the rows of predictions, by name, each (N, H, D) float64.

    Where a hand is missing at the frame, so that there is no pose to start from, the columns that would start from it
    are those of the mean training chunk. A state that does not tell where the robot's commands stand now (fields of
    other names) leaves only the mean chunk; a warning says so.

    Args:
        predictions: give the interface, the states and the frames.
        stats: of the training episodes, with the mean chunk and, for pose layouts, the mean displacement.

    Raises:
        StatsError: when the stats are of another interface.
    """
    interface = predictions.interface
    _check(interface, stats)
    mean = np.broadcast_to(stats.mean_chunk, predictions.truth.shape).astype(np.float64)
    try:
        known = _start_known(interface, predictions.state_mask)
    except LayoutError as problem:
        warn(f"no baseline '{HOLD}': {problem}")
        return {MEAN_CHUNK: mean}
    state = predictions.state
    baselines = {HOLD: np.where(known, hold_chunk(interface, state), mean), MEAN_CHUNK: mean}
    if has_poses(interface.actions) and stats.mean_displacement is not None:
        moved = chunk_from_displacement(interface, stats.mean_displacement, state)
        baselines[MEAN_DISPLACEMENT] = np.where(known, moved, mean)
    return baselines


def _start_known(interface: PolicyInterface, state_mask: np.ndarray) -> np.ndarray:
    """Return which columns of the actions have a known start, (N, 1, D) bool."""
    columns = []
    for field in interface.actions.fields:
        source = hold_sources(interface)[field.name]
        if source is None:  # the origin of a frame is always known
            columns.append(np.ones((len(state_mask), field.width), bool))
        else:
            columns.append(state_mask[:, interface.state.slices[source]])
    return np.concatenate(columns, axis=1)[:, None]


def _check(interface: PolicyInterface, stats: Stats) -> None:
    for name in ("embodiment", "mode", "actions", "state", "horizon", "seconds"):
        wanted, found = getattr(interface, name), getattr(stats.interface, name)
        if wanted != found:
            shown = "" if name in {"actions", "state"} else f" ({found}, not {wanted})"
            raise StatsError(f"The stats are not of the predictions' interface: another {name}{shown}.")
