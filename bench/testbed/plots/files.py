"""Writes the plots of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.fleet.rows import Row
from bench.testbed.plots.sheets import sheets
from bench.testbed.plots.svg import draw


def write_plots(folder: Path, measured: Sequence[Row]) -> list[Path]:
    """One file for each study; the folder is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for sheet in sheets(measured):
        file = folder / f"{sheet.name}.svg"
        file.write_text(draw(sheet))
        written.append(file)
    return written
