"""Several embodiments trained on at once: which samples of each a batch holds, and when an epoch ends.

Knows sample numbers, weights and names; refuses to know what a sample is. A step of training sees every embodiment: a
mixed batch is one batch of each, with rows in proportion to the weights. Each embodiment is seen in an order of its
own, an endless row of shuffled passes that is a function of the seed and its name alone (`data/order.py`): one that
ends its pass early begins the next, and no other is moved by it.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from robotrain.batch import Batch
from robotrain.data.dataset import WindowDataset
from robotrain.data.order import Share, TrainOrder
from robotrain.data.replacement import ReplacedSamples
from robotrain.errors import ConfigError, UnknownNameError

MixedPlace = tuple[str, int, int]
"""Embodiment, epoch and sample number: what a loader asks for."""


@dataclass(frozen=True)
class Ingredient:
    """The training samples of one embodiment, and their weight in the mixture."""

    samples: WindowDataset | ReplacedSamples
    weight: float = 1.0
    """Above 0. Only the weights' proportions count; how many samples there are does not."""

    @property
    def embodiment(self) -> str:
        """The embodiment's name."""
        return dataset_of(self.samples).interface.embodiment


class Mixture:
    """Samples of several embodiments, a batch of each at a time.

    Args:
        ingredients: one an embodiment.

    Raises:
        ConfigError: when there is none, one has no sample, an embodiment comes twice, or a weight is not above 0.
    """

    def __init__(self, ingredients: Sequence[Ingredient]) -> None:
        self.samples = {each.embodiment: each.samples for each in ingredients}
        self.weights = {each.embodiment: each.weight for each in ingredients}
        if len(self.samples) < len(ingredients):
            names = [each.embodiment for each in ingredients]
            twice = next(name for name in names if names.count(name) > 1)
            raise ConfigError(f"'{twice}' is in the mixture twice; one data set can hold all of its episodes.")
        for name, samples in self.samples.items():
            if len(samples) == 0:
                raise ConfigError(f"No frame of the episodes of '{name}' has a recorded step: it cannot be mixed in.")
        check_weights(self.weights)

    def order(
        self, batch_size: int, seed: int, share: Share, *, steps_per_epoch: int | None = None, start: int = 0
    ) -> "MixtureOrder":
        """Return the order of training samples for one process.

        Args:
            batch_size: samples a mixed batch and process, over all embodiments.
            seed: of the order.
            share: this process's part.
            steps_per_epoch: mixed batches that an epoch takes; None for one pass, see `steps_of_pass`.
            start: mixed batches that were trained on before.

        Raises:
            ConfigError: when a batch has fewer rows than there are embodiments, or an epoch no batch.
        """
        if steps_per_epoch is not None and steps_per_epoch < 1:
            raise ConfigError(f"steps_per_epoch must be at least 1, found {steps_per_epoch}.")
        rows = apportion(batch_size, self.weights)
        counts = {name: len(samples) for name, samples in self.samples.items()}
        steps = steps_of_pass(counts, self.weights, rows, share) if steps_per_epoch is None else steps_per_epoch
        return MixtureOrder(
            {
                name: TrainOrder(counts[name], rows[name], seed_of(seed, name), steps, share, start)
                for name in self.samples
            }
        )

    def batch_bytes(self, batch_size: int) -> int:
        """Return the memory that the tensors of a mixed batch take, for `data/datamodule.py`'s loader.

        Raises:
            ConfigError: when a batch has fewer rows than there are embodiments.
        """
        rows = apportion(batch_size, self.weights)
        return sum(rows[name] * dataset_of(samples).sample_bytes for name, samples in self.samples.items())

    def __getitems__(self, places: Sequence[MixedPlace]) -> dict[str, Batch]:
        """Return one batch an embodiment, of these samples: the loader's entrance.

        Raises:
            UnknownNameError: for an embodiment that is not in the mixture.
        """
        wanted: dict[str, list[tuple[int, int]]] = {}
        for name, epoch, index in places:
            wanted.setdefault(name, []).append((epoch, index))
        batches: dict[str, Batch] = {}
        for name, chosen in wanted.items():
            if name not in self.samples:
                raise UnknownNameError("embodiment", name, tuple(self.samples), where="this mixture")
            samples = self.samples[name]
            if isinstance(samples, ReplacedSamples):
                batches[name] = samples.__getitems__(chosen)
            else:
                batches[name] = samples.__getitems__([index for _, index in chosen])
        return batches


