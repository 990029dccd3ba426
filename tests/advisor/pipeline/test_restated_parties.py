"""Parties are stated anew after a change of allocations, whatever is judged at that moment."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from advisor.history.reader import read_history
from advisor.models import Incident, ResourceStatus
from advisor.pipeline import detect as detecting
from advisor.pipeline import incidents
from advisor.pipeline.detect import detect
from advisor.pipeline.incidents import restate_parties
from ingest.partitions import TABLES
from tests.advisor.deliveries import HOSTS, START, STEP, Delivery, Lun

LOW_MS, HIGH_MS = 5.0, 60.0


@pytest.fixture
def committed(transactional_db: None) -> Iterator[None]:
    """What is written is really committed; samples, which Django does not manage, are emptied."""
    yield
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"TRUNCATE {table}")


def deliver(lun: Lun, steps: range, *, now_step: int) -> None:
    """What both hosts measured in these steps comes at a later one."""
    for host in HOSTS:
        lun.send(
            Delivery(after=now_step, host=host, steps=tuple(steps)),
            now=START + now_step * STEP + timedelta(seconds=1),
        )


def judge(lun: Lun, step: int, **options: Any) -> None:
    detect(resource=lun.resource, now=START + step * STEP + timedelta(seconds=1), **options)


def test_window_that_is_judged_meanwhile_is_not_lost(
    committed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    lun = Lun([LOW_MS] * 6 + [HIGH_MS] * 21)
    deliver(lun, range(27), now_step=26)
    judge(lun, 26)
    assert Incident.objects.get().windows == 20
    deliver(lun, range(27, 28), now_step=27)

    def judge_by_another_worker() -> None:
        try:
            judge(lun, 27)
        finally:
            connection.close()

    def read_slowly(*arguments: Any) -> object:
        with ThreadPoolExecutor(1) as other:
            other.submit(judge_by_another_worker).result(timeout=60)
        return read_history(*arguments)

    monkeypatch.setattr(incidents, "read_history", read_slowly)
    with transaction.atomic():
        restate_parties(lun.resource)
    monkeypatch.undo()
    judge(lun, 27)

    assert Incident.objects.get().windows == 21


@pytest.mark.django_db
def test_incidents_that_are_still_to_be_judged_again_are_not_begun_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both are judged; late samples change the first, in which judging again stops for now."""
    levels = [LOW_MS] * 6 + [HIGH_MS] * 20 + [LOW_MS] * 20 + [HIGH_MS] * 20 + [LOW_MS] * 20
    lun = Lun(levels)
    every = range(len(levels) + 1)
    lun.send(Delivery(after=0, host="h1", steps=tuple(every)), now=START + every[-1] * STEP)
    judge(lun, every[-1])
    assert Incident.objects.count() == 2
    late = every[-1] + 60
    lun.send(Delivery(after=late, host="h2", steps=tuple(every)), now=START + late * STEP)
    monkeypatch.setattr(detecting, "MOST_WINDOWS", 16)
    judge(lun, late, limit_s=0.0)
    assert ResourceStatus.objects.get().is_rejudging
    (going_on,) = Incident.objects.filter(ended_at=None)

    with transaction.atomic():
        restate_parties(lun.resource)

    assert list(Incident.objects.all()) == [going_on]
    monkeypatch.undo()
    lun.settle(START + late * STEP)
    # Their rows take the place of what was judged before.
    assert Incident.every.filter(withdrawn_at=None).count() == 2
    # The second comes back within an hour, so it takes twelve low windows to end, not three.
    assert [row["windows"] for row in lun.incidents()] == [22, 31]
