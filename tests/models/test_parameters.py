"""Sizes are golden: a count that changes is explained in a review, never adjusted on the way."""

import json
from pathlib import Path

from robotrain.config import compose, config_names, load_named
from robotrain.data.pipeline import build_pipeline
from robotrain.embodiments.catalog import embodiment_of
from robotrain.models.registry import build_on_meta, config_type, count_parameters

GOLDEN = Path(__file__).parent.parent / "golden" / "parameters.json"


def _counts() -> dict[str, dict[str, int]]:
    """Return parameters by part, keyed by arch, embodiment, mode and cameras."""
    counts: dict[str, dict[str, int]] = {}
    for arch in config_names("arch"):
        layer = load_named("arch", arch)
        config = compose(config_type(str(layer.values["family"])), (layer,))
        for embodiment, mode in (("eva_bimanual", "cartesian_6d"), ("human_bimanual", "keypoints_wristframe_6d")):
            body = embodiment_of(embodiment, {})
            pipeline = build_pipeline(body, mode=mode, horizon=config.horizon)
            interface = pipeline.interface(("front_1",))
            counts[f"{arch} {embodiment} {mode} front_1"] = count_parameters(build_on_meta(config, [interface]))
    return counts


def test_every_arch_has_the_parameters_that_are_written_down() -> None:
    assert _counts() == json.loads(GOLDEN.read_text())
