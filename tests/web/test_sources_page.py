"""The page of sources that are read: who sees it, what each form does, and what it tells."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from accounts.actor import member_actor
from accounts.models import AuditEntry
from advisor.decisions.sources.problems import StatedSource
from advisor.decisions.sources.stating import state_source
from advisor.models import ReadSource
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import Page, page_of

PAGE = "/settings/sources/"
FORM = {
    "name": "main",
    "address": "https://vc.example.org",
    "user": "reader@vsphere.local",
    "password": "opensesame",
    "fingerprint": "",
    "authority": "",
    "every_min": "30",
}


@pytest.fixture
def owner(fleet: Fleet) -> Client:
    return client_of(fleet.people.owner)


@pytest.fixture
def source(fleet: Fleet) -> ReadSource:
    owner = fleet.organisation.memberships.get(user=fleet.people.owner)
    stated = StatedSource(
        name="main", address=FORM["address"], user=FORM["user"], password=FORM["password"]
    )
    return state_source(
        organisation=fleet.organisation, stated=stated, actor=member_actor(owner), now=fleet.now
    )


def shown(client: Client, address: str = PAGE) -> Page:
    return page_of(client.get(address))


def test_page_and_its_link_are_for_admins(
    viewer: Client, operator: Client, owner: Client, source: ReadSource
) -> None:
    assert viewer.get(PAGE).status_code == operator.get(PAGE).status_code == 403
    assert PAGE.encode() not in operator.get("/settings/rules/").content
    assert PAGE.encode() in owner.get("/settings/rules/").content
    for word in ("test", "pause", "resume", "remove", "put-back"):
        assert operator.post(f"{PAGE}{source.pk}/{word}/").status_code == 403
    assert operator.post(f"{PAGE}set/", FORM).status_code == 403
    source.refresh_from_db()
    assert (source.paused_at, source.removed_at, source.trial_asked_at) == (None, None, None)


def test_outsider_finds_no_source(outsider: Client, source: ReadSource) -> None:
    for word in ("test", "pause", "resume", "remove", "put-back"):
        assert outsider.post(f"{PAGE}{source.pk}/{word}/").status_code == 404


def test_source_is_added_and_its_password_is_on_no_page(owner: Client, fleet: Fleet) -> None:
    answer = owner.post(f"{PAGE}set/", FORM, follow=True)

    row = ReadSource.objects.get()
    assert (row.organisation, row.name, row.every_min) == (fleet.organisation, "main", 30)
    assert row.password == "opensesame"
    assert "Source main is set; it is read within seconds." in page_of(answer).text(".messages")
    for address in (PAGE, f"{PAGE}?source=main"):
        body = owner.get(address).content.decode()
        assert "opensesame" not in body
        assert row.password not in body


def test_form_that_is_refused_says_why_and_keeps_what_was_typed(owner: Client) -> None:
    answer = owner.post(f"{PAGE}set/", FORM | {"address": "http://vc.example.org"})

    page = page_of(answer, status=400)
    assert "would send the password unprotected" in page.text("#source-error")
    assert page.find("input", id="source-user")["value"] == FORM["user"]
    assert "opensesame" not in answer.content.decode()
    assert not ReadSource.objects.exists()


@pytest.mark.parametrize(
    "wrong", [{"every_min": "often"}, {"every_min": "9" * 30}, {"user": "a\x00b"}]
)
def test_form_that_cannot_be_read_changes_nothing(owner: Client, wrong: dict[str, str]) -> None:
    assert owner.post(f"{PAGE}set/", FORM | wrong).status_code == 400
    assert not ReadSource.objects.exists()


def test_edited_source_keeps_its_password_only_at_its_address(
    owner: Client, source: ReadSource
) -> None:
    page = shown(owner, f"{PAGE}?source=main")
    assert page.find("input", id="source-address")["value"] == FORM["address"]

    kept = owner.post(f"{PAGE}set/", FORM | {"password": "", "every_min": "15"})
    moved = owner.post(f"{PAGE}set/", FORM | {"password": "", "address": "https://b.example.org"})

    assert (kept.status_code, moved.status_code) == (302, 400)
    source.refresh_from_db()
    assert (source.every_min, source.address) == (15, FORM["address"])
    assert "give the password again" in page_of(moved, status=400).text("#source-error")


def test_each_state_is_told(owner: Client, fleet: Fleet, source: ReadSource) -> None:
    row = shown(owner).row("table", "main")
    assert "never" in row[5]

    source.read_at, source.says = fleet.now, "2 VMs and 1 datastores read; nothing differs"
    source.next_at = fleet.now + timedelta(hours=1)
    source.save()
    row = shown(owner).row("table", "main")
    assert "nothing differs" in row[4]

    source.failures, source.says = 2, "https://vc.example.org cannot be reached"
    source.trial_asked_at = fleet.now
    source.began_at = fleet.now
    source.save()
    row = shown(owner).row("table", "main")
    assert "cannot be reached" in row[4]
    assert "being read" in row[6]
    assert "being tested" in row[7]

    source.trial_at, source.trial_worked, source.trial_says = fleet.now, False, "wrong password"
    source.paused_at = fleet.now
    source.save()
    row = shown(owner).row("table", "main")
    assert "paused" in row[6]
    assert "wrong password" in row[7]


def test_source_is_tested_paused_resumed_removed_and_put_back(
    owner: Client, fleet: Fleet, source: ReadSource
) -> None:
    for word in ("test", "pause", "resume", "remove"):
        assert owner.post(f"{PAGE}{source.pk}/{word}/").status_code == 302
    page = shown(owner)
    assert "main was removed" in page.all_text()
    assert page.elements("table") == []

    again = owner.post(f"{PAGE}{source.pk}/remove/", follow=True)
    assert "Nothing was changed: main was removed." in page_of(again).text(".messages")
    owner.post(f"{PAGE}{source.pk}/put-back/")

    source.refresh_from_db()
    assert source.removed_at is None
    rows = AuditEntry.objects.filter(organisation=fleet.organisation, subject="main")
    assert list(rows.order_by("number").values_list("action", flat=True)) == [
        "state a source", "test a source", "pause a source", "resume a source",
        "remove a source", "put a source back",
    ]  # fmt: skip


def test_table_renews_itself(owner: Client, source: ReadSource) -> None:
    part = owner.get(PAGE, headers={"HX-Request": "true"})

    assert shown(owner).elements("#sources")[0]["hx-get"] == PAGE
    assert b"<html" not in part.content
    assert b"vc.example.org" in part.content


CLUSTER = {
    "kind": "kubernetes",
    "name": "k8s",
    "address": "https://k.example.org:6443",
    "password": "of-a-reader",
    "tier_label": "example.org/tier",
    "every_min": "30",
}


def test_cluster_is_added_edited_and_its_token_is_on_no_page(owner: Client) -> None:
    form = shown(owner, f"{PAGE}?kind=kubernetes")
    assert form.find("input", id="source-tier-label")["value"] == "sluice.io/tier"
    assert form.elements("#source-user") == []
    owner.post(f"{PAGE}set/", CLUSTER)

    row = ReadSource.objects.get()
    assert (row.kind, row.user, row.tier_label) == ("kubernetes", "", "example.org/tier")
    assert row.password == "of-a-reader"
    page = shown(owner)
    assert page.row("table", "k8s")[0] == "Kubernetes"
    assert "by a token" in page.row("table", "k8s")[2]
    edited = owner.get(f"{PAGE}?source=k8s")
    assert page_of(edited).find("input", id="source-tier-label")["value"] == "example.org/tier"
    assert "of-a-reader" not in edited.content.decode()
    owner.post(f"{PAGE}set/", CLUSTER | {"password": "", "every_min": "15"})
    row.refresh_from_db()
    assert row.every_min == 15


def test_form_of_an_unknown_kind_is_that_of_a_vcenter(owner: Client) -> None:
    assert shown(owner, f"{PAGE}?kind=else").find("input", id="source-user") is not None
    assert owner.post(f"{PAGE}set/", FORM | {"kind": "else"}).status_code == 302

    assert ReadSource.objects.get().kind == "vcenter"
