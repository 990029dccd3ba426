"""Interfaces, TCP and the host's own figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from enforcers.reader.host_figures import system_line, tcp_line
from enforcers.reader.host_tree import HostTree
from enforcers.reader.interfaces import interface_line, read_interfaces, read_speed
from tests.enforcers.reader.trees import plant

HEAD = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
"""  # noqa: E501
ETH0 = "  eth0:1000 20 3 4 5 6 7 8 2000 40 9 10 11 12 13 14\n"


def test_counters_have_the_names_of_net(tmp_path: Path) -> None:
    host = HostTree(
        str(
            plant(
                tmp_path,
                {
                    "/proc/net/dev": HEAD + ETH0,
                    "/sys/class/net/eth0/flags": "0x1003\n",
                    "/sys/class/net/eth0/speed": "10000\n",
                },
            )
        )
    )

    (found,) = read_interfaces(host).values()

    assert interface_line("h1", found, read_speed(host, "eth0")) == (
        "net,host=h1,interface=eth0 bytes_recv=1000i,packets_recv=20i,err_in=3i,drop_in=4i,"
        "bytes_sent=2000i,packets_sent=40i,err_out=9i,drop_out=10i,speed=10000i"
    )


def test_only_interfaces_that_are_up_are_read_and_loopback_is_none(tmp_path: Path) -> None:
    files = {
        "/proc/net/dev": HEAD + "".join(ETH0.replace("eth0", n) for n in ("lo", "up", "down"))
    }
    # IFF_UP is 1, IFF_LOOPBACK is 8.
    for name, flags in (("lo", "0x9"), ("up", "0x1003"), ("down", "0x1002")):
        files[f"/sys/class/net/{name}/flags"] = flags

    assert list(read_interfaces(HostTree(str(plant(tmp_path, files))))) == ["up"]


@pytest.mark.parametrize("speed", ["-1\n", "", None], ids=["down", "empty", "refused"])
def test_speed_that_the_interface_does_not_know_is_absent(
    tmp_path: Path, speed: str | None
) -> None:
    files = {} if speed is None else {"/sys/class/net/eth0/speed": speed}

    assert read_speed(HostTree(str(plant(tmp_path, files))), "eth0") is None


def test_interface_whose_line_is_torn_is_named(tmp_path: Path) -> None:
    host = HostTree(str(plant(tmp_path, {"/proc/net/dev": HEAD + ETH0 + "  eth1:1 2 3\n"})))

    assert list(read_interfaces(host)) == ["eth0"]
    assert list(host.problems) == ["/proc/net/dev: eth1"]


def test_tcp_segments_are_found_by_their_names(tmp_path: Path) -> None:
    text = "Ip: A B\nIp: 1 2\nTcp: MaxConn OutSegs InErrs RetransSegs\nTcp: -1 500 0 7\n"

    assert tcp_line("h1", HostTree(str(plant(tmp_path, {"/proc/net/snmp": text})))) == (
        "nstat,host=h1,name=snmp TcpOutSegs=500i,TcpRetransSegs=7i"
    )


def test_load_cpus_and_uptime_make_one_line(tmp_path: Path) -> None:
    files = {
        "/proc/loadavg": "0.50 1.25 2.00 1/99 4242\n",
        "/proc/uptime": "62067.31 99.2\n",
        "/sys/devices/system/cpu/online": "0-3,8\n",
    }

    assert system_line("h1", HostTree(str(plant(tmp_path, files)))) == (
        "system,host=h1 load1=0.50,load5=1.25,load15=2.00,n_cpus=5i,uptime=62067i"
    )


def test_host_without_these_files_has_no_such_lines(tmp_path: Path) -> None:
    host = HostTree(str(tmp_path))

    assert (tcp_line("h1", host), system_line("h1", host)) == (None, None)
    assert read_interfaces(host) == {}
    assert host.problems == {}
