"""Advice that is not a policy has a page that says what, why, and what approving does."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from advisor.advice.recommendation_store import keep
from advisor.advice.registry import answer, kind_named
from advisor.core.canonical import dumps
from advisor.models import (
    PlacementMove,
    Recommendation,
    RecommendationState,
    Resource,
    ResourceStatus,
)
from tests.advisor.advice.test_kinds import STORED
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import Page, page_of

SEEN = {
    "threshold": ("ds1", "30.0"),
    # ESX 3.5 storage study: 64 hosts of depth 32 for a LUN that takes 256 commands
    "queue_depth": ("2048 commands", "256 commands: the queue of the LUN"),
    "off_peak_work": ("administrative work", "UTC"),
    "placement": ("Benefit over cost", "Copying"),
    # 7.5 and 4.5 of a 10 Gbit/s uplink, of which three quarters may be reserved
    "host_placement": ("4.50 Gbit/s", "7.50 Gbit/s may be"),
    "limit_check": ("not holding", "compare what the host read back"),
}
"""Words and numbers of each kind's inputs that its page must show."""


NOT_DONE = {
    "threshold": "No host is changed",
    "queue_depth": "Sluice sets no queue depth",
    "off_peak_work": "no schedule is changed",
    "placement": "Sluice moves nothing",
    "host_placement": "Sluice moves no workload",
    "limit_check": "No limit is changed",
}


def advise(fleet: Fleet, topic: str) -> Recommendation:
    """The stored inputs of one kind, answered and kept as the adviser does."""
    inputs = dumps(STORED[topic])
    return keep(
        resource=fleet.resources["nfs-07"],
        kind=kind_named(topic),
        incident=None,
        inputs=inputs,
        found=answer(topic, inputs),
        now=fleet.now,
    )


def shown(client: Client, advice: Recommendation) -> Page:
    return page_of(client.get(f"/recommendations/{advice.pk}/"))


@pytest.fixture(params=SEEN, ids=str)
def advice(request: pytest.FixtureRequest, fleet: Fleet) -> Iterator[Recommendation]:
    return advise(fleet, request.param)


def test_page_shows_changes_effects_formula_and_grounds(
    operator: Client, advice: Recommendation
) -> None:
    page = shown(operator, advice)

    text = page.all_text()
    assert page.text("h1") == advice.summary
    assert all(words in text for words in SEEN[advice.topic])
    assert all(title in text for title in ("Before and after", "Formula", "Undo", "Grounds"))
    assert "unproven: what such advice leads to is not measured" in text
    assert page.elements(".bars .after") != []
    # A check of limits changes nothing.
    found = "What was found" if advice.topic == "limit_check" else "What would change"
    assert page.text("#change-title") == found


def test_page_shows_its_evidence_as_a_picture(operator: Client, advice: Recommendation) -> None:
    pictures = shown(operator, advice).elements(".picture-field")

    # The stored queue depths come without a measured window.
    assert len(pictures) == (0 if advice.topic == "queue_depth" else 1)
    assert all(one.get("role") == "img" and one.get("aria-label") for one in pictures)


def test_table_of_changes_has_a_row_for_each(fleet: Fleet, operator: Client) -> None:
    page = shown(operator, advise(fleet, "queue_depth"))

    # 256 commands over 64 hosts of equal shares: 4 each
    assert page.row(".chart-table", "h63") == ["32", "4"]


def test_approval_says_what_will_not_happen(operator: Client, advice: Recommendation) -> None:
    question = shown(operator, advice).text("#approve-dialog")

    assert NOT_DONE[advice.topic] in question


def test_approval_of_a_threshold_says_what_sets_the_earlier_one(
    fleet: Fleet, operator: Client
) -> None:
    question = shown(operator, advise(fleet, "threshold")).text("#approve-dialog")

    assert "sluice resource set nfs-07 --threshold 30 sets the earlier one again" in question


def test_approval_of_work_is_noted_and_writes_no_policy(fleet: Fleet, operator: Client) -> None:
    advice = advise(fleet, "queue_depth")

    page = page_of(operator.post(f"/recommendations/{advice.pk}/approve/", follow=True))

    assert "Nothing was changed on any host" in page.text(".messages")
    assert not advice.policies.exists()


def test_approval_of_a_threshold_sets_it(fleet: Fleet, operator: Client) -> None:
    Resource.objects.filter(pk=fleet.resources["nfs-07"].pk).update(name="ds1")
    advice = advise(fleet, "threshold")

    page = page_of(operator.post(f"/recommendations/{advice.pk}/approve/", follow=True))

    fleet.resources["nfs-07"].refresh_from_db()
    # latency at 90 % of the peak of 0.5 ms + 0.1 ms · outstanding
    assert fleet.resources["nfs-07"].threshold != 15.0
    assert "the new threshold takes effect within 10 s" in page.text(".messages")


def test_viewer_sees_the_reason_and_no_button(viewer: Client, advice: Recommendation) -> None:
    page = shown(viewer, advice)

    assert page.elements("#approve-dialog") == []
    assert "Deciding takes the operator role" in page.all_text()


def test_outsider_sees_nothing(outsider: Client, advice: Recommendation) -> None:
    assert outsider.get(f"/recommendations/{advice.pk}/").status_code == 404


def test_reasons_of_another_version_are_said_to_be_unreadable(
    operator: Client, advice: Recommendation
) -> None:
    Recommendation.objects.filter(pk=advice.pk).update(answer='{"outcome": "recommendation"}')

    assert "stored by another version of Sluice" in shown(operator, advice).all_text()


