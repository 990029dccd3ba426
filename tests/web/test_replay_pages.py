"""Replayed experiments: a list with verdicts, a page that plays, and the numbers side by side."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from advisor.lab.replay.player import NAMES, timeline_document
from advisor.lab.replay.tally import summary_of
from tests.web.fleet import Fleet
from tests.web.html import Element, Page, page_of
from web.drawing.replay import number_text

pytestmark = pytest.mark.any_database

PLAYED = "sioc-nfs-shares"
LINES = "vmfs-hosts-per-lun"
BARS = "sioc-ssd-tiers"
UNEVEN = "sioc-ssd-uneven-hosts"


@pytest.fixture
def viewer(nothing_yet: Fleet) -> Client:
    client = Client()
    client.force_login(nothing_yet.people.viewer)
    return client


def shown(client: Client, name: str) -> Page:
    return page_of(client.get(f"/replay/{name}/"))


def test_list_counts_each_statement_of_the_studies_once(viewer: Client) -> None:
    page = page_of(viewer.get("/replay/"))

    rows = page.elements("tbody tr")
    findings = [one for name in NAMES for one in timeline_document(name)["findings"]]
    assert len(rows) == len(NAMES)
    assert page.links()[PLAYED] == f"/replay/{PLAYED}/"
    assert f"Each statement counted once: {summary_of(findings)}." in page.text(".lead")


def test_list_counts_two_sided_and_one_sided_numbers_apart_and_each_once(viewer: Client) -> None:
    cells = page_of(viewer.get("/replay/")).row("table", BARS)

    # Ratios 4 and 2 of tiers and their three reservations, each checked in four patterns.
    assert cells[3:5] == ["2 of 2", "3 of 3"]


def test_statement_in_words_has_no_printed_number(viewer: Client) -> None:
    text = shown(viewer, UNEVEN).all_text()

    assert "in words [1]" in text


def test_experiment_without_a_course_has_its_reason_in_the_list(viewer: Client) -> None:
    cells = page_of(viewer.get("/replay/")).row("table", BARS)

    assert "no value: nothing in it changes over time" in cells[2]


@pytest.mark.parametrize("name", NAMES)
def test_every_printed_number_stands_beside_ours_with_its_verdict(
    viewer: Client, name: str
) -> None:
    page = shown(viewer, name)

    text = page.all_text()
    findings = timeline_document(name)["findings"]
    assert all(one["quantity"] in text and one["why"] in text for one in findings)
    assert len(page.elements(".pair svg")) == len(findings)


def test_played_experiment_has_a_labelled_player(viewer: Client) -> None:
    page = shown(viewer, PLAYED)

    labelled = {label.get("for") for label in page.elements("label")}
    assert {"speed", "position"} <= labelled
    # Ten minutes of simulated time.
    assert page.find("input", id="position")["max"] == "600.0"
    panels = timeline_document(PLAYED)["panels"]
    assert len(page.elements(".player .chart")) == len(panels)


def test_experiment_without_a_course_has_no_player(viewer: Client) -> None:
    page = shown(viewer, BARS)

    assert page.elements(".player") == []
    assert "nothing to play" in page.text(".lead")
    assert page.elements(".bars svg") != []


def test_what_the_study_prints_is_drawn_otherwise_in_the_colour_of_ours(viewer: Client) -> None:
    bars = shown(viewer, PLAYED).elements(".bars rect")
    kinds = [one["class"] for one in bars]

    assert kinds[:3] == [
        "series-bar series-bar-1",
        "series-bar series-bar-2",
        "series-bar series-bar-2 series-bar-printed",
    ]


def test_clock_is_not_read_out_at_every_step(viewer: Client) -> None:
    assert shown(viewer, PLAYED).find("output")["aria-live"] == "off"


def test_values_of_charts_are_there_as_tables(viewer: Client) -> None:
    page = shown(viewer, PLAYED)

    heads = [one.all_text() for one in page.elements("details th") if one["scope"] == "col"]
    assert {"time (s)", "host 1", "datastore"} <= set(heads)
    assert len(shown(viewer, LINES).elements("details")) > 1


def test_pages_lead_to_the_experiment_before_and_after(viewer: Client) -> None:
    links = shown(viewer, NAMES[1]).links()

    assert links[f"Before: {NAMES[0]}"] == f"/replay/{NAMES[0]}/"
    assert links[f"Next: {NAMES[2]}"] == f"/replay/{NAMES[2]}/"


def test_script_gets_what_it_plays_as_json(viewer: Client) -> None:
    answer = viewer.get(f"/replay/{PLAYED}/timeline.json")

    played = json.loads(answer.content)
    assert played["panels"] == timeline_document(PLAYED)["panels"]
    assert "findings" not in played


@pytest.mark.parametrize("rest", ["", "timeline.json"])
def test_unknown_experiment_is_not_found(viewer: Client, rest: str) -> None:
    assert viewer.get(f"/replay/sioc-nfs-night/{rest}").status_code == 404


@pytest.mark.parametrize(
    "path", ["/replay/", f"/replay/{PLAYED}/", f"/replay/{PLAYED}/timeline.json"]
)
def test_stranger_is_sent_to_the_login(client: Client, db: None, path: str) -> None:
    assert client.get(path).status_code == 302


@pytest.mark.parametrize("name", NAMES)
def test_page_keeps_the_rules_of_access(viewer: Client, name: str) -> None:
    page = shown(viewer, name)

    everything = list(page.root.walk())
    images = [one for one in everything if one.tag == "svg" and not one.get("aria-hidden")]
    levels = [int(one.tag[1]) for one in everything if one.tag in ("h1", "h2", "h3")]
    scripts = [one for one in everything if one.tag == "script"]
    assert all(one.get("aria-label") for one in images)
    assert levels.count(1) == 1
    assert all(script.get("src") for script in scripts)
    assert [one for one in everything if one.tag == "style" or one.get("style")] == []
    assert all(one.get("scope") for one in everything if _is_head(one))


def _is_head(element: Element) -> bool:
    return element.tag == "th"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (0.63829, "0.6383"),
        (9999.0, "9999"),
        (51_000.0, "51 000"),
        # Four digits, without the notation of programmers.
        (1_028_352_000.0, "1 028 000 000"),
        (-12_345.0, "-12 345"),
    ],
)
def test_numbers_have_four_digits_in_groups_of_three(
    value: float | None, text: str | None
) -> None:
    assert number_text(value) == (text and text.replace(" ", "\N{NARROW NO-BREAK SPACE}"))
