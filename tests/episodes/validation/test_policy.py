"""What a data set's owner makes of findings."""

import pytest

from robotrain.config import Layer, compose
from robotrain.data.config import DataConfig
from robotrain.episodes.validation.findings import Finding, build_finding
from robotrain.episodes.validation.log import FindingLog
from robotrain.episodes.validation.policy import ValidationConfig, judge
from robotrain.errors import ConfigError, UnknownNameError

JPEG = build_finding("bad-jpeg", "e1", "Cut short.")
ROWS = build_finding("missing-rows", "e1", "3 of 9.")
OTHER = build_finding("bad-jpeg", "e2", "Cut short.")
COVERAGE = build_finding("annotation-coverage", "e1", "3 of 9.")
FOLDER = build_finding("no-baseline", "", "none")


def told(config: ValidationConfig) -> list[tuple[str, str, str]]:
    return [(f.severity, f.code, f.episode) for f in judge([JPEG, ROWS, OTHER, COVERAGE, FOLDER], config)]


def test_left_alone_findings_are_as_grave_as_their_code_and_those_off_are_not_told() -> None:
    assert told(ValidationConfig()) == [
        ("error", "bad-jpeg", "e1"),
        ("warning", "missing-rows", "e1"),
        ("error", "bad-jpeg", "e2"),
        ("warning", "no-baseline", ""),
    ]


def test_a_severity_of_the_config_counts_for_every_episode() -> None:
    severity = {"bad-jpeg": "warning", "missing-rows": "off", "annotation-coverage": "error"}
    assert told(ValidationConfig(severity=severity)) == [
        ("warning", "bad-jpeg", "e1"),
        ("warning", "bad-jpeg", "e2"),
        ("error", "annotation-coverage", "e1"),
        ("warning", "no-baseline", ""),
    ]


@pytest.mark.parametrize("entry", ["e1", "e1.zarr", "e1:bad-jpeg", "e1.zarr:bad-jpeg"])
def test_what_is_kept_is_a_warning_that_says_so(entry: str) -> None:
    jpeg, rows, other, _ = judge([JPEG, ROWS, OTHER, FOLDER], ValidationConfig(keep=(entry,)))
    assert (jpeg.severity, jpeg.message) == ("warning", "kept: Cut short.")
    assert (other.severity, other.message) == ("error", "Cut short.")
    assert rows.message == ("3 of 9." if ":" in entry else "kept: 3 of 9.")


def test_codes_and_severities_that_do_not_exist_are_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'bad-jpeg'"):
        ValidationConfig(severity={"bad-jpg": "off"})
    with pytest.raises(UnknownNameError, match="Did you mean 'bad-jpeg'"):
        ValidationConfig(keep=("e1:bad-jpg",))
    with pytest.raises(ConfigError, match="error, warning or off"):
        ValidationConfig(severity={"bad-jpeg": "fatal"})
    with pytest.raises(ConfigError, match="error, warning or off"):
        compose(DataConfig, (), overrides=["validation.severity.bad-jpeg.x=off"])


def test_it_is_said_in_the_data_config() -> None:
    layer = Layer("x", {"validation": {"severity": {"bad-jpeg": "off"}, "keep": ["e1"]}})
    config = compose(DataConfig, [layer], overrides=["validation.severity.missing-rows=error"])
    assert config.validation == ValidationConfig(severity={"bad-jpeg": "off", "missing-rows": "error"}, keep=("e1",))


def test_a_log_counts_and_tells_errors_first_however_many_there_are() -> None:
    log = FindingLog()
    for number in range(3000):  # more than it keeps in memory
        log.add(build_finding("missing-rows", f"e{number}", "x" * 400, array="ä", frame=number))
        log.add(build_finding("bad-jpeg", f"e{number}", "y"))
    findings = list(log)
    assert findings == list(log)
    assert [finding.code for finding in findings] == ["bad-jpeg"] * 3000 + ["missing-rows"] * 3000
    assert findings[3001] == build_finding("missing-rows", "e1", "x" * 400, array="ä", frame=1)
    assert (len(log), log.num_errors, log.num_warnings) == (6000, 3000, 3000)
    assert isinstance(findings[0], Finding)
    log.add(build_finding("bad-jpeg", "last", "z"))
    assert [finding.episode for finding in log][3000] == "last"
