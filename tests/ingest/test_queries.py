"""What the advisor and the pages ask about hosts and what they send about."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from ingest import queries
from tests.ingest.scenario import Tenant, disk_line, nanoseconds, now, write_lines

SECOND = timedelta(seconds=1)


@pytest.fixture
def end() -> datetime:
    """The end of what is asked for: a whole hour that is over."""
    return now().replace(minute=0, second=0) - timedelta(hours=1)


def test_subjects_are_named_with_their_newest_sample(tenant: Tenant, end: datetime) -> None:
    write_lines(
        tenant,
        disk_line(end - 10 * SECOND, host="h2", name="sda"),
        disk_line(end, host="h2", name="sda"),
        disk_line(end - 20 * SECOND, host="h1", name="sdb"),
    )

    found = queries.subjects(organisation=tenant.organisation, measurement="diskio")

    assert [(s.host.name, s.subject, s.device, s.last_sample_at) for s in found] == [
        ("h1", "sdb", "", end - 20 * SECOND),
        ("h2", "sda", "", end),
    ]


def test_subjects_of_cgroups_are_paths_on_devices(tenant: Tenant, end: datetime) -> None:
    write_lines(
        tenant,
        f"cgroup,host=h1,path=/a io.stat.8:0.rios=1i,io.stat.8:16.rios=1i {nanoseconds(end)}",
    )

    found = queries.subjects(organisation=tenant.organisation, measurement="cgroup")

    assert [(s.subject, s.device) for s in found] == [("/a", "8:0"), ("/a", "8:16")]


def test_newest_sample_of_a_host_is_its_last_in_time(tenant: Tenant, end: datetime) -> None:
    write_lines(tenant, disk_line(end))
    write_lines(tenant, disk_line(end - 50 * SECOND))

    assert tenant.host().last_sample_at == end
