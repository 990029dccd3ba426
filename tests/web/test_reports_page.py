"""The page of reports: whose, of which days, in which zone, and as a file."""

from __future__ import annotations

import csv
from io import StringIO

import pytest
from django.test import Client

from accounts.models.profile import Profile
from advisor.errors import ExportImpossible
from advisor.models import Team, Workload
from config.database_roles import DatabaseRole
from tests.config.roles import acting_as, make_roles
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import page_of

DAY = {"period": "days", "first": "2026-11-20", "last": "2026-11-20"}


def text_of(client: Client, **query: str) -> str:
    return page_of(client.get("/reports/", {**DAY, **query})).root.all_text()


def test_viewer_reads_what_was_kept_lost_and_by_whom(viewer: Client) -> None:
    page = page_of(viewer.get("/reports/", DAY))

    text = page.root.all_text()
    assert "All workloads of Northgate Cloud" in text
    assert "2026-11-20, UTC, so far" in text
    rows = [one.all_text() for one in page.elements("tbody tr")]
    assert any("db-orders" in row and "high" in row for row in rows)
    assert any("nfs-07" in row and "batch-3" in row for row in rows)


def test_csv_has_the_figures_of_the_page(viewer: Client) -> None:
    answer = viewer.get("/reports/", {**DAY, "format": "csv"})

    rows = {one["workload"]: one for one in csv.DictReader(StringIO(answer.content.decode()))}
    assert 'filename="sluice-report-2026-11-20.csv"' in answer["Content-Disposition"]
    shown = page_of(viewer.get("/reports/", DAY))
    (line,) = (one for one in shown.elements("tbody tr") if "db-orders" in one.all_text()[:20])
    cells = {
        one.get("data-label"): one.all_text().strip() for one in line.walk() if one.tag == "td"
    }
    assert float(rows["db-orders"]["asked_min"]) == float(cells["Asked, min"])
    assert round(float(rows["db-orders"]["lost_min"])) == float(cells["Lost, min"])


@pytest.mark.pdf
def test_pdf_is_a_file(viewer: Client) -> None:
    answer = viewer.get("/reports/", {**DAY, "format": "pdf"})

    assert answer["Content-Type"] == "application/pdf"
    assert answer.content.startswith(b"%PDF-")


def test_page_says_what_is_missing_for_pdf_and_goes_on(
    viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(html: str) -> bytes:
        raise ExportImpossible("this server makes no PDF: libpango is missing")

    monkeypatch.setattr("web.views.reports.pdf_of", none)

    answer = viewer.get("/reports/", {**DAY, "format": "pdf"})

    (said,) = page_of(answer, status=503).elements(".form-error")
    assert "libpango is missing. The page and the CSV have the same figures." in said.all_text()


def test_days_are_those_of_the_reader(fleet: Fleet) -> None:
    Profile.objects.create(user=fleet.people.viewer, time_zone="Asia/Tokyo")

    assert "2026-11-20, Asia/Tokyo" in text_of(client_of(fleet.people.viewer))
    assert "2026-11-20, Europe/Berlin" in text_of(
        client_of(fleet.people.viewer), zone="Europe/Berlin"
    )


def test_team_has_its_own_report_and_without_workloads_is_told_so(
    viewer: Client, fleet: Fleet
) -> None:
    Workload.objects.filter(name="db-orders").update(tags=["label.team=shop"])
    for name, tag in (("shop", "label.team=shop"), ("none", "label.team=none")):
        Team.objects.create(organisation=fleet.organisation, name=name, tags=[tag])

    page = page_of(viewer.get("/reports/", {**DAY, "team": "shop"}))
    assert "Team shop of Northgate Cloud" in page.root.all_text()
    assert "mail-1" not in page.root.all_text()
    text = text_of(viewer, team="none")
    assert "There is nothing to report." in text
    assert "There were no such workloads in this period." in text


def test_night_in_which_clocks_change_is_told(viewer: Client) -> None:
    text = text_of(viewer, first="2026-10-25", last="2026-10-25", zone="Europe/Berlin")

    assert "it is 60 minutes longer than its days" in text


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ({"first": "", "last": ""}, "state the first and the last day"),
        ({"first": "2026-11-20", "last": "2026-11-19"}, "write the first day first"),
        ({"zone": "Mars/Olympus"}, "is not a time zone"),
        ({"team": "nobody"}, 'there is no team "nobody"'),
        ({"tag": "\x00"}, "letters that can be printed"),
        ({"period": "often"}, "is no period"),
    ],
)
def test_what_cannot_be_read_is_told_on_the_page(
    viewer: Client, query: dict[str, str], reason: str
) -> None:
    answer = viewer.get("/reports/", {**DAY, **query})

    (said,) = page_of(answer, status=400).elements(".form-error")
    assert reason in said.all_text()


def test_workloads_come_in_pages(viewer: Client, fleet: Fleet) -> None:
    for number in range(60):
        Workload.objects.create(
            organisation=fleet.organisation, name=f"more-{number:02}", tier="low"
        )

    first, second = text_of(viewer), text_of(viewer, page="2")

    assert "Page 1 of 2, 66 workloads" in first
    assert "more-59" in second
    assert "more-59" not in first


def test_the_web_server_may_read_all_of_it(fleet: Fleet) -> None:
    viewer = client_of(fleet.people.viewer)
    make_roles()
    with acting_as(DatabaseRole.WEB):
        assert "db-orders" in text_of(viewer)
