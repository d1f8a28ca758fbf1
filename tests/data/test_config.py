import pytest

from robotrain.config import Layer, compose
from robotrain.data.config import DataConfig
from robotrain.embodiments.history import NO_HISTORY, History
from robotrain.errors import ConfigError, UnknownNameError


@pytest.mark.parametrize(
    ("name", "value"),
    [("batch_size", 0), ("num_workers", -1), ("seconds", 0.0), ("seconds", -1.0), ("seconds", 1e6)],
)
def test_numbers_that_make_no_batch_or_no_chunk_are_refused(name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"data.{name} must be"):
        DataConfig(**{name: value})  # pyright: ignore[reportArgumentType]


def test_a_history_is_told_in_the_data_config() -> None:
    told = {"history": {"steps": 3, "seconds": 0.2, "per_step_wrist": True}, "mend_left_wrist": True}
    data = compose(DataConfig, (Layer("mine", told),))
    assert data.history == History(steps=3, seconds=0.2, per_step_wrist=True)
    assert data.mend_left_wrist
    assert DataConfig().history == NO_HISTORY
    with pytest.raises(UnknownNameError, match="Did you mean 'history.steps'"):
        compose(DataConfig, (Layer("mine", {"history": {"step": 3}}),))
    with pytest.raises(ConfigError, match=r"data\.history\.steps must be at least 1"):
        compose(DataConfig, (Layer("mine", {"history": {"steps": 0}}),))
