from dataclasses import replace

import numpy as np
import pytest
import torch

from robotrain.batch import Batch, Observation, history_fields
from robotrain.errors import ShapeError


def _observation(num: int = 2) -> Observation:
    return Observation(
        embodiment="eva_bimanual",
        images={"front_1": torch.zeros(num, 4, 6, 3, dtype=torch.uint8)},
        image_mask={"front_1": torch.ones(num, dtype=torch.bool)},
        state=torch.zeros(num, 5),
        state_mask=torch.ones(num, 5, dtype=torch.bool),
        prompts=("",) * num,
        keys=tuple(("episode", frame) for frame in range(num)),
    )


def test_an_observation_takes_stored_and_prepared_images() -> None:
    stored = _observation()
    prepared = replace(stored, images={"front_1": torch.zeros(2, 3, 4, 6)})
    assert len(stored) == len(prepared) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"state": torch.zeros(5)}, r"state: expected \(B, S\)"),
        ({"state_mask": torch.ones(2, 4, dtype=torch.bool)}, r"state_mask: expected \(2, 5\)"),
        ({"images": {}}, "image_mask: expected cameras"),
        ({"images": {"front_1": torch.zeros(2, 3, 4, 6, dtype=torch.uint8)}}, r"images\['front_1'\]: expected"),
        ({"images": {"front_1": torch.zeros(2, 4, 6, 3)}}, r"images\['front_1'\]: expected"),
        ({"image_mask": {"front_1": torch.ones(3, dtype=torch.bool)}}, r"image_mask\['front_1'\]: expected \(2,\)"),
        ({"prompts": ("",)}, "prompts: expected 2 rows, found 1 rows"),
        ({"keys": ()}, "keys: expected 2 rows, found 0 rows"),
    ],
)
def test_a_wrong_shape_is_named_with_what_was_expected(change: dict[str, object], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        replace(_observation(), **change)


def test_a_batch_checks_chunk_and_mask_against_its_observation() -> None:
    mask = torch.ones(2, 7, dtype=torch.bool)
    Batch(observation=_observation(), actions=torch.zeros(2, 7, 5), action_mask=mask)
    with pytest.raises(ShapeError, match=r"actions: expected \(2, H, D\), found \(3, 7, 5\)"):
        Batch(observation=_observation(), actions=torch.zeros(3, 7, 5), action_mask=mask)
    with pytest.raises(ShapeError, match=r"action_mask: expected \(2, 6\)"):
        Batch(observation=_observation(), actions=torch.zeros(2, 6, 5), action_mask=mask)


def test_moving_a_batch_moves_every_tensor_and_nothing_else() -> None:
    batch = Batch(
        observation=_observation(), actions=torch.zeros(2, 7, 5), action_mask=torch.ones(2, 7, dtype=torch.bool)
    )
    moved = batch.to("meta")
    tensors = [moved.actions, moved.action_mask, moved.observation.state, moved.observation.state_mask]
    tensors += [*moved.observation.images.values(), *moved.observation.image_mask.values()]
    assert {tensor.device.type for tensor in tensors} == {"meta"}
    assert moved.observation.keys == batch.observation.keys


def _with_history(num: int = 2, steps: int = 3) -> Observation:
    return replace(
        _observation(num),
        state_history=torch.zeros(num, steps, 5),
        state_history_mask=torch.ones(num, steps, 5, dtype=torch.bool),
        history_mask=torch.ones(num, steps, dtype=torch.bool),
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"state_history": None}, "state_history_mask: expected None, as there is no state_history"),
        ({"state_history": torch.zeros(2, 5)}, r"state_history: expected \(2, K, 5\), found \(2, 5\)"),
        ({"state_history": torch.zeros(2, 0, 5)}, r"state_history: expected \(2, K, 5\)"),
        ({"state_history": torch.zeros(1, 3, 5)}, r"state_history: expected \(2, K, 5\)"),
        ({"state_history_mask": None}, r"state_history_mask: expected \(2, 3, 5\), the history's, found None"),
        ({"state_history_mask": torch.ones(2, 3, dtype=torch.bool)}, r"state_history_mask: expected \(2, 3, 5\)"),
        ({"history_mask": None}, r"history_mask: expected \(2, 3\), the history's \(B, K\), found None"),
        ({"history_mask": torch.ones(2, 4, dtype=torch.bool)}, r"history_mask: expected \(2, 3\)"),
    ],
)
def test_a_history_is_whole_and_fits_the_state(change: dict[str, object], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        replace(_with_history(), **change)


def test_moving_an_observation_moves_its_history() -> None:
    moved = _with_history().to("meta")
    for part in (moved.state_history, moved.state_history_mask, moved.history_mask):
        assert part is not None
        assert part.is_meta
    assert _observation().to("meta").state_history is None


def test_a_history_of_no_steps_is_none() -> None:
    none = history_fields(np.zeros((2, 0, 5), np.float32), np.zeros((2, 0, 5), bool), np.zeros((2, 0), bool))
    assert none == {"state_history": None, "state_history_mask": None, "history_mask": None}
    some = history_fields(np.ones((2, 3, 5), np.float32), np.ones((2, 3, 5), bool), np.ones((2, 3), bool))
    assert replace(_observation(), **some).state_history is not None
