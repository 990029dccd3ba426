"""Every page can be used by keyboard and screen reader: names, labels, headings, table heads."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

import pytest

from accounts.actor import COMMAND_LINE
from accounts.models import Organisation
from accounts.services.join_tokens import Terms, make_join_token
from advisor.decisions.teams import set_team, state_tags
from advisor.models import (
    Delivery,
    Incident,
    NaturalScore,
    NotificationChannel,
    NotificationRule,
    NotificationSilence,
    PredictionScore,
    ReadSource,
    Recommendation,
    ReportSubscription,
    SharedReport,
    Team,
    Workload,
)
from advisor.queries.report import read_report
from advisor.reports.asked import AskedReport, period_of_asked, subject_of
from advisor.reports.shared import link_secret, share
from advisor.reports.written import written
from ingest.models import HostJoin
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import Element, Page, page_of

pytestmark = pytest.mark.any_database

Addresses = Callable[[Fleet], str]


def _notified(fleet: Fleet) -> str:
    """The page with a row in each of its tables."""
    channel, _ = NotificationChannel.objects.get_or_create(
        organisation=fleet.organisation, name="chat", kind="webhook", address="https://a.example/"
    )
    rules = NotificationRule.objects
    rules.get_or_create(organisation=fleet.organisation, name="nights", channel=channel)
    later = fleet.now + timedelta(hours=1)
    NotificationSilence.objects.get_or_create(
        organisation=fleet.organisation, until=later, made_by="operator"
    )
    Delivery.objects.get_or_create(
        organisation=fleet.organisation, channel=channel,
        defaults={
            "key": uuid4(), "next_at": later, "created_at": fleet.now,
            "message": {"subject": "nfs-07 is congested"},
        },
    )  # fmt: skip
    return "/settings/notifications/"


def _sources(fleet: Fleet) -> str:
    """The page with sources in several states, and one that can be put back."""
    for name, columns in {
        "read": {"read_at": fleet.now, "says": "2 VMs and 1 datastores read; nothing differs"},
        "fails": {"failures": 2, "says": "https://vc.example.org cannot be reached"},
        "paused": {"paused_at": fleet.now, "trial_at": fleet.now, "trial_says": "lets in"},
        "removed": {"removed_at": fleet.now},
        "cluster": {"kind": "kubernetes", "user": "", "tier_label": "sluice.io/tier"},
    }.items():
        ReadSource.objects.get_or_create(
            organisation=fleet.organisation, name=name,
            defaults={
                "address": "https://vc.example.org", "user": "reader", "password": "sealed",
                "next_at": fleet.now, **columns,
            },
        )  # fmt: skip
    return "/settings/sources/"


def _sent(fleet: Fleet) -> str:
    """The page of reports that leave the house, with a row in each of its tables."""
    channel, _ = NotificationChannel.objects.get_or_create(
        organisation=fleet.organisation, name="letters", kind="mail", address="a@example.org"
    )
    later = fleet.now + timedelta(hours=1)
    ReportSubscription.objects.get_or_create(
        organisation=fleet.organisation, name="mondays", channel=channel,
        defaults={"every": "weekly", "hour": 7, "due_at": later},
    )  # fmt: skip
    SharedReport.objects.get_or_create(
        organisation=fleet.organisation, title="All of Northgate", written={}, made_by="owner",
        made_at=fleet.now, expires_at=later,
    )  # fmt: skip
    return "/reports/sent/"


def _shared(fleet: Fleet) -> str:
    """The report of today, for who has the link."""
    asked = AskedReport(period="2026-11-20")
    found = read_report(
        subject_of(fleet.organisation, asked),
        period_of_asked(asked, now=fleet.now),
        now=fleet.now,
    )
    row = share(
        organisation=fleet.organisation, shared=written(found), days=7, actor=COMMAND_LINE,
        now=fleet.now,
    )  # fmt: skip
    return f"/reports/of/{link_secret(row)}/"


def _joined(fleet: Fleet) -> str:
    """The page of a line by which a host joined."""
    token = fleet.organisation.join_tokens.first()
    if token is None:
        token, _ = make_join_token(organisation=fleet.organisation, terms=Terms(), now=fleet.now)
    host = fleet.hosts["kvm-03"]
    HostJoin.objects.get_or_create(
        organisation=fleet.organisation, token=token, host=host,
        defaults={"at": fleet.now, "said": {"system": "Debian 12", "collects": "reader"}},
    )  # fmt: skip
    return f"/hosts/connect/{token.pk}/"


def _scored(fleet: Fleet) -> str:
    """Where a prediction was compared with what was measured, and what happened by itself."""
    told = {"interval": {"low": 90.0, "high": 110.0, "level": 0.9}, "predicted": 100.0}
    rates = [{**told, "workload": "db-orders", "host": "kvm-01", "before": 9.0, "measured": 105.0}]
    PredictionScore.objects.get_or_create(
        recommendation=Recommendation.objects.get(),
        defaults={
            "scored_at": fleet.now, "began_at": fleet.now, "ended_at": fleet.now, "windows": 240,
            "held_back_windows": 0, "less_load_windows": 0, "unknown_load_windows": 0,
            "capacity": 5200.0, "rates": rates, "confidence": 0.8, "error_ratio": 0.02,
            "worst_error_ratio": 0.02, "bias_ratio": 0.01, "held": True,
        },
    )  # fmt: skip
    NaturalScore.objects.get_or_create(
        resource=fleet.resources["nfs-07"], workload="db-orders", switched_at=fleet.now,
        defaults={"starts": True, "scored_at": fleet.now, "rates": rates},
    )  # fmt: skip
    return "/calibration/"


def _toured(fleet: Fleet) -> str:
    """The start page of a sample, with the first step of its tour."""
    Organisation.objects.filter(pk=fleet.organisation.pk).update(is_sample=True)
    return "/?group=tier"


PAGES: dict[str, Addresses] = {
    "tour": _toured,
    "connect": lambda _: "/hosts/connect/",
    "joined hosts": _joined,
    "overview": lambda _: "/",
    "recommendations": lambda _: "/recommendations/",
    "recommendation": lambda _: f"/recommendations/{Recommendation.objects.get().pk}/",
    "incidents": lambda _: "/incidents/",
    "incident": lambda _: f"/incidents/{Incident.objects.get().pk}/",
    "timeline": lambda _: f"/incidents/{Incident.objects.get().pk}/timeline/",
    "layers": lambda _: f"/incidents/{Incident.objects.get().pk}/layers/",
    "workloads": lambda _: "/workloads/?group=tier",
    "storage": lambda _: "/storage/",
    "networks": lambda _: "/networks/?sort=-rate",
    "calibration": _scored,
    "enforcement": lambda _: "/enforcement/?group=state",
    "hosts": lambda _: "/hosts/",
    "host": lambda fleet: f"/hosts/{fleet.hosts['kvm-02'].pk}/",
    "datastore": lambda fleet: f"/resources/{fleet.resources['nfs-07'].pk}/",
    "uplink": lambda fleet: f"/resources/{fleet.resources['kvm-02/eno1'].pk}/",
    "workload": lambda _: f"/workloads/{Workload.objects.get(name='db-orders').pk}/",
    "imports": lambda _: "/imports/",
    "health": lambda _: "/health-of-sluice/",
    "reports": lambda _: "/reports/?period=days&first=2026-11-20&last=2026-11-20",
    "proof": lambda _: (
        "/reports/proof/?workload=db-orders&period=days&first=2026-11-20&last=2026-11-20"
    ),
    "sent reports": _sent,
    "shared report": _shared,
    "members": lambda _: "/settings/members/",
    "teams": lambda _: "/teams/",
    "team": lambda fleet: f"/teams/{_team(fleet).pk}/",
    "organisation": lambda _: "/settings/organisation/",
    "profile": lambda _: "/settings/profile/",
    "tokens": lambda _: "/settings/tokens/",
    "ladder": lambda _: "/settings/ladder/",
    "maintenance": lambda _: "/settings/maintenance/",
    "rules": lambda _: "/settings/rules/",
    "audit": lambda _: "/settings/audit/",
    "notifications": _notified,
    "sources": _sources,
    "search": lambda _: "/search/?q=kvm",
}


FOR_ADMINS = {"audit", "sources"}


def _team(fleet: Fleet) -> Team:
    """One that owns a workload."""
    state_tags(organisation=fleet.organisation, name="db-orders", tags=["tag=a"])
    return set_team(
        organisation=fleet.organisation, name="shop", tags=["tag=a"], members=["viewer"]
    )


@pytest.fixture(scope="module")
def rendered() -> dict[str, Page]:
    """Each page once: no rule changes it."""
    return {}


@pytest.fixture(params=PAGES)
def page(request: pytest.FixtureRequest, story: Fleet, rendered: dict[str, Page]) -> Page:
    name = request.param
    if name not in rendered:
        fleet = request.getfixturevalue("fleet")
        person = fleet.people.owner if name in FOR_ADMINS else fleet.people.operator
        rendered[name] = page_of(client_of(person).get(PAGES[name](fleet)))
    return rendered[name]


def name_of(element: Element) -> str:
    return (element.get("aria-label") or element.all_text()).strip()


def is_hidden(element: Element) -> bool:
    return any(
        one.get("aria-hidden") == "true" or "hidden" in one.attributes
        for one in (element, *element.ancestors())
    )


def test_page_has_a_language_a_title_and_one_main(page: Page) -> None:
    assert page.elements("html")[0]["lang"] == "en"
    # Who has a link is not in the organisation, which stands in the name of the report.
    assert re.search(r"Northgate Cloud · Sluice$", page.text("title"))
    assert len(page.elements("main")) == 1


def test_headings_begin_with_one_h1_and_skip_no_level(page: Page) -> None:
    main = page.elements("main")[0]
    dialogs = {id(one) for dialog in page.elements("dialog") for one in dialog.walk()}
    levels = [
        int(one.tag[1])
        for one in main.walk()
        if one.tag in ("h1", "h2", "h3", "h4") and id(one) not in dialogs
    ]

    # Charts have headings of their own below a section that is named without one.
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert set(levels) <= {1, 2, 3}


def test_skip_link_leads_to_the_content(page: Page) -> None:
    first = next(one for one in page.elements("body")[0].walk() if one.tag == "a")

    assert first["href"] == "#content"
    assert page.find("main", id="content")["tabindex"] == "-1"


def test_every_control_has_a_label(page: Page) -> None:
    labelled = {label.get("for") for label in page.elements("label")}
    controls = [
        one
        for tag in ("input", "select", "textarea")
        for one in page.elements(tag)
        if one.get("type") != "hidden"
    ]

    assert [one.attributes for one in controls if one.get("id") not in labelled] == []


def test_every_link_and_button_has_a_name(page: Page) -> None:
    nameless = [
        one.attributes
        for tag in ("a", "button")
        for one in page.elements(tag)
        if not name_of(one) and not is_hidden(one)
    ]

    assert nameless == []


def test_links_of_one_name_lead_to_one_place(page: Page) -> None:
    """Read as a list, without what stands around them."""
    places: dict[str, set[str]] = {}
    for link in page.elements("main a"):
        if not is_hidden(link):
            places.setdefault(name_of(link), set()).add(link["href"])

    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_every_table_has_heads_with_a_scope(page: Page) -> None:
    for table in page.elements("table"):
        heads = [one for one in table.walk() if one.tag == "th"]
        assert heads
        assert {head.get("scope") for head in heads} <= {"col", "row", "colgroup", "rowgroup"}


def test_every_table_has_a_caption(page: Page) -> None:
    for table in page.elements("table"):
        first = next(one for one in table.children if isinstance(one, Element))
        assert first.tag == "caption"
        assert first.all_text().strip()


def rows_of(table: Element) -> list[list[Element]]:
    """The cells of each row of the table's body, without those of a table inside it."""
    bodies = [one for one in table.children if isinstance(one, Element) and one.tag == "tbody"]
    rows = [row for body in bodies for row in body.children if isinstance(row, Element)]
    return [[cell for cell in row.children if isinstance(cell, Element)] for row in rows]


