"""The labelled series of the Numenta Anomaly Benchmark, read from a clone outside the checkout."""

from __future__ import annotations

import csv
import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from advisor.core.waterfill import Floats

SCORED = (
    "realAWSCloudwatch/ec2_cpu_utilization_825cc2.csv",
    "realAWSCloudwatch/ec2_disk_write_bytes_1ef3de.csv",
    "realAWSCloudwatch/ec2_disk_write_bytes_c0d644.csv",
    "realAWSCloudwatch/ec2_network_in_257a54.csv",
    "realAWSCloudwatch/ec2_network_in_5abac7.csv",
    "realAWSCloudwatch/elb_request_count_8c0756.csv",
    "realAWSCloudwatch/iio_us-east-1_i-a2eb1cd9_NetworkIn.csv",
    "realAWSCloudwatch/rds_cpu_utilization_cc0c53.csv",
    "realAWSCloudwatch/rds_cpu_utilization_e47b3b.csv",
    "realKnownCause/ec2_request_latency_system_failure.csv",
)
"""Ten series of servers, networks and disks with 19 windows; nothing is chosen by them."""
CHOSEN_BY = ("artificialNoAnomaly", "artificialWithAnomaly", "realAdExchange", "realTraffic",
             "realTweets")  # fmt: skip
"""The folders by which the parameters of methods are chosen; none has a series of `SCORED`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Series:
    """Values in order of time (s), and the windows that people marked."""

    name: str
    seconds: Floats
    values: Floats
    windows: tuple[tuple[float, float], ...]


def place() -> Path:
    """Where the clone is looked for."""
    cache = Path(os.environ.get("SLUICE_CACHE_DIR") or Path.home() / ".cache" / "sluice")
    return Path(os.environ.get("SLUICE_NAB") or cache / "nab")


def scored(root: Path) -> list[Series]:
    """The ten series."""
    labels = _labels(root)
    return [_series(root, name, labels[name]) for name in SCORED]


def to_choose_by(root: Path) -> list[Series]:
    """All series of the other folders."""
    labels = _labels(root)
    names = sorted(name for name in labels if name.partition("/")[0] in CHOSEN_BY)
    return [_series(root, name, labels[name]) for name in names]


def _labels(root: Path) -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = json.loads(
        (root / "labels" / "combined_windows.json").read_text()
    )
    return found


def _series(root: Path, name: str, spans: list[list[str]]) -> Series:
    with (root / "data" / name).open() as file:
        rows = [(_seconds(row["timestamp"]), float(row["value"])) for row in csv.DictReader(file)]
    # One value for a time: clocks that were set back repeat some.
    by_time = dict(sorted(rows))
    return Series(
        name=name,
        seconds=np.array(list(by_time)),
        values=np.array(list(by_time.values())),
        windows=tuple((_seconds(begin), _seconds(end)) for begin, end in spans),
    )


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
