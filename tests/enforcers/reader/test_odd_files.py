"""Whatever stands in a host's files, a pass ends and every line of it is one the service reads."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from enforcers.reader.host_tree import HostTree
from enforcers.reader.reading import Reader
from ingest.core.line_protocol import parse_line
from ingest.sources.registry import find_head
from tests.enforcers.reader.trees import MOUNT, MOUNTINFO, plant

FILES = (
    "/proc/diskstats", "/proc/net/dev", "/proc/net/snmp", "/proc/loadavg", "/proc/uptime",
    "/proc/self/mountstats", "/proc/self/mountinfo", "/proc/net/fib_trie", "/proc/net/if_inet6",
    "/proc/7/comm", "/proc/7/cmdline", "/proc/7/cgroup", "/etc/machine-id",
    "/sys/devices/system/cpu/online", "/sys/class/block/sda/size", "/sys/class/block/sda/wwid",
    "/sys/class/net/eth0/flags", "/sys/class/net/eth0/speed",
    "/var/lib/containers/storage/overlay-containers/containers.json",
    f"{MOUNT}/docker/{'4e' * 32}/io.stat", f"{MOUNT}/docker/{'4e' * 32}/io.pressure",
    f"/var/lib/docker/containers/{'4e' * 32}/config.v2.json",
)  # fmt: skip
WORDS = (
    b"\n", b"\n", b"\n", b" ", b" ", b"\0", b"\t", b",", b"=", b":", b"\\", b'"', b"{", b"}", b"[",
    b"   8       0 sda 10 1 16 5 20 2 24 7 3 40 12\n", b"8:0 rbytes=1 wbytes=2\n", b"eth0:",
    b"some avg10=0.00 total=5\n", b"1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16", b"Tcp:", b"OutSegs",
    b"device nas:/x mounted on /mnt with fstype nfs4\n", b"\tREAD: 1 2 3 4 5 6 7 8 9\n",
    b"50 27 0:45 / /mnt rw - nfs4 nas:/x rw\n", MOUNTINFO.encode(), b"kvm", b"-name", b"-drive",
    b"file=/dev/sda", b'{"Name": "/web"}', b"-1", b"18446744073709551616", b"0.5", b"\xff\xfe",
    "\u202eabc\u2028".encode(), b"0::/qemu.slice/101.scope\n", b"0-3", b"0x1003",
)  # fmt: skip
contents = st.lists(st.sampled_from(WORDS) | st.binary(max_size=4), max_size=12).map(b"".join)


@given(st.dictionaries(st.sampled_from(FILES), contents))
def test_every_line_of_a_pass_is_understood(files: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        plant(Path(folder), {"/proc/self/mountinfo": MOUNTINFO, **files})
        reader = Reader(HostTree(folder), host="h1")

        lines = [line for turn in (0, 1) for line in reader.read(at_ns=turn, now_s=turn).lines]

    for line in lines:
        point = parse_line(line)
        assert find_head(point.measurement, dict(point.tags)).host == "h1"