def test_rows_of_a_table_are_equally_wide(page: Page) -> None:
    for table in page.elements("table"):
        widths = {sum(int(cell.get("colspan", "1")) for cell in cells) for cells in rows_of(table)}
        assert len(widths) <= 1


def heads_of(table: Element) -> list[set[str]]:
    """The words above each column, from all rows of heads that span it."""
    rows = [
        [cell for cell in row.children if isinstance(cell, Element)]
        for head in table.children
        if isinstance(head, Element) and head.tag == "thead"
        for row in head.children
        if isinstance(row, Element)
    ]
    words: dict[int, set[str]] = {}
    taken: dict[int, int] = {}
    for number, cells in enumerate(rows):
        column = 0
        for cell in cells:
            while taken.get(column, -1) >= number:
                column += 1
            for _ in range(int(cell.get("colspan", "1"))):
                words.setdefault(column, set()).update(cell.all_text().split())
                taken[column] = number + int(cell.get("rowspan", "1")) - 1
                column += 1
    return [words[column] for column in sorted(words)]


def test_values_of_wide_tables_carry_the_name_of_their_column(page: Page) -> None:
    """A small screen shows rows as blocks, without the heads above the columns."""
    for table in page.elements(".stacks"):
        heads = heads_of(table)
        for cells in rows_of(table):
            values = [] if any(cell.get("colspan") for cell in cells) else cells
            for head, cell in zip(heads, values, strict=bool(values)):
                said = set(cell.get("data-label").replace(",", "").split())
                assert said <= head
                assert said or cell.tag == "th"


