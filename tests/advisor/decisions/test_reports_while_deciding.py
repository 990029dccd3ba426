"""Hosts report while somebody decides: neither waits for the other's end."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from advisor.decisions.decide import approve
from advisor.decisions.rollouts.advance import held_rollout
from advisor.models import ComplianceRecord, PolicyRollout
from tests.advisor.agent_reports import tell
from tests.advisor.scenario import NOW, Cluster, make_cluster, propose


@pytest.fixture
def decided(transactional_db: None) -> Cluster:
    cluster = make_cluster()
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)
    return cluster


def reported(cluster: Cluster) -> int:
    """On a connection of its own, which waits for no lock longer than half a second."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '500ms'")
        tell(cluster, [{}], at=NOW)
        return ComplianceRecord.objects.count()
    finally:
        connection.close()


def test_a_report_is_stored_while_a_rollout_is_looked_at(decided: Cluster) -> None:
    """It holds the host's agent, which the rollout wants next when it publishes."""
    rollout = PolicyRollout.objects.get()
    with ThreadPoolExecutor(1) as others, transaction.atomic():
        held_rollout(rollout)

        assert others.submit(reported, decided).result(timeout=30) == 1
