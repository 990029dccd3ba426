"""`/proc/diskstats` of 14, 18 (Linux 4.18) and 20 fields (5.5), one copy or many with their times.

    while :; do date +%s; cat /proc/diskstats; sleep 10; done > file

One point per disk and copy, of the measurement `diskio` with the tags `host` and `name`, in the
names and units of Telegraf: reads, writes, read_bytes, write_bytes, read_time, write_time (ms),
io_time, weighted_io_time (ms), iops_in_progress, merged_reads, merged_writes; and in names of our
own, as Telegraf has none: discards, merged_discards, discard_bytes, discard_time (ms), flushes,
flush_time (ms). All but iops_in_progress count from the start of the machine. All are integers.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import tzinfo

from ingest.core.decoders.errors import FormatError, NeedsTimeError
from ingest.core.decoders.lines import lines
from ingest.core.decoders.local_time import LocalClock
from ingest.core.decoders.rejections import Rejections
from ingest.core.decoders.texts import is_storable
from ingest.core.line_protocol import LARGEST_INT64
from ingest.core.point import Point

_SECTOR = 512
_FIELDS: tuple[tuple[str, int], ...] = (
    ("reads", 1),
    ("merged_reads", 1),
    ("read_bytes", _SECTOR),
    ("read_time", 1),
    ("writes", 1),
    ("merged_writes", 1),
    ("write_bytes", _SECTOR),
    ("write_time", 1),
    ("iops_in_progress", 1),
    ("io_time", 1),
    ("weighted_io_time", 1),
    ("discards", 1),
    ("merged_discards", 1),
    ("discard_bytes", _SECTOR),
    ("discard_time", 1),
    ("flushes", 1),
    ("flush_time", 1),
)
_LENGTHS = frozenset({14, 18, 20})
"""Words of a line: two numbers of the device, its name, and its fields."""
_COUNTER = re.compile(r"[0-9]{1,20}")
_EPOCH_S = re.compile(r"(?P<s>[0-9]{9,10})(?:\.(?P<fraction>[0-9]{1,9}))?")


def decode_diskstats(
    chunks: Iterable[bytes],
    rejections: Rejections,
    *,
    host: str,
    time_ns: int | None = None,
    zone: tzinfo | None = None,
) -> Iterator[Point]:
    """The points of a file; times are nanoseconds since 1970.

    A line with seconds since 1970 or a date and time is the time of what follows; `zone` is used
    where it names none. `time_ns` is the time of a file without times. Raises `NeedsTimeError`,
    `NeedsZoneError` or `FormatError`.
    """
    clock = LocalClock(zone=zone, date_order=None)
    is_any = False
    for number, raw in enumerate(lines(chunks, rejections, last_is_whole=False), start=1):
        line = raw.decode("utf-8", "replace")
        words = line.split()
        if not words:
            continue
        found_ns = _line_time_ns(line, clock) if len(words) <= 2 else None
        if found_ns is not None:
            time_ns = found_ns
            continue
        fields = _fields(words)
        if isinstance(fields, str):
            rejections.add(f"line {number}: {line}", fields)
            continue
        is_any = True
        if time_ns is None:
            raise NeedsTimeError("the file does not say when it was read")
        yield Point(
            measurement="diskio",
            tags=(("host", host), ("name", words[2])),
            fields={**fields},
            time=time_ns,
        )
    if not is_any:
        raise FormatError("the file has no line of /proc/diskstats")


def _fields(words: list[str]) -> dict[str, int] | str:
    """The fields of a line, or the reason why it has none."""
    if len(words) not in _LENGTHS:
        return "a line has 14, 18 or 20 words"
    if not all(_COUNTER.fullmatch(word) for word in (*words[:2], *words[3:])):
        return "a counter is not a number"
    if not is_storable(words[2]):
        return "the name cannot be stored"
    fields = {
        name: int(word) * scale for (name, scale), word in zip(_FIELDS, words[3:], strict=False)
    }
    return fields if max(fields.values()) <= LARGEST_INT64 else "a counter does not fit 64 bits"


def _line_time_ns(line: str, clock: LocalClock) -> int | None:
    epoch = _EPOCH_S.fullmatch(line.strip())
    if epoch:
        return int(epoch["s"]) * 1_000_000_000 + int((epoch["fraction"] or "").ljust(9, "0"))
    return clock.read_ns(line)
