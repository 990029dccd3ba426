"""Many subjects are read at once as if each were read alone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from ingest.core.growth_columns import GrowthColumns
from ingest.core.rates import CGROUP_COUNTERS, INTERFACE, NET_COUNTERS
from ingest.many_rates import (
    CgroupKey,
    SubjectKey,
    cgroup_growth_of,
    cgroup_rates_of,
    growth_of,
    rates_of,
)
from ingest.models import Host
from tests.ingest.random_samples import DEVICES, RandomSamples
from tests.ingest.scenario import Tenant

UNTIL = datetime(2026, 11, 20, 0, 20, tzinfo=UTC)
SINCE = UNTIL - timedelta(minutes=50)
"""Over midnight, so that two partitions are read."""
SUBJECTS = 6
SEEDS = range(8)
POINTS = [None, 400, 60]

pytestmark = [pytest.mark.parametrize("seed", SEEDS), pytest.mark.django_db]
each_density = pytest.mark.parametrize("max_points", POINTS)


@pytest.fixture
def samples(tenant: Tenant, seed: int) -> RandomSamples:
    host = Host.objects.create(organisation=tenant.organisation, name="h1")
    return RandomSamples(host, seed=seed, until=UNTIL)


@pytest.fixture
def interfaces(samples: RandomSamples) -> list[SubjectKey]:
    return [samples.interface(f"vnet{number}") for number in range(SUBJECTS)]


@pytest.fixture
def cgroups(samples: RandomSamples) -> list[CgroupKey]:
    found = []
    for number in range(SUBJECTS):
        found += samples.cgroup(f"/vm{number}.scope")
    return found


@each_density
def test_interfaces_are_read_as_each_alone(
    interfaces: list[SubjectKey], max_points: int | None
) -> None:
    times = {"since": SINCE, "until": UNTIL, "max_points": max_points}

    found = rates_of(INTERFACE, interfaces, **times)

    assert found == {key: rates_of(INTERFACE, [key], **times)[key] for key in interfaces}


@each_density
def test_cgroups_are_read_as_each_alone(cgroups: list[CgroupKey], max_points: int | None) -> None:
    times = {"since": SINCE, "until": UNTIL, "max_points": max_points}

    found = cgroup_rates_of(cgroups, **times)

    assert found == {key: cgroup_rates_of([key], **times)[key] for key in cgroups}


@each_density
def test_columns_of_interfaces_are_their_rates(
    interfaces: list[SubjectKey], max_points: int | None
) -> None:
    times = {"since": SINCE, "until": UNTIL, "max_points": max_points}

    found = growth_of(INTERFACE, interfaces, **times)

    sent = _per_s(NET_COUNTERS.index("packets_sent"))
    assert {key: sent(growth) for key, growth in found.items()} == {
        key: [(one.at.timestamp(), one.seconds, one.sent_packets_per_s) for one in rates]
        for key, rates in rates_of(INTERFACE, interfaces, **times).items()
    }


@each_density
def test_columns_of_cgroups_are_their_rates(
    cgroups: list[CgroupKey], max_points: int | None
) -> None:
    times = {"since": SINCE, "until": UNTIL, "max_points": max_points}

    found = cgroup_growth_of(cgroups, **times)

    written = _per_s(CGROUP_COUNTERS.index("wbytes"))
    assert {key: written(growth) for key, growth in found.items()} == {
        key: [(one.at.timestamp(), one.seconds, one.write_bytes_per_s) for one in rates]
        for key, rates in cgroup_rates_of(cgroups, **times).items()
    }


def test_tenant_with_equal_names_is_not_read(
    samples: RandomSamples, cgroups: list[CgroupKey], stranger: Tenant, seed: int
) -> None:
    before = cgroup_rates_of(cgroups, since=SINCE, until=UNTIL)
    host = Host.objects.create(organisation=stranger.organisation, name="h1")
    others = RandomSamples(host, seed=seed + 1000, until=UNTIL)
    for number in range(SUBJECTS):
        others.cgroup(f"/vm{number}.scope")

    found = cgroup_rates_of(cgroups, since=SINCE, until=UNTIL)

    assert found == before
    assert {host for host, _, _ in found} == {samples.host.pk}
    # The other way round, each tenant's own are found though the names are equal.
    own = [(host.pk, path, device) for _, path, device in cgroups if device in DEVICES]
    times = {"since": SINCE, "until": UNTIL, "max_points": None}
    assert cgroup_rates_of(own, **times) == {
        key: cgroup_rates_of([key], **times)[key] for key in own
    }


def _per_s(counter: int) -> Callable[[GrowthColumns], list[tuple[float, float, float]]]:
    def rows(growth: GrowthColumns) -> list[tuple[float, float, float]]:
        columns = (growth.ends_s, growth.seconds, growth.per_s(counter))
        return list(zip(*(column.tolist() for column in columns), strict=True))

    return rows
