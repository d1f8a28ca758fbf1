from typing import Any

import numpy as np
import pytest

from robotrain.episodes.validation.findings import Finding
from robotrain.episodes.validation.scans.joints import scan_joints
from tests.episodes.validation.scans.planting import InMemory, Told, told
from tests.factories import smooth


def scan(arrays: dict[str, np.ndarray], **more: Any) -> Told:
    return told(scan_one(arrays, **more))


def scan_one(arrays: dict[str, np.ndarray], **more: Any) -> list[Finding]:
    episode = InMemory(arrays, **more)
    return list(scan_joints(episode, episode.tracks))


def swinging(num: int = 30, width: int = 6, scale: float = 0.4) -> np.ndarray:
    return smooth(np.random.default_rng(0), num, width, scale)


def fields(*units: str, kind: str = "joint", array: str = "obs_joints") -> dict[str, Any]:
    told_of = [{"name": f"j{i}", "kind": kind, "width": 1, "frame": "", "unit": u} for i, u in enumerate(units)]
    return {"fields": {array: told_of}}


class TestJumps:
    @pytest.mark.parametrize("array", ["left.obs_joints", "right.cmd_joints"])
    @pytest.mark.parametrize(("change", "is_told"), [(np.pi - 1e-6, False), (np.pi + 1e-6, True), (-7.0, True)])
    def test_more_than_half_a_turn_in_a_frame_is_none(self, array: str, change: float, is_told: bool) -> None:
        rows = swinging(scale=1e-9) + np.linspace(0, 1e-8, 30)[:, None]
        rows[9:, 4] += change
        assert scan({array: rows}) == [("joint-jump", array, 9)] * is_told

    def test_the_column_the_count_and_the_size_are_told(self) -> None:
        rows = swinging()
        rows[9, 4] += 6.0
        (finding,) = scan_one({"left.obs_joints": rows})
        assert "2 of 29 steps turn column 4 by more than half a turn (up to 6" in finding.message

    def test_a_change_over_a_gap_is_none(self) -> None:
        rows = swinging()
        rows[9], rows[10:, 4] = 1e9, rows[10:, 4] + 6.0
        assert scan({"left.obs_joints": rows}) == []

    def test_each_columns_own_unit_counts_and_an_unknown_one_does_not(self) -> None:
        rows = swinging(width=3)
        rows[9:] += 100.0
        described = fields("deg", "", "rad")
        (finding,) = scan_one({"obs_joints": rows}, embodiment="toy", attributes=described)
        assert (finding.code, finding.array, finding.frame) == ("joint-jump", "obs_joints", 9)
        assert "1 of 29 steps turn j2 by" in finding.message
        assert scan({"obs_joints": rows}, embodiment="toy", attributes=fields("deg", "", "")) == []
        assert scan({"obs_joints": rows * 2}, embodiment="toy", attributes=fields("deg", "", "")) != []
        assert scan({"obs_joints": rows}, embodiment="toy", attributes=fields("1", "1", "1", kind="gripper")) == []

    @pytest.mark.parametrize(
        "attributes", [{}, {"fields": 3}, {"fields": {"obs_joints": [3]}}, fields("rad"), fields("rad", kind="x")]
    )
    def test_a_robot_that_does_not_describe_itself_is_not_guessed_at(self, attributes: dict[str, Any]) -> None:
        rows = swinging(width=3)
        rows[9:] += 100.0
        assert scan({"obs_joints": rows}, embodiment="toy", attributes=attributes) == []


class TestGrippers:
    @pytest.mark.parametrize("array", ["left.obs_gripper", "right.cmd_gripper", "left.gripper"])
    @pytest.mark.parametrize(("value", "is_told"), [(-1e-3, True), (0.0, False), (1.0000001, False), (1.001, True)])
    def test_an_aperture_is_from_zero_to_one(self, array: str, value: float, is_told: bool) -> None:
        rows = 0.5 + swinging(width=1)
        rows[5:7] = value
        assert scan({array: rows}) == [("gripper-range", array, 5)] * is_told

    def test_the_range_and_the_count_are_told_without_missing_rows(self) -> None:
        rows = np.linspace(-1, 85, 20)[:, None]
        rows[3] = 1e9
        (finding,) = scan_one({"left.gripper": rows})
        assert finding.frame == 0
        assert "19 of 19 apertures lie outside 0 to 1 (from -1 to 85)" in finding.message


class TestConstant:
    def test_a_gripper_that_never_moves_is_told_with_its_value(self) -> None:
        rows = np.full((20, 1), 0.25)
        rows[:3] = 1e9
        (finding,) = scan_one({"left.obs_gripper": rows})
        assert (finding.code, finding.array, finding.frame) == ("constant-channel", "left.obs_gripper", 3)
        assert "0.25 the same in all 17 rows" in finding.message

    def test_joints_that_never_move_are_told_by_name(self) -> None:
        rows = swinging(width=4)
        rows[:, [1, 3]] = 0.5
        (finding,) = scan_one({"obs_joints": rows}, attributes=fields("rad", "rad", "rad", "rad"))
        assert (finding.code, finding.array, finding.frame) == ("constant-channel", "obs_joints", 0)
        assert "2 of 4 columns are the same in all 30 rows (j1, j3)" in finding.message
        assert "(columns 1, 3)" in scan_one({"left.cmd_joints": rows})[0].message

    def test_of_many_columns_only_the_first_are_named(self) -> None:
        rows = swinging(width=12)
        rows[:, :10] = 0.0
        assert "(columns 0, 1, 2, 3, 4, 5 and 4 more)" in scan_one({"left.obs_joints": rows})[0].message

    def test_joints_that_are_all_still_are_a_frozen_track_and_a_still_command_is_constant(self) -> None:
        rows = np.full((20, 6), 0.5)
        assert scan({"left.obs_joints": rows}) == []
        assert scan({"left.cmd_joints": rows}) == [("constant-channel", "left.cmd_joints", 0)]

    def test_one_row_changes_nothing_and_one_change_is_enough(self) -> None:
        rows = np.full((20, 1), 0.5)
        rows[19] = 0.6
        assert scan({"left.gripper": rows}) == []
        rows[1:] = 1e9
        assert scan({"left.gripper": rows}) == []
