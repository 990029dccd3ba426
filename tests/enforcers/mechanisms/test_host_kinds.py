"""Kinds of the host's own traffic: how they are told, and their classes on a kernel in memory."""

from ipaddress import ip_address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcers.contract import Allocation, Outcome
from enforcers.errors import ValueRefused
from enforcers.mechanisms.tc_htb.classify import Match
from enforcers.mechanisms.tc_htb.header_matches import header_matches
from enforcers.mechanisms.tc_htb.host_kinds import (
    HeaderRule,
    HostKind,
    Ports,
    Transport,
    read_kinds,
)
from enforcers.mechanisms.tc_htb.mechanism import HtbConfig
from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.policies import (
    LINK,
    desired,
    document,
    host_kind,
    host_traffic,
    nothing,
    uplink,
    vnic,
)
from tests.enforcers.rig import Rig, start_rig

HTB = "tc_htb"
MANAGEMENT, NFS, MIGRATION, OTHER, HOST = "51ce:4", "51ce:5", "51ce:8", "51ce:2", "51ce:3"
IPV4, IPV6 = 4, 6


@pytest.fixture
def rig(tmp_path: Path, tc: FakeTc) -> Rig:
    """An agent with the kinds that there are by default."""
    return start_rig(tmp_path, tc, host_kinds=frozenset())


def told(tc: FakeTc, classid: str) -> tuple[str, ...]:
    """Parent, rate, ceiling and quantum of a class."""
    options = tc.devices["up0"].classes[classid].options
    return tuple(options[key] for key in ("parent", "rate", "ceil", "quantum"))


def packet(
    *, version: int, protocol: int, ports: tuple[int, int], dscp: int = 0, peer: str = ""
) -> bytes:
    """The headers of a packet by RFC 791 and RFC 8200, as far as they are looked at."""
    source, destination = (port.to_bytes(2, "big") for port in ports)
    size = 4 if version == IPV4 else 16
    addresses = bytes(size) + (ip_address(peer).packed if peer else bytes(size))
    if version == IPV4:
        head = bytes([0x45, dscp << 2, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0])
    else:
        head = (IPV6 << 28 | dscp << 22).to_bytes(4, "big") + bytes([0, 0, protocol, 64])
    return head + addresses + source + destination


def is_told(match: Match, headers: bytes) -> bool:
    """What u32 does: whole words, compared under a mask."""
    if (match.protocol == "ipv6") is not (headers[0] >> 4 == IPV6):
        return False
    for shown in match.shown:
        value, mask = (int(word, 16) for word in shown.partition(" ")[0].split("/"))
        offset = int(shown.rpartition(" ")[2])
        word = int.from_bytes(headers[offset : offset + 4], "big")
        if word & mask != value:
            return False
    return True


def is_any(rule: HeaderRule, headers: bytes) -> bool:
    return any(is_told(match, headers) for match in header_matches(rule))


@given(
    first=st.integers(1, 65_535),
    length=st.integers(0, 9000),
    asked=st.integers(0, 65_535),
    version=st.sampled_from([IPV4, IPV6]),
)
def test_range_of_ports_is_told_exactly(first: int, length: int, asked: int, version: int) -> None:
    last = min(first + length, 65_535)
    rule = HeaderRule(transport=Transport.TCP, ports=Ports(first=first, last=last))

    to_server = packet(version=version, protocol=6, ports=(40_000, asked))
    other_protocol = packet(version=version, protocol=17, ports=(40_000, asked))

    assert is_any(rule, to_server) is (first <= asked <= last)
    assert not is_any(rule, other_protocol)


@pytest.mark.parametrize("version", [IPV4, IPV6])
def test_servers_answer_is_told_by_where_it_comes_from_and_a_clients_own_port_says_nothing(
    version: int,
) -> None:
    nfs = HeaderRule(transport=Transport.TCP, ports=Ports(first=2049, last=2049))
    migration = HeaderRule(transport=Transport.TCP, ports=Ports(first=49_152, last=49_215))

    answer = packet(version=version, protocol=6, ports=(2049, 49_200))
    upload = packet(version=version, protocol=6, ports=(49_200, 443))

    assert is_any(nfs, answer)
    assert not is_any(migration, upload)
    # The answer to a client with such a port is the server's first.
    assert max(m.pref for m in header_matches(nfs)) < min(
        m.pref for m in header_matches(migration)
    )


