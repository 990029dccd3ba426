"""Captured data beside the checkout: SSD parameters, block traces, labelled series."""

import csv
import json
import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]
DATA = Path(os.environ.get("SLUICE_SHARED") or Path(__file__).parents[3] / "shared") / "data"
SECTOR_BYTES = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Ssd:
    """What an SSD can do, by its iocost parameters: bytes/s and random I/Os/s of 4 KiB."""

    name: str
    read_bytes_per_s: float
    read_iops: float
    write_bytes_per_s: float
    write_iops: float


def ssds() -> list[Ssd]:
    """One set of parameters per device, in the order of the file."""
    with (DATA / "iocost" / "iocost_solutions_by_device.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["solution"] == "naive"]
    first = {row["device"]: row for row in reversed(rows)}
    return [
        Ssd(
            name=name,
            read_bytes_per_s=float(first[name]["rbps"]),
            read_iops=float(first[name]["rrandiops"]),
            write_bytes_per_s=float(first[name]["wbps"]),
            write_iops=float(first[name]["wrandiops"]),
        )
        for name in sorted(first)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Block I/Os in order of arrival: time, stream, place, size, and whether it is a read."""

    name: str
    at_s: Floats
    stream: Floats
    address: Floats
    size_bytes: Floats
    is_read: Booleans


def trace(name: str) -> Trace:
    """One of the captured traces; lines that are cut off are left out."""
    rows = []
    for line in (DATA / "mqsim" / "traces" / f"{name}-small.trace").read_text().splitlines():
        fields = line.split()
        if len(fields) == 5:
            rows.append([float(field) for field in fields])
    table = np.array(rows)
    return Trace(
        name=name,
        at_s=(table[:, 0] - table[0, 0]) / 1e9,
        stream=table[:, 1],
        address=table[:, 2] * SECTOR_BYTES,
        size_bytes=table[:, 3] * SECTOR_BYTES,
        is_read=table[:, 4] == 1,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledSeries:
    """Values five minutes apart, and which of them lie in a window that people call anomalous."""

    name: str
    at: list[datetime]
    values: Floats
    is_anomalous: npt.NDArray[np.bool_]


def labelled_series() -> list[LabelledSeries]:
    """The captured series with their windows."""
    windows = json.loads((DATA / "NAB" / "labels" / "windows.json").read_text())
    found = []
    for path in sorted((DATA / "NAB" / "data").glob("*.csv")):
        with path.open() as file:
            rows = list(csv.DictReader(file))
        at = [datetime.fromisoformat(row["timestamp"]) for row in rows]
        spans = next(spans for key, spans in windows.items() if key.endswith(path.name))
        ends = [[datetime.fromisoformat(end) for end in span] for span in spans]
        inside = [any(low <= one <= high for low, high in ends) for one in at]
        found.append(
            LabelledSeries(
                name=path.stem,
                at=at,
                values=np.array([float(row["value"]) for row in rows]),
                is_anomalous=np.array(inside),
            )
        )
    return found
