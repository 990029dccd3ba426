"""The what-if page: numbers in, winners and losers out, and a draft if an operator wants it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from advisor.models import Policy, Recommendation, RecommendationState, Resource
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import Page, page_of
from tests.web.many_allocations import shared_datastore


def address(fleet: Fleet, name: str = "nfs-07", *, rest: str = "") -> str:
    return f"/resources/{fleet.resources[name].pk}/what-if/{rest}"


def field(fleet: Fleet, control: str, workload: str, resource: str = "nfs-07") -> str:
    allocation = fleet.resources[resource].allocations.get(workload__name=workload)
    return f"{control}-{allocation.pk}"


def ask(client: Client, fleet: Fleet, *, resource: str = "nfs-07", **data: str) -> Page:
    return page_of(client.get(address(fleet, resource), {"hours": "1", **data}))


def past(page: Page, workload: str) -> dict[str, float | None]:
    """Rates, minutes throttled and unmet, latencies: before and after; None is a dash."""
    _, change, *cells = page.row(".past", workload)
    names = ("rate", "rate_after", "expected", "throttled", "throttled_after", "unmet",
             "unmet_after", "p95", "p95_after", "p95_expected")  # fmt: skip
    assert change in {"gains", "loses", "same"}
    return {name: amount(cell) for name, cell in zip(names, cells, strict=True)}


def amount(cell: str) -> float | None:
    try:
        return float(cell.replace("\N{NARROW NO-BREAK SPACE}", ""))
    except ValueError:
        return None


def test_page_starts_from_what_the_allocations_state(viewer: Client, fleet: Fleet) -> None:
    page = ask(viewer, fleet)

    reserved = page.find("input", id=field(fleet, "reservation", "db-orders"))
    shares = page.find("input", id=field(fleet, "shares", "batch-3"))
    # batch-3 is of the low tier: 500 shares
    assert (reserved["value"], shares["value"]) == ("1500", "500")
    assert "No policy is in force" in page.all_text()
    assert "db-orders" in page.text(".lead strong") or "gain" in page.all_text()


def test_tiers_come_first_with_the_shares_that_all_their_workloads_have(
    viewer: Client, fleet: Fleet
) -> None:
    page = ask(viewer, fleet)

    names = [one["name"] for one in page.elements(".controls input") if one.get("name")]
    assert names[0].startswith("tier-")
    assert page.find("input", id="tier-low")["value"] == "500"


def test_tier_moves_the_shares_of_its_workloads_but_those_with_their_own(
    viewer: Client, fleet: Fleet
) -> None:
    own = field(fleet, "shares", "db-orders")

    page = ask(viewer, fleet, **{"tier-low": "50", "tier-high": "7000", own: "3000"})

    assert page.find("input", id=field(fleet, "shares", "batch-3"))["value"] == "50"
    assert page.find("input", id=own)["value"] == "3000"


def test_address_names_a_tier_and_not_each_of_its_workloads(viewer: Client, fleet: Fleet) -> None:
    pool = fleet.resources["pool"] = shared_datastore(fleet, "pool", allocations=11)
    tier = pool.allocations.first().workload.tier
    # What a browser without scripts sends: all fields as they stand.
    shares = {f"shares-{one.pk}": str(one.weight) for one in pool.allocations.all()}

    answer = viewer.post(address(fleet, "pool"), {"hours": "1", f"tier-{tier}": "3000", **shares})

    assert answer.headers["Location"].endswith(f"?hours=1&tier-{tier}=3000")


def test_shares_of_a_tier_that_are_no_number_are_refused(viewer: Client, fleet: Fleet) -> None:
    page = ask(viewer, fleet, **{"tier-low": "many"})

    assert "Shares of the low tier must be a whole number" in page.text("#what-if-errors")
    assert page.find("input", id=field(fleet, "shares", "batch-3"))["value"] == "500"


def test_victim_gains_by_its_reservation_and_the_aggressor_loses(
    viewer: Client, fleet: Fleet
) -> None:
    page = ask(viewer, fleet)

    status = page.elements("#what-if-verdict .lead")[0].all_text()
    gains, loses = status.split(", ")[0], status.split("gain")[-1]
    assert "db-orders" in gains + status
    assert "batch-3" in loses
    found = past(page, "db-orders")
    assert found["rate"] < found["rate_after"]
    assert found["rate_after"] >= 1500 * 0.99
    assert found["p95_after"] < found["p95"]


def test_limit_that_is_typed_throttles_its_workload(viewer: Client, fleet: Fleet) -> None:
    page = ask(viewer, fleet, **{field(fleet, "limit", "batch-3"): "500"})

    found = past(page, "batch-3")
    # throttled for most of the 42 congested minutes, and as many outstanding at a lower rate wait
    assert found["rate_after"] == pytest.approx(500, rel=0.01)
    assert found["throttled"] == 0
    assert 30 <= found["throttled_after"] <= 60
    assert found["p95_after"] > found["p95"]
    assert "Limit of batch-3 none → 500 IOPS" in page.all_text()


def test_rates_of_an_uplink_are_typed_in_its_unit(viewer: Client, fleet: Fleet) -> None:
    page = ask(
        viewer, fleet, resource="kvm-02/eno1",
        **{field(fleet, "limit", "backup-7", "kvm-02/eno1"): "2.5"},
    )  # fmt: skip

    assert "Limit of backup-7 4.00 Gbit/s → 2.50 Gbit/s" in page.all_text()
    assert "Starts from version 1 of the policy" in page.all_text()


def test_untouched_page_of_a_policy_in_force_changes_nothing(viewer: Client, fleet: Fleet) -> None:
    page = ask(viewer, fleet, resource="kvm-02/eno1")

    assert "No workload gains, no workload loses." in page.all_text()
    assert "Nothing." in page.all_text()


@pytest.mark.parametrize(
    ("control", "value", "complaint"),
    [
        ("shares", "0", "Shares of batch-3 must be a whole number from 1"),
        ("shares", "many", "Shares of batch-3 must be a whole number from 1"),
        ("limit", "fast", "Limit of batch-3 is not a number of IOPS"),
        ("limit", "0", "Limit of batch-3 must be above 0"),
        ("reservation", "-1", "Reservation of batch-3 must be a number of IOPS of at least 0"),
        ("reservation", "nan", "Reservation of batch-3 must be a number of IOPS of at least 0"),
        ("reservation", "1e400", "Reservation of batch-3 must be a number"),
    ],
)
def test_wrong_number_is_named_and_the_rest_still_answers(
    viewer: Client, fleet: Fleet, control: str, value: str, complaint: str
) -> None:
    page = ask(viewer, fleet, **{field(fleet, control, "batch-3"): value})

    assert complaint in page.text("#what-if-errors")
    wrong = page.find("input", id=field(fleet, control, "batch-3"))
    assert wrong["aria-invalid"] == "true"
    assert page.elements(".bars .after") != []


def test_limit_below_the_reservation_is_named(viewer: Client, fleet: Fleet) -> None:
    page = ask(viewer, fleet, **{field(fleet, "limit", "db-orders"): "100"})

    assert "Limit of db-orders is below the reservation." in page.text("#what-if-errors")


def test_reservations_that_do_not_fit_are_refused_by_name(operator: Client, fleet: Fleet) -> None:
    page = ask(operator, fleet, **{field(fleet, "reservation", "batch-3"): "4000"})

    assert "Reservations do not fit: batch-3 would be refused" in page.all_text()
    assert page.elements("#draft-dialog") == []


def test_another_capacity_is_tried_but_makes_no_draft(operator: Client, fleet: Fleet) -> None:
    page = ask(operator, fleet, capacity="10400")

    assert "as tried here" in page.all_text()
    assert "a policy cannot change a capacity" in page.all_text()
    assert page.elements("#draft-dialog") == []


def test_htmx_asks_for_the_answer_alone(viewer: Client, fleet: Fleet) -> None:
    answer = viewer.get(address(fleet), {"hours": "1"}, headers={"HX-Request": "true"})

    assert b"<html" not in answer.content
    assert b"Winners and losers" in answer.content


def test_htmx_gets_the_verdict_above_the_rows_too(viewer: Client, fleet: Fleet) -> None:
    limit = {field(fleet, "limit", "batch-3"): "x"}
    answer = viewer.get(address(fleet), {"hours": "1", **limit}, headers={"HX-Request": "true"})

    verdict = page_of(answer).find("div", id="what-if-verdict")
    assert verdict["hx-swap-oob"] == "innerMorph"
    assert "Limit of batch-3 is not a number of IOPS" in verdict.all_text()
    assert "Winners and losers" in verdict.all_text()


@pytest.mark.parametrize(("workloads", "scrolls"), [(10, False), (11, True)])
def test_verdict_and_button_stand_above_the_rows_of_many_workloads(
    operator: Client, fleet: Fleet, workloads: int, scrolls: bool
) -> None:
    pool = fleet.resources["pool"] = shared_datastore(fleet, "pool", allocations=workloads)
    keys = pool.allocations.order_by("workload__name").values_list("pk", flat=True)
    shares = {f"shares-{key}": "1500" for key in keys} | {f"shares-{keys[0]}": "4000"}

    page = ask(operator, fleet, resource="pool", **shares)

    form = page.find("form", id="what-if-form")
    parts = [
        one for one in form.walk() if one.get("id") == "what-if-verdict" or one.tag == "tbody"
    ]
    # The tiers stand before the workloads.
    assert [one.tag for one in parts] == ["div", "tbody", "tbody"]
    assert "Save as policy draft…" in parts[0].all_text()
    assert f"{workloads} settings differ from now" in page.text("#draft-dialog")
    boxes = [one.get("aria-label") for one in page.elements(".chart-table")]
    assert boxes == (
        [
            "Controls of each workload",
            "What differs from now",
            "Backtest of each workload",
            "Entitlement of each workload",
            "Settings of the draft",
        ]
        if scrolls
        else []
    )
    assert (len(page.elements("#row-filter")) == 1) is scrolls
    # Every workload has its bars; those that change less are folded up.
    names = [one.all_text() for one in page.elements(".bars .who")]
    assert names[0].startswith("pool-vm-000")
    assert len(names) == workloads
    assert len(page.elements(".more .who")) == workloads - 10


def test_browser_without_scripts_posts_every_field_and_gets_an_address_of_the_changed_ones(
    viewer: Client, fleet: Fleet
) -> None:
    inputs = [one for one in ask(viewer, fleet).elements(".what-if input") if one.get("name")]
    every = {one["name"]: one["value"] for one in inputs}
    limit = field(fleet, "limit", "batch-3")

    answer = viewer.post(address(fleet), {"hours": "24", **every, limit: "500"})

    # The capacity, the shares of three tiers, and three numbers of five workloads.
    assert len(every) == 1 + 3 + 3 * 5
    assert answer["Location"] == f"{address(fleet)}?hours=24&{limit}=500"


def test_field_that_was_emptied_is_not_taken_for_untouched(operator: Client, fleet: Fleet) -> None:
    shares = field(fleet, "shares", "batch-3")

    answer = operator.post(address(fleet), {"hours": "1", shares: ""})

    assert answer["Location"] == f"{address(fleet)}?hours=1&{shares}="


def test_resource_without_allocations_says_how_to_state_one(viewer: Client, fleet: Fleet) -> None:
    page = page_of(viewer.get(address(fleet, "san-02")))

    assert "sluice allocation set san-02 WORKLOAD" in page.all_text()


def test_unknown_capacity_and_silence_have_their_reason(viewer: Client, fleet: Fleet) -> None:
    page = page_of(viewer.get(address(fleet, "kvm-04/eno1")))

    assert "capacity of kvm-04/eno1 is not set" in page.all_text()


def test_operator_saves_a_draft_that_replaces_the_open_recommendation(
    operator: Client, fleet: Fleet
) -> None:
    earlier = Recommendation.objects.get(state=RecommendationState.PROPOSED)
    question = ask(operator, fleet).text("#draft-dialog")
    form = {"hours": "1", field(fleet, "limit", "batch-3"): "1500"}

    page = page_of(operator.post(address(fleet, rest="draft/"), form, follow=True))

    draft = Recommendation.objects.get(state=RecommendationState.PROPOSED)
    earlier.refresh_from_db()
    assert f"takes the place of the open recommendation {earlier.pk}" in question
    assert earlier.state == RecommendationState.SUPERSEDED
    assert page.text("h1") == draft.summary
    assert "by operator" in page.text(".lead")
    assert "Saved as a draft" in page.text(".messages")
    # Nothing was predicted for this resource before.
    text = page.all_text()
    assert "Backtest" in text
    assert "0 earlier predictions were measured, 4 are needed" in text
    assert page.row(".past", "batch-3")[1] == "loses"


def test_draft_is_approved_like_any_other(operator: Client, fleet: Fleet) -> None:
    form = {"hours": "1", field(fleet, "limit", "batch-3"): "1500"}
    operator.post(address(fleet, rest="draft/"), form)
    draft = Recommendation.objects.get(state=RecommendationState.PROPOSED)

    operator.post(f"/recommendations/{draft.pk}/approve/")

    policy = Policy.objects.get(resource=fleet.resources["nfs-07"])
    limits = {item["workload"]: item["limit"] for item in policy.allocations}
    assert limits["batch-3"] == 1500.0


@pytest.mark.parametrize(
    ("form", "status", "words"),
    [
        ({"capacity": "9999"}, 409, "a policy cannot change a capacity"),
        ({"capacity": "x"}, 400, "correct the fields"),
    ],
)
def test_refused_draft_says_why_and_saves_nothing(
    operator: Client, fleet: Fleet, form: dict[str, str], status: int, words: str
) -> None:
    before = Recommendation.objects.count()

    answer = operator.post(address(fleet, rest="draft/"), form)

    assert words in page_of(answer, status=status).text(".messages")
    assert Recommendation.objects.count() == before


@pytest.mark.parametrize(("who", "status"), [("viewer", 403), ("outsider", 404)])
def test_draft_takes_the_operator_role(fleet: Fleet, who: str, status: int) -> None:
    answer = client_of(getattr(fleet.people, who)).post(address(fleet, rest="draft/"))

    assert answer.status_code == status
    assert Recommendation.objects.filter(kind="what_if").count() == 0


def test_draft_is_never_made_by_following_a_link(operator: Client, fleet: Fleet) -> None:
    assert operator.get(address(fleet, rest="draft/")).status_code == 405


def test_viewer_may_try_but_sees_no_button_to_save(viewer: Client, fleet: Fleet) -> None:
    page = ask(viewer, fleet)

    assert page.elements("#draft-dialog") == []
    assert "Saving a draft takes the operator role" in page.all_text()


def test_outsider_sees_nothing(outsider: Client, fleet: Fleet) -> None:
    assert outsider.get(address(fleet)).status_code == 404


def test_resource_page_leads_to_it(viewer: Client, fleet: Fleet) -> None:
    page = page_of(viewer.get(f"/resources/{fleet.resources['nfs-07'].pk}/"))

    assert page.links()["Simulate changes"] == address(fleet)


def test_a_week_is_asked_for_by_its_length(viewer: Client, fleet: Fleet) -> None:
    Resource.objects.filter(pk=fleet.resources["nfs-07"].pk).update(
        created_at=fleet.now - timedelta(days=30)
    )

    page = ask(viewer, fleet, hours="168")

    chosen = [one["value"] for one in page.elements("option") if "selected" in one.attributes]
    assert chosen == ["168"]