@pytest.mark.parametrize("version", [IPV4, IPV6])
def test_dscp_and_peer_are_told(version: int) -> None:
    peer, other = ("10.0.0.5", "10.0.0.6") if version == IPV4 else ("fd00::5", "fd01::5")
    network = "10.0.0.4/31" if version == IPV4 else "fd00::/64"
    (kind,) = [
        one for one in read_kinds([f"backup to={network} dscp=10"]) if one.kind is HostKind.BACKUP
    ]
    (rule,) = kind.headers

    def headers(dscp: int, address: str) -> bytes:
        return packet(version=version, protocol=6, ports=(1, 2), dscp=dscp, peer=address)

    assert is_any(rule, headers(10, peer))
    assert not is_any(rule, headers(11, peer))
    assert not is_any(rule, headers(10, other))


@pytest.mark.parametrize(
    "headers",
    [
        bytes([0x46]) + packet(version=IPV4, protocol=6, ports=(1, 2049))[1:],
        packet(version=IPV4, protocol=6, ports=(1, 2049))[:6]
        + bytes([0x00, 0x10])
        + packet(version=IPV4, protocol=6, ports=(1, 2049))[8:],
    ],
    ids=["options", "later fragment"],
)
def test_bytes_that_are_no_ports_are_not_taken_for_them(headers: bytes) -> None:
    rule = HeaderRule(transport=Transport.TCP, ports=Ports(first=2049, last=2049))

    assert is_any(rule, packet(version=IPV4, protocol=6, ports=(1, 2049)))
    assert not is_any(rule, headers)


def test_who_it_goes_to_comes_before_ports_and_those_before_dscp() -> None:
    rules = [
        next(one for one in read_kinds([text]) if one.kind is HostKind.BACKUP).headers[0]
        for text in (
            "backup to=10.0.0.5 tcp=80",
            "backup to=10.0.0.5",
            "backup to=10.0.0.0/8",
            "backup tcp=80 dscp=8",
            "backup tcp=80",
            "backup tcp=50000",
            "backup dscp=8",
        )
    ]

    prefs = [header_matches(rule)[0].pref for rule in rules]
    assert prefs == sorted(set(prefs))
    # After every filter of a workload.
    assert prefs[0] > 328


@pytest.mark.parametrize(
    ("texts", "named"),
    [
        (["vmotion tcp=8000"], "the kind must be one of management, nfs"),
        ([""], "the kind must be one of"),
        (["off", "nfs tcp=2049"], "the kind must be one of"),
        (["nfs"], "nothing says how its packets are told"),
        (["nfs shares=200"], "nothing says how its packets are told"),
        (["other tcp=80"], "has only shares="),
        (["nfs tcp=2049", "nfs udp=2049"], "nfs is there twice"),
        (["nfs tcp=0"], "'0' must be a whole number within 1..65535"),
        (["nfs tcp=65536"], "within 1..65535"),
        (["nfs tcp=2050-2049"], "end before they begin"),
        (["nfs tcp=2049-"], "'' must be a whole number"),
        (["nfs tcp="], "'tcp=' must be shares=N"),
        (["nfs icmp=8"], "'icmp=8' must be"),
        (["nfs icmp="], "'icmp=' must be"),
        (["nfs tcp=1 tcp=2"], "each once"),
        (["nfs sctp=1"], "'sctp=1' must be"),
        (["nfs to=10.0.0.300"], "'10.0.0.300' does not appear to be"),
        (["nfs to=10.0.0.1/8"], "has host bits set"),
        (["nfs to=0.0.0.0/0"], "is every address"),
        (["nfs dscp=64"], "within 0..63"),
        (["nfs shares=0 tcp=2049"], "within 1..10000"),
        (["backup tcp=22"], "management and backup claim the same packets: tcp=22-22"),
        (["backup to=10.0.0.5", "nfs to=10.0.0.5"], "nfs and backup claim the same packets"),
    ],
)
def test_text_of_no_use_is_refused_with_what_is_wrong(texts: list[str], named: str) -> None:
    with pytest.raises(ValueRefused) as refused:
        HtbConfig(host_kinds=frozenset(texts))

    assert refused.value.key == "host_kinds"
    assert named in refused.value.allowed


