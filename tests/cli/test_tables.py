"""Tables read well at 80 columns."""

import pytest

from robotrain.cli.tables import print_table, print_wrapped
from robotrain.console import count


def test_numbers_stand_at_the_right_and_headings_wrap(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("metric", "unit", "mean displacement chunk", "ratio"), [("xyz_error", "m", 0.123456, None)], text=2)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "",
        "                         mean",
        "                 displacement",
        "metric     unit         chunk  ratio",
        "────────────────────────────────────",
        "xyz_error  m           0.1235      -",
        "",
    ]


def test_whole_numbers_are_grouped(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("part", "parameters"), [("trunk", 1234567), ("other", True)])
    assert "1,234,567" in capsys.readouterr().out


def test_sentences_in_the_last_column_wrap_and_lose_no_word(capsys: pytest.CaptureFixture[str]) -> None:
    sentence = "word " * 30 + "a" * 70
    print_table(("code", "meaning"), [("some-code", sentence)], prose=True)
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) == 80
    assert shown.count("word") == 30
    assert shown.count("a") - "some-code meaning".count("a") == 70


def test_a_sentence_hangs_and_keeps_long_words_whole(capsys: pytest.CaptureFixture[str]) -> None:
    print_wrapped("word  " * 14 + "a" * 90, indent=2, hanging=3)
    first, second, third = capsys.readouterr().out.splitlines()
    assert first.startswith("  word  word")
    assert (second, third) == ("     word", "     " + "a" * 90)


def test_one_is_not_many() -> None:
    assert [count(number, "episode") for number in (0, 1, 2345)] == ["0 episodes", "1 episode", "2,345 episodes"]
