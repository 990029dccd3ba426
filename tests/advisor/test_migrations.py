"""Rows of before a migration are as if they had been written after it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from importlib import import_module

import pytest
from django.apps import apps
from django.core.management import call_command

from advisor.decisions.decide import approve, rollback
from advisor.models import Policy, PredictionScore, Recommendation
from enforcers.contract import Outcome
from tests.advisor.agent_passes import agent_pass
from tests.advisor.scenario import MBIT, NOW, end_guards, make_cluster, propose


@pytest.fixture
def migrated_again(transactional_db: None) -> Iterator[None]:
    """Whatever a test does, the tables are there for the next."""
    yield
    call_command("migrate", verbosity=0)


@pytest.mark.long
def test_policies_of_before_get_the_capacity_of_their_recommendation(
    migrated_again: None,
) -> None:
    cluster = make_cluster()
    owner = cluster.people.owner
    approve(recommendation=propose(cluster, capacity=90 * MBIT), user=owner, now=NOW)
    end_guards()
    silent = propose(cluster, reservation=60 * MBIT)
    approve(recommendation=silent, user=owner, now=NOW)
    end_guards()
    draft = propose(cluster, reservation=50 * MBIT)
    Recommendation.objects.filter(pk=draft.pk).update(inputs='{"capacity": 80000000.0}')
    draft.refresh_from_db()
    approve(recommendation=draft, user=owner, now=NOW)
    for target in (1, 0):
        rollback(resource=cluster.uplink, user=owner, now=NOW, to_version=target)

    call_command("migrate", "advisor", "0011", verbosity=0)
    call_command("migrate", verbosity=0)

    versions = Policy.objects.order_by("version").values_list("version", "capacity")
    # 2 does not say what was divided; 4 repeats 1; 5 divides nothing.
    expected = [(1, 90 * MBIT), (2, None), (3, 80 * MBIT), (4, 90 * MBIT), (5, None)]
    assert list(versions) == expected


@pytest.mark.parametrize(
    ("outcome", "kept"), [(Outcome.APPLIED, 1), (Outcome.UNSUPPORTED, 0), (None, 0)], ids=str
)
def test_scores_that_no_report_proves_are_removed(
    db: None, outcome: Outcome | None, kept: int
) -> None:
    cluster = make_cluster()
    advice = propose(cluster)
    approve(recommendation=advice, user=cluster.people.owner, now=NOW)
    if outcome is not None:
        agent_pass(cluster.enrolment.host, at=NOW, outcome=outcome)
    PredictionScore.objects.create(
        recommendation=advice, scored_at=NOW, began_at=NOW, ended_at=NOW + timedelta(hours=1),
        windows=12, capacity=94 * MBIT, rates=[], confidence=0.9, error_ratio=0.3,
        worst_error_ratio=0.3, bias_ratio=0.0, skill_ratio=None, held=False,
    )  # fmt: skip

    import_module("advisor.migrations.0016_remove_unproven_scores").remove(apps, None)

    assert PredictionScore.objects.count() == kept