class MixtureOrder:
    """Mixed batches of sample numbers for one process, an epoch at a time; the embodiments' orders side by side.

    Args:
        orders: by embodiment; epochs have equally many batches in all.
    """

    def __init__(self, orders: Mapping[str, TrainOrder]) -> None:
        self.orders = orders

    @property
    def sampler(self) -> "MixtureOrder":
        """Itself: Lightning looks for `set_epoch` on a batch sampler's sampler."""
        return self

    @property
    def rows(self) -> dict[str, int]:
        """Rows of each embodiment in a mixed batch of one process."""
        return {name: order.batch_size for name, order in self.orders.items()}

    def set_epoch(self, epoch: int) -> None:
        """Begin at this epoch the next time it is iterated, see `TrainOrder.set_epoch`."""
        for order in self.orders.values():
            order.set_epoch(epoch)

    def __len__(self) -> int:
        return len(next(iter(self.orders.values())))

    def batch(self, index: int) -> list[MixedPlace]:
        """Return this process's part of mixed batch ``index``, counted from the start of training."""
        epoch = index // len(self)
        return [(name, epoch, sample) for name, order in self.orders.items() for sample in order.batch(index)]

    def __iter__(self) -> Iterator[list[MixedPlace]]:
        for parts in zip(*self.orders.values(), strict=True):
            named = zip(self.orders.items(), parts, strict=True)
            yield [(name, order.epoch, sample) for (name, order), part in named for sample in part]


def dataset_of(samples: WindowDataset | ReplacedSamples) -> WindowDataset:
    """Return the data set of samples, whether or not bad ones are replaced."""
    return samples.dataset if isinstance(samples, ReplacedSamples) else samples


def check_weights(weights: Mapping[str, float]) -> None:
    """Refuse weights that give no proportions.

    Raises:
        ConfigError: when there is none, or one is not a number above 0.
    """
    if not weights:
        raise ConfigError("A mixture needs at least one embodiment.")
    for name, weight in weights.items():
        if not (math.isfinite(weight) and weight > 0):
            raise ConfigError(f"The weight of '{name}' must be above 0, found {weight}.")


def apportion(batch_size: int, weights: Mapping[str, float]) -> dict[str, int]:
    """Return each embodiment's rows of a batch: in proportion to the weights, and never none.

    By largest remainder (Hamilton's method), after everyone got one row; of equal remainders the first named wins. So
    rows are less than one away from their exact share, but where a share is below one row.

    Raises:
        ConfigError: when a batch has fewer rows than there are embodiments, or a weight is not above 0.
    """
    check_weights(weights)
    if batch_size < len(weights):
        names = ", ".join(weights)
        raise ConfigError(f"A batch of {batch_size} has no row for each of {len(weights)} embodiments: {names}.")
    total = sum(map(Fraction, weights.values()))
    shares = {name: batch_size * Fraction(weight) / total for name, weight in weights.items()}
    rows = {name: max(1, math.floor(share)) for name, share in shares.items()}
    while (spare := batch_size - sum(rows.values())) > 0:
        rows[max(rows, key=lambda name: shares[name] - rows[name])] += 1
    for _ in range(-spare):  # what small shares were given is taken from those who have most above theirs
        rows[max((name for name in rows if rows[name] > 1), key=lambda name: rows[name] - shares[name])] -= 1
    return rows


def steps_of_pass(
    counts: Mapping[str, int], weights: Mapping[str, float], rows: Mapping[str, int], share: Share
) -> int:
    """Return the mixed batches in which the embodiment of the largest weight is seen once, all of its samples.

    The others go round meanwhile: small ones several times, large ones in part. Of equal weights the one that needs
    most batches counts, so that equal weights see all of everything.

    Args:
        counts: samples of each embodiment.
        weights: of each.
        rows: of each, in a mixed batch of one process.
        share: how many processes there are.
    """
    heaviest = max(weights.values())
    return max(math.ceil(counts[name] / (rows[name] * share.world)) for name in weights if weights[name] == heaviest)


def seed_of(seed: int, embodiment: str) -> int:
    """Return the seed of one embodiment's order: what else is in the mixture does not change it."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{embodiment}".encode()).digest()[:16], "big")
