import pytest

from robotrain.embodiments.hands import KEYPOINT_NAMES, NUM_KEYPOINTS, build_human
from robotrain.embodiments.sides import SIDES

HUMAN = build_human()
LEFT = build_human("human_left_arm", ("left",))


def test_keypoints_mode_has_144_columns_of_wrist_and_21_points_a_hand() -> None:
    layouts = HUMAN.mode(None)
    assert HUMAN.default_mode == "keypoints_wristframe_6d"
    assert layouts.actions.width == layouts.state.width == 2 * (3 + 6 + 21 * 3) == 144
    assert layouts.actions.names == layouts.state.names


def test_actions_stand_in_the_wrist_and_the_state_in_the_camera() -> None:
    layouts = HUMAN.mode("keypoints_wristframe_6d")
    for hand in ("left", "right"):
        frames = {field.name: field.frame for field in layouts.actions.fields if field.limb == hand}
        assert set(frames.values()) == {f"{hand}_wrist"}
        assert layouts.state.field(f"{hand}.xyz").frame == "camera"
        assert layouts.state.field(f"{hand}.keypoints").frame == f"{hand}_wrist"


@pytest.mark.parametrize(
    ("mode", "a_hand"),
    [
        ("keypoints_wristframe_6d", 3 + 6 + 21 * 3),
        ("keypoints_headframe_6d", 3 + 6 + 21 * 3),
        ("keypoints_wristframe_ypr", 3 + 3 + 21 * 3),
        ("keypoints_headframe_ypr", 3 + 3 + 21 * 3),
        ("cartesian_6d", 3 + 6),
        ("cartesian_ypr", 3 + 3),
        ("cartesian_wristframe_6d", 3 + 6),
        ("cartesian_wristframe_ypr", 3 + 3),
    ],
)
def test_every_mode_is_as_wide_as_what_its_hands_say(mode: str, a_hand: int) -> None:
    for body, hands in ((HUMAN, 2), (LEFT, 1)):
        layouts = body.mode(mode)
        assert layouts.actions.width == layouts.state.width == hands * a_hand
    assert set(HUMAN.modes) == set(LEFT.modes)


def test_one_hand_is_the_half_of_two() -> None:
    for mode, layouts in HUMAN.modes.items():
        halves = [build_human(f"human_{side}_arm", (side,)).mode(mode) for side in SIDES]
        assert sum((half.actions.fields for half in halves), ()) == layouts.actions.fields
        assert sum((half.state.fields for half in halves), ()) == layouts.state.fields


def test_palms_mode_has_18_columns() -> None:
    layouts = HUMAN.mode("cartesian_6d")
    assert layouts.actions == layouts.state
    assert layouts.actions.width == 18


def test_a_chunk_spans_30_rows_at_30_hertz_and_59_at_60() -> None:
    assert [round(HUMAN.mode(None).seconds * fps) + 1 for fps in (30, 60)] == [30, 59]


def test_the_skeleton_joins_every_keypoint_to_the_wrist_without_a_circle() -> None:
    assert len(KEYPOINT_NAMES) == NUM_KEYPOINTS
    assert len(HUMAN.edges) == NUM_KEYPOINTS - 1
    reached = {0}
    for start, end in HUMAN.edges:
        assert start in reached
        reached.add(end)
    assert reached == set(range(NUM_KEYPOINTS))
    assert (0, 9) in HUMAN.edges
    assert (4, 5) not in HUMAN.edges  # fingers are not joined at their tips
