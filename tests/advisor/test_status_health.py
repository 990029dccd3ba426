"""`sluice status`: what it says of Sluice itself, in words and as figures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from accounts.models import Organisation
from advisor.management.status_exit import StatusExit
from advisor.models import Resource, ResourceStatus
from advisor.pipeline import work_figures
from advisor.pipeline.failed_work import INSTALLATION, Subject, keep_failure
from ingest.models import Host
from tests.advisor.stated_datastores import stated_datastore
from tests.config.queued import empty

pytestmark = [pytest.mark.valkey, pytest.mark.django_db]

NOW = timezone.now()


@pytest.fixture(autouse=True)
def clock(valkey_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(timezone, "now", lambda: NOW)
    empty(valkey_url)
    yield
    empty(valkey_url)


@pytest.fixture
def resource() -> Resource:
    """Evaluated 4 s ago; a worker lives, the scheduler does not, and two kinds of work fail."""
    acme = Organisation.objects.create(slug="acme", name="Acme")
    found = stated_datastore(acme, "nfs-07", "h1")
    ResourceStatus.objects.create(resource=found, looked_at=NOW - timedelta(seconds=4))
    Host.objects.update_or_create(
        organisation=acme,
        name="h1",
        defaults=dict.fromkeys(("last_sample_at", "heard_at"), NOW - timedelta(minutes=5)),
    )
    work_figures.note_life(
        name="evaluate@a", kind="worker", queues=["evaluate"], now=NOW - timedelta(seconds=3)
    )
    work_figures.note_end(
        run="1", task="detect_resource", subject=f"resource {found.pk}", seconds=9.0, now=NOW
    )
    work_figures.note_lags(organisation=acme.pk, lags_s={found.pk: [12.0]}, now=NOW)
    for task, subject in (("detect_resource", Subject(resource=found.pk)), ("tidy", INSTALLATION)):
        keep_failure(task=task, subject=subject, reason=f"{task} hung.", now=NOW)
    return found


def status(*options: str) -> str:
    """What it prints. It exits as where no window was judged: its health changes nothing."""
    out = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("status", *options, stdout=out)
    assert ended.value.code == StatusExit.NO_ANSWER
    return out.getvalue()


def test_every_check_is_a_line_and_failed_work_has_its_reason(resource: Resource) -> None:
    lines = [" ".join(line.split()) for line in status().splitlines()]

    for said in (
        (
            "Ingest lag behind 1 of 1 hosts without a sample for two minutes; age of the newest "
            "sample, oldest first: h1 5 min"
        ),
        (
            "Evaluation lag clear last 10 min: p50 12 s, p99 12 s, worst 12 s (nfs-07); time "
            "since the newest evaluation: p50 4.0 s, p99 4.0 s, worst 4.0 s (nfs-07)"
        ),
        "Queue evaluate clear empty",
        "Worker of evaluate clear last sign of life 3.0 s ago",
        "Scheduler silent no sign of life for an hour",
        "Slowest task clear detect_resource of nfs-07: 9.0 s",
        "Failed work failing 1 task fails and 1 task fails that belongs to no organisation",
        "detect_resource nfs-07 1 0 s ago detect_resource hung.",
    ):
        assert said in lines
    assert any(line.startswith("tidy ") and "tidy hung." in line for line in lines)
    assert any(line.startswith("Free disk ") for line in lines)


def test_document_has_the_figures(resource: Resource) -> None:
    found: dict[str, Any] = json.loads(status("--json"))["health"]

    assert found["ingest"] == {"hosts": 1, "silent": 1, "lags": [{"host": "h1", "lag_s": 300.0}]}
    assert found["evaluation"]["recent"]["worst_s"] == 12.0
    assert found["evaluation"]["age"]["worst"] == "nfs-07"
    queues = {queue["name"]: queue for queue in found["work"]["queues"]}
    assert (queues["evaluate"]["waiting"], queues["evaluate"]["oldest_s"]) == (0, None)
    (process,) = found["work"]["processes"]
    assert (process["kind"], process["silent_s"]) == ("worker", pytest.approx(3.0))
    assert found["work"]["slowest"]["seconds"] == 9.0
    assert found["storage"]["database_bytes"] > 5_000_000
    assert (found["failing"], found["failing_installation"]) == (1, 1)
    assert {one["reason"] for one in found["failures"]} == {"detect_resource hung.", "tidy hung."}
    assert {check["name"] for check in found["checks"] if check["condition"] == "silent"} >= {
        "Scheduler"
    }
