"""A rollout on its pages, its buttons, and the one that stops all."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command

from advisor.core.rollout import PolicyStage
from advisor.decisions.decide import approve
from advisor.decisions.rollouts.advance import advance
from advisor.decisions.rollouts.begin import terms_of
from advisor.models import PolicyRollout
from tests.advisor.agent_passes import agent_pass
from tests.advisor.scenario import NOW, Cluster, end_guards, make_cluster, propose
from tests.web.conftest import client_of
from tests.web.html import page_of

pytestmark = pytest.mark.django_db

LATER = NOW + timedelta(minutes=2)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Version 1 is in force on the only host, and its guard has begun."""
    found = make_cluster()
    monkeypatch.setattr("django.utils.timezone.now", lambda: LATER)
    approve(recommendation=propose(found), user=found.people.owner, now=NOW)
    agent_pass(found.enrolment.host, at=NOW + timedelta(minutes=1))
    advance(rollout=PolicyRollout.objects.get(), now=NOW + timedelta(minutes=1))
    return found


def text_of(cluster: Cluster, address: str, *, who: str = "operator") -> str:
    answer = client_of(getattr(cluster.people, who)).get(address)
    assert answer.status_code == 200
    return " ".join(page_of(answer).all_text().split())


def status(*words: str) -> str:
    out = StringIO()
    call_command("rollout", *words, "--organisation", "acme", stdout=out)
    return out.getvalue()


def test_pages_show_stage_hosts_and_time_left(cluster: Cluster) -> None:
    said = "Version 1 is in force: stage 1 of 1, 9 min left at least. It is on h1."

    assert said in text_of(cluster, f"/resources/{cluster.uplink.pk}/")
    assert said in text_of(cluster, f"/resources/{cluster.uplink.pk}/", who="viewer")
    advice = cluster.uplink.recommendations.get()
    assert said in text_of(cluster, f"/recommendations/{advice.pk}/")


def test_guards_are_shown_with_their_bounds(cluster: Cluster) -> None:
    guards = [
        {
            "guard": "throughput", "verdict": "open", "tolerance": 0.1, "windows": 12,
            "against": "the time before", "worse": 0.04, "low": -0.2, "high": 0.31, "gap": "",
        }
    ]  # fmt: skip
    PolicyRollout.objects.update(guards=guards)

    operator = client_of(cluster.people.operator)
    page = page_of(operator.get(f"/resources/{cluster.uplink.pk}/"))
    found = [cell.strip() for cell in page.row("#resource-rollout table", "throughput")]

    assert found == ["open", "4", "-20 and 31 %", "12", "the time before"]


def test_going_on_ends_the_guard_of_the_last_stage(cluster: Cluster) -> None:
    operator = client_of(cluster.people.operator)

    answer = operator.post(f"/resources/{cluster.uplink.pk}/rollout/go-on/")
    again = operator.post(f"/resources/{cluster.uplink.pk}/rollout/go-on/", follow=True)

    assert answer.status_code == 302
    assert PolicyRollout.objects.get().guarded_until == LATER
    assert "no stage of h1/up0 version 1 follows" in page_of(again).all_text()


def test_one_button_stops_all_and_another_resumes(cluster: Cluster) -> None:
    operator, organisation = client_of(cluster.people.operator), cluster.organisation
    place = f"/organisations/{organisation.pk}/rollouts"

    operator.post(f"{place}/stop/", {"reason": "month end"})
    stopped = [text_of(cluster, one) for one in ("/", f"/resources/{cluster.uplink.pk}/")]
    told = status()
    operator.post(f"{place}/resume/")

    for page in stopped:
        assert "All rollouts are stopped" in page
        assert "by operator: “month end”" in page
    assert told.startswith("All rollouts are stopped since 2026-11-20 12:02 UTC by operator")
    assert terms_of(organisation).stopped_at is None
    assert "All rollouts are stopped" not in text_of(cluster, "/")


def test_viewer_and_outsider_stop_nothing(cluster: Cluster) -> None:
    place = f"/organisations/{cluster.organisation.pk}/rollouts/stop/"

    assert client_of(cluster.people.viewer).post(place).status_code == 403
    assert client_of(cluster.people.outsider).post(place).status_code == 404
    assert terms_of(cluster.organisation).stopped_at is None


def test_command_stops_sets_and_tells(cluster: Cluster) -> None:
    status("stop", "--reason", "move")
    stopped = json.loads(status("status", "--json"))
    status("resume")
    status("set", "--stages", "off", "--stage", "30", "--unsure", "goes-on")
    status("set", cluster.uplink.name, "--stages", "on")
    told = json.loads(status("status", "--json"))

    assert (stopped["stopped_by"], stopped["stop_reason"]) == ("command line", "move")
    assert (told["stages"], told["stage_s"], told["goes_on_unsure"]) == (False, 30.0, True)
    cluster.uplink.refresh_from_db()
    assert cluster.uplink.staged is True


def test_rolling_out_is_listed_until_hosts_have_it(cluster: Cluster) -> None:
    end_guards(at=LATER)
    approve(
        recommendation=propose(cluster, reservation=60e6), user=cluster.people.owner, now=LATER
    )
    advance(rollout=PolicyRollout.objects.get(policy__version=2), now=LATER)

    (row,) = json.loads(status("--json"))["rollouts"]

    assert (row["version"], row["state"]) == (2, PolicyStage.ROLLING_OUT)
    assert row["waits_for"].startswith("the agent of h1 ")
    assert f"Version 2 is in stage 1 of 1. It waits: {row['waits_for']}" in text_of(cluster, "/")
