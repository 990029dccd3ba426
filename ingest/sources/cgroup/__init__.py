"""Cgroups as `inputs.cgroup` of Telegraf sends them, from `io.stat` and `io.pressure`.

Telegraf names a field after its file: `io.stat.<major:minor>.rios`, `io.pressure.some.total`.
"""

from __future__ import annotations

from ingest.core.catalogue import CGROUP, CGROUP_COST, CGROUP_PRESSURE
from ingest.core.mapping import Cell, Head, Source, Tags, host_of, required, series

NAME = "cgroup"
_STAT, _PRESSURE = "io.stat.", "io.pressure."
_COUNTERS = {name: (CGROUP, name) for name in ("rios", "wios", "rbytes", "wbytes")} | {
    "dios": (CGROUP_COST, "discards"),
    "dbytes": (CGROUP_COST, "discard_bytes"),
    "cost.usage": (CGROUP_COST, "cost_usage"),
    "cost.wait": (CGROUP_COST, "cost_wait"),
    "cost.indebt": (CGROUP_COST, "cost_indebt"),
    "cost.indelay": (CGROUP_COST, "cost_indelay"),
}
_WAITS = {"some.total": "some_total", "full.total": "full_total"}


def _head(measurement: str, tags: Tags) -> Head:
    host, path = host_of(tags), required(tags, "path", of=measurement)

    def place(field: str) -> Cell | None:
        if field.startswith(_PRESSURE):
            column = _WAITS.get(field.removeprefix(_PRESSURE))
            key = series(CGROUP_PRESSURE, host, path, tags, source=NAME)
            return Cell(series=key, column=column) if column else None
        device, _, counter = field.removeprefix(_STAT).partition(".")
        if not field.startswith(_STAT) or not device or counter not in _COUNTERS:
            return None
        table, column = _COUNTERS[counter]
        key = series(table, host, path, {**tags, "device": device}, source=NAME)
        return Cell(series=key, column=column)

    place("io.pressure.some.total")
    return Head(host=host, place=place)


SOURCE = Source(name=NAME, measurements=frozenset({"cgroup"}), head=_head)
