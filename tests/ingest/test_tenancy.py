"""One organisation never reaches what belongs to another, even when all names are the same."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from accounts.models import Token
from ingest import queries
from ingest.core.figures import DISK
from ingest.core.grid import Grid, microseconds
from ingest.grid_reader import Subject, read_growth
from ingest.models import DiskioSample, Host, RejectedLine, Series
from tests.ingest.scenario import Tenant, disk_line, now, post, write_lines


def test_same_host_and_device_of_two_tenants_are_two_series(
    tenant: Tenant, stranger: Tenant
) -> None:
    at = now()
    write_lines(tenant, disk_line(at, count=1))

    write_lines(stranger, disk_line(at, count=2))

    assert [
        DiskioSample.objects.get(series__organisation=who.organisation).reads
        for who in (tenant, stranger)
    ] == [1, 2]
    assert tenant.host() != stranger.host()


def test_rates_of_a_host_are_of_its_own_samples(tenant: Tenant, stranger: Tenant) -> None:
    end = now()
    times = [end - timedelta(seconds=s) for s in (20, 10, 0)]
    write_lines(tenant, *(disk_line(at, count=10 * i) for i, at in enumerate(times)))
    write_lines(stranger, *(disk_line(at, count=5000 * i) for i, at in enumerate(times)))

    subject = Subject(host=tenant.host().pk, name="sda")
    grid = Grid(since_us=microseconds(times[0]), window_us=10_000_000, count=2)
    found = DISK.figures(read_growth(DISK, [subject], grid))

    assert found.read_iops.tolist() == [[1], [1]]


def test_subjects_are_those_of_the_organisation(tenant: Tenant, stranger: Tenant) -> None:
    write_lines(tenant, disk_line(now(), name="sda"))
    write_lines(stranger, disk_line(now(), name="sdb"))

    found = queries.subjects(organisation=tenant.organisation, measurement="diskio")

    assert [(subject.host, subject.subject) for subject in found] == [(tenant.host(), "sda")]


def test_rejected_lines_are_those_of_the_organisation(tenant: Tenant, stranger: Tenant) -> None:
    write_lines(tenant, "bad")

    assert not RejectedLine.objects.filter(organisation=stranger.organisation).exists()


@pytest.mark.parametrize("parameter", ["org", "orgID"])
@pytest.mark.parametrize("named", ["northgate", "lakeside", "proxmox"])
def test_token_says_whose_samples_they_are_whatever_organisation_is_named(
    client: Client, tenant: Tenant, stranger: Tenant, parameter: str, named: str
) -> None:
    answer = post(
        client, disk_line(now()), secret=tenant.secret, bucket="any", **{parameter: named}
    )

    assert answer.status_code == 204
    assert Series.objects.get().organisation == tenant.organisation


def test_token_of_one_host_writes_for_no_other(client: Client, tenant: Tenant) -> None:
    write_lines(tenant, disk_line(now(), host="h1"))
    _, secret = Token.objects.issue(
        organisation=tenant.organisation, scope="ingest", name="h1 only", host=tenant.host("h1")
    )
    at = now() - timedelta(seconds=10)

    answer = post(client, f"{disk_line(at)}\n{disk_line(at, host='h2')}", secret=secret)

    assert (answer.status_code, answer["Sluice-Rejected-Lines"]) == (204, "1")
    assert DiskioSample.objects.filter(time=at).count() == 1
    assert not Host.objects.filter(name="h2").exists()
    assert RejectedLine.objects.get().reason == 'this token may only send samples of host "h1"'
