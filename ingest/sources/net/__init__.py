"""Network interfaces as `inputs.net` of Telegraf sends them, from `/proc/net/dev`.

Without `ignore_protocol_stats` it also sends the counters of protocols, of all interfaces
together; of these the TCP segments are kept.
"""

from __future__ import annotations

from ingest.core.catalogue import NET, NSTAT
from ingest.core.mapping import Head, Source, Tags, columns, host_of, required, series

NAME = "net"
OF_ALL_INTERFACES = "all"
TCP_SUBJECT = "snmp"
"""So `inputs.nstat` calls the counters of /proc/net/snmp, where these are from."""
_TCP = {"tcp_outsegs": "TcpOutSegs", "tcp_retranssegs": "TcpRetransSegs"}


def _head(measurement: str, tags: Tags) -> Head:
    host, interface = host_of(tags), required(tags, "interface", of=measurement)
    if interface == OF_ALL_INTERFACES:
        return Head(
            host=host, place=columns(series(NSTAT, host, TCP_SUBJECT, tags, source=NAME), _TCP)
        )
    return Head(host=host, place=columns(series(NET, host, interface, tags, source=NAME)))


SOURCE = Source(name=NAME, measurements=frozenset({"net"}), head=_head)
