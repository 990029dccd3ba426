"""Two programs that do something at once: one is served, the other told so."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from accounts.models import AuditEntry
from advisor.models import MaintenanceWindow, Recommendation, ResourceKind
from tests.web.api.asking import Program, program_of
from tests.web.fleet import Fleet, empty_fleet

WAITING = """
SELECT count(*) FROM pg_stat_activity
WHERE wait_event_type = 'Lock' AND datname = current_database()
"""


@pytest.fixture
def both(transactional_db: None) -> tuple[Fleet, Program, Program]:
    """Programs of the owner and of the operator."""
    fleet = empty_fleet(timezone.now())
    return (
        fleet,
        program_of(fleet.people.owner, fleet.organisation),
        program_of(fleet.people.operator, fleet.organisation),
    )


@pytest.fixture
def advice(both: tuple[Fleet, Program, Program]) -> Recommendation:
    fleet, _, _ = both
    fleet.add_host("h1", last_sample_at=None)
    resource = fleet.add_resource(
        "san", ResourceKind.DATASTORE, capacity=None, threshold=15.0, attachments=(("h1", "sda"),)
    )
    return Recommendation.objects.create(
        organisation=fleet.organisation, resource=resource, kind="policy", summary="divide",
        inputs="{}", answer="{}", created_at=fleet.now, expires_at=fleet.now + timedelta(hours=1),
    )  # fmt: skip


def at_once(hold: Callable[[], Any], *asks: Callable[[], Any]) -> list[Any]:
    """Ask while something is held that all of them need, and let go when all wait for it."""
    with ThreadPoolExecutor(len(asks)) as pool:
        with transaction.atomic():
            hold()
            answers = [pool.submit(closing(one)) for one in asks]
            deadline = time.monotonic() + 30
            with connection.cursor() as cursor:
                while True:
                    # Within a transaction the first answer would be kept.
                    cursor.execute("SELECT pg_stat_clear_snapshot()")
                    cursor.execute(WAITING)
                    if cursor.fetchone() == (len(asks),):
                        break
                    assert time.monotonic() < deadline, "not all came to wait"
                    time.sleep(0.02)
        return [one.result() for one in answers]


def closing(ask: Callable[[], Any]) -> Callable[[], Any]:
    def asked() -> Any:
        try:
            return ask()
        finally:
            connection.close()

    return asked


def test_of_two_who_decide_at_once_one_is_told_that_it_is_too_late(
    both: tuple[Fleet, Program, Program], advice: Recommendation
) -> None:
    _, owner, operator = both
    path = f"recommendations/{advice.pk}/reject"

    answers = at_once(
        lambda: Recommendation.objects.select_for_update().get(pk=advice.pk),
        lambda: owner("POST", path, {"reason": "of the owner"}),
        lambda: operator("POST", path, {"reason": "of the operator"}),
    )

    advice.refresh_from_db()
    assert sorted(one.status_code for one in answers) == [200, 409]
    (served,) = [
        name
        for name, one in zip(("owner", "operator"), answers, strict=True)
        if one.status_code == 200
    ]
    assert advice.decision_reason == f"of the {served}"
    assert [one.actor for one in AuditEntry.objects.all()] == [served]


def test_same_request_sent_twice_at_once_is_done_once(
    both: tuple[Fleet, Program, Program],
) -> None:
    fleet, owner, _ = both
    work = {"name": "backup", "starts_at": "2026-11-20T10:00:00Z", "length_s": 7200}

    def ask() -> Any:
        return owner("POST", "maintenance-windows", work, idempotency_key="once")

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: closing(ask)(), range(4)))

    assert {one.status_code for one in answers} == {201}
    assert len({one.content for one in answers}) == 1
    assert sum("Idempotency-Replayed" in one for one in answers) == 3
    assert MaintenanceWindow.objects.count() == 1
    assert fleet.organisation.audit_entries.count() == 1
