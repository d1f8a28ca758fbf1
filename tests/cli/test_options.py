"""What commands share: completion, and JSON that any parser reads."""

import json

import pytest

from robotrain.cli.options import complete_arch, complete_data, complete_recipe, complete_trainer, print_json


def test_names_of_configs_complete() -> None:
    assert "hpt_tiny" in complete_arch("hpt_t")
    assert complete_arch("nothing") == []
    assert complete_data("def") == complete_recipe("def") == complete_trainer("def") == ["default"]


def test_json_has_no_number_that_json_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": [float("nan"), float("inf"), 1.5], "b": (1, None), "c": "text"})
    assert json.loads(capsys.readouterr().out) == {"a": [None, None, 1.5], "b": [1, None], "c": "text"}
