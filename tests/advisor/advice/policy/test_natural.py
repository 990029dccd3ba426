"""Workloads that start or stop by themselves score the forecast before the first approval."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from advisor.advice.policy.natural import (
    LOOK,
    MOST_A_DAY,
    resources_to_look_at,
    score_natural_changes,
)
from advisor.decisions.decide import approve
from advisor.models import NaturalLook, NaturalScore, Resource
from advisor.pipeline.detect import detect
from tests.advisor.samples import Phase, net_lines, send
from tests.advisor.scenario import MBIT, NOW, Cluster, make_cluster, propose

pytestmark = pytest.mark.django_db

START = NOW - LOOK - timedelta(minutes=10)


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def switching(cluster: Cluster, *, after: float = 10 * MBIT, hours: int = 2) -> None:
    """web-1 is on for every other quarter of an hour; web-2 takes `after` in the last of them."""
    phases = []
    for number in range(4 * hours):
        on = 30 * MBIT if number % 2 else 0.0
        other = after if number == 4 * hours - 1 else 10 * MBIT
        received = {"p1": on, "p2": other, "p3": 5 * MBIT}
        phases.append(Phase(intervals=90, sent={"up0": sum(received.values())}, received=received))
    rest = round((NOW - START) / timedelta(seconds=10)) - 90 * len(phases)
    quiet = {"p1": 0.0, "p2": 10 * MBIT, "p3": 5 * MBIT}
    phases.insert(0, Phase(intervals=rest, sent={"up0": 15 * MBIT}, received=quiet))
    send(cluster.organisation, net_lines("h1", phases, start=START), now=NOW)
    detect(resource=cluster.uplink, now=NOW)


def look(cluster: Cluster, *, limit_s: float = 60.0) -> int:
    return score_natural_changes(resource=cluster.uplink, now=NOW, limit_s=limit_s)


def test_switches_are_scored_by_what_others_got(cluster: Cluster) -> None:
    switching(cluster)

    found = look(cluster)

    assert found == NaturalScore.objects.count() > 0
    newest = NaturalScore.objects.filter(starts=False).first()
    assert newest is not None
    assert newest.workload == "web-1"
    rates = {rate["workload"]: rate for rate in newest.rates}
    assert set(rates) == {"web-2", "web-3"}
    assert rates["web-2"]["measured"] == pytest.approx(10 * MBIT, rel=0.01)
    assert rates["web-2"]["predicted"] == pytest.approx(10 * MBIT, rel=0.05)
    assert rates["web-2"]["unsure"] == ""


def test_nothing_is_foretold_from_what_came_after(cluster: Cluster) -> None:
    switching(cluster)
    other = make_cluster("globex")
    switching(other, after=20 * MBIT)

    look(cluster)
    look(other)

    told = [
        {
            score.switched_at: [(rate["predicted"], rate["interval"]) for rate in score.rates]
            for score in NaturalScore.objects.filter(resource=one.uplink)
        }
        for one in (cluster, other)
    ]
    assert told[0] == told[1] != {}


def test_history_is_searched_once(cluster: Cluster) -> None:
    switching(cluster)
    look(cluster)
    mark = NaturalLook.objects.get(resource=cluster.uplink).looked_until
    count = NaturalScore.objects.count()

    assert look(cluster) == 0

    assert NaturalLook.objects.get(resource=cluster.uplink).looked_until == mark
    assert NaturalScore.objects.count() == count
    due = resources_to_look_at(now=mark + LOOK - timedelta(seconds=1))
    assert not due.filter(pk=cluster.uplink.pk).exists()
    assert resources_to_look_at(now=mark + LOOK).filter(pk=cluster.uplink.pk).exists()


def test_resource_without_samples_is_not_searched(cluster: Cluster) -> None:
    assert look(cluster) == 0
    assert not NaturalLook.objects.exists()


def test_resource_waits_until_it_has_a_stretch_of_history(cluster: Cluster) -> None:
    switching(cluster)

    def is_due(*, at: datetime) -> bool:
        return resources_to_look_at(now=at).filter(pk=cluster.uplink.pk).exists()

    assert not is_due(at=START + LOOK - timedelta(minutes=1))
    assert is_due(at=START + LOOK + timedelta(minutes=1))


def test_turn_without_time_searches_nothing(cluster: Cluster) -> None:
    switching(cluster)

    assert look(cluster, limit_s=0.0) == 0
    assert not NaturalLook.objects.exists()


def test_some_switches_of_a_day_are_enough(cluster: Cluster) -> None:
    switching(cluster, hours=5)

    assert look(cluster) == MOST_A_DAY


def test_switch_under_a_policy_that_no_report_proves_does_not_count(cluster: Cluster) -> None:
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=START)
    switching(cluster)

    assert look(cluster) == 0
    assert Resource.objects.filter(natural_look__isnull=False).count() == 1
