"""The columns of iostat, whose names and units changed from sysstat to sysstat.

Fields, all floats: (reads|writes|discards|flushes)_per_s, (read|write|discard)_bytes_per_s,
(reads|writes|discards)_merged_per_s, (reads|writes|discards)_merged_percent,
(read|write|discard|flush)_await_ms, (read|write|discard)_request_bytes, queue, util_percent;
where reads and writes are not told apart: transfers_per_s, bytes_per_s, merged_per_s, await_ms,
request_bytes; of old ones also service_ms, and write_and_discard_bytes_per_s.
"""

import re
from dataclasses import dataclass

_SECTOR = 512
_KIB = 1024
_MIB = 1024 * 1024
_SUFFIXES = {
    "s": _SECTOR,
    "B": 1,
    "k": _KIB,
    "M": _MIB,
    "G": _KIB * _MIB,
    "T": _MIB * _MIB,
    "P": _KIB * _MIB * _MIB,
}
_NUMBER = re.compile(r"(?P<number>-?[0-9]+(?:[.,][0-9]+)?)(?P<suffix>[sBkMGTP%]?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """What a column holds: a field, and how many of its unit one of the file is."""

    field: str
    scale: float = 1


def _sizes(names: dict[str, str]) -> dict[str, Column]:
    """Columns of bytes per second, in each unit that iostat knows; `*` stands for the unit."""
    units = {"kB": _KIB, "MB": _MIB, "GB": _KIB * _MIB, "sec": _SECTOR, "Blk": _SECTOR}
    return {
        name.replace("*", unit): Column(field=field, scale=scale)
        for name, field in names.items()
        for unit, scale in units.items()
    }


COLUMNS = {
    "tps": Column(field="transfers_per_s"),
    "r/s": Column(field="reads_per_s"),
    "w/s": Column(field="writes_per_s"),
    "d/s": Column(field="discards_per_s"),
    "f/s": Column(field="flushes_per_s"),
    "rrqm/s": Column(field="reads_merged_per_s"),
    "wrqm/s": Column(field="writes_merged_per_s"),
    "drqm/s": Column(field="discards_merged_per_s"),
    "rqm/s": Column(field="merged_per_s"),
    "%rrqm": Column(field="reads_merged_percent"),
    "%wrqm": Column(field="writes_merged_percent"),
    "%drqm": Column(field="discards_merged_percent"),
    "r_await": Column(field="read_await_ms"),
    "w_await": Column(field="write_await_ms"),
    "d_await": Column(field="discard_await_ms"),
    "f_await": Column(field="flush_await_ms"),
    "await": Column(field="await_ms"),
    "svctm": Column(field="service_ms"),
    "rareq-sz": Column(field="read_request_bytes", scale=_KIB),
    "wareq-sz": Column(field="write_request_bytes", scale=_KIB),
    "dareq-sz": Column(field="discard_request_bytes", scale=_KIB),
    "areq-sz": Column(field="request_bytes", scale=_KIB),
    "avgrq-sz": Column(field="request_bytes", scale=_SECTOR),
    "aqu-sz": Column(field="queue"),
    "avgqu-sz": Column(field="queue"),
    "%util": Column(field="util_percent"),
    **_sizes(
        {
            "*/s": "bytes_per_s",
            "r*/s": "read_bytes_per_s",
            "w*/s": "write_bytes_per_s",
            "d*/s": "discard_bytes_per_s",
            "*_read/s": "read_bytes_per_s",
            "*_wrtn/s": "write_bytes_per_s",
            "*_dscd/s": "discard_bytes_per_s",
            "*_w+d/s": "write_and_discard_bytes_per_s",
        }
    ),
}
TOTALS = frozenset(
    f"{unit}_{what}"
    for unit in ("kB", "MB", "GB", "Blk")
    for what in ("read", "wrtn", "dscd", "w+d")
)
"""Columns that repeat a rate as an amount: known, and left out."""

JSON_COLUMNS = {name.removeprefix("%"): column for name, column in COLUMNS.items()}
"""JSON leaves the percent sign out."""


def read_value(text: str, column: Column) -> float | None:
    """The value of a cell in the unit of its field; None if it is no number.

    A size may end with its own unit (`222.1k` of `iostat -h`), and a number may have a decimal
    comma.
    """
    found = _NUMBER.fullmatch(text)
    if not found:
        return None
    number = float(found["number"].replace(",", "."))
    suffix = found["suffix"]
    if suffix in _SUFFIXES and "bytes" not in column.field:
        return None
    return number * _SUFFIXES.get(suffix, column.scale)
