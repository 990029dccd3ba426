"""A report as it is written down: whatever is shown of it later shows these figures."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.core.reporting.report import Report
from advisor.core.reporting.words import Line, ReportWords, words_of, workload_line
from advisor.reports.as_csv import csv_of, file_name


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenReport:
    """Its words, all workloads, the same as CSV, and what a file of it is called."""

    words: ReportWords
    lines: tuple[Line, ...]
    csv: str
    file_name: str

    @property
    def title(self) -> str:
        """What a list of reports calls it."""
        return f"{self.words.title}, {self.words.days}"


def written(report: Report) -> WrittenReport:
    """The report in words."""
    return WrittenReport(
        words=words_of(report),
        lines=tuple(map(workload_line, report.workloads)),
        csv=csv_of(report),
        file_name=file_name(report),
    )
