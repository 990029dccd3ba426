"""What collectors send, as lines of hosts in bodies and as rows that PostgreSQL copies.

A host sends 40 lines of one moment: disks, interfaces, cgroups (some with pressure), its system in
three lines as Telegraf does, and TCP. They make 42 rows of 42 series in six tables.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from ingest.core.batch import Rules, read_batch
from ingest.core.catalogue import Measurement
from ingest.core.copy_encoding import encode_rows
from ingest.core.line_protocol import Precision
from ingest.core.mapping import SeriesKey
from ingest.sources.registry import find_head

DISKS, INTERFACES, CGROUPS, WITH_PRESSURE = 12, 4, 20, 4
HOST_LINES = DISKS + INTERFACES + CGROUPS + 3 + 1
LARGE_LINES = 5_000
HOSTS_OF_A_LARGE = LARGE_LINES // HOST_LINES
CHUNK_BYTES = 32 * 1024
"""So much at a time does Go's client send of a body whose length it does not know."""
_DISK = (
    "reads", "writes", "read_bytes", "write_bytes", "read_time", "write_time", "io_time",
    "weighted_io_time", "iops_in_progress", "merged_reads", "merged_writes",
)  # fmt: skip
_INTERFACE = (
    "bytes_sent", "bytes_recv", "packets_sent", "packets_recv", "err_in", "err_out", "drop_in",
    "drop_out", "speed",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyRows:
    """The lines of one body, and its rows by table in the binary COPY format."""

    lines: bytes
    copies: Sequence[tuple[Measurement, bytes]]
    row_count: int


class Fleet:
    """Hosts that send; each moment of one is drawn anew."""

    def __init__(self, *, seed: int) -> None:
        self._random = Random(seed)
        self._ids: dict[SeriesKey, int] = {}

    def bodies(self, moments: Sequence[Sequence[tuple[int, int]]]) -> Iterator[BodyRows]:
        """A body for each list of hosts and times (ms since 1970)."""
        for one in moments:
            lines = [line for host, at_ms in one for line in self._lines(host, at_ms)]
            yield self._body("\n".join(lines).encode())

    def _body(self, lines: bytes) -> BodyRows:
        batch = read_batch(lines, _RULES, find_head)
        assert not batch.rejections, batch.rejections
        ids = [self._ids.setdefault(key, len(self._ids) + 1) for key in batch.series]
        copies = [
            (
                measurement,
                encode_rows(
                    measurement,
                    ((ids[place], at_us, values) for (place, at_us), values in rows.items()),
                ),
            )
            for measurement, rows in sorted(batch.rows.items(), key=lambda item: item[0].name)
        ]
        return BodyRows(lines=lines, copies=copies, row_count=sum(map(len, batch.rows.values())))

    def _lines(self, host: int, at_ms: int) -> Iterator[str]:
        tags, at = f"host=host-{host:05d}.example.com", f"{at_ms}000000"
        for disk in range(DISKS):
            yield f"diskio,{tags},name=sd{disk} {self._fields(_DISK)},io_util=1.25 {at}"
        for interface in range(INTERFACES):
            yield f"net,{tags},interface=eth{interface} {self._fields(_INTERFACE)} {at}"
        for cgroup in range(CGROUPS):
            names = [f"io.stat.8:0.{name}" for name in ("rbytes", "wbytes", "rios", "wios")]
            if cgroup < WITH_PRESSURE:
                names += ["io.pressure.some.total", "io.pressure.full.total"]
            path = rf"path=/machine.slice/machine-qemu\x2d{cgroup}.scope"
            yield f"cgroup,{tags},{path} {self._fields(names)} {at}"
        yield f"system,{tags} load1=0.25,load5=0.5,load15=0.75,n_cpus=16i {at}"
        # One start for all, or the host would be several machines.
        yield f"system,{tags} uptime={at_ms // 1000 - 1_600_000_000}i {at}"
        yield f'system,{tags} uptime_format="7 days, 3:04" {at}'
        yield f"nstat,{tags},name=snmp {self._fields(('TcpOutSegs', 'TcpRetransSegs'))} {at}"

    def _fields(self, names: Sequence[str]) -> str:
        fields = [f"{name}={self._random.randrange(10**10)}i" for name in names]
        # Telegraf sends them in any order.
        self._random.shuffle(fields)
        return ",".join(fields)


def request(lines: bytes, *, secret: str) -> bytes:
    """The whole HTTP request as Telegraf sends it: packed, in chunks, its length not announced."""
    packed = gzip.compress(lines, 6)
    parts = [packed[at : at + CHUNK_BYTES] for at in range(0, len(packed), CHUNK_BYTES)]
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (*parts, b""))
    head = (
        "POST /api/v2/write?bucket=sluice&org= HTTP/1.1\r\n"
        "Host: 127.0.0.1\r\nUser-Agent: Telegraf/1.36.4\r\n"
        f"Authorization: Token {secret}\r\nContent-Encoding: gzip\r\n"
        "Content-Type: text/plain; charset=utf-8\r\nAccept-Encoding: gzip\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    )
    return head.encode() + chunks


_RULES = Rules(
    precision=Precision.NS,
    now_ns=0,
    earliest_ns=0,
    latest_ns=2**63,
    too_early="",
    too_late="",
)
