"""Every way in which an episode is known to break is found under its code, and what is sound or real is not."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from robotrain.convert.source import convert_source
from robotrain.convert.synthetic.generate import SyntheticConfig, SyntheticSource
from robotrain.episodes.folder import find_episodes
from robotrain.episodes.schema import ANNOTATIONS, OBS_JOINTS, hash_of
from robotrain.episodes.validation import CODES, Finding, validate_episode
from robotrain.stages import validate
from robotrain.stages.validate import ValidateConfig
from tests.damage import edit, read_attributes
from tests.factories import BROKEN, BROKEN_SETS, Broken, BrokenSet, copy_sound

OF_SETS = {
    "bad-manifest",
    "changed-content",
    "duplicate-content",
    "duplicate-hash",
    "lost-episode",
    "lost-file",
    "missing-pin",
    "no-baseline",
    "unlisted-episode",
    "unusable-pin",
}
"""Codes that no episode has by itself."""


def codes(findings: tuple[Finding, ...], severity: str) -> set[str]:
    return {finding.code for finding in findings if finding.severity == severity}


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.name)
def test_what_is_broken_is_found_under_its_code_and_no_other_error(case: Broken, tmp_path: Path) -> None:
    path = case.build(tmp_path)
    assert path is not None
    quick, deep = validate_episode(path), validate_episode(path, deep=True)
    assert case.code in {finding.code for finding in deep}
    assert (case.code in {finding.code for finding in quick}) is not case.deep
    assert {finding.code for finding in quick} <= {finding.code for finding in deep}, "a deep look sees all"
    assert codes(deep, "error") <= {case.code}
    for finding in (*quick, *deep):
        assert finding.episode == hash_of(path)
        assert finding.severity == CODES[finding.code].severity
        assert finding.message[0].isupper() or finding.message[0] in "'0123456789"
        assert finding.message.endswith((".", "?"))


@pytest.mark.parametrize("case", BROKEN_SETS, ids=lambda case: case.name)
def test_a_set_that_is_broken_is_found_under_its_code_and_no_other_error(case: BrokenSet, tmp_path: Path) -> None:
    data = case.build(tmp_path)
    if case.record:
        assert not validate.run(ValidateConfig(data=(str(data),), write_manifest=True)).num_errors
    if case.damage:
        case.damage(data)
    quick = tuple(validate.run(ValidateConfig(data=(str(data),))).findings)
    deep = tuple(validate.run(ValidateConfig(data=(str(data),), deep=True)).findings)
    assert (case.code in {finding.code for finding in quick}) is not case.deep
    if case.code != "no-baseline":  # a deep look is the baseline of the next
        assert case.code in {finding.code for finding in deep}
    for findings in (quick, deep):
        assert codes(findings, "error") <= {case.code, *case.also}


JUNK: tuple[Any, ...] = (None, True, -1, 10**15, 0.5, "", "x", [[1, 2], [3]], {"front_1": {"cameras": 1}})


@pytest.mark.parametrize("junk", JUNK, ids=str)
def test_no_attribute_makes_the_checks_crash(junk: Any, tmp_path: Path) -> None:
    path = copy_sound(tmp_path / "toy", "toy")
    attributes = read_attributes(path)
    known = (*attributes, "robot_type", "duration", "data_status", "schema_version", "extrinsics", "intrinsics")
    for name in (*known, "camera_intrinsics", "calibration"):
        edit(path, **(attributes | {name: junk}))
        validate_episode(path)
        edit(path, **{name: None})


@pytest.mark.parametrize("junk", JUNK, ids=str)
def test_no_metadata_of_an_array_make_the_checks_crash(junk: Any, tmp_path: Path) -> None:
    path = copy_sound(tmp_path / "toy", "toy")
    for array in (OBS_JOINTS, ANNOTATIONS):
        file = path / array / "zarr.json"
        sound = json.loads(file.read_text())
        for name in sound:
            file.write_text(json.dumps(sound | {name: junk}))
            validate_episode(path)
        grid = {"name": "regular", "configuration": {"chunk_shape": junk}}
        for more in ({"chunk_grid": grid}, {"chunk_key_encoding": {"name": "default", "configuration": junk}}):
            file.write_text(json.dumps(sound | more))
            validate_episode(path)
        file.write_text(json.dumps(sound))


@pytest.mark.parametrize("seed", range(12))
def test_no_flipped_bit_makes_the_checks_crash(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    path = copy_sound(tmp_path / "toy", "toy")
    file = rng.choice(sorted(file for file in path.rglob("*") if file.is_file()))
    content = bytearray(file.read_bytes())
    for _ in range(rng.choice((1, 50))):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    file.write_bytes(content)
    validate_episode(path, deep=True)


def test_every_code_that_an_episode_can_have_is_in_the_corpus() -> None:
    assert {case.code for case in BROKEN} == set(CODES) - OF_SETS
    assert {case.code for case in BROKEN_SETS} == OF_SETS
    assert len({case.name for case in BROKEN}) == len(BROKEN) >= 45


@pytest.mark.parametrize("kind", ["eva", "human", "mecka", "toy"])
def test_what_the_corpus_breaks_is_sound_before(kind: str, tmp_path: Path) -> None:
    findings = validate_episode(copy_sound(tmp_path / "sound", kind), deep=True)
    assert {finding.code for finding in findings if finding.severity != "off"} == set()


@pytest.mark.parametrize("body", ["eva_bimanual", "human_bimanual"])
def test_generated_episodes_are_sound(body: str, tmp_path: Path) -> None:
    source = SyntheticSource(SyntheticConfig(embodiment=body, num_episodes=1, width=32, height=24, seconds=1.2))  # pyright: ignore[reportArgumentType]
    convert_source(source, tmp_path)
    for path in find_episodes(tmp_path):
        findings = validate_episode(path, deep=True)
        assert {finding.code for finding in findings if finding.severity != "off"} == set()


def test_egoverses_own_episodes_have_what_their_readme_says_and_no_error(real_data: Path) -> None:
    found = {hash_of(path): validate_episode(path, deep=True) for path in find_episodes(real_data / "egoverse-written")}
    assert all(codes(findings, "error") == set() for findings in found.values())
    still_wrists = {"degenerate-rotation", "frozen-track"}  # the identity throughout, in the middle of the hand's frame
    assert {name: codes(findings, "warning") for name, findings in found.items()} == {
        "2025-09-20-17-47-54-000000": still_wrists | {"missing-rows", "inclusive-spans", "aspect-ratio"},
        "2025-12-26-18-07-46-296000": {"inclusive-spans", "repeated-frames"},  # the pictures' source has 24 a second
        "69199812208123403bbdb24f": still_wrists | {"missing-rows", "zero-chunk"},
    }
