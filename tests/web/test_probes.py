"""/health/live, /health/ready and /health/evaluation, with real servers that answer or do not."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client, override_settings
from django.utils import timezone

from accounts.models import Organisation
from advisor.models import Resource, ResourceStatus
from advisor.pipeline import work_figures
from tests.advisor.stated_datastores import stated_datastore

pytestmark = pytest.mark.valkey


@pytest.fixture
def no_queue() -> Iterator[None]:
    work_figures._client.cache_clear()
    with override_settings(REDIS_URL="redis://127.0.0.1:1/0"):
        yield
    work_figures._client.cache_clear()


@pytest.fixture
def no_database(transactional_db: None) -> Iterator[None]:
    """The database refuses connections, as while it restarts."""
    settings = connection.settings_dict
    host, settings["HOST"] = settings["HOST"], "/nowhere"
    connection.close()
    yield
    settings["HOST"] = host


def resource(name: str, *, evaluated_s: float | None, added_s: float = 600.0) -> Resource:
    acme, _ = Organisation.objects.get_or_create(slug="acme", name="Acme")
    found = stated_datastore(acme, name, "h1")
    now = timezone.now()
    Resource.objects.filter(pk=found.pk).update(created_at=now - timedelta(seconds=added_s))
    if evaluated_s is not None:
        at = now - timedelta(seconds=evaluated_s)
        ResourceStatus.objects.create(resource=found, looked_at=at)
    return found


def test_everything_that_requests_need_is_there(client: Client, valkey_url: str, db: None) -> None:
    answer = client.get("/health/ready")

    assert (answer.status_code, answer.json()) == (
        200,
        {"status": "pass", "database": "", "migrations": "", "queue": ""},
    )


def test_missing_migration_is_not_ready(client: Client, valkey_url: str, db: None) -> None:
    MigrationRecorder(connection).record_unapplied("advisor", "0025_keep_failed_work")

    answer = client.get("/health/ready")

    assert answer.status_code == 503
    assert answer.json()["migrations"] == "1 missing; run: sluice migrate"


def test_migration_of_a_later_version_is_ready(client: Client, valkey_url: str, db: None) -> None:
    MigrationRecorder(connection).record_applied("advisor", "9999_of_tomorrow")

    assert client.get("/health/ready").status_code == 200


def test_silent_queue_is_not_ready(client: Client, db: None, no_queue: None) -> None:
    answer = client.get("/health/ready")

    assert answer.status_code == 503
    assert answer.json()["queue"] == "the queue's server does not answer"


def test_silent_database_is_not_ready_but_live(
    client: Client, valkey_url: str, no_database: None
) -> None:
    ready, live, evaluation = (
        client.get(f"/health/{name}") for name in ("ready", "live", "evaluation")
    )

    assert (ready.status_code, ready.json()["database"]) == (503, "the database does not answer")
    assert (live.status_code, live.json()) == (200, {"status": "pass"})
    assert evaluation.status_code == 503


def test_evaluation_is_fresh_until_a_resource_is_stale(client: Client, db: None) -> None:
    nothing = client.get("/health/evaluation")
    resource("a", evaluated_s=20)
    resource("new", evaluated_s=None, added_s=60)
    fresh = client.get("/health/evaluation")
    resource("b", evaluated_s=130)
    resource("never", evaluated_s=None, added_s=130)

    stale = client.get("/health/evaluation")

    assert (nothing.status_code, nothing.json()) == (
        200,
        {"status": "pass", "resources": 0, "stale": 0, "oldest_s": None},
    )
    assert (fresh.status_code, fresh.json()["stale"]) == (200, 0)
    assert (stale.status_code, stale.json()["status"]) == (503, "fail")
    assert (stale.json()["resources"], stale.json()["stale"]) == (4, 2)
    assert stale.json()["oldest_s"] == pytest.approx(130, abs=20)


@override_settings(SECURE_SSL_REDIRECT=True)
@pytest.mark.parametrize(
    ("path", "is_redirected"),
    [("/health", False), ("/health/live", False), ("/health/evaluation", False),
     ("/ping", False), ("/metrics", True), ("/health-of-sluice/", True)],
)  # fmt: skip
def test_probes_are_answered_without_https(
    client: Client, db: None, path: str, is_redirected: bool
) -> None:
    assert (client.get(path).status_code == 301) is is_redirected
