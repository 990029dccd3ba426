"""`sluice what-if` tries settings against stored history and makes drafts."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Organisation
from advisor.decisions.pools import set_pool
from advisor.models import Policy, Recommendation, RecommendationState
from advisor.pipeline.detect import detect
from tests.advisor.samples import Phase, net_lines, send
from tests.advisor.scenario import MBIT, NOW, Cluster, make_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Half an hour in which three workloads want all of 94 Mbit/s."""
    cluster = make_cluster()
    Organisation.objects.filter(slug="other").delete()
    even = dict.fromkeys(("p1", "p2", "p3"), 31 * MBIT)
    full = Phase(intervals=180, sent={"up0": 93 * MBIT}, received=even)
    lines = net_lines("h1", [full], start=NOW - timedelta(minutes=30))
    send(cluster.organisation, lines, now=NOW)
    detect(resource=cluster.uplink, now=NOW)
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)
    return cluster


def sluice(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def rates(*settings: str) -> dict[str, Any]:
    words = [part for setting in settings for part in ("--set", setting)]
    answer = json.loads(sluice("what-if", "h1/up0", "--hours", "1", "--json", *words))
    return {row["workload"]: row["contended"]["rate_after"] for row in answer["workloads"]}


def test_settings_change_who_gets_what(cluster: Cluster) -> None:
    found = rates("web-1:reservation=0", "web-2:tier=high", "web-3:limit=10Mbit")

    # web-3 has its 10; 83 are divided 1000 : 2000
    assert found["web-1"] == pytest.approx(83 / 3 * MBIT, rel=0.02)
    assert found["web-2"] == pytest.approx(166 / 3 * MBIT, rel=0.02)
    assert found["web-3"] == pytest.approx(10 * MBIT, rel=0.02)


def test_a_limit_is_taken_away_by_none(cluster: Cluster) -> None:
    assert rates("web-3@h1:limit=1Mbit", "web-3:limit=none") == rates()


def test_table_names_winners_and_the_time_that_was_played(cluster: Cluster) -> None:
    said = sluice("what-if", "h1/up0", "--hours", "1")

    assert "before is no policy: equal shares" in said
    # Half an hour of samples every 10 s, and congestion is seen after a few of them.
    assert re.search(r"\b(29|30) min simulated, 2[5-9] min of it congested\n", said)
    assert "31.0 Mbit/s → 81.0 Mbit/s" in said
    assert "web-1 would have gained; web-2 and web-3 would have lost (" in said
    assert "No latency: an uplink has no latency of its own that is measured" in said
    assert "No interval: 0 earlier predictions were measured, 4 are needed" in said


def test_throttled_minutes_are_told_per_allocation(cluster: Cluster) -> None:
    said = sluice(
        "what-if", "h1/up0", "--hours", "1",
        "--set", "web-1:reservation=0", "--set", "web-3:limit=10Mbit",
    )  # fmt: skip

    # half an hour in which it wanted all it could get
    (row,) = [line for line in said.splitlines() if "web-3" in line and "loses" in line]
    assert "0 → 30" in row or "0 → 29" in row


def test_draft_is_made_and_can_be_approved(cluster: Cluster) -> None:
    said = sluice("what-if", "h1/up0", "--hours", "1", "--draft", "--user", "operator")
    draft = Recommendation.objects.get(state=RecommendationState.PROPOSED)
    explained = sluice("recommendations", str(draft.pk))

    assert f"Approve it: sluice approve {draft.pk} --user NAME" in said
    assert explained.startswith("Draft for uplink h1/up0: ")
    assert "Confidence" in explained
    assert "Backtest" in explained
    assert "throttled" in explained
    assert "version 1" in sluice("approve", str(draft.pk), "--user", "owner")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (
            ["--set", "web-9:shares=1"],
            '"web-9" has no allocation on h1/up0; these have: web-1, web-2',
        ),
        (["--set", "web-1@h9:shares=1"], '"web-1@h9" has no allocation on h1/up0'),
        (["--set", "web-1:weight=1"], "with one of shares, tier, reservation, limit"),
        (["--set", "web-1"], "is not WORKLOAD:CONTROL=VALUE"),
        (["--set", "web-1:shares=0"], 'shares "0" is not a whole number of at least 1'),
        (["--set", "web-1:tier=gold"], 'tier "gold" is not one of high, medium, low'),
        (["--set", "web-1:limit=fast"], '"fast" is not a rate in bit/s'),
        (["--set", "web-1:limit=1Mbit"], "limit of web-1 is 1e+06"),
        (["--hours", "0"], "--hours is 0"),
        (["--draft"], "--draft needs --user NAME"),
        (["--draft", "--user", "viewer"], "viewer may not decide for"),
    ],
)
def test_wrong_words_are_refused_in_one_line(
    cluster: Cluster, words: list[str], complaint: str
) -> None:
    with pytest.raises(CommandError) as refusal:
        sluice("what-if", "h1/up0", *words)

    assert complaint in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_draft_carries_the_pools_that_are_stated(cluster: Cluster) -> None:
    set_pool(resource=cluster.uplink, name="web", limit=30 * MBIT, members=["web-2", "web-3"])

    said = sluice("what-if", "h1/up0", "--hours", "1", "--draft", "--user", "operator")
    draft = Recommendation.objects.get(state=RecommendationState.PROPOSED)
    sluice("approve", str(draft.pk), "--user", "owner")

    policy = Policy.objects.get()
    assert "Pool web: at most 30.0 Mbit/s, shares of its members" in said
    assert "pool web of web-2 and web-3 (at most 30.0 Mbit/s, " in draft.summary
    (pool,) = policy.pools
    assert (pool["name"], pool["limit"], len(pool["members"])) == ("web", 30 * MBIT, 2)
    entitled = {one["workload"]: one["entitlement"] for one in policy.allocations}
    # 94, of which 75 are reserved for web-1; the pool could have 30 and gets 2/3 of the other 19
    assert entitled["web-2"] + entitled["web-3"] == pytest.approx(38 / 3 * MBIT)
    assert rates("web-1:reservation=0")["web-1"] == pytest.approx(63 * MBIT, rel=0.02)
