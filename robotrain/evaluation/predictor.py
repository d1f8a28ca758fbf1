"""A trained policy, loaded from its checkpoint alone: for evaluation, and for a robot to call.

Knows checkpoints, batches and pipelines; refuses to know metrics and videos, and where the policy runs: it is loaded on
the CPU, whoever holds it may move the module, and inputs follow it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from robotrain.batch import Batch, Keys, Observation, history_fields
from robotrain.console import track
from robotrain.data.numbers import CameraPoses
from robotrain.data.pipeline import Pipeline, build_pipeline
from robotrain.data.stats import Stats
from robotrain.embodiments import catalog
from robotrain.embodiments.embodiment import Embodiment, ModeLayouts, PolicyInterface
from robotrain.episodes.jpegs import shrink_picture
from robotrain.errors import CheckpointError, PredictionError, ShapeError
from robotrain.predictions import Predictions
from robotrain.training.checkpoint import Checkpoint, load_checkpoint, resolve_checkpoint
from robotrain.training.module import VALID_PASS, PolicyModule, restore_module

BATCH_SIZE = 32
ACT_KEY = ("act", 0)
"""Key of an observation that belongs to no episode; its draws are as fixed as any."""


class Samples(Protocol):
    """What predictions are made for: any source of raw batches by (hash, frame), such as a `WindowDataset`."""

    @property
    def interface(self) -> PolicyInterface:
        """What the batches hold."""
        ...

    def batch(self, keys: Sequence[tuple[str, int]]) -> Batch:
        """Return the batch of these rows, in their order."""
        ...


@dataclass(frozen=True)
class LoadedPolicy:
    """A policy with all that it was trained with."""

    module: PolicyModule
    """In evaluation mode."""
    checkpoint: Checkpoint

    @property
    def config(self) -> Mapping[str, Any]:
        """The run's whole config, as plain data."""
        return self.checkpoint.config

    @property
    def embodiments(self) -> tuple[str, ...]:
        """Names of the embodiments that it was trained for."""
        return tuple(self.checkpoint.interfaces)

    @property
    def mends_left_wrist(self) -> bool:
        """Whether the left wrists of the episodes that it was trained on were mended as they were read."""
        return bool(self.config.get("data", {}).get("mend_left_wrist", False))

    @property
    def interface(self) -> PolicyInterface:
        """The interface of a policy with one embodiment.

        Raises:
            CheckpointError: when it has several: `interface_of` takes a name.
        """
        if len(self.embodiments) != 1:
            raise CheckpointError(self.checkpoint.path, f"name one of its embodiments: {', '.join(self.embodiments)}.")
        return self.interface_of(self.embodiments[0])

    @property
    def stats(self) -> Stats:
        """The statistics of the training episodes of a policy with one embodiment; raises what `interface` does."""
        return self.stats_of(self.interface.embodiment)

    def interface_of(self, embodiment: str) -> PolicyInterface:
        """Return the interface for an embodiment.

        Raises:
            CheckpointError: when the policy was not trained for it, naming both.
        """
        known = self.checkpoint.interfaces
        if embodiment not in known:
            problem = f"it was trained for '{', '.join(known)}', and the data is of '{embodiment}'."
            raise CheckpointError(self.checkpoint.path, problem)
        return known[embodiment]

    def stats_of(self, embodiment: str) -> Stats:
        """Return the statistics of the training episodes of an embodiment.

        Raises:
            CheckpointError: when the policy was not trained for it.
            StatsError: when the checkpoint's are not readable.
        """
        return Stats.from_plain(self.checkpoint.stats[self.interface_of(embodiment).embodiment])

    def pipeline(self, embodiment: str | None = None) -> Pipeline:
        """Return the pipeline that made the numbers the policy was trained on, built from the checkpoint alone.

        Where the run mended left wrists, so does this: it takes and gives arrays as the run's episodes store them.

        Raises:
            CheckpointError: when the policy was not trained for the embodiment.
        """
        interface = self.interface if embodiment is None else self.interface_of(embodiment)
        return build_pipeline(
            _body(interface),
            mode=interface.mode,
            horizon=interface.horizon,
            seconds=interface.seconds,
            mend_left_wrist=self.mends_left_wrist,
            history=interface.history,
        )

    def check(self, data: PolicyInterface) -> None:
        """Check that data is what the policy was trained on.

        Raises:
            CheckpointError: naming both sides of the first difference.
        """
        trained = self.interface_of(data.embodiment)
        for name in ("mode", "horizon", "seconds", "cameras", "history", "image_size"):
            ours, theirs = getattr(trained, name), getattr(data, name)
            if ours != theirs:
                raise CheckpointError(
                    self.checkpoint.path, f"it was trained with {name} {ours}, the data has {theirs}."
                )
        for name, ours, theirs in (("actions", trained.actions, data.actions), ("state", trained.state, data.state)):
            if ours != theirs:
                problem = f"its {name} are {', '.join(ours.columns)}; the data's are {', '.join(theirs.columns)}."
                raise CheckpointError(self.checkpoint.path, problem)

    def predict(self, observation: Observation, *, seed: int = 0) -> np.ndarray:
        """Return predicted chunks (B, H, D) float32, in the interface's units and frames.

        Args:
            observation: raw, B rows: images uint8, state in its own units; wherever it lies.
            seed: with a row's key (hash, frame) it gives the noise that the row starts from.
        """
        here = observation.to(self.module.device)
        draws = self.module.draws(here, seed=seed, pass_index=VALID_PASS)
        return self.module.predict(here, draws).cpu().numpy()

    def act(
        self,
        arrays: Mapping[str, np.ndarray],
        images: Mapping[str, np.ndarray],
        *,
        prompt: str = "",
        embodiment: str | None = None,
        camera_poses: CameraPoses | None = None,
        key: tuple[str, int] = ACT_KEY,
    ) -> dict[str, np.ndarray]:
        """Return what a robot should do next, from what it knows at one frame (or K), in the spelling of the store.

        Takes exactly what an episode stores for a frame and gives what it stores as actions: for ``eva_bimanual`` the
        arrays ``left.obs_ee_pose`` (7,), ``right.obs_ee_pose`` (7,) and both grippers give ``left.cmd_ee_pose`` (H, 7)
        and so on, each in its arm's base; for ``human_bimanual`` the wrist poses, keypoints and ``obs_head_pose``, all
        in one world frame, give poses and keypoints in that frame; for a robot described by data ``obs_joints`` gives
        ``cmd_joints``.

        Args:
            arrays: by stored name: (width,), in stored frames and units, head pose included where there is one. Of a
                policy that reads a history of K states: (k, width), rows ``interface.history.seconds`` apart, the
                current one last; k below K at the start of an episode.
            images: by camera: (h, w, 3) uint8 RGB, whole; a camera left out counts as absent. Of a policy that reads
                earlier pictures, those by ``front_1.before`` and so on. One that learned from pictures that were
                decoded at a reduced size gets these shrunk in the same way.
            prompt: what to do, in words.
            embodiment: which of the policy's; None where it has one.
            camera_poses: by arm: base_from_camera (4, 4), metres; an arm left out takes the embodiment's own.
            key: gives the noise; with an episode's (hash, frame) the result is the one that evaluation gives.

        Returns:
            by stored array: (H, width) float64, steps ``interface.seconds / (H - 1)`` apart.

        Raises:
            CheckpointError: when the policy was not trained for the embodiment.
            EpisodeError: when an array is missing, or a pose is none.
            PredictionError: when there is no picture at all of the policy's cameras.
        """
        pipeline = self.pipeline(embodiment)
        interface = self.interface_of(pipeline.embodiment.name)
        window = pipeline.observe(arrays, camera_poses)
        state, state_mask = pipeline.encode_state(window)
        pictures, masks = _pictures(interface, images)
        observation = Observation(
            embodiment=interface.embodiment,
            images=pictures,
            image_mask=masks,
            state=torch.from_numpy(state),
            state_mask=torch.from_numpy(state_mask),
            prompts=(prompt,),
            keys=(key,),
            **history_fields(*pipeline.encode_history(window)),
        )
        decoded = pipeline.decode(self.predict(observation), window)
        return {array: chunk[0] for array, chunk in decoded.items()}


