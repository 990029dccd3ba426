"""The BPF program on the real kernel: which class packets find, and what is left afterwards."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

import pytest

from enforcers.contract import Allocation, Selector
from enforcers.errors import CommandError
from enforcers.host_fs import HostFs
from enforcers.mechanisms.tc_htb.observed import HtbObserved
from enforcers.mechanisms.tc_htb.program import find_classifier
from enforcers.runner import SubprocessRunner
from tests.enforcers.policies import desired, host_traffic, nothing, uplink, vnic
from tests.enforcers.rig import Rig, start_rig
from tests.host.network import (
    SINK_ADDRESS,
    SINK_ADDRESS_V6,
    NamespaceRunner,
    Network,
)

pytestmark = pytest.mark.root

HTB = "tc_htb"
OTHER, BACKUP = "51ce:2", "51ce:b"
COUNT = 20
# Datagrams of 1000 bytes take 1042 by IPv4 and 1062 by IPv6.
FRAME_BYTES = 1040
UPLINK_ADDRESS = "10.77.255.1"
ELSEWHERE = "02:00:00:00:00:99"

# Datagrams of 1000 bytes from a process with a firewall mark, in a control group or in none.
MARKED = """
import os, socket, sys
address, count, mark, group = sys.argv[1], *map(int, sys.argv[2:4]), sys.argv[4]
if group:
    with open(group + "/cgroup.procs", "w") as file:
        file.write(str(os.getpid()))
sender = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
sender.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, mark)
for _ in range(count):
    sender.sendto(bytes(1000), (address, 9))
"""

# Whole Ethernet frames with so many VLAN tags before an IP header with this source.
FRAMES = """
import socket, struct, sys
from ipaddress import ip_address
device, source, tags, count = sys.argv[1], ip_address(sys.argv[2]), *map(int, sys.argv[3:])
if source.version == 4:
    words = struct.pack("!BBHHHBBH", 0x45, 0, 1036, 0, 0, 64, 253, 0)
    ends = source.packed + bytes([10, 0, 0, 1])
    total = sum(struct.unpack("!10H", words + ends))
    check = 0xFFFF & ~((total & 0xFFFF) + (total >> 16))
    kind, packet = "0800", words[:10] + check.to_bytes(2, "big") + ends
else:
    kind, packet = "86dd", struct.pack("!IHBB", 6 << 28, 996, 59, 64) + source.packed + bytes(16)
tagged = "0200000000aa0200000000bb" + "81000005" * tags + kind
sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sender.bind((device, 0))
for _ in range(count):
    sender.send(bytes.fromhex(tagged) + packet.ljust(1036, bytes(1)))
"""


# Whole frames of a tunnel between these ends, to this port; what is inside of UDP is given.
TUNNELLED = """
import socket, struct, sys
from ipaddress import ip_address
device, source, port, inside, count = sys.argv[1], ip_address(sys.argv[2]), *sys.argv[3:]
packet = struct.pack("!HHHH", 40000, int(port), 1010, 0) + bytes.fromhex(inside)
packet = packet.ljust(1010, bytes(1))
if source.version == 4:
    words = struct.pack("!BBHHHBBH", 0x46, 0, 1034, 0, 0, 64, 17, 0)
    # With an option, so that its length counts.
    ends = source.packed + bytes([10, 0, 0, 1]) + bytes([1, 1, 1, 0])
    total = sum(struct.unpack("!12H", words + ends))
    check = 0xFFFF & ~((total & 0xFFFF) + (total >> 16))
    kind, packet = "0800", words[:10] + check.to_bytes(2, "big") + ends + packet
else:
    head = struct.pack("!IHBB", 6 << 28, 1010, 17, 64) + source.packed + bytes(16)
    kind, packet = "86dd", head + packet
sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sender.bind((device, 0))
for _ in range(int(count)):
    sender.send(bytes.fromhex("0200000000aa0200000000bb" + kind) + packet)
