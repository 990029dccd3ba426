"""What the agent's reader says of devices, interfaces, mounts, workloads and the host itself.

A line is about one of them: its measurement says which kind, its tag `name` which one. Each field
is a fact, by the names that identity knows.
"""

from __future__ import annotations

from ingest.core.mapping import FactField, Head, Source, Tags, host_of, required

NAME = "sluice"
_BEGINNING = "sluice_"
_HOST = "host"
_KINDS = ("device", "nic", "mount", "workload", _HOST)


def _head(measurement: str, tags: Tags) -> Head:
    kind = measurement.removeprefix(_BEGINNING)
    host = host_of(tags)
    subject = "" if kind == _HOST else required(tags, "name", of=measurement)

    def place(field: str) -> FactField:
        return FactField(host=host, kind=kind, subject=subject, name=field)

    return Head(host=host, place=place)


SOURCE = Source(
    name=NAME, measurements=frozenset(f"{_BEGINNING}{kind}" for kind in _KINDS), head=_head
)
