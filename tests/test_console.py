import pytest

from robotrain import console


def test_tracking_yields_everything_once_and_stays_silent_on_short_work(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(console.track(range(5), "reading", total=5)) == [0, 1, 2, 3, 4]
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_long_work_says_count_rate_and_time_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 5.0, 20.0, 25.0])
    monkeypatch.setattr(console.time, "monotonic", lambda: next(clock))
    list(console.track(range(3), "reading", total=3, unit="episodes"))
    assert capsys.readouterr().err == "reading: 2/3 episodes, 0.1/s, 10 s left\n"


def test_log_lines_keep_brackets_of_paths(capsys: pytest.CaptureFixture[str]) -> None:
    console.say("run [red]7[/red] in data[1]")
    assert capsys.readouterr().err == "run [red]7[/red] in data[1]\n"
