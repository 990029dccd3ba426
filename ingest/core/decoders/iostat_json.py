"""iostat as JSON: `iostat -xty -o JSON 5 > file`, also one that was stopped before its end.

The points are those of `iostat_text`: the measurement `iostat`, the tags `host` and `device`, and
the fields of `iostat_columns`. Totals of groups (-g) and the report since boot are left out.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import tzinfo
from typing import Any

from ingest.core.decoders.errors import NeedsHostError, NeedsTimeError
from ingest.core.decoders.iostat_columns import JSON_COLUMNS, TOTALS
from ingest.core.decoders.iostat_text import MEASUREMENT, Schedule
from ingest.core.decoders.json_numbers import finite
from ingest.core.decoders.local_time import DateOrder, LocalClock
from ingest.core.decoders.rejections import Rejections
from ingest.core.decoders.sysstat_json import About, reports
from ingest.core.decoders.texts import is_storable
from ingest.core.point import FieldValue, Point

_DEVICE = "disk_device"


def decode_iostat_json(
    chunks: Iterable[bytes],
    rejections: Rejections,
    *,
    host: str | None = None,
    zone: tzinfo | None = None,
    date_order: DateOrder | None = None,
    schedule: Schedule | None = None,
    first_is_since_boot: bool = True,
) -> Iterator[Point]:
    """The points of a file; arguments, times and errors are those of `decode_iostat`."""
    clock = LocalClock(zone=zone, date_order=date_order)
    run: About | None = None
    for number, (about, report) in enumerate(reports(chunks, rejections)):
        name = f"report {number + 1}"
        is_first = about is not run
        run = about
        clock.learn_order(about.get("date", ""))
        if is_first and first_is_since_boot:
            rejections.add(name, "the first report is the mean since the machine started")
            continue
        timestamp = report.get("timestamp")
        time_ns = clock.read_ns(timestamp) if isinstance(timestamp, str) else None
        if timestamp is not None and time_ns is None:
            rejections.add(name, "the report has no time")
            continue
        if time_ns is None:
            time_ns = _scheduled_ns(schedule, number)
        known_host = about.get("nodename") or host
        if known_host is None:
            raise NeedsHostError("the file does not name the host that it is of")
        yield from _points(report, known_host, time_ns, name, rejections)


def _scheduled_ns(schedule: Schedule | None, number: int) -> int:
    if schedule is None:
        raise NeedsTimeError(
            "the reports have no times: say when the first was made, and each how many seconds"
        )
    return schedule.time_ns(number)


def _points(
    report: Mapping[str, Any], host: str, time_ns: int, name: str, rejections: Rejections
) -> Iterator[Point]:
    disks = report.get("disk", [])
    if not isinstance(disks, list):
        rejections.add(name, "its disks are no list")
        return
    for disk in disks:
        device = disk.get(_DEVICE) if isinstance(disk, dict) else None
        if not isinstance(device, str) or not device or not is_storable(device):
            rejections.add(name, "a disk has no name")
            continue
        # The name of a total of a group begins with a space.
        fields = {} if device.startswith(" ") else _fields(disk, name, rejections)
        if fields:
            yield Point(
                measurement=MEASUREMENT,
                tags=(("device", device), ("host", host)),
                fields=fields,
                time=time_ns,
            )


def _fields(disk: Mapping[str, Any], name: str, rejections: Rejections) -> dict[str, FieldValue]:
    fields: dict[str, FieldValue] = {}
    for key, value in disk.items():
        column = JSON_COLUMNS.get(key)
        if column is None:
            if key != _DEVICE and key not in TOTALS:
                rejections.add(key, "the column is not known")
        elif (number := finite(value)) is not None:
            fields[column.field] = number * column.scale
        else:
            rejections.add(f"{name}: {key}", "the value is not a number")
    return fields
