"""Approving a limit: what is said of the claim before, afterwards, and the undo."""

from __future__ import annotations

import pytest
from django.test import Client

from advisor.models import ClassChange, ReadSource, Recommendation, VolumeClass
from tests.web.claimed import advised_limit
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import page_of
from tests.web.test_advice_pages import shown


@pytest.fixture
def owner(fleet: Fleet) -> Client:
    return client_of(fleet.people.owner)


@pytest.fixture
def advice(fleet: Fleet) -> Recommendation:
    """A limit that nothing holds, of a pod whose claim could have a class that does."""
    return advised_limit(fleet)


@pytest.mark.parametrize("who", ["owner", "operator"])
def test_form_says_what_an_approval_changes_by_whoever_may(
    fleet: Fleet, advice: Recommendation, who: str
) -> None:
    client = client_of(getattr(fleet.people, who))

    asked = shown(client, advice).text("#approve-dialog")
    done = page_of(client.post(f"/recommendations/{advice.pk}/approve/", follow=True))

    may = who == "owner"
    assert ("give the claim shop/data of" in asked) is may
    assert ("the class gold in the place of silver, to which it can go back" in asked) is may
    assert ("shop/data to gold" in done.text(".messages")) is may
    assert advice.class_changes.exists() is may
    if may:
        _, former, wanted, state, *_ = done.row("#class-changes", "shop/data")
        assert (former, wanted, state) == ("silver", "gold, to hold it to 200 IOPS", "waiting")


def test_claim_that_keeps_its_class_is_named_with_the_reason(
    owner: Client, advice: Recommendation
) -> None:
    VolumeClass.objects.update(parameters={})

    asked = shown(owner, advice).text("#approve-dialog")

    assert "keeps its class: no class says in its parameters" in asked


def test_change_is_undone_by_an_admin_alone(
    owner: Client, operator: Client, fleet: Fleet, advice: Recommendation
) -> None:
    change = ClassChange.objects.create(
        organisation=fleet.organisation, recommendation=advice,
        source=ReadSource.objects.get(), workload="db", uid="c-1", namespace="shop", name="data",
        former="silver", wanted="gold", state="done", asked_at=fleet.now, asked_by="owner",
        look_at=fleet.now, changed_at=fleet.now, ended_at=fleet.now,
    )  # fmt: skip
    undo = f"/class-changes/{change.pk}/undo/"
    assert "Undo" not in shown(operator, advice).row("#class-changes", "shop/data")[-1]
    assert operator.post(undo).status_code == 403
    assert "Undo" in shown(owner, advice).row("#class-changes", "shop/data")[-1]

    done = page_of(owner.post(undo, follow=True))
    again = page_of(owner.post(undo, follow=True))

    assert "gives shop/data back the class that it had" in done.text(".messages")
    assert "Nothing was changed: that change of shop/data was undone already" in again.text(
        ".messages"
    )
    assert [(one.former, one.wanted) for one in ClassChange.objects.order_by("pk")] == [
        ("silver", "gold"), ("gold", "silver"),
    ]  # fmt: skip


def test_outsider_finds_no_change(outsider: Client, fleet: Fleet, advice: Recommendation) -> None:
    change = ClassChange.objects.create(
        organisation=fleet.organisation, recommendation=advice,
        source=ReadSource.objects.get(), workload="db", uid="c-1", namespace="shop", name="data",
        wanted="gold", asked_at=fleet.now, asked_by="owner", look_at=fleet.now,
    )  # fmt: skip

    assert outsider.post(f"/class-changes/{change.pk}/undo/").status_code == 404