def test_kind_that_is_named_has_nothing_of_its_defaults() -> None:
    kinds = {one.kind: one for one in read_kinds(["nfs shares=50 tcp=111"])}

    assert kinds[HostKind.NFS].headers == (
        HeaderRule(transport=Transport.TCP, ports=Ports(first=111, last=111)),
    )
    assert kinds[HostKind.NFS].shares == 50
    assert kinds[HostKind.MIGRATION].shares == 100
    assert HostKind.FAULT_TOLERANCE not in kinds
    assert read_kinds(["off"]) == ()


def test_hosts_part_is_divided_by_shares_below_a_class_of_its_own(
    tmp_path: Path, tc: FakeTc
) -> None:
    rig = start_rig(tmp_path, tc, host_kinds=frozenset({"nfs shares=200 tcp=2049"}))

    left = rig.apply(HTB, desired(uplink(), host_traffic(18e6, shares=50), vnic(1, 10e6)))

    # Eight kinds, one of them with double shares: 18 / 9 is 2 Mbit/s. The smallest shares, 50,
    # have 65556 bytes in a turn.
    assert left.changes == ()
    assert told(tc, HOST) == ("51ce:1", "18000000bit", "94000000bit", "65556")
    assert told(tc, NFS) == (HOST, "4000000bit", "94000000bit", "131112")
    assert told(tc, MIGRATION) == (HOST, "2000000bit", "94000000bit", "65556")
    assert told(tc, OTHER) == (HOST, "2000000bit", "94000000bit", "65556")
    assert told(tc, "51ce:10")[0] == "51ce:1"
    assert tc.devices["up0"].htb == ("51ce:", "2")
    assert HOST not in tc.devices["up0"].leaves


def test_limit_of_the_host_holds_for_all_kinds_together(tc: FakeTc, rig: Rig) -> None:
    rig.apply(HTB, desired(uplink(), host_traffic(10e6, limit=20e6)))

    assert {told(tc, classid)[2] for classid in (HOST, NFS, OTHER)} == {"20000000bit"}


def test_small_host_part_is_one_class(tc: FakeTc, rig: Rig) -> None:
    # A tenth of 500 kbit/s is less than eight times the 8 kbit/s that HTB wants at least.
    rig.apply(HTB, desired(uplink(capacity=500e3), vnic(1)))

    assert set(tc.devices["up0"].classes) == {"51ce:1", OTHER, "51ce:10"}
    assert told(tc, OTHER)[:2] == ("51ce:1", "50000bit")


@given(reserved=st.floats(0, LINK * 0.9), shares=st.integers(1, 10_000))
def test_kinds_together_never_have_more_than_the_host(
    tmp_path_factory: pytest.TempPathFactory, reserved: float, shares: int
) -> None:
    tc = FakeTc("up0")
    kinds = frozenset({f"nfs shares={shares} tcp=2049"})
    rig = start_rig(tmp_path_factory.mktemp("rig"), tc, host_kinds=kinds)

    rig.apply(HTB, desired(uplink(), host_traffic(reserved)))

    classes = tc.devices["up0"].classes
    rates = [
        int(item.options["rate"].removesuffix("bit"))
        for item in classes.values()
        if item.parent == HOST
    ]
    if HOST in classes:
        whole = int(classes[HOST].options["rate"].removesuffix("bit"))
        assert whole * 0.998 - 8 * len(rates) <= sum(rates) <= whole
    assert not rates or min(rates) >= 8000


@pytest.mark.parametrize("first", [{"off"}, set()], ids=["one class", "kinds"])
def test_agent_with_other_kinds_takes_over_a_tree(
    tmp_path: Path, tc: FakeTc, first: set[str]
) -> None:
    wanted = desired(uplink(), host_traffic(20e6), vnic(1, 30e6))
    second = frozenset({"off"}) if not first else frozenset[str]()
    before = tc.text("up0")
    start_rig(tmp_path, tc, host_kinds=frozenset(first)).apply(HTB, wanted)

    rig = start_rig(tmp_path, tc, host_kinds=second)
    left = rig.apply(HTB, wanted)
    is_divided = HOST in tc.devices["up0"].classes
    rig.apply(HTB, nothing("up0"))

    assert left.changes == ()
    assert is_divided is (first == {"off"})
    assert tc.text("up0") == before


