"""The page about Sluice itself."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.test import Client, override_settings

from advisor.models import ResourceStatus
from advisor.pipeline import work_figures
from advisor.pipeline.failed_work import INSTALLATION, Subject, keep_failure, solve
from ingest.models import QuotaHit
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import Page, page_of

ADDRESS = "/health-of-sluice/"


@pytest.fixture(autouse=True)
def no_queue() -> Iterator[None]:
    """No queue's server runs, so that what the page says of it is known."""
    work_figures._client.cache_clear()
    with override_settings(REDIS_URL="redis://127.0.0.1:1/0"):
        yield
    work_figures._client.cache_clear()


def shown(client: Client) -> Page:
    return page_of(client.get(ADDRESS))


def rows(page: Page, caption: str) -> dict[str, str]:
    """The text of each row by its head, of the table with this caption."""
    (table,) = [
        one
        for one in page.elements("table")
        if any(part.tag == "caption" and part.all_text() == caption for part in one.walk())
    ]
    found = {}
    for row in table.walk():
        heads = [one for one in row.walk() if one.tag == "th" and one.get("scope") == "row"]
        if row.tag == "tr" and heads:
            found[heads[0].all_text().strip()] = row.all_text().strip()
    return found


def test_page_is_linked_in_the_navigation(viewer: Client, fleet: Fleet) -> None:
    links = {link["href"]: link.all_text() for link in page_of(viewer.get("/")).elements("nav a")}

    assert links[ADDRESS] == "Health"


def test_every_check_has_its_state_as_a_word(viewer: Client, fleet: Fleet) -> None:
    ResourceStatus.objects.update(looked_at=fleet.now - timedelta(minutes=11))

    checks = rows(shown(viewer), "Checks of Sluice itself")

    # The story ends with kvm-05 silent.
    assert "behind 1 of " in checks["Ingest lag"]
    assert "behind" in checks["Evaluation lag"]
    assert "silent the queue's server does not answer" in checks["Queues"]
    assert "the database has " in checks["Free disk"]
    assert "clear none" in checks["Failed work"]


def test_lag_of_every_host_is_a_click_away(viewer: Client, fleet: Fleet) -> None:
    address = shown(viewer).links()["Every host, oldest first"]

    hosts = page_of(viewer.get(address)).elements(".list tbody th")

    # kvm-05 has been silent for 25 minutes.
    assert hosts[0].all_text().strip() == "kvm-05"
    assert len(hosts) == len(fleet.hosts)


def test_heading_counts_the_checks_that_need_attention(viewer: Client, fleet: Fleet) -> None:
    before = shown(viewer).text("h1")
    resource = fleet.resources["nfs-07"].pk
    keep_failure(
        task="detect_resource", subject=Subject(resource=resource), reason="-", now=fleet.now
    )

    after = shown(viewer).text("h1")

    # kvm-05 is silent, and so is the queue's server.
    assert before == "Health of Sluice: 2 of 7 checks need attention"
    assert after == "Health of Sluice: 3 of 7 checks need attention"


def test_failed_work_is_shown_with_its_reason_and_times(viewer: Client, fleet: Fleet) -> None:
    subject = Subject(resource=fleet.resources["nfs-07"].pk)
    for minutes in (9, 3):
        at = fleet.now - timedelta(minutes=minutes)
        keep_failure(task="detect_resource", subject=subject, reason="It hung.", now=at)
    failing = rows(shown(viewer), "Failed work, what still fails first")["detect resource"]
    solve(task="detect_resource", subject=subject, now=fleet.now)

    solved = rows(shown(viewer), "Failed work, what still fails first")["detect resource"]

    assert failing == "detect resource nfs-07 failing It hung. 9 min ago 3 min ago 2"
    assert "solved now" in solved


def test_failed_work_of_others_is_not_shown(
    viewer: Client, outsider: Client, fleet: Fleet
) -> None:
    subject = Subject(resource=fleet.resources["nfs-07"].pk)
    keep_failure(task="detect_resource", subject=subject, reason="It hung.", now=fleet.now)
    keep_failure(task="tidy", subject=INSTALLATION, reason="Secret of others.", now=fleet.now)
    fleet.people.owner.is_superuser = True
    fleet.people.owner.save()

    pages = [
        shown(client).all_text() for client in (viewer, outsider, client_of(fleet.people.owner))
    ]

    assert ["It hung." in page for page in pages] == [True, False, True]
    assert ["Secret of others." in page for page in pages] == [False, False, True]
    # That it fails concerns everybody.
    said = "1 task of the whole installation fails; those who run it see the reason here"
    assert [said in " ".join(page.split()) for page in pages] == [True, True, False]
    assert "1 task fails that belongs to no organisation" in pages[1]


def test_update_in_place_is_the_same_page_without_its_frame(viewer: Client, fleet: Fleet) -> None:
    part = viewer.get(ADDRESS, headers={"HX-Request": "true"})

    assert b"<html" not in part.content
    assert b"Health of Sluice" in part.content


def test_quotas_are_shown_with_their_use_and_when_they_were_used_up(
    viewer: Client, fleet: Fleet
) -> None:
    fleet.organisation.quota_hosts = 5000
    fleet.organisation.save()
    QuotaHit.objects.create(
        organisation=fleet.organisation,
        quota="hosts",
        refused_bodies=1234,
        last_hit_at=fleet.now - timedelta(minutes=3),
    )

    page = shown(viewer)

    found = rows(page, "Quotas of this organisation and their use")
    heard = sum(host.heard_at is not None for host in fleet.hosts.values())
    assert found["Hosts"] == f"Hosts 5,000 {heard} 3 min ago 1,234 0"
    assert "there is no quota" in found["Series"]
    # Why there is none depends on whether a queue's server runs for other tests.
    assert found["Points a second"].startswith("Points a second –no value: ")
    said = rows(page, "Checks of Sluice itself")["Quotas"]
    assert said == f"Quotas limited {heard} of 5,000 hosts, used up 3 min ago"


def test_quotas_of_others_are_not_shown(outsider: Client, fleet: Fleet) -> None:
    fleet.organisation.quota_hosts = 5000
    fleet.organisation.save()

    page = shown(outsider)

    assert "there is no quota" in rows(page, "Quotas of this organisation and their use")["Hosts"]
    assert "Quotas" not in rows(page, "Checks of Sluice itself")