def test_rejection_says_for_how_long_it_holds(operator: Client, advice: Recommendation) -> None:
    question = shown(operator, advice).text("#reject-dialog")

    assert "not repeated for a week" in question


def test_lists_and_overview_say_what_advice_is_about(fleet: Fleet, operator: Client) -> None:
    advise(fleet, "queue_depth")

    pages = [page_of(operator.get(address)).all_text() for address in ("/recommendations/", "/")]

    assert all("queue depths" in text and "policy" in text for text in pages)


def test_list_of_one_kind_leaves_out_others(fleet: Fleet, operator: Client) -> None:
    depths = advise(fleet, "queue_depth")

    page = page_of(operator.get("/recommendations/", {"kind": "queue_depth"}))

    advised = [place for place in page.links().values() if "/recommendations/" in place]
    assert f"/recommendations/{depths.pk}/" in advised
    assert "policy" not in page.text("tbody")


def test_resource_shows_all_open_advice_with_the_policy_first(
    fleet: Fleet, operator: Client
) -> None:
    advise(fleet, "queue_depth")
    advise(fleet, "limit_check")

    page = page_of(operator.get(f"/resources/{fleet.resources['nfs-07'].pk}/"))

    leads = [one.all_text() for one in page.elements(".notice-call strong")]
    assert leads == [
        "Recommendation, policy:",
        "Recommendation, limits:",
        "Recommendation, queue depths:",
    ]


def test_resource_says_why_there_is_no_other_advice(fleet: Fleet, operator: Client) -> None:
    resource = fleet.resources["nfs-07"]
    ResourceStatus.objects.filter(resource=resource).update(
        other_advice_gaps={"threshold": "ds keeps its threshold"}
    )

    page = page_of(operator.get(f"/resources/{resource.pk}/"))

    assert "Congestion threshold" in page.all_text()
    assert "ds keeps its threshold" in page.all_text()


def test_resource_with_an_open_policy_says_not_that_there_is_none(
    fleet: Fleet, operator: Client
) -> None:
    resource = fleet.resources["nfs-07"]
    gap = "load from outside has not been looked for yet"
    ResourceStatus.objects.filter(resource=resource).update(advice_gap=gap)
    path = f"/resources/{resource.pk}/"

    with_advice = page_of(operator.get(path)).all_text()
    Recommendation.objects.filter(resource=resource).update(state=RecommendationState.EXPIRED)
    without = page_of(operator.get(path)).all_text()

    assert "Recommendation, policy:" in with_advice
    assert gap not in with_advice
    assert f"No recommendation yet: {gap}" in without


def test_overview_leads_an_incident_to_its_policy_only(fleet: Fleet) -> None:
    policy = Recommendation.objects.get(state=RecommendationState.PROPOSED)
    Recommendation.objects.filter(pk=policy.pk).update(created_at=fleet.now - timedelta(hours=1))
    advise(fleet, "queue_depth")

    page = page_of(client_of(fleet.people.viewer).get("/"))

    assert page.links()["Review the recommendation for nfs-07"] == f"/recommendations/{policy.pk}/"


MOVE = ("virsh", "migrate", "{workload}", "{target}")


@pytest.mark.parametrize(
    ("who", "words"), [("owner", MOVE), ("operator", MOVE), ("owner", ())], ids=str
)
def test_approval_of_a_move_says_whether_a_command_makes_it(
    fleet: Fleet, settings: Any, who: str, words: tuple[str, ...]
) -> None:
    settings.MOVE_COMMAND, settings.MOVE_ORGANISATIONS = words, [fleet.organisation.slug]
    row, client = advise(fleet, "host_placement"), client_of(getattr(fleet.people, who))

    asked = shown(client, row).text("#approve-dialog")
    done = page_of(client.post(f"/recommendations/{row.pk}/approve/", follow=True))

    runs = who == "owner" and bool(words)
    assert ("runs the command of this server" in asked) is runs
    assert ("Sluice moves no workload" in asked) is not runs
    assert row.moves.exists() is runs
    assert ("a worker runs the move command" in done.text(".messages")) is runs
    assert ("Nothing was changed on any host" in done.text(".messages")) is not runs
    page = shown(client, row)
    assert bool(page.elements("#moves")) is runs
    if runs:
        (move,) = row.moves.all()
        assert page.row("#moves", move.workload)[:4] == [
            move.source, move.target, "waiting", "not yet",
        ]  # fmt: skip


def test_page_of_a_move_shows_what_the_command_said_and_what_was_measured(
    operator: Client, fleet: Fleet
) -> None:
    row = advise(fleet, "host_placement")
    PlacementMove.objects.create(
        organisation=fleet.organisation, recommendation=row, place=0, workload="db-orders",
        source="kvm-01", target="kvm-02", asked_at=fleet.now, asked_by="owner",
        state="not seen", started_at=fleet.now, ended_at=fleet.now, exit_status=0,
        said="<b>done</b>", measured="kvm-02: nothing is measured; kvm-01: 20.0 Mbit/s",
    )  # fmt: skip

    cells = shown(operator, row).row("#moves", "db-orders")

    assert cells[2] == "not seen"
    assert "ended with 0" in cells[3]
    assert "<b>done</b>" in cells[3]
    assert cells[4] == "kvm-02: nothing is measured; kvm-01: 20.0 Mbit/s"