def load_policy(run_or_checkpoint: Path | str) -> LoadedPolicy:
    """Load a policy on the CPU, in evaluation mode, from a checkpoint file or the last one of a run directory.

    Nothing else is read: structure, weights, statistics and layouts come from the checkpoint.

    Raises:
        CheckpointError: when there is none, it is broken, or its weights do not fit its own record.
    """
    checkpoint = load_checkpoint(resolve_checkpoint(Path(run_or_checkpoint)))
    return LoadedPolicy(module=restore_module(checkpoint), checkpoint=checkpoint)


def predict_keys(
    loaded: LoadedPolicy,
    samples: Samples,
    keys: Sequence[tuple[str, int]],
    *,
    seed: int = 0,
    batch_size: int = BATCH_SIZE,
    origin: Mapping[str, Any] | None = None,
) -> Predictions:
    """Return the policy's chunks for these rows beside the truth.

    Every forward pass has the same number of rows: the last of an episode is filled by repeating its last row. So what
    is predicted for a row depends on its (hash, frame), the seed and ``batch_size``, and not on the other rows.
    Episodes never share a pass, since their pictures may differ in size.

    Args:
        loaded: the policy.
        samples: gives raw batches by (hash, frame).
        keys: the N rows wanted; the result keeps their order.
        seed: of the noise.
        batch_size: rows of a forward pass.
        origin: plain data to record with the predictions, beside checkpoint, step and seed.

    Raises:
        CheckpointError: when the policy was not trained on such data, naming both.
        PredictionError: when there is no row.
    """
    interface = samples.interface
    loaded.check(interface)
    if not keys:
        raise PredictionError("There is no frame to predict for.")
    num, horizon = len(keys), interface.horizon
    predicted = np.empty((num, horizon, interface.actions.width), np.float32)
    truth, mask = np.empty_like(predicted), np.empty((num, horizon), bool)
    state = np.empty((num, interface.state.width), np.float32)
    state_mask = np.empty(state.shape, bool)
    passes = list(_passes(keys, batch_size))
    for rows in track(passes, "predict", total=len(passes), unit="passes"):
        batch = samples.batch(_filled([keys[row] for row in rows], batch_size))
        real = len(rows)
        predicted[rows] = loaded.predict(batch.observation, seed=seed)[:real]
        truth[rows], mask[rows] = batch.actions[:real].numpy(), batch.action_mask[:real].numpy()
        state[rows] = batch.observation.state[:real].numpy()
        state_mask[rows] = batch.observation.state_mask[:real].numpy()
    checkpoint = loaded.checkpoint
    facts = {"checkpoint": str(checkpoint.path), "step": checkpoint.step, "epoch": checkpoint.epoch, "seed": seed}
    return Predictions(
        interface=interface,
        hashes=np.array([episode for episode, _ in keys]),
        frames=np.array([frame for _, frame in keys], np.int64),
        predicted=predicted,
        truth=truth,
        mask=mask,
        state=state,
        state_mask=state_mask,
        origin={**facts, **(origin or {})},
    )


