"""200 fleets whose truth is known: nothing is wrongly made one, and little is missed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

import pytest

from ingest.core.identity.datastores import FoundStorage, find_storage
from ingest.core.identity.facts import Facts, Place
from ingest.core.identity.tracking import Known, track
from ingest.core.identity.workloads import FoundWorkload, find_workloads
from ingest.core.mapping import Fact
from tests.ingest.core.identity.fleets import At, Fleet, Moment

FLEETS = 200
LEAST_STORAGE_FOUND_WHERE_TOLD = 0.85
"""Of the pairs of places that truly are one datastore, and whose collectors say all they can."""
LEAST_STORAGE_FOUND = 0.7
"""Of all pairs: stock collectors say nothing of some disks."""
LEAST_WORKLOADS_FOUND = 0.95


def fact(host: str, kind: str, subject: str, name: str, value: str) -> Fact:
    return Fact(host=host, kind=kind, subject=subject, name=name, value=value)


def read(moment: Moment) -> tuple[FoundStorage, tuple[FoundWorkload, ...]]:
    facts = Facts.of(
        (fact(*row) for row in moment.facts), seen=(Place(*place) for place in moment.seen)
    )
    storage = find_storage(facts)
    return storage, find_workloads(facts, storage.machines)


def pairs(groups: Iterable[Iterable[Hashable]]) -> int:
    """How many pairs of members these groups have."""
    sizes = [len(list(group)) for group in groups]
    return sum(size * (size - 1) // 2 for size in sizes)


def compared(
    groups: Iterable[Iterable[At]], truth: Mapping[At, str]
) -> tuple[list[list[At]], int, int]:
    """The groups that mix things, the pairs found, and the pairs there are."""
    known = [[place for place in group if place in truth] for group in groups]
    mixed = [group for group in known if len({truth[place] for place in group}) > 1]
    things = defaultdict(list)
    for place, thing in truth.items():
        things[thing].append(place)
    return mixed, pairs(known), pairs(things.values())


@dataclass
class Seen:
    """A moment with what the rules make of it."""

    moment: Moment
    storage: FoundStorage
    workloads: tuple[FoundWorkload, ...]

    @property
    def datastores(self) -> list[set[At]]:
        return [{tuple(place) for place in one.places} for one in self.storage.datastores]


@pytest.fixture(scope="module")
def fleets() -> list[list[Seen]]:
    return [[Seen(one, *read(one)) for one in Fleet(seed).moments()] for seed in range(FLEETS)]


def test_no_datastore_of_200_fleets_mixes_two_and_few_are_missed(fleets: list[list[Seen]]) -> None:
    found, there = Counter[str](), Counter[str]()
    for seed, moments in enumerate(fleets):
        for seen in moments:
            mixed, own, whole = compared(seen.datastores, seen.moment.storage)
            told = {at: x for at, x in seen.moment.storage.items() if at[0] in seen.moment.telling}
            _, told_own, told_whole = compared(seen.datastores, told)

            assert mixed == [], f"fleet {seed}"
            found.update(all=own, told=told_own)
            there.update(all=whole, told=told_whole)
    for which, pairs_there in there.items():
        print(f"datastores, {which}: {found[which]} of {pairs_there} true pairs are one")
    assert found["told"] >= LEAST_STORAGE_FOUND_WHERE_TOLD * there["told"]
    assert found["all"] >= LEAST_STORAGE_FOUND * there["all"]


def test_no_layer_of_200_fleets_counts_beside_its_disk(fleets: list[list[Seen]]) -> None:
    for seed, moments in enumerate(fleets):
        for seen in moments:
            measured = list(chain.from_iterable(one.measured for one in seen.storage.datastores))

            assert not set(measured) & seen.moment.counted_below, f"fleet {seed}"
            assert len(set(measured)) == len(measured), f"fleet {seed}"


def test_no_workload_of_200_fleets_mixes_two_and_few_are_missed(fleets: list[list[Seen]]) -> None:
    found = there = 0
    for seed, moments in enumerate(fleets):
        for seen in moments:
            groups = [views_of(one) for one in seen.workloads]
            mixed, own, whole = compared(groups, seen.moment.workloads)

            assert mixed == [], f"fleet {seed}"
            assert not {at for group in groups for at in group} & seen.moment.counted_below
            found, there = found + own, there + whole
    print(f"workloads: {found} of {there} true pairs are one ({found / there:.1%})")
    assert found >= LEAST_WORKLOADS_FOUND * there


def views_of(one: FoundWorkload) -> set[At]:
    """The places of a workload: what collectors say of it, and its cgroups."""
    cgroups = {(host, "cgroup", path) for host, path in one.cgroups}
    return {tuple(place) for place in one.places} | cgroups


def test_no_thing_of_200_fleets_is_taken_for_another_as_time_goes_on(
    fleets: list[list[Seen]],
) -> None:
    kept: Counter[str] = Counter()
    for seed, moments in enumerate(fleets):
        memory = Memory()
        for seen in moments:
            truth = seen.moment.storage | seen.moment.workloads
            for one in (*seen.storage.datastores, *seen.workloads):
                things = {truth[at] for at in places_of(one) if at in truth}
                memory.find(one, things)
            memory.end_moment()

        assert memory.taken_for_another == [], f"fleet {seed}"
        kept += memory.kept
    print(f"found again: {kept['again']} of {kept['again'] + kept['anew']}")
    assert kept["again"] >= 0.97 * (kept["again"] + kept["anew"])


def places_of(one: object) -> Iterable[At]:
    if isinstance(one, FoundWorkload):
        return views_of(one)
    return (tuple(place) for place in one.places)


class Memory:
    """What is remembered from one moment to the next, with the truth beside it."""

    def __init__(self) -> None:
        self.remembered: dict[int, Known] = {}
        self.truth: dict[int, str] = {}
        self.found: list[tuple[Known, set[str]]] = []
        self.taken_for_another: list[tuple[str, str, Known]] = []
        self.kept: Counter[str] = Counter()

    def find(self, one: object, things: set[str]) -> None:
        name, pid = getattr(one, "stated_name", None), getattr(one, "pid", None)
        hosts = frozenset(place.host for place in one.places)
        known = Known(number=len(self.found), keys=one.keys, hosts=hosts, name=name, pid=pid)
        self.found.append((known, things))

    def end_moment(self) -> None:
        tracked = track(list(self.remembered.values()), [known for known, _ in self.found])
        lived = set(self.truth.values())
        for known, things in self.found:
            if not things:
                continue
            thing = min(things)
            number = tracked.known.get(known.number)
            if number is not None and self.truth[number] != thing:
                self.taken_for_another.append((self.truth[number], thing, known))
            if thing in lived:
                self.kept["again" if number is not None else "anew"] += 1
            self._remember(number, known, thing)
        self.found = []

    def _remember(self, number: int | None, known: Known, thing: str) -> None:
        own = len(self.truth) if number is None else number
        self.truth[own] = thing
        self.remembered[own] = Known(
            number=own, keys=known.keys, hosts=known.hosts, name=known.name, pid=known.pid
        )
