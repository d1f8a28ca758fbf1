import pytest

from robotrain.data.config import DataConfig
from robotrain.errors import ConfigError


@pytest.mark.parametrize(
    ("name", "value"),
    [("batch_size", 0), ("num_workers", -1), ("seconds", 0.0), ("seconds", -1.0), ("seconds", 1e6)],
)
def test_numbers_that_make_no_batch_or_no_chunk_are_refused(name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"data.{name} must be"):
        DataConfig(**{name: value})  # pyright: ignore[reportArgumentType]
