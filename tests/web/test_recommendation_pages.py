"""A recommendation says what, why and how to undo, and is decided once."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from advisor.advice.policy.decide.policy_answer import Recommendation as Answer
from advisor.core.canonical import loads
from advisor.decisions.acting import act_on
from advisor.decisions.decide import approve, reject
from advisor.models import (
    Enforcer,
    LadderRule,
    Policy,
    Recommendation,
    RecommendationState,
    Resource,
)
from tests.web import agents
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import Page, page_of


@pytest.fixture
def advice(fleet: Fleet) -> Recommendation:
    return Recommendation.objects.get(state=RecommendationState.PROPOSED)


def shown(client: Client, advice: Recommendation) -> Page:
    return page_of(client.get(f"/recommendations/{advice.pk}/"))


def decide(client: Client, advice: Recommendation, verb: str, **form: str) -> HttpResponse:
    return client.post(f"/recommendations/{advice.pk}/{verb}/", form, follow=True)


def test_summary_and_track_record_stand_on_top(operator: Client, advice: Recommendation) -> None:
    page = shown(operator, advice)

    assert page.text("h1") == advice.summary
    assert "confidence: unproven: 0 rates on this resource" in page.text(".lead")


def test_reason_shows_window_samples_formula_and_alternatives(
    operator: Client, advice: Recommendation
) -> None:
    answer = loads(Answer, advice.answer)

    text = shown(operator, advice).all_text()

    assert answer.evidence.formula in text
    assert f"Samples{answer.evidence.sample_count}" in text.replace(" ", "")
    assert all(option.reason in text for option in answer.alternatives)
    assert answer.reversibility in text


def test_every_workload_has_bars_before_and_after(
    operator: Client, advice: Recommendation
) -> None:
    answer = loads(Answer, advice.answer)

    page = shown(operator, advice)

    assert len(page.elements(".bars .before")) == len(answer.allocations)
    sure = [one for one in answer.allocations if not one.unsure]
    assert len(page.elements(".bars .after")) == len(sure)
    # db-orders and web-shop have reservations.
    assert len(page.elements(".bars .promise")) == 2


def test_rate_that_is_not_sure_has_no_bar_and_is_called_suspected(
    operator: Client, advice: Recommendation
) -> None:
    answer = json.loads(advice.answer)
    first = answer["allocations"][0]
    first |= {"unsure": "it was seen twice", "interval": {"low": 1.0, "high": 9.0, "level": 0.9}}
    Recommendation.objects.filter(pk=advice.pk).update(answer=json.dumps(answer))
    sure = sum(not one["unsure"] for one in answer["allocations"])

    page = shown(operator, advice)

    assert len(page.elements(".bars .after")) == sure
    told = [one.all_text() for one in page.elements(".bars .told")]
    assert "suspected: 90 % between 1.00 and 9.00; it was seen twice" in [
        text.replace("\N{NO-BREAK SPACE}", " ") for text in told
    ]


def test_of_many_workloads_those_that_change_most_stand_first(
    operator: Client, advice: Recommendation, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("web.views.recommendations", "web.templatetags.many"):
        monkeypatch.setattr(f"{module}.MOST_ROWS", 2)
    answer = loads(Answer, advice.answer)
    total = len(answer.allocations)

    page = shown(operator, advice)

    # After the one of the sentence the neighbour falls by most; the rest is there, folded up.
    names = [one.all_text() for one in page.elements(".bars .who")]
    assert names[0].startswith(answer.lead)
    assert names[1].startswith("batch-3")
    assert len(names) == total
    folded = [one.all_text() for one in page.elements(".more .who")]
    assert len(folded) == total - 2
    assert f"{total - 2} more that change less" in page.all_text()
    boxes = [one.get("aria-label") for one in page.elements(".chart-table")]
    assert "All settings" in boxes


def test_workload_that_the_sentence_tells_of_stands_before_those_that_change_more(
    operator: Client, advice: Recommendation
) -> None:
    answer = json.loads(advice.answer)
    least = min(
        (one for one in answer["allocations"] if one["measured"] is not None),
        key=lambda one: abs(one["predicted_after"] - one["measured"]),
    )
    answer["lead"] = least["workload"]
    Recommendation.objects.filter(pk=advice.pk).update(answer=json.dumps(answer))

    names = [one.all_text() for one in shown(operator, advice).elements(".bars .who")]

    assert names[0].startswith(least["workload"])


def test_approval_asks_with_hosts_changes_and_the_way_back(
    operator: Client, advice: Recommendation
) -> None:
    question = shown(operator, advice).text("#approve-dialog")

    assert "will change on 3 hosts: kvm-01, kvm-02 and kvm-03" in question
    assert "1500 IOPS" in question
    assert "To undo it, roll back on the page of nfs-07" in question
    assert "(io.weight needs iocost, and a device of cgroup_io.capacity_is_measured" in question


def test_approval_warns_of_hosts_without_an_agent(
    operator: Client, advice: Recommendation
) -> None:
    Enforcer.objects.filter(host__name="kvm-03").delete()

    question = shown(operator, advice).text("#approve-dialog")

    assert "No agent is enrolled on kvm-03: nothing will be enforced there" in question


def test_only_what_differs_from_the_policy_in_force_is_a_change(
    fleet: Fleet, operator: Client, advice: Recommendation
) -> None:
    entitlements = {item.workload: 1000.0 for item in loads(Answer, advice.answer).allocations}
    # The allocations as stated are what the advice asks for: there is nothing left to change.
    agents.publish(
        fleet.resources["nfs-07"],
        by=fleet.people.owner,
        now=fleet.now,
        entitlements=entitlements,
    )

    assert (
        "the newest version of the policy already says this" in shown(operator, advice).all_text()
    )


def test_approval_makes_a_version_and_says_so(operator: Client, advice: Recommendation) -> None:
    page = page_of(decide(operator, advice, "approve"))

    policy = Policy.objects.get(resource=advice.resource)
    assert (policy.version, policy.recommendation_id) == (1, advice.pk)
    said = page.text(".messages")
    is_in_stages = "is approved, not published: kvm-01 gets it in a later stage"
    assert f"Approved. Version 1 of the policy of nfs-07 {is_in_stages}" in said
    assert "approved now by operator" in page.text(".lead")
    assert page.elements("#approve-dialog") == []


def test_rejection_keeps_its_reason_and_shows_it(operator: Client, advice: Recommendation) -> None:
    page = page_of(decide(operator, advice, "reject", reason="batch-3 moves on Monday"))

    advice.refresh_from_db()
    assert advice.decision_reason == "batch-3 moves on Monday"
    assert "“batch-3 moves on Monday”" in page.text(".lead")
    assert not Policy.objects.filter(resource=advice.resource).exists()


def test_rejection_without_a_reason_asks_for_it_in_the_form(
    operator: Client, advice: Recommendation
) -> None:
    page = page_of(decide(operator, advice, "reject", reason="  "), status=400)

    dialog = page.find("dialog", id="reject-dialog")
    assert "data-open-now" in dialog.attributes
    assert page.find("textarea", id="reason")["aria-describedby"] == "reason-error"
    assert "Say why" in page.text("#reason-error")
    advice.refresh_from_db()
    assert advice.state == RecommendationState.PROPOSED


@pytest.mark.parametrize("first", ["approved", "rejected", "expired"])
@pytest.mark.parametrize("verb", ["approve", "reject"])
def test_second_decision_is_refused_with_what_happened(
    fleet: Fleet, operator: Client, advice: Recommendation, first: str, verb: str
) -> None:
    if first == "approved":
        approve(recommendation=advice, user=fleet.people.owner, now=fleet.now)
    elif first == "rejected":
        reject(recommendation=advice, user=fleet.people.owner, reason="no", now=fleet.now)
    else:
        Recommendation.objects.filter(pk=advice.pk).update(expires_at=fleet.now)
    before = Policy.objects.count()

    page = page_of(decide(operator, advice, verb, reason="mine"), status=409)

    assert f"Nothing was changed: recommendation {advice.pk} is {first}" in page.text(".messages")
    assert Policy.objects.count() == before


def test_page_of_a_refused_approval_still_offers_the_decision(
    operator: Client, advice: Recommendation
) -> None:
    answer = json.loads(advice.answer)
    answer["allocations"][0]["entitlement"] *= 10
    Recommendation.objects.filter(pk=advice.pk).update(answer=json.dumps(answer))

    page = page_of(decide(operator, advice, "approve"), status=409)

    assert "the entitlements exceed the capacity together" in page.text(".messages")
    assert "approved" not in page.text(".lead")
    assert page.find("button", data_opens="approve-dialog")


def test_approved_page_compares_prediction_with_measurement(
    fleet: Fleet, operator: Client, advice: Recommendation
) -> None:
    Resource.objects.filter(pk=advice.resource_id).update(staged=False)
    approve(recommendation=advice, user=fleet.people.owner, now=fleet.now)
    agents.report(
        fleet.hosts["kvm-01"], now=fleet.now, rates={"db-orders": 1630.0, "report-2": 150.0}
    )

    page = shown(operator, advice)

    figures = [element.all_text() for element in page.elements(".bars .figure")]
    assert any("since: 1630" in figure for figure in figures)
    assert any("no agent has reported yet" in figure for figure in figures)


def test_reasons_of_another_version_are_said_to_be_unreadable(
    operator: Client, advice: Recommendation
) -> None:
    Recommendation.objects.filter(pk=advice.pk).update(answer='{"outcome": "recommendation"}')

    text = shown(operator, advice).all_text()

    assert "were stored by another version of Sluice" in text


def test_list_shows_the_open_ones_first_and_counts_them(
    fleet: Fleet, operator: Client, advice: Recommendation
) -> None:
    Recommendation.objects.create(
        organisation=fleet.organisation,
        resource=fleet.resources["san-02"],
        kind="limit",
        state=RecommendationState.REJECTED,
        summary="Limit nobody",
        inputs="{}",
        answer="{}",
        created_at=fleet.now + timedelta(seconds=1),
        expires_at=fleet.now + timedelta(days=1),
    )

    page = page_of(operator.get("/recommendations/"))

    assert page.text("h1") == "1 open recommendation"
    states = [row.all_text().split()[0] for row in page.elements("tbody tr")]
    assert states == ["proposed", "rejected"]


@pytest.mark.parametrize(
    ("state", "reason"),
    [("expired", "nobody decided in time"), ("superseded", "newer advice took its place")],
)
def test_list_says_why_nobody_decided(
    operator: Client, advice: Recommendation, state: str, reason: str
) -> None:
    Recommendation.objects.filter(pk=advice.pk).update(state=state)

    row = page_of(operator.get("/recommendations/")).elements("tbody tr")[0]

    assert row.all_text().strip().endswith(f"no value: {reason}")


def test_list_of_one_state_has_only_that(operator: Client, advice: Recommendation) -> None:
    page = page_of(operator.get("/recommendations/", {"state": "rejected"}))

    assert "None is rejected." in page.all_text()


def test_empty_list_says_what_will_appear(nothing_yet: Fleet) -> None:
    page = page_of(client_of(nothing_yet.people.viewer).get("/recommendations/"))

    assert page.text("h1") == "No open recommendations"
    assert "a recommendation with its reason appears here" in page.all_text()


def test_snooze_takes_it_from_those_that_wait_and_says_when_it_comes_back(
    operator: Client, advice: Recommendation
) -> None:
    page = page_of(decide(operator, advice, "snooze", hours="8", reason="after the release"))

    assert "comes back in 8 h" in page.text(".lead").replace("\N{NO-BREAK SPACE}", " ")
    history = page.text(".history")
    assert "snoozed until" in history
    assert "after the release" in history
    assert "operator" in history
    assert page_of(operator.get("/recommendations/")).text("h1") == "No open recommendations"
    listed = page_of(operator.get("/recommendations/?state=snoozed"))
    assert advice.summary in listed.all_text()


def test_acknowledged_one_says_who_looks_after_it(
    operator: Client, advice: Recommendation
) -> None:
    page = page_of(decide(operator, advice, "acknowledge"))

    assert page.text(".lead").startswith("acknowledged")
    assert "Acknowledge" not in [one.all_text() for one in page.elements(".actions button")]
    # It still waits for a decision.
    assert page_of(operator.get("/recommendations/")).text("h1") == "1 open recommendation"


@pytest.mark.parametrize("hours", ["", "-1", "7", "1e9", "two"])
def test_snooze_of_another_length_is_refused(
    operator: Client, advice: Recommendation, hours: str
) -> None:
    answer = decide(operator, advice, "snooze", hours=hours)

    assert answer.status_code == 400
    advice.refresh_from_db()
    assert advice.state == RecommendationState.PROPOSED


def test_reason_by_choice_is_enough_to_reject(operator: Client, advice: Recommendation) -> None:
    decide(operator, advice, "reject", chip="too risky now", reason="Monday is quiet")

    advice.refresh_from_db()
    assert advice.decision_reason == "too risky now: Monday is quiet"


def test_second_click_says_who_was_first(
    operator: Client, fleet: Fleet, advice: Recommendation
) -> None:
    decide(client_of(fleet.people.owner), advice, "reject", reason="mine")

    answer = decide(operator, advice, "approve")

    assert answer.status_code == 409
    assert (
        f"{fleet.people.owner.get_username()} did that at"
        in page_of(answer, status=409).all_text()
    )


def test_page_says_which_rule_holds_it_up_and_offers_no_approval(
    operator: Client, fleet: Fleet, advice: Recommendation
) -> None:
    LadderRule.objects.create(organisation=fleet.organisation, name="calm", level="tell")

    page = shown(operator, advice)

    assert 'rule "calm": Sluice tells' in page.text(".form-error")
    offered = [one.all_text() for one in page.elements(".actions button")]
    assert "Approve…" not in offered
    assert decide(operator, advice, "approve").status_code == 409


def test_first_of_two_confirms_and_another_approves(
    operator: Client, fleet: Fleet, advice: Recommendation
) -> None:
    LadderRule.objects.create(organisation=fleet.organisation, name="two", second_person=True)

    page = page_of(decide(operator, advice, "approve"))
    assert "It takes a second person" in page.all_text()
    assert decide(operator, advice, "approve").status_code == 409
    assert not Policy.objects.filter(recommendation=advice).exists()
    page_of(decide(client_of(fleet.people.owner), advice, "approve"))

    assert Policy.objects.filter(recommendation=advice).exists()


def offered(page: Page) -> list[str]:
    return [one.all_text() for one in page.elements(".page-head .actions button")]


def test_rule_that_asks_takes_one_click(
    operator: Client, fleet: Fleet, advice: Recommendation
) -> None:
    assert offered(shown(operator, advice))[0] == "Approve…"
    LadderRule.objects.create(organisation=fleet.organisation, name="quick", level="ask")

    page = shown(operator, advice)

    assert offered(page)[0] == "Approve"
    assert page.text("#ladder-level") == (
        'Ladder: rule "quick", the most conservative one: Sluice asks, and one click approves.'
    )


def test_page_says_why_sluice_did_not_act(
    operator: Client, fleet: Fleet, advice: Recommendation
) -> None:
    LadderRule.objects.create(
        organisation=fleet.organisation, name="free", level="act", cooldown_s=60.0,
        most_changes_per_day=3,
    )  # fmt: skip
    assert "it looks every half minute" in shown(operator, advice).text("#ladder-level")

    act_on(recommendation=advice, now=timezone.now())

    assert "it did not: unproven: 0 rates" in shown(operator, advice).text("#ladder-level")


def test_simulator_begins_with_the_numbers_of_the_recommendation(
    operator: Client, advice: Recommendation
) -> None:
    address = shown(operator, advice).links()["Edit in the simulator"]

    page = page_of(operator.get(address, follow=True))

    inputs = page.elements("#what-if-form")[0].elements_of("input")
    fields = {one["name"]: one.get("value") for one in inputs if one.get("name")}
    for item in loads(Answer, advice.answer).allocations:
        wanted = f"{item.reservation:.6f}".rstrip("0").rstrip(".") if item.reservation else ""
        assert fields[f"reservation-{item.allocation}"] == wanted
        assert fields[f"shares-{item.allocation}"] == str(item.shares)


@pytest.mark.parametrize("number", ["x", "", "-1", "0", "9" * 30])
def test_simulator_knows_no_such_recommendation(
    operator: Client, advice: Recommendation, number: str
) -> None:
    address = f"/resources/{advice.resource_id}/what-if/?recommendation={number}"

    assert operator.get(address).status_code == 404


def test_simulator_takes_no_recommendation_of_another_resource(
    operator: Client, fleet: Fleet, advice: Recommendation
) -> None:
    other = fleet.resources["san-02"]

    answer = operator.get(f"/resources/{other.pk}/what-if/?recommendation={advice.pk}")

    assert answer.status_code == 404


def test_risk_names_hosts_and_who_would_get_less(operator: Client, advice: Recommendation) -> None:
    text = " ".join(shown(operator, advice).text(".review").split())

    assert "3 hosts: kvm-01, kvm-02" in text
    assert "would get less: batch-3" in text
    assert "Undo: " in text
