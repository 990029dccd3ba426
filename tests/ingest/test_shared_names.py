"""Several machines that send under one name are noticed, and one machine never is."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from ingest.shared_names import note_names_shared_by_disks
from tests.ingest.scenario import Tenant, disk_line, nanoseconds, now, write_lines

DAY_S = 86_400
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)


def up_line(at: datetime, up_s: int, *, host: str = "h1") -> str:
    return f"system,host={host} uptime={up_s}i {nanoseconds(at)}"


def is_shared(tenant: Tenant, host: str = "h1") -> bool:
    return tenant.host(host).shared_at is not None


def sent(tenant: Tenant, *samples: tuple[int, int]) -> None:
    """Samples in this order, each in a body: seconds after the first, and uptime in seconds."""
    begin = now() - timedelta(minutes=5)
    for after_s, up_s in samples:
        write_lines(tenant, up_line(begin + after_s * SECOND, up_s))


@pytest.mark.parametrize(
    "samples",
    [
        pytest.param([(0, DAY_S), (3, 60), (10, DAY_S + 10)], id="at times of their own"),
        pytest.param([(0, 60), (3, DAY_S), (10, 70)], id="the younger one first"),
        pytest.param([(0, DAY_S), (0, 60)], id="at the same time"),
        pytest.param([(0, 60), (0, DAY_S)], id="at the same time, the younger one first"),
        pytest.param([(0, 100), (3, 91), (10, 110)], id="that started twelve seconds apart"),
        pytest.param([(3, 60), (13, 70), (10, DAY_S)], id="of which one sends late"),
    ],
)
def test_several_machines_under_one_name_are_noticed(
    tenant: Tenant, samples: list[tuple[int, int]]
) -> None:
    sent(tenant, *samples)

    assert is_shared(tenant)


@pytest.mark.parametrize(
    "samples",
    [
        pytest.param([(0, DAY_S), (10, DAY_S + 10), (20, DAY_S + 20)], id="that runs"),
        pytest.param([(0, DAY_S), (10, DAY_S + 11), (20, DAY_S + 19)], id="whole seconds only"),
        pytest.param([(0, DAY_S), (40, 20), (50, 30)], id="that started again"),
        pytest.param([(40, 20), (50, 30), (0, DAY_S), (10, DAY_S + 10)], id="in a late order"),
        pytest.param([(0, DAY_S), (10, DAY_S + 10), (0, DAY_S)], id="whose body comes again"),
        pytest.param([(0, 60), (90, DAY_S)], id="that follows another one"),
    ],
)
def test_one_machine_has_its_name_for_itself(
    tenant: Tenant, samples: list[tuple[int, int]]
) -> None:
    sent(tenant, *samples)

    assert not is_shared(tenant)


def test_it_is_noted_with_that_host_alone_and_by_our_clock(
    tenant: Tenant, stranger: Tenant
) -> None:
    at = now()
    for one in (tenant, stranger):
        write_lines(one, up_line(at, DAY_S), up_line(at, DAY_S, host="h2"))

    write_lines(tenant, up_line(at, 60), at=at + SECOND)

    assert tenant.host().shared_at == at + SECOND
    assert not is_shared(tenant, "h2")
    assert not is_shared(stranger)


def test_samples_without_an_uptime_say_nothing(tenant: Tenant) -> None:
    at = now()

    for load in (1.0, 2.0):
        write_lines(tenant, f"system,host=h1 load1={load} {nanoseconds(at)}")

    assert not is_shared(tenant)


def disks_sent(tenant: Tenant, *samples: tuple[int, int], name: str = "sda") -> None:
    """Samples of a disk: seconds before the present, and what every counter says."""
    for ago_s, count in samples:
        write_lines(tenant, disk_line(now() - ago_s * SECOND, name=name, count=count))


@pytest.mark.parametrize(
    ("samples", "is_noticed"),
    [
        pytest.param([(25, 900), (20, 50), (15, 910), (10, 51)], True, id="two take turns"),
        pytest.param(
            [(25, 50), (20, 900), (15, 51), (10, 910)], False, id="two of which one fell so far"
        ),
        pytest.param([(170, 900), (140, 50), (110, 910), (80, 51)], True, id="once a minute"),
        pytest.param(
            [(30, 0), (25, 900), (20, 0), (15, 900), (10, 0)], True, id="one does nothing"
        ),
        pytest.param(
            [(25, 50), (20, 900), (15, 51), (10, 910), (5, 52), (0, 920)], True, id="other ends"
        ),
        pytest.param([(30, 900), (20, 910), (10, 0)], False, id="one that started again"),
        pytest.param(
            [(30, 100), (29, 98), (20, 200), (19, 198), (10, 300), (9, 298)],
            False,
            id="one with two collectors",
        ),
        pytest.param([(500, 9), (490, 5), (10, 7), (5, 6)], False, id="again after minutes"),
        pytest.param([(20, 5), (10, 5), (0, 5)], False, id="one that does nothing"),
    ],
)
def test_machines_without_uptime_are_told_apart_by_a_disk_that_goes_back_twice(
    tenant: Tenant, samples: list[tuple[int, int]], is_noticed: bool
) -> None:
    disks_sent(tenant, *samples)

    note_names_shared_by_disks(tenant.organisation, now=now())

    assert is_shared(tenant) is is_noticed


TURNS = [(25, 900), (20, 50), (15, 910), (10, 51)]


def test_disks_of_a_host_that_sends_its_uptime_are_not_asked(tenant: Tenant) -> None:
    write_lines(tenant, up_line(now(), DAY_S))
    disks_sent(tenant, *TURNS)

    note_names_shared_by_disks(tenant.organisation, now=now())

    assert not is_shared(tenant)


def test_two_disks_that_fall_once_are_of_one_machine(tenant: Tenant) -> None:
    for name in ("sda", "sdb"):
        disks_sent(tenant, (20, 900), (10, 0), name=name)

    note_names_shared_by_disks(tenant.organisation, now=now())

    assert not is_shared(tenant)


def test_disks_are_those_of_the_organisation_and_heard_lately(
    tenant: Tenant, stranger: Tenant
) -> None:
    for one in (tenant, stranger):
        disks_sent(one, *TURNS)

    note_names_shared_by_disks(tenant.organisation, now=now() + 2 * MINUTE)
    assert not is_shared(tenant)
    note_names_shared_by_disks(tenant.organisation, now=now())

    assert is_shared(tenant)
    assert not is_shared(stranger)


def test_rates_that_fall_are_of_one_machine(tenant: Tenant) -> None:
    for ago_s, kib_per_s in TURNS:
        write_lines(
            tenant,
            f"vsphere_host_disk,esxhostname=h1,disk=naa.6 read_average={kib_per_s}i,"
            f"write_average={kib_per_s}i {nanoseconds(now() - ago_s * SECOND)}",
        )

    note_names_shared_by_disks(tenant.organisation, now=now())

    assert not is_shared(tenant)
