"""/metrics as Prometheus reads it, and who may."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from accounts.models import Organisation, Scope, Token
from advisor.models import ResourceStatus
from advisor.pipeline import work_figures
from advisor.pipeline.backup_state import LastBackup, LogState, write_last, write_log
from advisor.pipeline.failed_work import INSTALLATION, Subject, keep_failure
from config.paths import DataDir
from tests.config.queued import empty
from tests.web.fleet import Fleet

pytestmark = pytest.mark.valkey


@pytest.fixture(autouse=True)
def queue(valkey_url: str) -> Iterator[None]:
    empty(valkey_url)
    yield
    empty(valkey_url)


def scrape(client: Client, organisation: Organisation, scope: Scope) -> HttpResponse:
    _, secret = Token.objects.issue(organisation=organisation, scope=scope, name="prometheus")
    return client.get("/metrics", headers={"Authorization": f"Bearer {secret}"})


def samples(answer: HttpResponse) -> dict[tuple[str, ...], float]:
    """Each value by its name and the values of its labels."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.content.decode())
        for sample in family.samples
    }


def test_figures_are_those_of_the_health(client: Client, fleet: Fleet) -> None:
    now = fleet.now
    fleet.organisation.quota_hosts = 5000
    fleet.organisation.save()
    nfs = fleet.resources["nfs-07"]
    ResourceStatus.objects.update(looked_at=now - timedelta(seconds=4))
    ResourceStatus.objects.filter(resource=nfs).update(looked_at=now - timedelta(minutes=11))
    keep_failure(task="detect_resource", subject=Subject(resource=nfs.pk), reason="-", now=now)
    keep_failure(task="tidy", subject=INSTALLATION, reason="-", now=now)
    work_figures.note_life(
        name="evaluate@a", kind="worker", queues=["evaluate"], now=now - timedelta(seconds=3)
    )
    work_figures.note_end(
        run="1", task="detect_resource", subject=f"resource {nfs.pk}", seconds=9.0, now=now
    )
    work_figures.note_lags(organisation=fleet.organisation.pk, lags_s={nfs.pk: [12.0]}, now=now)

    answer = scrape(client, fleet.organisation, Scope.METRICS)

    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    found = samples(answer)
    assert found["sluice_evaluation_age_seconds", "0.5"] == 4.0
    assert found["sluice_evaluation_age_seconds", "1"] == 660.0
    assert found["sluice_evaluation_lag_seconds", "1"] == 12.0
    assert found[("sluice_resources_stale",)] == 1.0
    assert found["sluice_queue_waiting", "evaluate"] == 0.0
    assert found["sluice_queue_oldest_seconds", "evaluate"] == 0.0
    assert found["sluice_process_silent_seconds", "worker", "evaluate@a"] == pytest.approx(3.0)
    assert found["sluice_slowest_task_seconds", "detect_resource"] == 9.0
    assert found[("sluice_failed_work",)] == 1.0
    assert found[("sluice_queue_server_up",)] == 1.0
    assert found[("sluice_hosts",)] == len(fleet.hosts)
    # kvm-05 has been silent for 25 minutes.
    assert found["sluice_ingest_lag_seconds", "kvm-05"] == pytest.approx(1500, abs=60)
    told = {key[1] for key in found if key[0] == "sluice_ingest_lag_seconds"}
    assert told == {name for name, host in fleet.hosts.items() if host.last_sample_at}
    assert found[("sluice_failed_work_of_installation",)] == 1.0
    assert found[("sluice_database_bytes",)] > 5_000_000
    assert found[("sluice_disk_free_bytes",)] <= found[("sluice_disk_bytes",)]
    attention = {key[1] for key, value in found.items() if value and "_attention" in key[0]}
    assert found["sluice_quota", "hosts"] == 5000.0
    assert found["sluice_quota_used", "points_per_s"] == 0.0
    assert ("sluice_quota", "series") not in found
    assert found["sluice_task_runs_total", "detect_resource"] == 1.0
    assert found["sluice_task_seconds_total", "detect_resource"] == 9.0
    assert {"Evaluation lag", "Failed work", "Ingest lag", "Scheduler"} <= attention
    assert "Worker of evaluate" not in attention


def test_age_of_the_last_backup_is_shown(
    client: Client, fleet: Fleet, settings: Any, tmp_path: Path
) -> None:
    settings.BACKUP_TARGET, settings.DATA_DIR = "/mnt/backup", DataDir(tmp_path)
    tmp_path.joinpath("backup").mkdir()
    now = fleet.now
    write_last(tmp_path / "backup", LastBackup(made_at=now - timedelta(hours=50)))
    write_log(
        tmp_path / "backup",
        LogState(since=now - timedelta(days=9), looked_at=now, waiting_since=now),
    )

    found = samples(scrape(client, fleet.organisation, Scope.METRICS))

    assert found[("sluice_backup_age_seconds",)] == pytest.approx(50 * 3600, abs=60)
    assert found[("sluice_backup_log_waiting_seconds",)] == pytest.approx(0, abs=60)
    assert found[("sluice_backup_failed",)] == 0.0
    # One each day is expected.
    assert found["sluice_check_needs_attention", "Backup"] == 1.0


def test_without_backups_there_are_no_figures_of_them(client: Client, fleet: Fleet) -> None:
    found = samples(scrape(client, fleet.organisation, Scope.METRICS))

    assert not [key for key in found if "backup" in key[0]]
    assert found["sluice_check_needs_attention", "Backup"] == 0.0


def test_figures_of_others_are_not_shown(client: Client, fleet: Fleet) -> None:
    other = Organisation.objects.get(slug="lakeside")

    answer = scrape(client, other, Scope.METRICS)

    assert answer.status_code == 200
    assert b"kvm-05" not in answer.content
    assert samples(answer)[("sluice_hosts",)] == 0.0


@pytest.mark.parametrize("scope", [Scope.INGEST, Scope.ENFORCE])
def test_token_of_another_scope_is_refused(client: Client, fleet: Fleet, scope: Scope) -> None:
    answer = scrape(client, fleet.organisation, scope)

    assert answer.status_code == 403
    assert answer.json()["message"] == f'the token has scope "{scope}"; this needs "metrics"'


def test_without_a_token_nothing_is_told(client: Client, viewer: Client, fleet: Fleet) -> None:
    assert [one.get("/metrics").status_code for one in (client, viewer)] == [401, 401]
