"""Quotas of series and hosts: known ones are stored, a new host waits, nothing goes unseen."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from ingest.core.imported.answers import Answers
from ingest.core.quota.limits import Quota
from ingest.imports.archives import files_of
from ingest.imports.run import begin_run, import_files
from ingest.models import DiskioSample, Host, Import, ImportRun, QuotaHit, RejectedLine, Series
from ingest.models import StatedFact as Fact
from ingest.quotas import new_series
from tests.ingest.quotas.conftest import as_a_new_process
from tests.ingest.quotas.test_ways_in import give, hit, remote_write
from tests.ingest.scenario import Tenant, disk_line, nanoseconds, now, post


def send(client: Client, tenant: Tenant, *lines: str) -> Any:
    return post(client, "\n".join(lines), secret=tenant.secret)


def subjects(tenant: Tenant) -> list[tuple[str, str]]:
    rows = Series.objects.filter(organisation=tenant.organisation)
    return sorted(rows.values_list("host__name", "subject"))


def test_new_host_above_the_quota_waits_with_all_it_has(client: Client, tenant: Tenant) -> None:
    give(tenant, hosts=1)
    assert send(client, tenant, disk_line(now(), host="h1")).status_code == 204

    answer = send(
        client, tenant, disk_line(now(), host="h2"), disk_line(now(), host="h2", name="sdb")
    )

    assert (answer.status_code, answer["Retry-After"]) == (429, "300")
    assert answer.json()["message"] == (
        'organisation "northgate" has used up its quota of 1 hosts;'
        " `sluice quota` shows and changes it"
    )
    assert subjects(tenant) == [("h1", "sda")]
    # It is not refused for good, so no line is.
    assert not RejectedLine.objects.exists()
    found = hit(tenant, Quota.HOSTS)
    assert (found.refused_bodies, found.lost_points) == (1, 0)


def test_host_that_waited_is_stored_once_there_is_room(client: Client, tenant: Tenant) -> None:
    give(tenant, hosts=1)
    send(client, tenant, disk_line(now(), host="h1"))
    waiting = disk_line(now() - timedelta(hours=1), host="h2", count=7)
    assert send(client, tenant, waiting).status_code == 429

    give(tenant, hosts=2)

    assert send(client, tenant, waiting).status_code == 204
    assert DiskioSample.objects.get(series__host__name="h2").reads == 7


def test_known_hosts_go_on_above_the_quota(client: Client, tenant: Tenant) -> None:
    send(client, tenant, disk_line(now(), host="h1"), disk_line(now(), host="h2"))
    give(tenant, hosts=1, series=1)

    later = now() + timedelta(seconds=1)
    answers = [
        send(client, tenant, disk_line(later, host=host, count=5)).status_code
        for host in ("h1", "h3", "h2")
    ]

    assert answers == [204, 429, 204]
    assert DiskioSample.objects.filter(reads=5).count() == 2


def test_body_of_several_hosts_is_stored_without_the_new_one_which_is_named(
    client: Client, tenant: Tenant
) -> None:
    give(tenant, hosts=1)
    send(client, tenant, disk_line(now(), host="h1"))

    at = now() + timedelta(seconds=1)
    answer = send(
        client,
        tenant,
        disk_line(at, host="h1", count=5),
        disk_line(at, host="h2"),
        disk_line(at, host="h2", name="sdb"),
        f'sluice_device,host=h2,name=sda wwn="2" {nanoseconds(at)}',
    )

    assert (answer.status_code, answer["Sluice-Rejected-Lines"]) == (204, "2")
    assert DiskioSample.objects.filter(reads=5).count() == 1
    assert list(Host.objects.values_list("name", flat=True)) == ["h1"]
    assert not Fact.objects.filter(host="h2").exists()
    refused = RejectedLine.objects.get()
    assert (refused.line, refused.line_count) == ("diskio,host=h2,name=sda", 2)
    assert "quota of 1 hosts" in refused.reason
    assert hit(tenant, Quota.HOSTS).lost_points == 2


def test_new_series_of_a_known_host_are_refused_and_its_others_stored(
    client: Client, tenant: Tenant
) -> None:
    give(tenant, series=2)
    send(client, tenant, disk_line(now(), name="sda"))

    at = now() + timedelta(seconds=1)
    lines = [disk_line(at, name=name, count=5) for name in ("sda", "sdb", "sdc")]
    answer = send(client, tenant, *lines)

    assert (answer.status_code, answer["Sluice-Rejected-Lines"]) == (204, "1")
    assert subjects(tenant) == [("h1", "sda"), ("h1", "sdb")]
    assert DiskioSample.objects.filter(reads=5).count() == 2
    assert hit(tenant, Quota.SERIES).lost_points == 1


def test_known_host_with_nothing_but_new_series_does_not_hold_up_what_follows(
    client: Client, tenant: Tenant
) -> None:
    give(tenant, series=1)
    send(client, tenant, disk_line(now(), name="sda"))

    answer = send(client, tenant, disk_line(now(), name="sdb"))

    # Telegraf drops it and goes on; the reason is in its log and in `sluice rejects`.
    assert answer.status_code == 400
    assert "has used up its quota of 1 series" in answer.json()["message"]
    assert RejectedLine.objects.get().line == "diskio,host=h1,name=sdb"


def test_sender_of_many_hosts_is_never_held_up(client: Client, tenant: Tenant) -> None:
    give(tenant, hosts=1)
    send(client, tenant, disk_line(now(), host="h1"))

    answer = remote_write(client, tenant)

    # Prometheus drops it and goes on with its other hosts.
    assert answer.status_code == 400
    assert "has used up its quota of 1 hosts" in answer.json()["message"]


def test_tenants_do_not_share_a_quota(client: Client, tenant: Tenant, stranger: Tenant) -> None:
    for one in (tenant, stranger):
        give(one, hosts=1, series=1)

    answers = [send(client, one, disk_line(now())).status_code for one in (tenant, stranger)]

    assert answers == [204, 204]
    assert not QuotaHit.objects.exists()


def test_body_without_new_series_asks_for_no_count(
    client: Client, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(tenant, hosts=1, series=1)
    send(client, tenant, disk_line(now()))
    counted = []
    monkeypatch.setattr(new_series, "check_new_series", lambda *_: counted.append(1))

    assert send(client, tenant, disk_line(now())).status_code == 204
    assert not counted


def test_rows_of_other_processes_are_counted(client: Client, tenant: Tenant) -> None:
    give(tenant, series=3)
    send(client, tenant, disk_line(now(), name="sda"))

    as_a_new_process()
    names = ("sdb", "sdc", "sdd")
    answer = send(client, tenant, *(disk_line(now(), name=name) for name in names))

    assert answer["Sluice-Rejected-Lines"] == "1"
    assert len(subjects(tenant)) == 3


def test_series_that_another_process_made_meanwhile_count_within_a_second(
    client: Client, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(tenant, series=3)
    send(client, tenant, disk_line(now(), name="sda"))
    host = tenant.host()
    for name in ("x", "y"):
        Series.objects.create(
            organisation=tenant.organisation, host=host, measurement="diskio", tags_key=name
        )
    clock_s = time.monotonic() + 60
    monkeypatch.setattr(new_series.time, "monotonic", lambda: clock_s)

    answer = send(client, tenant, disk_line(now(), name="sdb"))

    assert answer.status_code == 400


def test_host_that_was_not_heard_for_the_retention_makes_room(
    client: Client, tenant: Tenant
) -> None:
    give(tenant, hosts=1)
    send(client, tenant, disk_line(now(), host="gone"))
    Host.objects.update(heard_at=timezone.now() - timedelta(days=31))
    as_a_new_process()

    assert send(client, tenant, disk_line(now(), host="h2")).status_code == 204


def import_lines(tenant: Tenant, folder: Path, *lines: str, **waiting: Any) -> Import:
    (folder / "lines.influx").write_text("".join(f"{line}\n" for line in lines))
    run: ImportRun = begin_run(
        organisation=tenant.organisation, answers=Answers(), is_shifted=False, now=now()
    )
    import_files(
        run,
        lambda: files_of([folder]),
        now=now(),
        earliest=now() - timedelta(days=30),
        ask=lambda *_: None,
        **waiting,
    )
    return run.files.get()


def test_import_with_too_many_series_fails_with_the_reason_and_goes_through_later(
    tenant: Tenant, tmp_path: Path
) -> None:
    give(tenant, series=1)
    lines = [disk_line(now(), name=name) for name in ("sda", "sdb")]

    refused = import_lines(tenant, tmp_path, *lines)
    give(tenant, series=2)
    taken = import_lines(tenant, tmp_path, *lines)

    assert (refused.state, refused.accepted) == ("failed", 0)
    assert "has used up its quota of 1 series" in refused.problem
    assert (taken.state, taken.accepted, taken.problem) == ("done", 2, "")


@pytest.mark.valkey
def test_import_waits_for_the_quota_of_points_and_leaves_half_to_live_samples(
    client: Client, tenant: Tenant, tmp_path: Path, valkey: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(tenant, points_per_s=1)
    waits: list[float] = []

    def pause(wait_s: float) -> None:
        row = Import.objects.get()
        assert (row.state, row.problem) == (
            "running",
            "it waits for the quota of points a second",
        )
        assert send(client, tenant, disk_line(now())).status_code == 204
        waits.append(wait_s)
        # Time for the rest.
        give(tenant, points_per_s=0)

    lines = [disk_line(now() - timedelta(seconds=s)) for s in range(100)]
    row = import_lines(tenant, tmp_path, *lines, pause=pause)

    # A minute's worth is 60. Batches of 15 are taken until no more than 30 are left.
    assert len(waits) == 1
    assert (row.state, row.accepted) == ("done", 100)
