"""A proof for a customer: the page, the link without a login, and what is refused."""

from __future__ import annotations

from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEntry
from advisor.models import SharedReport, Workload
from advisor.reports.shared import link_secret
from config.database_roles import DatabaseRole
from tests.config.roles import acting_as, make_roles
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import page_of

ASKED = {
    "workload": "db-orders", "period": "days", "first": "2026-11-20", "last": "2026-11-20",
    "zone": "UTC",
}  # fmt: skip


@pytest.fixture
def admin(fleet: Fleet) -> Client:
    return client_of(fleet.people.owner)


def test_page_says_what_was_promised_kept_and_measured(viewer: Client) -> None:
    make_roles()
    with acting_as(DatabaseRole.WEB):
        page = page_of(viewer.get(reverse("proof"), ASKED))

    assert page.text("h1") == "Proof: Workload db-orders of Northgate Cloud"
    text = page.all_text()
    assert "1500 IOPS" in text
    assert "the kernel's counters of its control group" in text
    assert "Lost in incidents" in text
    assert "batch-3" not in page.text(".report")


def test_link_opens_the_proof_as_it_was_without_a_login(admin: Client, fleet: Fleet) -> None:
    make_roles()
    with acting_as(DatabaseRole.WEB):
        form = ASKED | {"days_open": "30"}
        answer = admin.post(reverse("share-proof"), form, follow=True)
        assert "can be read by who has the link below." in page_of(answer).all_text()
        row = SharedReport.objects.get()
        Workload.objects.filter(name="db-orders").update(name="renamed")
        found = Client().get(f"/reports/of/{link_secret(row)}/")

    assert row.kind == "proof"
    text = page_of(found).all_text()
    assert "Proof: Workload db-orders of Northgate Cloud" in text
    assert "renamed" not in text
    assert AuditEntry.objects.filter(action="share a proof by a link").count() == 1


@pytest.mark.parametrize(
    ("change", "status", "reason"),
    [
        ({"workload": "nobody"}, 400, 'there is no workload "nobody"'),
        ({"workload": "", "team": "none"}, 400, 'there is no team "none"'),
        ({"first": "x"}, 400, "x"),
        ({"workload": "a\x00b"}, 400, "there is no workload"),
        ({"workload": ""}, 200, "What was promised to a workload or a team"),
    ],
    ids=["workload", "team", "day", "zero", "nothing"],
)
def test_what_cannot_be_read_is_told(
    viewer: Client, fleet: Fleet, change: dict[str, str], status: int, reason: str
) -> None:
    answer = viewer.get(reverse("proof"), ASKED | change)

    assert answer.status_code == status
    assert reason in unescape(answer.content.decode())


def test_operator_may_not_share(fleet: Fleet) -> None:
    operator = client_of(fleet.people.operator)

    answer = operator.post(reverse("share-proof"), ASKED | {"days_open": "30"})

    assert answer.status_code == 403
    assert not SharedReport.objects.exists()


def test_proof_names_no_workload_of_others(outsider: Client, fleet: Fleet) -> None:
    assert outsider.get(reverse("proof"), ASKED).status_code == 400


def test_names_are_text_and_turn_nothing_around(viewer: Client, fleet: Fleet) -> None:
    Workload.objects.filter(name="db-orders").update(name="<b>\u202e&")

    page = page_of(viewer.get(reverse("proof"), ASKED | {"workload": "<b>\u202e&"}))

    assert "<b>&" in page.text(".report")
    assert not page.root.elements_of("b")
    assert "\u202e" not in page.text(".report")


def test_workload_leads_to_its_proof(viewer: Client, fleet: Fleet) -> None:
    row = Workload.objects.get(name="db-orders")

    links = page_of(viewer.get(f"/workloads/{row.pk}/")).links()

    assert links["Proof for its owner"] == "/reports/proof/?workload=db-orders"
