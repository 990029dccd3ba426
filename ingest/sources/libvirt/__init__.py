"""Virtual machines of libvirt as `inputs.libvirt` of Telegraf sends them."""

from __future__ import annotations

from collections.abc import Callable

from ingest.core.catalogue import CGROUP, NET, VDISK
from ingest.core.mapping import (
    FactField,
    Head,
    Place,
    Source,
    Tags,
    all_of,
    columns,
    facts,
    host_of,
    nowhere,
    required,
    series,
)

NAME = "libvirt"
_TRANSFERS = {"rd_reqs": "rios", "wr_reqs": "wios", "rd_bytes": "rbytes", "wr_bytes": "wbytes"}
_TIMES = {
    "rd_reqs": "reads",
    "wr_reqs": "writes",
    "rd_times": "read_time",
    "wr_times": "write_time",
    "fl_reqs": "flushes",
    "fl_times": "flush_time",
}
# libvirt counts as the guest sees it: what the guest gets is what the host sends to it.
_NIC = {
    "rx_bytes": "bytes_sent",
    "rx_pkts": "packets_sent",
    "rx_errs": "err_out",
    "rx_drop": "drop_out",
    "tx_bytes": "bytes_recv",
    "tx_pkts": "packets_recv",
    "tx_errs": "err_in",
    "tx_drop": "drop_in",
}
_STATED = {"libvirt_block": {"path": "disk", "name": "target"}, "libvirt_net": {"name": "nic"}}


def _head(measurement: str, tags: Tags) -> Head:
    host, domain = host_of(tags), required(tags, "domain_name", of=measurement)
    guest = f"libvirt/{domain}"
    place: Callable[[str], Place] = nowhere
    if measurement == "libvirt_block":
        number = required(tags, "block_id", of=measurement)
        own = {"host": host, "workload": guest, "device": number}
        place = all_of(
            columns(series(CGROUP, host, guest, own, source=NAME), _TRANSFERS),
            columns(series(VDISK, host, guest, own, source=NAME), _TIMES),
        )
    elif measurement == "libvirt_net":
        number = required(tags, "interface_id", of=measurement)
        interface = f"{guest}/{number}"
        key = series(NET, host, interface, {"host": host, "interface": interface}, source=NAME)
        place = columns(key, _NIC)
    stated = _STATED.get(measurement, {})

    def found(field: str) -> Place:
        if field in stated:
            name = f"{stated[field]}.{number}"
            return FactField(host=host, kind="workload", subject=guest, name=name)
        return place(field)

    said = [("name", domain), ("kind", "vm")]
    return Head(host=host, place=found, facts=facts(host, "workload", guest, said))


SOURCE = Source(name=NAME, measurements=frozenset({"libvirt_*"}), head=_head)
