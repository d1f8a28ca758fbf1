"""Does it learn, and is it the picture that teaches? The same training twice, on rendered and on blank pictures."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from robotrain.convert.synthetic.generate import SyntheticConfig
from robotrain.stages import convert, evaluate, train
from robotrain.stages.evaluate import EvaluateConfig
from robotrain.stages.recipe import TrainChoice

pytestmark = pytest.mark.slow

OVERRIDES = ("trainer.accelerator=cpu", "trainer.max_steps=1200", "data.batch_size=32")


Record = Callable[[str, object], None]


def _held_out_ratio(images: Literal["rendered", "blank"], folder: Path, record: Record) -> float:
    """Train on 220 episodes; return the position error on 24 others, as a share of the best baseline's."""
    for name, num, seed in (("seen", 220, 0), ("unseen", 24, 1)):
        world = SyntheticConfig(num_episodes=num, seed=seed, width=96, height=72, fps=10, images=images)
        convert.run(world, out=folder / name)
    choice = TrainChoice(recipe="demo", data=str(folder / "seen"), overrides=OVERRIDES)
    trained = train.run(train.resolve_config(choice), log_dir=folder / "runs")
    (report,) = evaluate.run(
        EvaluateConfig(checkpoint=str(trained.run_dir), data=str(folder / "unseen"), splits=("all",))
    )
    score = report.result.score("xyz_error")
    record("xyz_error_m", score.model)
    record("ratio", score.ratio)
    record("seconds", trained.seconds)
    assert score.ratio is not None
    return score.ratio


def test_on_unseen_episodes_the_error_is_at_most_half_of_the_best_baselines(
    tmp_path: Path, record_property: Record
) -> None:
    assert _held_out_ratio("rendered", tmp_path, record_property) <= 0.5


def test_without_pictures_the_same_training_learns_next_to_nothing(tmp_path: Path, record_property: Record) -> None:
    assert _held_out_ratio("blank", tmp_path, record_property) >= 0.8
