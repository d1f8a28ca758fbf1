"""Where a run's numbers go: one table that grows, `metrics.csv`.

Knows steps, names and numbers; refuses to know what they mean.
"""

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lightning_fabric.loggers.logger import rank_zero_experiment
from lightning_fabric.utilities.rank_zero import rank_zero_only
from pytorch_lightning.loggers import Logger

from robotrain.files import write_text

FILE = "metrics.csv"
FIRST_COLUMNS = ("step", "epoch")


class MetricsFile(Logger):
    """Keeps `metrics.csv` of a run: a row a step, a column a name, empty where a step has no such number.

    A resumed run goes on with the same file; rows after the step it resumes from are dropped, because they will be
    written again.

    Args:
        run_dir: where the file lies.
    """

    def __init__(self, run_dir: Path) -> None:
        super().__init__()
        self.path = run_dir / FILE
        self.columns: list[str] = list(FIRST_COLUMNS)
        self.pending: dict[str, str] = {}

    @property
    def name(self) -> str:
        """The logger's name: none, the run directory has it."""
        return ""

    @property
    def version(self) -> str:
        """The logger's version: none, the run directory has it."""
        return ""

    @property
    @rank_zero_experiment
    def experiment(self) -> Path:
        """The file."""
        return self.path

    @rank_zero_only
    def rewind(self, step: int) -> None:
        """Drop what was logged after optimiser step `step`: the run goes on from there."""
        if not self.path.is_file():
            return
        with self.path.open(newline="") as stream:
            reader = csv.DictReader(stream)
            kept = [row for row in reader if int(row["step"]) < step]  # row 0 is the first step
            self.columns = list(reader.fieldnames or FIRST_COLUMNS)
        self._rewrite(kept)

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Write the numbers of a step; several calls for one step share a row."""
        row = {name: f"{value:.6g}" for name, value in metrics.items() if name != "epoch"}
        row["step"] = str(0 if step is None else step)
        if "epoch" in metrics:
            row["epoch"] = str(int(metrics["epoch"]))
        if self.pending and self.pending["step"] != row["step"]:
            self._flush()
        self.pending.update(row)

    @rank_zero_only
    def log_hyperparams(self, params: Any, *_: Any) -> None:
        """Do nothing: `config.yaml` has them."""

    @rank_zero_only
    def finalize(self, status: str) -> None:  # noqa: ARG002  # Lightning passes it
        """Write what is pending."""
        self._flush()

    def _flush(self) -> None:
        if not self.pending:
            return
        row, self.pending = self.pending, {}
        new = [name for name in row if name not in self.columns]
        if new and self.path.is_file():
            with self.path.open(newline="") as stream:
                old = list(csv.DictReader(stream))
            self.columns += new
            self._rewrite([*old, row])
            return
        self.columns += new
        if not self.path.is_file():
            self._rewrite([row])
            return
        with self.path.open("a", newline="") as stream:
            csv.DictWriter(stream, self.columns, restval="").writerow(row)

    def _rewrite(self, rows: list[dict[str, str]]) -> None:
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, self.columns, restval="")
        writer.writeheader()
        writer.writerows(rows)
        write_text(self.path, text.getvalue())
