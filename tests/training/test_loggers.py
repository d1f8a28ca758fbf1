import csv
from pathlib import Path

from robotrain.training.loggers import MetricsFile


def rows(path: Path) -> list[dict[str, str]]:
    with (path / "metrics.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_row_is_a_step_and_a_new_name_is_a_new_column(tmp_path: Path) -> None:
    table = MetricsFile(tmp_path)
    table.log_metrics({"train/loss": 0.5, "epoch": 0.0}, step=0)
    table.log_metrics({"train/loss": 0.25, "epoch": 0.0}, step=1)
    table.log_metrics({"valid/loss": 2.0, "epoch": 0.0}, step=1)
    table.log_metrics({"train/loss": 0.125, "epoch": 1.0}, step=2)
    table.finalize("success")
    assert [row["train/loss"] for row in rows(tmp_path)] == ["0.5", "0.25", "0.125"]
    assert [row["valid/loss"] for row in rows(tmp_path)] == ["", "2", ""]
    assert [row["epoch"] for row in rows(tmp_path)] == ["0", "0", "1"]
    assert (tmp_path / "metrics.csv").read_text().startswith("step,epoch,")


def test_a_resumed_run_goes_on_in_the_table_from_its_step(tmp_path: Path) -> None:
    first = MetricsFile(tmp_path)
    for step in range(6):
        first.log_metrics({"train/loss": float(step)}, step=step)
    first.finalize("interrupted")
    second = MetricsFile(tmp_path)
    second.rewind(4)
    second.log_metrics({"train/loss": 40.0}, step=4)
    second.finalize("success")
    assert [row["train/loss"] for row in rows(tmp_path)] == ["0", "1", "2", "3", "40"]


def test_a_number_that_is_none_is_written_as_such(tmp_path: Path) -> None:
    table = MetricsFile(tmp_path)
    table.log_metrics({"a": float("nan"), "b": 123456789.0}, step=0)
    table.finalize("success")
    assert rows(tmp_path)[0] == {"step": "0", "epoch": "", "a": "nan", "b": "1.23457e+08"}


def test_what_is_logged_can_be_read_while_the_run_goes_on(tmp_path: Path) -> None:
    table = MetricsFile(tmp_path)
    for step in range(3):
        table.log_metrics({"train/loss": 1.0}, step=step)
    assert len(rows(tmp_path)) == 2
