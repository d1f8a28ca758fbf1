"""Sums of chunks, and of how far they lead away from the current pose: what the baselines' means are made of.

Knows masks and rotations, whose mean is the chordal one; refuses to know whose chunks they are.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from robotrain.data.numbers import nearest_filled
from robotrain.data.pipeline import Encoded
from robotrain.embodiments.displacement import has_poses, hold_chunk, hold_sources
from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.embodiments.layout import ROTATION_KINDS, Field
from robotrain.embodiments.spelling import matrix_from_rotation, rotation_from_matrix
from robotrain.errors import LayoutError
from robotrain.geometry.rotations import mean_rotation

__all__ = ["ChunkSums", "Sums"]

_ROUNDING = 1e-3
"""How far from 1 a column of a rotation may be, far above what float32 leaves."""


@dataclass
class Sums:
    """Sums over chunks, by field: members are (H, 9) for rotations, as matrices, else (H, width); float64."""

    values: dict[str, np.ndarray]
    weights: dict[str, np.ndarray]
    """By field: (H,) steps that were added."""

    def add(self, other: "Sums") -> None:
        """Add the sums of other chunks."""
        for name in self.values:
            self.values[name] += other.values[name]
            self.weights[name] += other.weights[name]


@dataclass(frozen=True)
class ChunkSums:
    """Makes sums of the chunks of one interface, and means of the sums."""

    interface: PolicyInterface

    @cached_property
    def held(self) -> dict[str, str | None] | None:
        """By field of the actions: the state field that says where it stands now; None where nothing does."""
        try:
            sources = hold_sources(self.interface)
        except LayoutError:
            return None
        return sources if has_poses(self.interface.actions) else None

    def empty(self) -> Sums:
        """Return sums of nothing."""
        horizon, layout = self.interface.horizon, self.interface.actions
        widths = {f.name: 9 if f.kind in ROTATION_KINDS else f.width for f in layout.fields}
        return Sums(
            {name: np.zeros((horizon, width)) for name, width in widths.items()},
            {name: np.zeros(horizon) for name in widths},
        )

    def of(self, encoded: Encoded) -> tuple[Sums, Sums | None]:
        """Return the sums of chunks over their real steps, and of their displacements from the current pose.

        The latter are taken where the current pose is known; rotations as R_hold^T R. None without poses. Of fields
        that are no rotations, the sums over all real steps are left out of both: `mean` is given them.
        """
        chunks, moves = self.empty(), None if self.held is None else self.empty()
        real = encoded.action_mask.astype(np.float64)
        known = self._known(encoded)
        hold = None if moves is None else hold_chunk(replace(self.interface, horizon=1), encoded.state)[:, 0]
        for f in self.interface.actions.fields:
            columns, turns = self.interface.actions.slices[f.name], f.kind in ROTATION_KINDS
            values = _matrices(f, encoded.actions[..., columns]) if turns else encoded.actions[..., columns]
            chunks.weights[f.name] = real.sum(axis=0)
            if turns:
                chunks.values[f.name] = _weighted(values, real)
            if moves is None or hold is None:
                continue
            weights = real if known[f.name].all() else real * known[f.name][:, None]
            moves.weights[f.name] = weights.sum(axis=0)
            if turns:
                moves.values[f.name] = _turned(values, weights, _matrices(f, hold[:, columns]))
            else:
                moves.values[f.name] = -weights.T @ hold[:, columns]
                if weights is not real:
                    moves.values[f.name] -= np.einsum("nh,nhw->hw", real - weights, values)
        return chunks, moves

    def mean(self, sums: Sums, totals: np.ndarray) -> np.ndarray:
        """Return the mean chunk (H, D) float64; a step that nothing was added to repeats the one before.

        Args:
            sums: of chunks, or of displacements.
            totals: (H, D) float64, sums of all real steps.
        """
        parts: dict[str, np.ndarray] = {}
        for f in self.interface.actions.fields:
            weights, values = sums.weights[f.name], sums.values[f.name]
            if f.kind not in ROTATION_KINDS:
                values = values + totals[:, self.interface.actions.slices[f.name]]
            mean = (values / np.maximum(weights, 1)[:, None])[nearest_filled(weights > 0)]
            if f.kind in ROTATION_KINDS:
                mean = rotation_from_matrix(f.kind, mean_rotation(mean.reshape(1, -1, 3, 3)))
            parts[f.name] = mean
        return self.interface.actions.join(parts)

    def _known(self, encoded: Encoded) -> dict[str, np.ndarray]:
        """Return, by field, the samples (N,) bool whose current pose is known."""
        slices = self.interface.state.slices
        return {
            name: np.all(encoded.state_mask[:, slices[source] if source else slice(0, 0)], axis=1)
            for name, source in (self.held or {}).items()
        }


def _matrices(f: Field, values: np.ndarray) -> np.ndarray:
    """Return the matrices (..., 9) float64 of a rotation field's values (..., width)."""
    matrices = _matrices_of_rounded(values) if f.kind == "rot6d" else None
    if matrices is None:
        matrices = matrix_from_rotation(f.kind, values).reshape(*values.shape[:-1], 9)
    return matrices


def _matrices_of_rounded(rot6d: np.ndarray) -> np.ndarray | None:
    """Return matrices (..., 9) of rot6d (..., 6) that are rotations but for rounding; None where one is not.

    The Gram-Schmidt of `geometry.rotations.matrix_from_rot6d`, a component at a time and without its care for columns
    of no length: ten times as fast, which decides what statistics of poses cost.
    """
    first, second = np.moveaxis(rot6d, -1, 0).astype(np.float64).reshape(2, 3, *rot6d.shape[:-1])
    length = np.sqrt(sum(each * each for each in first))
    if np.abs(length - 1).max(initial=0) > _ROUNDING:
        return None
    first /= length
    second -= first * sum(x * y for x, y in zip(first, second, strict=True))
    length = np.sqrt(sum(each * each for each in second))
    if np.abs(length - 1).max(initial=0) > _ROUNDING:
        return None
    second /= length
    (a, b, c), (d, e, f) = first, second
    matrices = np.empty((*rot6d.shape[:-1], 9))
    for place, each in enumerate((a, d, b * f - c * e, b, e, c * d - a * f, c, f, a * e - b * d)):
        matrices[..., place] = each
    return matrices


def _weighted(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the sum (H, W) over N of values (N, H, W) times weights (N, H)."""
    return values.sum(axis=0) if weights.all() else np.einsum("nh,nhw->hw", weights, values)


def _turned(matrices: np.ndarray, weights: np.ndarray, hold: np.ndarray) -> np.ndarray:
    """Return the sum (H, 9) over N of R_hold^T R, for R (N, H, 9), weights (N, H) and R_hold (N, 9)."""
    num, horizon = weights.shape
    weighted = (matrices if weights.all() else matrices * weights[..., None]).reshape(num, horizon, 3, 3)
    rows = np.moveaxis(weighted, 2, 1).reshape(num * 3, horizon * 3)  # (n j) (h k)
    turned = hold.reshape(num * 3, 3).T @ rows  # i (h k)
    return np.moveaxis(turned.reshape(3, horizon, 3), 0, 1).reshape(horizon, 9)