def test_restart_changes_nothing(tmp_path: Path, tc: FakeTc, rig: Rig) -> None:
    wanted = desired(uplink(), host_traffic(), vnic(1))
    rig.apply(HTB, wanted)

    again = start_rig(tmp_path, tc, host_kinds=frozenset())

    assert again.plan(HTB, wanted).changes == ()


def test_kind_that_somebody_changed_is_drift_of_the_host(tc: FakeTc, rig: Rig) -> None:
    policy = document(host_traffic(shares=200), vnic(1))
    rig.enforcement.run(policy, previous=None, now_s=0.0)
    tc.devices["up0"].classes[NFS].options["quantum"] = "1000"

    again = rig.enforcement.run(policy, previous=policy, now_s=1.0).enforced

    assert [item.outcome for item in again] == [Outcome.DRIFTED, Outcome.UNCHANGED]
    assert again[0].controls.shares.outcome is Outcome.DRIFTED
    assert again[0].controls.reservation.outcome is Outcome.UNCHANGED


def test_filter_of_a_kind_that_somebody_removed_comes_back(tc: FakeTc, rig: Rig) -> None:
    wanted = desired(uplink(), host_traffic(), vnic(1))
    rig.apply(HTB, wanted)
    filters = tc.devices["up0"].filters
    before = sorted(item["shown"] for item in filters.values())
    for handle in [key for key, item in filters.items() if item["classid"] == NFS]:
        del filters[handle]

    left = rig.apply(HTB, wanted)

    assert left.changes == ()
    assert sorted(item["shown"] for item in filters.values()) == before


def test_refusal_of_a_kind_leaves_the_device_as_found(tc: FakeTc, rig: Rig) -> None:
    before = tc.text("up0")
    tc.refuse = f"classid {MIGRATION} htb"

    result = rig.enforcement.run(document(host_traffic(), vnic(1)), previous=None, now_s=0.0)

    assert {item.outcome for item in result.enforced} == {Outcome.FAILED}
    assert "put back as before" in result.enforced[0].reason
    assert tc.text("up0") == before


def test_host_counts_what_all_its_kinds_have_done(tc: FakeTc, rig: Rig) -> None:
    wanted = desired(uplink(), host_traffic(), vnic(1))
    rig.apply(HTB, wanted)
    classes = tc.devices["up0"].classes
    classes[HOST].sent_bytes = 1000
    for classid, drops, backlog_bytes in ((NFS, 3, 500), (OTHER, 4, 70)):
        classes[classid].drops = drops
        classes[classid].backlog_bytes = backlog_bytes
    mechanism = rig.mechanisms[HTB]

    seen = mechanism.read_back(wanted, mechanism.observe(wanted, rig.ledger.entries()))["host-1"]

    assert seen.counters is not None
    assert (seen.counters.total, seen.counters.drops) == (8000.0, 7)
    assert seen.counters.backlog_bytes == 570


def test_fifo_of_a_kind_holds_two_of_its_turns(tmp_path: Path, tc: FakeTc) -> None:
    tc.has_fq_codel = False
    rig = start_rig(tmp_path, tc, host_kinds=frozenset({"nfs shares=200 tcp=2049"}))

    rig.apply(HTB, desired(uplink(), host_traffic(), vnic(1)))

    leaves = tc.devices["up0"].leaves
    # A turn is one largest packet of 65,554 bytes, and of double shares two of them.
    assert leaves[MIGRATION].options["limit"] == str(2 * 65_554)
    assert leaves[NFS].options["limit"] == str(4 * 65_554)


def test_kind_with_an_allocation_has_its_reservation_limit_and_shares(
    tc: FakeTc, rig: Rig
) -> None:
    kinds = (host_kind("nfs", 20e6, shares=200), host_kind("migration", limit=5e6))

    left = rig.apply(HTB, desired(uplink(), host_traffic(8e6), *kinds, vnic(1, 10e6)))

    # Each of eight kinds has 1 of the host's 8 Mbit/s, and what is reserved for it.
    assert left.changes == ()
    assert told(tc, HOST)[:3] == ("51ce:1", "29400000bit", "94000000bit")
    assert told(tc, NFS) == (HOST, "21175000bit", "94000000bit", "131112")
    assert told(tc, MIGRATION) == (HOST, "1175000bit", "5000000bit", "65556")
    assert told(tc, OTHER)[:3] == (HOST, "1175000bit", "94000000bit")


