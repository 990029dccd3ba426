"""What the sample's machines do, and the lines that their hosts would send."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.sample.counters import WINDOW_S, Counters, Hosts
from appliance.sample.fleet import HOSTS, STORES, UPLINK, UPLINK_BITS_PER_S, machine, machines
from appliance.sample.story import NEIGHBOUR, SENDER, Division, Divisions, Moment, Story
from enforcers.contract import ReservationMode
from enforcers.entitlement import Claim
from ingest.core.batch import Batch, read_batch
from ingest.sources.registry import find_head
from tests.ingest.sources.stock import NOW_NS, RULES

MADE_AT_S = NOW_NS // 10**9 // 600 * 600
DAY_S = 86400
STORE = {store.name: place for place, store in enumerate(STORES)}
OWN_STORE = np.array([STORE[one.store] for one in machines()])
OWN_HOST = np.array([HOSTS.index(one.host) for one in machines()])


def at(minutes: float, divided: Divisions | None = None) -> Moment:
    """So long after the sample was made."""
    return Story(MADE_AT_S).at(MADE_AT_S + 60 * minutes, divided=divided)


def iops_of(now: Moment, store: str) -> float:
    return float(now.iops[STORE[store] == OWN_STORE].sum())


def batch_at(hosts: Hosts, end_s: int) -> Batch:
    body = "\n".join(line for lines in hosts.lines(end_s).values() for line in lines)
    return read_batch(body.encode(), RULES, find_head)


def test_fleet_has_300_machines_on_12_hosts_that_differ_in_all_names():
    every = machines()

    assert len(every) == 300
    assert {one.host for one in every} == set(HOSTS)
    assert all(
        len({getattr(one, name) for one in every}) == 300 for name in ("name", "path", "uuid")
    )
    assert machines() is every


@given(st.integers(-8 * 3600, 7 * DAY_S))
def test_no_store_does_more_than_it_can_and_no_uplink_sends_more(after_s: int):
    now = Story(MADE_AT_S).at(MADE_AT_S + after_s)

    for place, store in enumerate(STORES):
        assert now.iops[place == OWN_STORE].sum() <= store.capacity_iops
    sent = np.bincount(OWN_HOST, now.sent_bits_per_s, len(HOSTS))
    assert (sent <= UPLINK_BITS_PER_S).all()
    assert (now.iops >= 0).all()
    assert (now.latency_ms > 0).all()


def test_noisy_neighbour_and_full_uplink_are_there_when_the_sample_is_new():
    now, calm = at(0), at(-45)

    assert now.iops[machine(NEIGHBOUR).number - 1] > 0.5 * iops_of(now, "silver-01")
    assert now.latency_ms[STORE["silver-01"]] > 30 > 10 > calm.latency_ms[STORE["silver-01"]]
    full = np.bincount(OWN_HOST, now.sent_bits_per_s, len(HOSTS)).argmax()
    assert HOSTS[full] == machine("mail-02").host
    assert now.lost[full] > 0
    assert not calm.lost.any()


def test_load_from_outside_slows_a_store_that_does_less():
    before, during = at(-95), at(-80)

    store = STORE["silver-03"]
    assert during.latency_ms[store] > 30 > before.latency_ms[store]
    assert iops_of(during, "silver-03") < iops_of(before, "silver-03")


def test_store_that_hangs_completes_nothing_and_has_io_in_flight():
    now = at(-180 + 25 / 60)

    assert iops_of(now, "archive-01") == 0
    assert now.stalled[STORE["archive-01"]] > 0
    assert not np.delete(now.stalled, STORE["archive-01"]).any()


def test_troubles_come_back():
    assert at(180).latency_ms[STORE["silver-01"]] > 30
    assert at(120).lost.any()


def test_every_line_is_taken_and_tells_each_machine_its_disk_and_interface():
    hosts = Hosts(Counters.started())
    hosts.grow(at(0))

    batch = batch_at(hosts, MADE_AT_S)

    assert batch.rejections == []
    told = {(fact.name, fact.value) for fact in batch.facts if fact.kind == "workload"}
    assert {("name", one.name) for one in machines()} <= told
    assert {("nic.net0", one.vnic) for one in machines()} <= told
    paths = {one.subject for one in batch.series if one.table.name == "cgroup"}
    assert paths == {one.path for one in machines()}


def totals(lines: list[str]) -> dict[tuple[str, str], int]:
    """Every counter by line and field; what is in flight is none."""
    found: dict[tuple[str, str], int] = {}
    for line in lines:
        head, fields, _ = re.split(r"(?<!\\) ", line)
        for name, value in re.findall(r"([^,=]+)=(\d+)i", fields):
            if name != "iops_in_progress":
                found[head, name] = int(value)
    return found


def test_counters_never_fall():
    hosts, story = Hosts(Counters.started()), Story(MADE_AT_S)
    former: dict[tuple[str, str], int] = {}
    for end_s in range(MADE_AT_S + 10, MADE_AT_S + 200, WINDOW_S):
        hosts.grow(story.at(end_s))
        found = totals([line for lines in hosts.lines(end_s).values() for line in lines])
        assert all(found[key] >= value for key, value in former.items() if key in found)
        former |= found


def test_disks_do_what_their_machines_do():
    hosts = Hosts(Counters.started())
    hosts.grow(at(0))
    counters = hosts.counters

    assert counters.disks[:, 0].sum() == pytest.approx(counters.groups[:, 0].sum())
    assert counters.uplinks[:, 0].sum() == pytest.approx(counters.vnics[:, 1].sum())
    assert counters.disks[:, 0].sum() > 0


def equally(mode: ReservationMode, claims: Mapping[str, Claim] | None = None) -> Division:
    """By equal shares, but for these machines."""
    return Division(mode=mode, claims=claims or {})


def divided_store(**claims: Claim) -> Divisions:
    """silver-01 on all its hosts; names are written with `_` for `-`."""
    named = {name.replace("_", "-"): claim for name, claim in claims.items()}
    return {(host, "sdd"): equally(ReservationMode.FLOOR, named) for host in HOSTS}


DIVIDED: Divisions = {
    **divided_store(), (machine(SENDER).host, UPLINK): equally(ReservationMode.ADDITIVE),
}  # fmt: skip


def test_divided_store_is_fast_again_and_gives_others_all_they_want():
    troubled, calm = at(0), at(0, divided=DIVIDED)
    store, place = STORE["silver-01"], machine(NEIGHBOUR).number - 1
    others = (store == OWN_STORE) & (np.arange(len(machines())) != place)

    assert troubled.latency_ms[store] > 30 > calm.latency_ms[store]
    # In the trouble each gets 57 % of what it wants.
    assert calm.iops[others] * 0.57 == pytest.approx(troubled.iops[others])
    assert calm.iops[place] < troubled.iops[place]
    assert iops_of(calm, "silver-01") == pytest.approx(0.85 * 6000)


def test_divided_uplink_drops_nothing():
    troubled, calm = at(0), at(0, divided=DIVIDED)
    host = HOSTS.index(machine(SENDER).host)
    sent = float(calm.sent_bits_per_s[host == OWN_HOST].sum())

    assert troubled.lost[host] > 0
    assert calm.lost[host] == 0
    assert sent == pytest.approx(0.93 * UPLINK_BITS_PER_S)


def test_policy_that_takes_from_others_is_seen_to_do_so():
    place = next(
        one.number - 1
        for one in machines()
        if one.store == "silver-01"
        and one.name != NEIGHBOUR
        and at(0, DIVIDED).iops[one.number - 1] > 20
    )
    name = machines()[place].name.replace("-", "_")
    good, bad = at(0, DIVIDED), at(0, divided_store(**{name: Claim(limit=5.0, shares=1000.0)}))

    assert bad.iops[place] == pytest.approx(5.0)
    assert good.iops[place] > 20


def test_policy_that_reserves_all_for_the_neighbour_starves_the_others():
    store, place = STORE["silver-01"], machine(NEIGHBOUR).number - 1
    others = (store == OWN_STORE) & (np.arange(len(machines())) != place)
    bad = at(0, divided_store(**{NEIGHBOUR.replace("-", "_"): Claim(reservation=5000.0)}))

    assert bad.iops[place] == pytest.approx(5000.0)
    assert bad.iops[others].sum() == pytest.approx(0.85 * 6000 - 5000)


def test_policy_of_another_device_changes_nothing():
    other = equally(ReservationMode.FLOOR)
    places = {("node-01", "sdb"): other, (machine(NEIGHBOUR).host, "sdb"): other}
    troubled, same = at(0), at(0, divided=places)

    assert same.iops == pytest.approx(troubled.iops)
    assert same.latency_ms == pytest.approx(troubled.latency_ms)


@given(st.integers(-8 * 3600, 7 * DAY_S))
def test_divided_fleet_does_no_more_than_it_can(after_s: int):
    now = Story(MADE_AT_S).at(MADE_AT_S + after_s, divided=DIVIDED)

    for place, store in enumerate(STORES):
        assert now.iops[place == OWN_STORE].sum() <= store.capacity_iops
    assert (now.iops >= 0).all()
    assert (now.sent_bits_per_s >= 0).all()
    assert (np.bincount(OWN_HOST, now.sent_bits_per_s, len(HOSTS)) <= UPLINK_BITS_PER_S).all()
