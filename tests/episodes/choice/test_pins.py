"""Episodes named by hash: every problem of every one at once, and how many may be missing."""

from pathlib import Path

import pytest

from robotrain.episodes.choice import pins
from robotrain.episodes.index import Entry
from robotrain.episodes.resolver import SelectionConfig, find_pin_problems, resolve_episodes
from robotrain.errors import PinError, UnknownNameError
from tests.hollow import make_hollow


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for number in range(10):
        make_hollow(tmp_path, f"e{number}" + ".zarr" * (number % 2), operator=f"op{number % 2}")
    return tmp_path


def config(root: Path, **more: object) -> SelectionConfig:
    return SelectionConfig(root=str(root), **more)  # pyright: ignore[reportArgumentType]


def test_pins_choose_and_do_not_look_at_the_others(root: Path) -> None:
    (root / "e3.zarr" / "zarr.json").write_text("{")
    selection = resolve_episodes(config(root, pins=("e4", "e1.zarr", "e0")))
    assert [facts.hash for facts in selection.all] == ["e0", "e1", "e4"]


def test_every_problem_of_every_pin_is_told_at_once(root: Path) -> None:
    (root / "e3.zarr" / "zarr.json").write_text("{")
    make_hollow(root, "x1", "human_bimanual")
    make_hollow(root, "s1", data_status="structural_sample")
    (root / "r.csv").write_text(
        "hash,is_deleted,zarr_processed_path\n"
        + "".join(f"{each},f,p\n" for each in ("e0", "e2", "e3", "e4", "e5", "e8", "x1", "s1"))
        + "e6,t,p\ne7,f,\n"
    )
    selected = config(
        root,
        pins=("e0", "e3", "e00", "x1", "e4", "e5", "e6", "e7.zarr", "s1", "e8", "e0.zarr"),
        embodiment="eva_bimanual",
        registry="r.csv",
        where={"operator": {"not": "op1"}},
        limit=3,
    )

    def differs(entry: Entry) -> str:
        return "the file 'c/0' is gone." if entry.hash == "e4" else ""

    with pytest.raises(PinError) as caught:
        resolve_episodes(selected, differs=differs)
    assert str(caught.value).splitlines() == [
        f"10 of 11 pinned episodes of '{root}' cannot be used: 1 absent, 1 deleted, 1 with an empty path, "
        "1 unreadable, 1 marked structural, 1 changed, 1 of another embodiment, 2 filtered out, 1 beyond the limit, "
        "1 named twice",
        "  - 'e00' is not there. Did you mean 'e0'?",
        "  - 'e6' is marked deleted in the registry.",
        "  - 'e7' has an empty path in the registry.",
        f"  - Episode 'e3': '{root / 'e3.zarr' / 'zarr.json'}' cannot be read as JSON: "
        "Expecting property name enclosed in double quotes: line 1 column 2 (char 1).",
        "  - 's1' is a structural sample: a specimen of the format, and no recording.",
        "  - 'e4' is not as recorded: the file 'c/0' is gone.",
        "  - 'x1' is of embodiment 'human_bimanual', not 'eva_bimanual'.",
        "  - 'e5' is filtered out by operator not (equals 'op1'): it is op1.",
        "  - 'e7' is filtered out by operator not (equals 'op1'): it is op1.",
        "  - 'e8' is beyond the limit of 3 episodes.",
        "  - 'e0' is named 2 times.",
    ]
    assert [problem.hash for problem in find_pin_problems(selected, differs=differs)] == [
        *("e0", "e3", "e00", "x1", "e4", "e5", "e6", "e7", "e7", "s1")
    ]


def test_a_limit_below_the_number_of_pins_is_a_contradiction(root: Path) -> None:
    with pytest.raises(PinError, match=r"1 of 3 .*: 1 beyond the limit\n  - 'e4' is beyond the limit of 2 episodes"):
        resolve_episodes(config(root, pins=("e4", "e1", "e0"), limit=2))
    with pytest.raises(PinError, match=r"1 of 1 held-out .*: 1 beyond the limit"):
        resolve_episodes(config(root, held_out=("e4",), limit=4))


def test_a_pin_fails_by_every_filter_that_it_does_not_pass(root: Path) -> None:
    where = {"operator": "op0", "fps": 30, "task_name": {"regex": "."}}
    with pytest.raises(PinError, match=r"by operator equals 'op0': it is op1, and by task_name regex '\.': it is ''\."):
        resolve_episodes(config(root, pins=("e1",), where=where))
    with pytest.raises(UnknownNameError, match=r"'operatr' in episodes.where"):
        resolve_episodes(config(root, pins=("e1",), where={"operatr": "op1"}))


def test_held_out_episodes_are_checked_as_pins_are(root: Path) -> None:
    make_hollow(root, "x1", "human_bimanual")
    with pytest.raises(PinError, match=r"2 of 3 held-out episodes of .*: 1 absent, 1 of another embodiment"):
        resolve_episodes(config(root, held_out=("e1", "x1", "y"), embodiment="eva_bimanual"))
    with pytest.raises(PinError, match=r"1 of 2 pinned and held-out episodes .*\n  - 'y' is not there"):
        resolve_episodes(config(root, pins=("e0",), held_out=("y",)))


def test_absent_and_unreadable_pins_may_be_allowed_and_move_no_other(root: Path) -> None:
    pins = tuple(f"e{number}" for number in range(10))
    whole = resolve_episodes(config(root, pins=pins))
    (root / "e3.zarr" / "zarr.json").write_text("{")
    (root / "e6" / "zarr.json").unlink()
    (root / "e6").rmdir()
    with pytest.raises(PinError, match=r"2 of 10 pinned episodes of .*: 1 absent, 1 unreadable"):
        resolve_episodes(config(root, pins=pins, allow_missing=1))
    rest = resolve_episodes(config(root, pins=pins, allow_missing=2))
    assert [(each.hash, each.reason) for each in rest.left_out] == [("e3", "cannot be read"), ("e6", "not there")]
    for part, before in ((rest.train, whole.train), (rest.valid, whole.valid)):
        assert [facts.hash for facts in part] == [f.hash for f in before if f.hash not in {"e3", "e6"}]
    make_hollow(root, "x1", "human_bimanual")
    with pytest.raises(PinError, match=r"1 of 11 .*: 1 of another embodiment"):
        resolve_episodes(config(root, pins=(*pins, "x1"), allow_missing=2, embodiment="eva_bimanual"))
    held = resolve_episodes(config(root, held_out=("e1", "e6"), allow_missing=2, embodiment="eva_bimanual"))
    assert [facts.hash for facts in held.valid] == ["e1"]
    assert held.num_missing == 2


def test_among_very_many_absent_pins_the_nearest_is_looked_for_only_for_the_first(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []

    def look(name: str, _: object) -> str:
        looked.append(name)
        return " Did you mean 'e0'?"

    monkeypatch.setattr(pins, "did_you_mean", look)
    names = tuple(f"absent{number:05d}" for number in range(41_000))
    with pytest.raises(PinError) as caught:
        resolve_episodes(config(root, pins=(*names, "e0")))
    assert looked == list(names[:10])
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("41000 of 41001 pinned episodes")
    assert len(lines) == 22
    assert lines[10:12] == [
        "  - 'absent00009' is not there. Did you mean 'e0'?",
        "  - 'absent00010' is not there.",
    ]
    assert lines[-1] == "  - and 40980 more absent"
