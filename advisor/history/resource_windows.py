"""Windows of a resource, from the samples of its devices, put together as its kind does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from advisor.core.observation import Observation
from advisor.core.resource import Unit
from advisor.history.device_rates import device_rates
from advisor.history.windows import Span
from advisor.models import Attachment, Resource
from advisor.resource_kinds.reader import DeviceSamples, ReadResource, SeenAllocation
from ingest import queries
from ingest.core.catalogue import DISKIO, NET, Measurement
from ingest.core.rates import NetRates, TcpRates

AllocationsByWindow = dict[datetime, list[SeenAllocation]]


def resource_windows(
    resource: Resource,
    attachments: Sequence[Attachment],
    allocations: AllocationsByWindow,
    span: Span,
) -> list[Observation]:
    """The windows in which some device was measured, in order of time.

    The attachments come with their host.
    """
    reader = resource.traits.reader
    read = ReadResource(
        window_s=resource.window_s, capacity=resource.capacity, unit=Unit(resource.unit)
    )
    devices: dict[datetime, list[DeviceSamples[Any]]] = defaultdict(list)
    for attachment, windows in _RATES_OF[reader.measurement](attachments, span):
        tcp = _tcp(attachment, span) if reader.with_tcp else {}
        for at, rates in windows.items():
            devices[at].append(
                DeviceSamples(host=attachment.host.name, rates=rates, tcp=tcp.get(at, ()))
            )
    return [
        reader.window(read, at, devices[at], allocations.get(at, [])) for at in sorted(devices)
    ]


def _net_rates(
    attachments: Iterable[Attachment], span: Span
) -> Iterator[tuple[Attachment, dict[datetime, list[NetRates]]]]:
    for attachment in attachments:
        rates = queries.net_rates(
            host=attachment.host,
            interface=attachment.device,
            since=span.read_since,
            until=span.read_until,
        )
        yield attachment, span.group(rates)


def _tcp(attachment: Attachment, span: Span) -> dict[datetime, list[TcpRates]]:
    return span.group(
        queries.tcp_rates(host=attachment.host, since=span.read_since, until=span.read_until)
    )


ByAttachment = Iterator[tuple[Attachment, dict[datetime, list[Any]]]]
_RATES_OF: dict[Measurement, Callable[[Sequence[Attachment], Span], ByAttachment]] = {
    DISKIO: device_rates,
    NET: _net_rates,
}