def test_kind_is_reported_and_measured_as_an_allocation(tc: FakeTc, rig: Rig) -> None:
    policy = document(host_traffic(), host_kind("nfs", 20e6))

    first = rig.enforcement.run(policy, previous=None, now_s=0.0).enforced
    tc.devices["up0"].classes[NFS].options["ceil"] = "1000000bit"
    second = rig.enforcement.run(policy, previous=policy, now_s=1.0).enforced

    outcomes = [{one.allocation.id: one.outcome for one in each} for each in (first, second)]
    assert outcomes == [
        {"host-1": Outcome.APPLIED, "kind-nfs": Outcome.APPLIED},
        {"host-1": Outcome.UNCHANGED, "kind-nfs": Outcome.DRIFTED},
    ]
    assert [one.seen.counters is not None for one in second] == [True, True]


@pytest.mark.parametrize(
    ("kinds", "allocations", "reason"),
    [
        (set(), [host_kind("fault_tolerance")], "no kind of this host's own traffic"),
        ({"off"}, [host_kind("nfs")], "(now: none)"),
        (set(), [host_kind("nfs"), host_kind("nfs", id="second")], "belongs to another"),
        (set(), [host_kind("nfs", limit=10.0)], "cannot limit below"),
    ],
)
def test_kind_that_cannot_be_told_is_named(
    tmp_path: Path, tc: FakeTc, kinds: set[str], allocations: list[Allocation], reason: str
) -> None:
    rig = start_rig(tmp_path, tc, host_kinds=frozenset(kinds))

    plan = rig.plan(HTB, desired(uplink(), *allocations, vnic(1)))

    assert reason in plan.notes[allocations[-1].id].reason
    assert plan.notes[allocations[-1].id].outcome in {Outcome.UNSUPPORTED, Outcome.FAILED}
    assert "net-1" in plan.wanted


def test_reservations_of_kinds_and_workloads_must_fit_beside_the_host(rig: Rig) -> None:
    wanted = desired(uplink(), host_traffic(), host_kind("nfs", 50e6), vnic(1, 40e6))

    plan = rig.plan(HTB, wanted)

    assert plan.changes == ()
    assert "reservations of 90000000 bit/s exceed" in plan.notes["kind-nfs"].reason


def test_reservation_of_a_kind_beyond_the_hosts_limit_is_refused_by_name(
    tc: FakeTc, rig: Rig
) -> None:
    # Of 20 Mbit/s the host's own 10 leave 10: enough for nfs, and then 2 for migration.
    kinds = (host_kind("nfs", 8e6), host_kind("migration", 5e6), host_kind("backup", shares=7))

    plan = rig.apply(HTB, desired(uplink(), host_traffic(10e6, limit=20e6), *kinds, vnic(1)))

    assert set(plan.notes) == {"kind-migration"}
    assert plan.notes["kind-migration"].outcome is Outcome.FAILED
    assert "migration" in plan.notes["kind-migration"].reason
    assert "limit of 20000000 bit/s" in plan.notes["kind-migration"].reason
    assert told(tc, HOST)[1:3] == ("18000000bit", "20000000bit")
    assert told(tc, MIGRATION)[1:3] == ("1250000bit", "20000000bit")


def test_limit_of_the_host_below_its_part_is_ineffective(tc: FakeTc, rig: Rig) -> None:
    """Its part of the uplink is a tenth, which no document takes away."""
    policy = document(host_traffic(0.0, limit=5e6), vnic(1))

    (host, _) = rig.enforcement.run(policy, previous=None, now_s=0.0).enforced

    assert told(tc, HOST)[1:3] == ("9400000bit", "9400000bit")
    assert host.controls.limit.outcome is Outcome.INEFFECTIVE
    assert "9400000 bit/s" in host.controls.limit.reason


def test_kind_loses_its_allocation_and_goes_on_with_the_hosts_part(tc: FakeTc, rig: Rig) -> None:
    rig.apply(HTB, desired(uplink(), host_traffic(), host_kind("nfs", 20e6, limit=30e6), vnic(1)))

    left = rig.apply(HTB, desired(uplink(), host_traffic(), vnic(1)))

    assert left.changes == ()
    assert told(tc, NFS)[:3] == (HOST, "1175000bit", "94000000bit")
