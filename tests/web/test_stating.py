"""What people state on the pages of resources and workloads."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEntry
from advisor.decisions.rollouts.begin import terms_of
from advisor.history.stored.retention import kept_by
from advisor.models import Allocation, Resource, Workload
from config.database_roles import DatabaseRole
from tests.config.roles import acting_as, make_roles
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import page_of


def said(client: Client, address: str) -> str:
    return " ".join(page_of(client.get(address)).text("main").split())


def resource_of(fleet: Fleet) -> Resource:
    return Resource.objects.get(pk=fleet.resources["nfs-07"].pk)


def test_operator_states_settings_of_a_resource(fleet: Fleet) -> None:
    operator, row = client_of(fleet.people.operator), resource_of(fleet)
    form = {
        "capacity": "2.5k", "threshold": "12.5", "threshold_mode": "fixed", "window_s": "5",
        "staged": "off", "lun_queue_depth": "64",
    }  # fmt: skip
    make_roles()

    with acting_as(DatabaseRole.WEB):
        operator.post(reverse("state-resource", args=[row.pk]), form)

    row.refresh_from_db()
    assert (row.capacity, row.threshold, row.threshold_mode) == (2500.0, 12.5, "fixed")
    assert (row.window_s, row.staged, row.lun_queue_depth) == (5.0, False, 64)
    actions = [one.action for one in AuditEntry.objects.order_by("number")]
    assert actions[-2:] == ["set rollout terms", "change resource"]


def test_form_of_settings_sent_as_it_is_changes_nothing(fleet: Fleet) -> None:
    operator, row = client_of(fleet.people.operator), resource_of(fleet)
    before = Resource.objects.filter(pk=row.pk).values().get()
    page = page_of(operator.get(reverse("resource", args=[row.pk])))

    operator.post(reverse("state-resource", args=[row.pk]), page.fields("#settings-dialog form"))

    assert Resource.objects.filter(pk=row.pk).values().get() == before


def test_empty_form_of_settings_keeps_all(fleet: Fleet) -> None:
    operator, row = client_of(fleet.people.operator), resource_of(fleet)

    operator.post(reverse("state-resource", args=[row.pk]), {})

    assert resource_of(fleet).capacity == row.capacity


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ({"capacity": "much"}, "write it like"),
        ({"capacity": "0"}, "the capacity must be above 0"),
        ({"capacity": "9" * 500}, "the capacity is too long"),
        ({"threshold": "-1"}, "the threshold must be above 0"),
        ({"threshold": "inf"}, "the threshold must be above 0"),
        ({"threshold": "nan"}, "the threshold must be above 0"),
        ({"threshold_mode": "guess"}, "the threshold mode may be"),
        ({"window_s": "0.5"}, "a window lasts 1 to 3600 s"),
        ({"window_s": "nan"}, "a window lasts 1 to 3600 s"),
        ({"window_s": "ten"}, "is not a number that fits"),
        ({"lun_queue_depth": "1e3"}, "is not a number that fits"),
    ],
)
def test_wrong_setting_is_told_and_nothing_is_changed(
    fleet: Fleet, form: dict[str, str], why: str
) -> None:
    operator, row = client_of(fleet.people.operator), resource_of(fleet)
    sent = {"capacity": "7777", "window_s": "7", **form}

    operator.post(reverse("state-resource", args=[row.pk]), sent)

    assert why in said(operator, reverse("resource", args=[row.pk]))
    after = resource_of(fleet)
    assert (after.capacity, after.window_s) == (row.capacity, row.window_s)


def test_operator_states_a_tier_and_leaves_it_to_the_rules_again(fleet: Fleet) -> None:
    operator = client_of(fleet.people.operator)
    row = Workload.objects.get(name="db-orders")
    address = reverse("state-tier", args=[row.pk])

    operator.post(address, {"tier": "low"})
    row.refresh_from_db()
    stated = (row.tier, row.tier_stated)
    operator.post(address, {"tier": ""})
    row.refresh_from_db()

    assert stated == ("low", True)
    assert (row.tier, row.tier_stated) == ("medium", False)
    operator.post(address, {"tier": "platinum"})
    assert "there is no tier" in said(operator, reverse("workload", args=[row.pk]))


def promise_of(fleet: Fleet) -> Allocation:
    row = Allocation.objects.filter(workload__name="db-orders").order_by("pk").first()
    assert row is not None
    return row


def test_operator_states_what_a_workload_is_promised(fleet: Fleet) -> None:
    operator, one = client_of(fleet.people.operator), promise_of(fleet)
    address = reverse("state-promise", args=[one.workload_id])
    make_roles()

    with acting_as(DatabaseRole.WEB):
        operator.post(
            address,
            {"allocation": one.pk, "reservation": "120", "limit": "1.2k", "shares": "1500"},
        )
    now = Allocation.objects.get(pk=one.pk)
    taken_away = {"allocation": one.pk, "reservation": "", "limit": "", "shares": ""}
    operator.post(address, taken_away)
    last = Allocation.objects.get(pk=one.pk)

    assert (now.reservation, now.limit, now.shares) == (120.0, 1200.0, 1500)
    assert (now.adapter, now.host_id, now.found) == (one.adapter, one.host_id, False)
    assert (last.reservation, last.limit, last.shares) == (0.0, None, None)
    assert AuditEntry.objects.order_by("-number")[0].action == "state allocation"


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ({"reservation": "200", "limit": "100"}, "is below the reservation"),
        ({"reservation": "some"}, "is not a rate"),
        ({"shares": "0"}, "is not a number that fits"),
        ({"shares": "99999999999"}, "is not a number that fits"),
    ],
)
def test_wrong_promise_is_told_and_not_stated(
    fleet: Fleet, form: dict[str, str], why: str
) -> None:
    operator, one = client_of(fleet.people.operator), promise_of(fleet)

    operator.post(reverse("state-promise", args=[one.workload_id]), {"allocation": one.pk, **form})

    page = said(operator, reverse("workload", args=[one.workload_id]))
    assert why in page
    after = Allocation.objects.get(pk=one.pk)
    assert (after.reservation, after.limit) == (one.reservation, one.limit)


def test_promise_of_another_workload_is_not_found(fleet: Fleet) -> None:
    operator, one = client_of(fleet.people.operator), promise_of(fleet)
    other = Workload.objects.exclude(pk=one.workload_id).first()
    assert other is not None
    address = reverse("state-promise", args=[other.pk])

    assert operator.post(address, {"allocation": one.pk}).status_code == 404
    assert operator.post(address, {}).status_code == 404


def test_terms_of_rollouts_are_stated_in_minutes(fleet: Fleet) -> None:
    operator = client_of(fleet.people.operator)
    form = {"staged": "on", "stage": "0.5", "longest": "2", "settle": "0.25", "unsure": "goes-on"}

    operator.post(reverse("set-rollout-terms"), form)

    terms = terms_of(fleet.organisation)
    assert (terms.stage_s, terms.longest_s, terms.settle_s) == (30.0, 120.0, 15.0)
    assert (terms.staged, terms.goes_on_unsure) == (True, True)
    page = said(operator, reverse("ladder"))
    assert (
        "A stage lasts 30 s at least; if guards know too little after 2 min, it goes on." in page
    )
    assert "within 15 s after a change scores no prediction" in page
    operator.post(reverse("set-rollout-terms"), {"stage": "5", "longest": "1"})
    assert "the longest time is no shorter than a stage" in said(operator, reverse("ladder"))
    assert terms_of(fleet.organisation).stage_s == 30.0


def test_owner_states_how_long_history_is_kept(fleet: Fleet) -> None:
    owner, operator = client_of(fleet.people.owner), client_of(fleet.people.operator)
    address, page = reverse("keep-history"), reverse("organisation")
    make_roles()

    with acting_as(DatabaseRole.WEB):
        owner.post(address, {"exact_days": "7", "quarter_days": "90", "day_days": ""})

    kept = kept_by(fleet.organisation)
    assert (kept.exact_days, kept.quarter_days) == (7, 90)
    assert kept.day_days == settings.HISTORY_DAY_DAYS
    assert "kept for 7 days" in said(owner, page)
    assert AuditEntry.objects.order_by("-number")[0].action == "state retention"
    owner.post(address, {"exact_days": "0"})
    assert "kept for 1 to 36525 days" in said(owner, page)
    owner.post(address, {"exact_days": "1e3"})
    assert "is not a number that fits" in said(owner, page)
    assert operator.post(address, {"exact_days": "1"}).status_code == 403
    assert kept_by(fleet.organisation) == kept


def test_viewers_see_no_forms_and_change_nothing(fleet: Fleet, viewer: Client) -> None:
    row, one = resource_of(fleet), promise_of(fleet)
    addresses = [
        reverse("state-resource", args=[row.pk]), reverse("set-rollout-terms"),
        reverse("state-tier", args=[one.workload_id]),
        reverse("state-promise", args=[one.workload_id]),
    ]  # fmt: skip

    assert {viewer.post(at, {"capacity": "1"}).status_code for at in addresses} == {403}
    pages = [viewer.get(reverse("resource", args=[row.pk])), viewer.get(reverse("ladder"))]
    pages.append(viewer.get(reverse("workload", args=[one.workload_id])))
    shown = b"".join(page.content for page in pages)
    for form in (b"settings-dialog", b"State its tier", b"Change the terms"):
        assert form not in shown
