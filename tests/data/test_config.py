import pytest
import yaml

from robotrain.config import Layer, compose, configs_dir, load_named, to_plain
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
    with pytest.raises(UnknownNameError, match=r"Did you mean 'history\.steps'"):
        compose(DataConfig, (Layer("mine", {"history": {"step": 3}}),))
    with pytest.raises(ConfigError, match=r"data\.history\.steps must be at least 1"):
        compose(DataConfig, (Layer("mine", {"history": {"steps": 0}}),))


def test_the_default_data_config_shows_how_rows_become_batches_and_each_line_resolves() -> None:
    _, _, section = (configs_dir() / "data" / "default.yaml").read_text().partition("# How rows become batches")
    lines = [line.removeprefix("# ") for line in section.splitlines()[1:]]
    keys = []
    for line in lines:
        told = yaml.safe_load(line)
        keys += told
        data = to_plain(compose(DataConfig, (load_named("data", "default"), Layer("line", told))))
        for key, value in told.items():
            assert data[key].items() >= value.items() if isinstance(value, dict) else data[key] == value
    assert keys == ["mode", "seconds", "cameras", "image_size", "history", "stop_at_text_end", "mend_left_wrist"]