def _passes(keys: Sequence[tuple[str, int]], batch_size: int) -> Iterator[list[int]]:
    """Yield the row numbers of each forward pass: rows of one episode, at most ``batch_size``."""
    rows_of: dict[str, list[int]] = {}
    for row, (episode, _) in enumerate(keys):
        rows_of.setdefault(episode, []).append(row)
    for rows in rows_of.values():
        for start in range(0, len(rows), batch_size):
            yield rows[start : start + batch_size]


def _filled(keys: list[tuple[str, int]], batch_size: int) -> Keys:
    return (*keys, *[keys[-1]] * (batch_size - len(keys)))


def _pictures(
    interface: PolicyInterface, images: Mapping[str, np.ndarray]
) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Return a batch of one picture a camera and their masks; an absent camera gives black and False."""
    known = {view: images[view] for view in interface.views if view in images}
    for camera, picture in known.items():
        if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
            raise ShapeError(f"images['{camera}']", "(h, w, 3) uint8", f"{picture.shape} {picture.dtype}")
    if interface.image_size is not None:
        known = {camera: shrink_picture(picture, interface.image_size) for camera, picture in known.items()}
    if interface.cameras and not known:
        raise PredictionError(
            f"The policy looks through {', '.join(interface.views)}, and there is a picture of none of them."
        )
    pictures: dict[str, torch.Tensor] = {}
    for camera in interface.views:
        picture = known.get(camera)
        chosen = np.zeros_like(next(iter(known.values()))) if picture is None else np.ascontiguousarray(picture)
        pictures[camera] = torch.from_numpy(chosen.copy())[None]
    return pictures, {camera: torch.tensor([camera in known]) for camera in interface.views}


def _body(interface: PolicyInterface) -> Embodiment:
    """Return the embodiment of an interface: the catalog's, or for a robot described by data the one it describes."""
    if interface.embodiment in catalog.available():
        return catalog.embodiment_of(interface.embodiment, {})
    layouts = ModeLayouts(actions=interface.actions, state=interface.state, seconds=interface.seconds)
    return Embodiment(name=interface.embodiment, cameras=interface.cameras, modes={interface.mode: layouts})
