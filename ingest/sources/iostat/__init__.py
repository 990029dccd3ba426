"""Block devices as iostat prints them, in a file that was imported: means, not counters.

Where iostat has no columns of reads and writes (without `-x`) nothing is judged by it.
"""

from __future__ import annotations

from ingest.core.catalogue import DISKIO
from ingest.core.mapping import (
    Cell,
    Form,
    Head,
    Place,
    Source,
    Tags,
    gauges,
    host_of,
    required,
    series,
)

NAME = "iostat"
_PERCENT_IN_MS = 10.0
_SECOND_IN_MS = 1000.0
_KEPT = frozenset(
    {
        "transfers_per_s",
        "discards_per_s",
        "discard_await_ms",
        "flushes_per_s",
        "flush_await_ms",
    }
)


def _head(measurement: str, tags: Tags) -> Head:
    host, name = host_of(tags), required(tags, "device", of=measurement)
    own = {"host": host, "name": name}
    key = series(DISKIO, host, name, own, source=NAME, form=Form.RATE)
    places: dict[str, Place] = {
        "reads_per_s": Cell(series=key, column="reads"),
        "writes_per_s": Cell(series=key, column="writes"),
        "read_bytes_per_s": Cell(series=key, column="read_bytes"),
        "write_bytes_per_s": Cell(series=key, column="write_bytes"),
        # sysstat before 10.1.3 has no other; where it has, those below take its place.
        "await_ms": (
            Cell(series=key, column="read_time", times="reads_per_s"),
            Cell(series=key, column="write_time", times="writes_per_s"),
        ),
        "read_await_ms": Cell(series=key, column="read_time", times="reads_per_s"),
        "write_await_ms": Cell(series=key, column="write_time", times="writes_per_s"),
        "util_percent": Cell(series=key, column="io_time", scale=_PERCENT_IN_MS),
        "queue": Cell(series=key, column="weighted_io_time", scale=_SECOND_IN_MS),
    }
    return Head(
        host=host,
        place=gauges(host, name, {"name": name}, source=NAME, only=_KEPT, others=places.get),
    )


SOURCE = Source(name=NAME, measurements=frozenset({"iostat"}), head=_head)