"""


@pytest.fixture(autouse=True)
def program(htb: None) -> None:
    """This kernel takes it."""
    found = find_classifier(SubprocessRunner(), is_privileged=True)
    if found.program is None:
        pytest.skip(f"no BPF here: {found.why_not}")


@pytest.fixture(autouse=True)
def known_sink(program: None, quiet_network: Network) -> None:
    """Nobody has to ask for the sink's address, which a busy machine is late to answer."""
    sink = NamespaceRunner(quiet_network.sink)
    (link,) = json.loads(sink.run(["ip", "-j", "link", "show", "up1"]))
    for address in (SINK_ADDRESS, SINK_ADDRESS_V6):
        host(quiet_network, f"ip neigh replace {address} lladdr {link['address']} dev up0")


@pytest.fixture
def rig(quiet_network: Network, tmp_path: Path) -> Rig:
    return start(tmp_path, quiet_network)


def start(directory: Path, built: Network, **change: object) -> Rig:
    return start_rig(directory, built.runner, by_u32=False, **change)  # type: ignore[arg-type]  # of tests


def told(number: int, kind: str, value: str) -> Allocation:
    return vnic(number, selector=Selector(kind=kind, value=value))


def sent(rig: Rig, *, total: int, least: int = 3) -> dict[str, int]:
    """Datagrams that each class has sent, once there are so many; neighbours' talk is left out."""
    mechanism = rig.mechanisms[HTB]
    deadline_s = time.monotonic() + 10
    while True:
        observed = mechanism.observe(nothing("up0"), rig.ledger.entries())
        assert isinstance(observed, HtbObserved)
        leaves = [one for one in observed.classes.values() if one.quantum_bytes]
        sent_by = {one.classid: observed.counters[one.classid].sent_bytes for one in leaves}
        counts = {classid: own // FRAME_BYTES for classid, own in sent_by.items()}
        if sum(counts.values()) >= total or time.monotonic() > deadline_s:
            return {classid: count for classid, count in counts.items() if count >= least}
        time.sleep(0.02)


def classes(rig: Rig, *allocations: Allocation) -> list[str]:
    """The class of each, as it is read back."""
    wanted = desired(uplink(), *allocations)
    mechanism = rig.mechanisms[HTB]
    seen = mechanism.read_back(wanted, mechanism.observe(wanted, rig.ledger.entries()))
    settings = [seen[item.id].setting for item in allocations]
    return [one.native.split()[1] for one in settings if one is not None and one.native]


def enforce(rig: Rig, *allocations: Allocation) -> list[str]:
    """Bring them in force, and the class of each."""
    assert rig.apply(HTB, desired(uplink(), *allocations)).changes == ()
    return classes(rig, *allocations)


def mark(
    inside: NamespaceRunner, value: int, *, address: str = SINK_ADDRESS, group: str = ""
) -> None:
    inside.run([sys.executable, "-c", MARKED, address, str(COUNT), str(value), group])


def frames(inside: NamespaceRunner, device: str, source: str, *, tags: int) -> None:
    inside.run([sys.executable, "-c", FRAMES, device, source, str(tags), str(COUNT)])


def host(built: Network, words: str) -> str:
    return built.runner.run(words.split())


def test_interfaces_addresses_and_the_rest_find_their_classes(
    quiet_network: Network, rig: Rig
) -> None:
    one, two, three = enforce(
        rig,
        vnic(1),
        told(2, "source_address", "10.77.2.0/24"),
        told(3, "source_address", "fd77:3::/64"),
    )

    quiet_network.send_datagrams(1, SINK_ADDRESS, COUNT)
    quiet_network.send_datagrams(2, SINK_ADDRESS, COUNT + 1)
    quiet_network.send_datagrams(3, SINK_ADDRESS_V6, COUNT + 2)
    mark(quiet_network.runner, 0)

    wanted = {one: COUNT, two: COUNT + 1, three: COUNT + 2, OTHER: COUNT}
    assert sent(rig, total=sum(wanted.values())) == wanted


def test_longest_prefix_decides_and_a_mark_before_the_interface(
    quiet_network: Network, rig: Rig
) -> None:
    wide, narrow, marked, _ = enforce(
        rig,
        told(1, "source_address", "10.77.0.0/16"),
        told(2, "source_address", "10.77.2.2"),
        told(3, "mark", "0x30/0xf0"),
        told(4, "mark", "0x1"),
    )

    quiet_network.send_datagrams(1, SINK_ADDRESS, COUNT)
    quiet_network.send_datagrams(2, SINK_ADDRESS, COUNT + 1)
    # The host's own address is in the wide network as well; 0x40 is another mark.
    for value in (0x31, 0x3F, 0x41):
        mark(quiet_network.runner, value)

    wanted = {wide: 2 * COUNT, narrow: COUNT + 1, marked: 2 * COUNT}
    assert sent(rig, total=sum(wanted.values())) == wanted


def test_containers_behind_one_bridge_and_source_nat_are_told_by_mark(
    quiet_network: Network, rig: Rig
) -> None:
    host(quiet_network, "ip link add br0 type bridge")
    host(quiet_network, "ip link set br0 up")
    for number in (1, 2):
        host(quiet_network, f"ip addr flush dev p{number}")
        host(quiet_network, f"ip link set p{number} master br0")
        host(quiet_network, f"ip addr add 10.77.{number}.1/24 dev br0")
    quiet_network.runner.run(["nft", "-f", "-"], stdin="""
table ip marks {
    chain before {
        type filter hook prerouting priority mangle
        ip saddr 10.77.1.0/24 meta mark set 1
        ip saddr 10.77.2.0/24 meta mark set 2
    }
    chain after {
        type nat hook postrouting priority srcnat
        oifname "up0" masquerade
    }
}
""")  # fmt: skip
    one, two, _ = enforce(rig, told(1, "mark", "1"), told(2, "mark", "2"), told(3, "vnic", "br0"))

    quiet_network.send_datagrams(1, SINK_ADDRESS, COUNT)
    quiet_network.send_datagrams(2, SINK_ADDRESS, COUNT + 1)

    wanted = {one: COUNT, two: COUNT + 1}
    assert sent(rig, total=sum(wanted.values())) == wanted


@pytest.mark.parametrize("tags", [0, 1, 2])
@pytest.mark.parametrize("source", ["10.9.0.7", "fd09::7"])
def test_source_is_told_behind_vlan_tags(
    quiet_network: Network, rig: Rig, tags: int, source: str
) -> None:
    """Frames that a bridge forwards, and those that the host sends with the tag in them."""
    host(quiet_network, "ip link add br0 type bridge")
    for device in ("br0", "up0", "p1"):
        host(quiet_network, f"ip link set {device} up")
    for device in ("up0", "p1"):
        host(quiet_network, f"ip link set {device} master br0")
    (own,) = enforce(rig, told(1, "source_address", source))

    frames(NamespaceRunner(quiet_network.workload(1)), "e0", source, tags=tags)
    frames(quiet_network.runner, "up0", source, tags=tags)

    wanted = {own: 2 * COUNT}
    assert sent(rig, total=sum(wanted.values())) == wanted


@pytest.fixture
def groups(tmp_path: Path) -> Iterator[HostFs]:
    """A host whose cgroup v2 tree is mounted for this test; its groups are of this process."""
    root = tmp_path / "host"
    mount = root / "groups"
    mount.mkdir(parents=True)
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/status").write_text("CapEff:\t000001ffffffffff\n")
    (root / "proc/self/mountinfo").write_text("30 24 0:26 / /groups rw - cgroup2 cgroup2 rw\n")
    mounted = subprocess.run(
        ["mount", "-t", "cgroup2", "none", mount], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no cgroup v2 here: {mounted.stderr.strip()}")
    own = mount / f"slt{os.getpid()}"
    made = [own, own / "web", own / "web/deep", own / "backup"]
    try:
        for folder in made:
            folder.mkdir()
        yield HostFs(root)
    finally:
        for folder in reversed(made):
            folder.rmdir()
        subprocess.run(["umount", mount], check=True)


def test_processes_are_told_by_the_nearest_control_group_and_kinds_after_workloads(
    quiet_network: Network, tmp_path: Path, groups: HostFs
) -> None:
    own = f"/slt{os.getpid()}"
    kinds = frozenset({f"backup cgroup={own}/backup"})
    rig = start(tmp_path, quiet_network, host_fs=groups, host_kinds=kinds)
    web, marked, _ = enforce(
        rig, told(1, "cgroup", f"{own}/web"), told(2, "mark", "9"), host_traffic(20e6)
    )
    place = str(groups.path("/groups"))

    for value, group in ((0, "web"), (0, "web/deep"), (0, "backup"), (9, "backup"), (0, "")):
        inside = f"{place}{own}/{group}" if group else ""
        mark(quiet_network.runner, value, group=inside)
        mark(quiet_network.runner, value, group=inside, address=SINK_ADDRESS_V6)

    wanted = {web: 4 * COUNT, BACKUP: 2 * COUNT, marked: 2 * COUNT, OTHER: 2 * COUNT}
    assert sent(rig, total=sum(wanted.values())) == wanted


@pytest.mark.parametrize("is_bridged", [False, True], ids=["routed", "bridged"])
def test_what_comes_from_another_namespace_has_no_control_group_any_more(
    quiet_network: Network, tmp_path: Path, groups: HostFs, is_bridged: bool
) -> None:
    if is_bridged:
        host(quiet_network, "ip link add br0 type bridge")
        for device in ("up0", "p1"):
            host(quiet_network, f"ip link set {device} master br0")
        host(quiet_network, "ip link set br0 up")
        inside = NamespaceRunner(quiet_network.workload(1))
        for address in (SINK_ADDRESS, SINK_ADDRESS_V6):
            inside.run(["ip", "route", "replace", address, "dev", "e0"])
            inside.run(f"ip neigh replace {address} lladdr {ELSEWHERE} dev e0".split())
    own = f"/slt{os.getpid()}/web"
    rig = start(tmp_path, quiet_network, host_fs=groups)
    enforce(rig, told(1, "cgroup", own))

    place = f"{groups.path('/groups')}{own}"
    mark(NamespaceRunner(quiet_network.workload(1)), 0, group=place)

    assert sent(rig, total=COUNT) == {OTHER: COUNT}


def inner(source: str, *, kind: str = "") -> str:
    """The beginning of a packet, behind an Ethernet header if its kind is asked for."""
    address = ip_address(source)
    if address.version == 4:
        return f"{kind}45000100000000004011{'0000'}{address.packed.hex()}0a000001"
    return f"{kind}6000000000003b40{address.packed.hex()}{bytes(16).hex()}"


ETHERNET = "0200000000cc0200000000dd"
VXLAN = "0800000000000500"


@pytest.mark.parametrize("outer", ["192.0.2.1", "2001:db8::1"])
@pytest.mark.parametrize(
    ("port", "inside"),
    [
        (4789, VXLAN + ETHERNET + inner("10.9.0.7", kind="0800")),
        (8472, VXLAN + ETHERNET + inner("10.9.0.7", kind="0800")),
        (4789, VXLAN + ETHERNET + inner("fd09::7", kind="86dd")),
        # Geneve with two words of options, and without an Ethernet frame inside.
        (6081, "0200655800000500" + "00" * 8 + ETHERNET + inner("10.9.0.7", kind="0800")),
        (6081, "0000080000000500" + inner("10.9.0.7")),
        (6081, "010086dd00000500" + "00" * 4 + inner("fd09::7")),
    ],
    ids=["VXLAN", "VXLAN of Linux", "VXLAN, IPv6", "Geneve", "Geneve, IP", "Geneve, IPv6"],
)
def test_source_is_told_inside_of_a_tunnel(
    quiet_network: Network, rig: Rig, outer: str, port: int, inside: str
) -> None:
    own, _ = enforce(
        rig,
        told(1, "source_address", "fd09::7" if "fd09" in inside else "10.9.0.7"),
        told(2, "source_address", "10.9.0.8"),
    )

    # The same behind another port is no tunnel.
    for number, count in ((port, COUNT), (port + 1, COUNT + 3)):
        argv = [sys.executable, "-c", TUNNELLED, "up0", outer, str(number), inside, str(count)]
        quiet_network.runner.run(argv)

    wanted = {own: COUNT, OTHER: COUNT + 3}
    assert sent(rig, total=sum(wanted.values())) == wanted


def test_address_of_the_tunnel_itself_comes_before_what_is_inside(
    quiet_network: Network, rig: Rig
) -> None:
    within, around = enforce(
        rig, told(1, "source_address", "10.9.0.7"), told(2, "source_address", "192.0.2.1")
    )
    inside = VXLAN + ETHERNET + inner("10.9.0.7", kind="0800")

    argv = [sys.executable, "-c", TUNNELLED, "up0", "192.0.2.1", "4789", inside, str(COUNT)]
    quiet_network.runner.run(argv)

    assert sent(rig, total=COUNT) == {around: COUNT}
    assert within != around


@pytest.mark.parametrize(
    ("selector", "number"),
    [(("source_address", "10.99.0.1"), 0), (("mark", "7"), 7)],
    ids=["address inside", "mark"],
)
def test_what_goes_into_a_tunnel_that_the_host_makes_is_told_as_without_it(
    quiet_network: Network, rig: Rig, selector: tuple[str, str], number: int
) -> None:
    ends = f"local {UPLINK_ADDRESS} remote {SINK_ADDRESS}"
    try:
        host(quiet_network, f"ip link add tun9 type vxlan id 5 dstport 4789 {ends}")
    except CommandError as error:
        pytest.skip(f"this kernel has no VXLAN: {error.answer}")
    host(quiet_network, "ip addr add 10.99.0.1/24 dev tun9")
    host(quiet_network, "ip link set tun9 up")
    host(quiet_network, f"ip neigh replace 10.99.0.2 lladdr {ELSEWHERE} dev tun9")
    (own,) = enforce(rig, told(1, *selector))

    mark(quiet_network.runner, number, address="10.99.0.2")

    # The headers of the tunnel count as well.
    found = sent(rig, total=COUNT)
    assert set(found) == {own}
    assert COUNT <= found[own] <= COUNT + 1


def test_workload_whose_bridge_is_in_a_tunnel_of_the_host_is_told_by_its_address(
    quiet_network: Network, rig: Rig
) -> None:
    ends = f"local {UPLINK_ADDRESS} remote {SINK_ADDRESS}"
    try:
        host(quiet_network, f"ip link add tun9 type vxlan id 5 dstport 4789 {ends}")
    except CommandError as error:
        pytest.skip(f"this kernel has no VXLAN: {error.answer}")
    host(quiet_network, "ip link add br0 type bridge")
    for device in ("br0", "tun9", "p1"):
        host(quiet_network, f"ip link set {device} up")
    for device in ("tun9", "p1"):
        host(quiet_network, f"ip link set {device} master br0")
    (own,) = enforce(rig, told(1, "source_address", "10.9.0.7"))

    frames(NamespaceRunner(quiet_network.workload(1)), "e0", "10.9.0.7", tags=0)

    # The headers of the tunnel count as well.
    found = sent(rig, total=COUNT)
    assert set(found) == {own}
    assert COUNT <= found[own] <= COUNT + 1


def test_workload_that_makes_a_tunnel_itself_is_not_taken_for_who_is_inside(
    quiet_network: Network, rig: Rig
) -> None:
    """It can write any address into it."""
    host(quiet_network, "ip link add br0 type bridge")
    for device in ("br0", "up0", "p1"):
        host(quiet_network, f"ip link set {device} up")
    for device in ("up0", "p1"):
        host(quiet_network, f"ip link set {device} master br0")
    enforce(rig, told(1, "source_address", "10.9.0.7"))
    inside = VXLAN + ETHERNET + inner("10.9.0.7", kind="0800")

    argv = [sys.executable, "-c", TUNNELLED, "e0", "192.0.2.1", "4789", inside, str(COUNT)]
    NamespaceRunner(quiet_network.workload(1)).run(argv)

    assert sent(rig, total=COUNT) == {OTHER: COUNT}


def test_everything_comes_back_beside_filters_of_somebody_else(
    quiet_network: Network, rig: Rig
) -> None:
    host(quiet_network, "tc qdisc add dev up0 clsact")
    host(
        quiet_network,
        "tc filter add dev up0 egress protocol ip pref 7 u32 match ip dst 1.2.3.4/32 flowid 1:1",
    )
    before = settings(quiet_network)

    enforce(rig, vnic(1), told(2, "mark", "7"))
    between = settings(quiet_network)
    rig.apply(HTB, nothing("up0"))

    assert "sluice-" in between
    assert settings(quiet_network) == before


def settings(built: Network) -> str:
    return built.settings() + host(built, "tc filter show dev up0 egress")


@pytest.mark.parametrize(
    "drift",
    [
        "tc filter del dev up0 parent 51ce: pref 5",
        "tc filter add dev up0 parent 51ce: protocol ip pref 2 u32 match u32 0 0 classid 51ce:2",
        "tc filter add dev up0 parent 51ce: protocol all pref 5 handle 2 bpf bytecode 1,6@0@0@0,",
    ],
    ids=["gone", "one before it", "one beside it"],
)
def test_filter_of_somebody_else_in_the_tree_is_put_right(
    quiet_network: Network, rig: Rig, drift: str
) -> None:
    (own,) = enforce(rig, vnic(1))
    before = classifier(quiet_network)
    quiet_network.runner.run([word.replace("@", " ") for word in drift.split()])

    assert enforce(rig, vnic(1)) == [own]

    # A program that is put in again has another number in the kernel.
    assert classifier(quiet_network) == before


def classifier(built: Network) -> list[str]:
    shown = host(built, "tc filter show dev up0 parent 51ce:")
    return [line.partition(" id ")[0] for line in shown.splitlines()]


FLOOD = f"""
import socket
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print("ready", flush=True)
while True:
    sender.sendto(bytes(1000), ("{SINK_ADDRESS}", 9))
"""


def test_no_packet_is_unclassified_while_policies_change(quiet_network: Network, rig: Rig) -> None:
    enforce(rig, vnic(1))
    quiet_network.start(quiet_network.workload(1), FLOOD)

    for _ in range(10):
        enforce(rig, vnic(1), vnic(2), told(3, "mark", "7"))
        (own,) = enforce(rig, vnic(1))

    found = sent(rig, total=1000)
    assert found[own] >= 1000
    assert found.get(OTHER, 0) == 0


def test_two_hundred_workloads_find_their_own_classes(quiet_network: Network, rig: Rig) -> None:
    numbers = range(11, 211)
    lines = "".join(
        f"link add p{n} type veth peer name e{n}\nlink set p{n} up\nlink set e{n} up\n"
        for n in numbers
    )
    quiet_network.runner.run(["ip", "-batch", "-"], stdin=lines)
    own = enforce(rig, *(vnic(n) for n in numbers))
    mark(quiet_network.runner, 0)

    quiet_network.runner.run([sys.executable, "-c", ROUTED, *map(str, numbers)])

    assert len(set(own)) == len(numbers)
    found = sent(rig, total=len(own) + COUNT, least=1)
    assert {name: found.get(name) for name in own} == dict.fromkeys(own, 1)
    assert set(found) == {*own, OTHER}


# A frame into each pN, for the host to forward; the source is as of a workload.
ROUTED = f"""
import socket, struct, sys
for number in sys.argv[1:]:
    with open(f"/sys/class/net/p{{number}}/address") as file:
        address = bytes.fromhex(file.read().strip().replace(":", ""))
    sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sender.bind((f"e{{number}}", 0))
    words = struct.pack("!BBHHHBB", 0x45, 0, 1028, 0, 0, 64, 253)
    ends = bytes([10, 88, 0, int(number)]) + socket.inet_aton("{SINK_ADDRESS}")
    total = sum(struct.unpack("!9H", words + ends))
    check = 0xFFFF & ~((total & 0xFFFF) + (total >> 16))
    sender.send(address + bytes(6) + b"\\x08\\x00" + words + struct.pack("!H", check) + ends
                + bytes(1008))
"""
