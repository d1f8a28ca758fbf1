from robotrain.embodiments.hands import KEYPOINT_NAMES, NUM_KEYPOINTS, build_human

HUMAN = build_human()


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
