"""What the sample's machines do, and the lines that their hosts would send."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.sample.counters import WINDOW_S, Counters, Hosts
from appliance.sample.fleet import HOSTS, STORES, UPLINK_BITS_PER_S, machine, machines
from appliance.sample.story import NEIGHBOUR, Moment, Story
from ingest.core.batch import Batch, read_batch
from ingest.sources.registry import find_head
from tests.ingest.sources.stock import NOW_NS, RULES

MADE_AT_S = NOW_NS // 10**9 // 600 * 600
DAY_S = 86400
STORE = {store.name: place for place, store in enumerate(STORES)}
OWN_STORE = np.array([STORE[one.store] for one in machines()])
OWN_HOST = np.array([HOSTS.index(one.host) for one in machines()])


def at(minutes: float) -> Moment:
    """So long after the sample was made."""
    return Story(MADE_AT_S).at(MADE_AT_S + 60 * minutes)


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
