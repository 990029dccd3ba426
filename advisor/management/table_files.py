"""Files of tables, one per kind of row, as CSV or Parquet."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Any, assert_never

from advisor.errors import ExportImpossible
from advisor.history.stored.export import ExportedRows


class FileFormat(StrEnum):
    CSV = "csv"
    PARQUET = "parquet"


def write_tables(
    parts: Iterable[ExportedRows], folder: Path, file_format: FileFormat
) -> dict[Path, int]:
    """Write each kind's rows into a file of its own; the rows of each file."""
    folder.mkdir(parents=True, exist_ok=True)
    writer: _CsvFiles | _ParquetFiles
    match file_format:
        case FileFormat.CSV:
            writer = _CsvFiles(folder)
        case FileFormat.PARQUET:
            writer = _ParquetFiles(folder)
        case _:
            assert_never(file_format)
    try:
        for part in parts:
            writer.add(part)
    finally:
        writer.close()
    return writer.rows


class _CsvFiles:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[str, tuple[Any, Any]] = {}
        self.rows: dict[Path, int] = {}

    def add(self, part: ExportedRows) -> None:
        path = self._folder / f"{part.kind}.csv"
        if part.kind not in self._open:
            file = path.open("w", newline="", encoding="utf-8")
            self._open[part.kind] = file, csv.writer(file)
            self._open[part.kind][1].writerow(part.columns)
        at, *rest = range(len(part.columns))
        self._open[part.kind][1].writerows(
            (row[at].isoformat(), *(row[place] for place in rest)) for row in part.rows
        )
        self.rows[path] = self.rows.get(path, 0) + len(part.rows)

    def close(self) -> None:
        for file, _ in self._open.values():
            file.close()


class _ParquetFiles:
    def __init__(self, folder: Path) -> None:
        try:
            import pyarrow as pa
            from pyarrow import parquet
        except ImportError as error:
            raise ExportImpossible(
                "Parquet needs pyarrow: pip install 'sluice[parquet]', or export CSV"
            ) from error
        self._pyarrow, self._parquet = pa, parquet
        self._folder = folder
        self._open: dict[str, Any] = {}
        self.rows: dict[Path, int] = {}

    def add(self, part: ExportedRows) -> None:
        path = self._folder / f"{part.kind}.parquet"
        table = self._pyarrow.table(
            [
                self._pyarrow.array(values, type=self._type_of(name))
                for name, values in zip(part.columns, zip(*part.rows, strict=True), strict=True)
            ],
            names=list(part.columns),
        )
        if part.kind not in self._open:
            self._open[part.kind] = self._parquet.ParquetWriter(path, table.schema)
        self._open[part.kind].write_table(table)
        self.rows[path] = self.rows.get(path, 0) + len(part.rows)

    def close(self) -> None:
        for writer in self._open.values():
            writer.close()

    def _type_of(self, column: str) -> Any:
        types = {
            "at": self._pyarrow.timestamp("us", tz="UTC"),
            "host": self._pyarrow.string(),
            "subject": self._pyarrow.string(),
            "device": self._pyarrow.string(),
            "seconds": self._pyarrow.float64(),
        }
        return types.get(column, self._pyarrow.int64())
