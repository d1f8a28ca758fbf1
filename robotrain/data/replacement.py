"""Bad training samples, replaced: which by which is a function of seed, epoch and sample, whatever the workers do.

Knows samples and bounds; refuses to know order and processes. Any process can tell again what another one did, so that
nothing need be sent along with a batch to count it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robotrain.batch import Batch
from robotrain.data.bounds import Bounds, BoundsConfig
from robotrain.data.dataset import WindowDataset
from robotrain.errors import EpisodeError

BAD_STREAM = 2
"""Beside those of `data/order.py`."""
WITHIN_EPISODE = 25
"""Attempts that stay in the episode, so that a few bad frames do not change how much of it is seen."""
LOOKED_AT = 64
"""Samples of an episode, evenly spaced, by which it is put into quarantine."""
QUARANTINED = "episode in quarantine"
UNREADABLE = "cannot be read"

Place = tuple[int, int]
"""Epoch and sample number: what a loader asks for."""
Key = tuple[str, int]
"""Hash and frame."""


@dataclass(frozen=True)
class Rejection:
    """A sample that was not used, and why."""

    key: Key
    reason: str


class ReplacedSamples:
    """The samples of a data set, the bad ones replaced.

    Args:
        dataset: the training samples.
        bounds: what is out of bounds.
        config: what is done about it.
        seed: of the run.
    """

    def __init__(self, dataset: WindowDataset, bounds: Bounds, config: BoundsConfig, seed: int) -> None:
        self.dataset, self.bounds, self.config, self.seed = dataset, bounds, config, seed
        self._shares: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitems__(self, places: Sequence[Place]) -> Batch:
        """Return the batch of these samples, each bad one replaced.

        Raises:
            EpisodeError: when no replacement is found.
        """
        keys = [self.dataset.keys(index) for _, index in places]
        encoded = self.dataset.encode(keys)
        reasons = self.bounds.problems(encoded)
        bad = [row for row, key in enumerate(keys) if reasons[row] or self.is_quarantined(key[0])]
        for row in bad:
            keys[row] = self.settle(places[row])[0]
        try:
            return self.dataset.batch(keys, encoded=None if bad else encoded)
        except EpisodeError:
            unreadable = [row for row, key in enumerate(keys) if self._reason(key) == UNREADABLE]
            if not unreadable:
                raise
            for row in unreadable:
                keys[row] = self.settle(places[row])[0]
        return self.dataset.batch(keys)

    def settle(self, place: Place) -> tuple[Key, tuple[Rejection, ...]]:
        """Return the sample that is used at a place, and those that were not.

        Raises:
            EpisodeError: when as many replacements are bad as may be tried.
        """
        epoch, index = place
        wanted = key = self.dataset.keys(index)
        rejected: list[Rejection] = []
        for attempt in range(1, self.config.attempts + 2):
            reason = self._reason(key)
            if not reason:
                return key, tuple(rejected)
            rejected.append(Rejection(key, reason))
            rng = np.random.default_rng([self.seed, BAD_STREAM, epoch, index, attempt])
            if attempt <= WITHIN_EPISODE and not self.is_quarantined(wanted[0]):
                key = (wanted[0], int(rng.choice(self.dataset.samples_of(wanted[0]))))
            else:
                key = self.dataset.keys(int(rng.integers(len(self.dataset))))
        text = f"the sample is bad ({rejected[0].reason}), and so are {self.config.attempts} that could replace it"
        advice = "Do the statistics belong to these data? If they do, data.bounds.slack is too small."
        raise EpisodeError(
            wanted[0], f"{text}, the last in '{rejected[-1].key[0]}': {rejected[-1].reason}. {advice}", frame=wanted[1]
        )

    def is_quarantined(self, episode: str) -> bool:
        """Say whether an episode is left out, because too many of its samples are bad."""
        return self.bad_share(episode) > self.config.quarantine

    def bad_share(self, episode: str) -> float:
        """Return the share of an episode's samples whose numbers are bad, among a few that are looked at."""
        if episode not in self._shares:
            frames = self.dataset.samples_of(episode)
            few = frames[np.linspace(0, len(frames) - 1, min(LOOKED_AT, len(frames))).round().astype(int)]
            problems = self.bounds.problems(self.dataset.encode([(episode, int(frame)) for frame in few]))
            self._shares[episode] = sum(map(bool, problems)) / len(problems)
        return self._shares[episode]

    def _reason(self, key: Key) -> str:
        """Return why a sample is bad, empty where it is not."""
        if self.is_quarantined(key[0]):
            return QUARANTINED
        encoded = self.dataset.encode([key])
        reason = self.bounds.problems(encoded)[0]
        if not reason:
            try:
                self.dataset.batch([key], encoded=encoded)
            except EpisodeError:
                return UNREADABLE
        return reason
