from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotrain.episodes.schema import TIMESTAMPS
from robotrain.episodes.validation.findings import Finding
from robotrain.episodes.validation.scans.timestamps import scan_timestamps
from tests.episodes.validation.scans.planting import InMemory, Told, told

START = 1_758_390_474_123_456_789  # ns, in 2025


def scan_one(times: np.ndarray, fps: float | None = 30, **more: Any) -> list[Finding]:
    episode = InMemory({TIMESTAMPS: times}, fps=fps, **more)
    return list(scan_timestamps(episode, episode.arrays))


def scan(times: np.ndarray, fps: float | None = 30) -> Told:
    return told(scan_one(times, fps))


def clock(num: int = 40, fps: float = 30, jitter: float = 0.05) -> np.ndarray:
    """Return capture times (T,) int64 ns of a camera whose pictures are late by some of the time between two."""
    late = np.random.default_rng(0).uniform(0, jitter, num)
    return START + ((np.arange(num) + late) * 1e9 / fps).astype(np.int64)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from([15, 29.97, 30, 60]), st.integers(2, 50), st.integers(0, 10**18))
def test_a_steady_camera_is_sound_at_any_rate(fps: float, num: int, later: int) -> None:
    assert scan(clock(num, fps) + later, fps) == []


def test_the_times_of_one_frame_tell_no_rate() -> None:
    assert scan(clock(1)) == []


def test_nothing_is_said_where_there_are_no_times() -> None:
    episode = InMemory({"left.gripper": np.zeros((9, 1))})
    assert list(scan_timestamps(episode, episode.arrays)) == []
    assert list(scan_timestamps(InMemory({TIMESTAMPS: np.zeros(9, dtype=np.int64)}), ())) == []


@pytest.mark.parametrize("back", [0, -1, -33_333_333])
def test_times_that_do_not_increase_are_an_error(back: int) -> None:
    times = clock()
    times[20] = times[19] + back
    found = [finding for finding in scan_one(times) if finding.code != "timestamp-gap"]
    assert [(finding.severity, finding.code, finding.frame) for finding in found] == [("error", "timestamp-order", 20)]
    assert "1 of 39 times" in found[0].message


def test_a_clock_that_stands_tells_its_order_and_no_rate() -> None:
    assert scan(np.full(40, START)) == [("timestamp-order", TIMESTAMPS, 1)]


@pytest.mark.parametrize(("longer", "is_told"), [(1.4, False), (1.6, True)])
def test_a_step_of_more_than_one_and_a_half_is_a_gap(longer: float, is_told: bool) -> None:
    times = clock(jitter=0)
    times[12:] += int((longer - 1) * 1e9 / 30)
    found = scan_one(times)
    assert told(found) == [("timestamp-gap", TIMESTAMPS, 12)] * is_told
    assert all("1 of 39 steps last more than 1.5 times the usual 33.333 ms (up to 53" in each.message for each in found)


@pytest.mark.parametrize(("fps", "is_told"), [(30, False), (31.4, False), (28.6, False), (32, True), (28, True)])
def test_a_rate_more_than_a_twentieth_off_is_an_error(fps: float, is_told: bool) -> None:
    found = scan_one(clock(jitter=0), fps)
    assert told(found) == [("fps-mismatch", TIMESTAMPS, 0)] * is_told
    assert all(finding.severity == "error" for finding in found)
    assert all(f"make 30 frames per second, and the attribute fps says {fps:g}." in each.message for each in found)


def test_a_few_dropped_frames_do_not_change_the_rate() -> None:
    times = np.delete(clock(100, jitter=0), [20, 21, 22, 50, 51, 52, 53, 54, 55, 56])
    assert scan(times) == [("timestamp-gap", TIMESTAMPS, 20)]


def test_without_a_rate_there_is_none_to_compare() -> None:
    assert scan(clock(), None) == []


def test_a_stopwatch_is_no_calendar() -> None:
    (finding,) = scan_one(clock() - START + 1)
    assert (finding.severity, finding.code, finding.frame) == ("warning", "timestamp-epoch", 0)
    assert "40 of 40 times are not of the years 2000 to 2099" in finding.message


class TestQuantum:
    def test_times_that_were_seconds_in_a_float_lost_digits(self) -> None:
        seconds = clock() / 1e9
        (finding,) = scan_one((seconds * 1e9).astype(np.int64))
        assert (finding.severity, finding.code, finding.frame) == ("warning", "timestamp-quantum", 0)
        assert "All 40 times are multiples of 256 ns" in finding.message

    @pytest.mark.parametrize(("quantum", "is_told"), [(32, False), (64, True), (4096, True)])
    def test_64_nanoseconds_are_the_least(self, quantum: int, is_told: bool) -> None:
        assert scan(clock() // quantum * quantum) == [("timestamp-quantum", TIMESTAMPS, 0)] * is_told

    @pytest.mark.parametrize("tick", [1_000, 1_000_000, 20_000_000])
    def test_a_clock_of_microseconds_or_milliseconds_was_no_float(self, tick: int) -> None:
        assert scan(clock(fps=5) // tick * tick, 5) == []

    def test_one_odd_time_proves_the_digits_are_there(self) -> None:
        times = clock() // 256 * 256
        times[7] += 1
        assert scan(times) == []

    def test_three_times_may_be_multiples_by_chance(self) -> None:
        assert scan(clock(3) // 64 * 64) == []


@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf, 1e30])
def test_what_is_no_time_is_left_to_the_check_of_numbers(strange: float) -> None:
    times = clock().astype(np.float64)
    times[3] = strange
    assert scan(times) == []


def test_capture_times_are_data_however_large() -> None:
    assert not InMemory({TIMESTAMPS: clock()}).missing(TIMESTAMPS).any()