def test_every_image_and_drawing_has_a_name_or_is_hidden(page: Page) -> None:
    images = [one for tag in ("img", "svg") for one in page.elements(tag)]

    assert [
        one.attributes
        for one in images
        if "alt" not in one.attributes and not one.get("aria-label") and not is_hidden(one)
    ] == []


def test_every_named_element_exists(page: Page) -> None:
    ids = Counter(one.get("id") for one in page.root.walk() if one.get("id"))
    wanted = {
        name
        for one in page.root.walk()
        for attribute in ("aria-labelledby", "aria-describedby", "aria-controls")
        for name in one.get(attribute).split()
    }
    opened = {one["data-opens"] for one in page.root.walk() if one.get("data-opens")}

    assert [name for name, count in ids.items() if count > 1] == []
    assert wanted | opened <= set(ids)


def test_missing_values_carry_their_reason(page: Page) -> None:
    missing = page.elements(".absent")

    assert all(one.get("title") for one in missing)
    assert all("no value:" in one.all_text() for one in missing)


def test_page_runs_no_inline_script_or_style(page: Page) -> None:
    """The content security policy would refuse them."""
    everything = list(page.root.walk())

    assert [one for one in everything if one.tag == "script" and not one.get("src")] == []
    assert [one for one in everything if one.tag == "style" or one.get("style")] == []
    assert not any(name.startswith("on") for one in everything for name in one.attributes)


@pytest.mark.parametrize("name", ["viewer", "operator"])
def test_current_section_is_marked_once(fleet: Fleet, name: str) -> None:
    page = page_of(client_of(getattr(fleet.people, name)).get("/hosts/"))

    marked = [
        link.all_text() for link in page.elements("nav a") if link.get("aria-current") == "page"
    ]
    assert marked == ["Hosts"]
