"""An episode says what happened, when, to whom and by whom."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from advisor.core.standing import UNCLAIMED
from advisor.models import Episode, Recommendation
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import Page, page_of


@pytest.fixture
def episode(fleet: Fleet) -> Episode:
    row = Episode.objects.get(ended_at=None)
    row.started_at = fleet.now - timedelta(minutes=42)
    row.peak_value = 41.26
    row.aggressors = [
        {
            "workload": "batch-3",
            "rate": 3150.0,
            "entitlement": 670.0,
            "part_ratio": 0.612,
            "excess_ratio": 1.0,
        }
    ]
    row.victims = [
        {
            "workload": "db-orders",
            "rate": 950.0,
            "entitlement": 2680.0,
            "reservation": 1500.0,
            "shortfall_ratio": 0.646,
        }
    ]
    row.save()
    return row


def shown(client: Client, episode: Episode) -> Page:
    return page_of(client.get(f"/episodes/{episode.pk}/"))


def test_open_episode_is_told_in_the_present(viewer: Client, episode: Episode) -> None:
    page = shown(viewer, episode)

    assert page.text("h1").startswith("nfs-07 has been congested for 42 min:")
    assert "batch-3 takes 61 %, at the expense of db-orders." in page.text("h1")
    assert "the peak was 41.3 ms" in page.text(".lead")


def test_ended_episode_is_told_in_the_past(viewer: Client, episode: Episode) -> None:
    Episode.objects.filter(pk=episode.pk).update(
        ended_at=episode.started_at + timedelta(minutes=30)
    )

    heading = shown(viewer, episode).text("h1")

    assert heading.startswith("nfs-07 was congested for 30 min: up to 41.3 ms against 15.0 ms")
    assert "batch-3 took 61 %" in heading


def test_parties_have_their_numbers(viewer: Client, episode: Episode) -> None:
    page = shown(viewer, episode)

    assert page.row("table", "batch-3") == ["61 %", "100 %", "3150", "670"]
    assert page.row("table", "db-orders") == ["65 %", "950", "1500", "2680"]


def test_traffic_without_a_claim_is_called_so(viewer: Client, episode: Episode) -> None:
    Episode.objects.filter(pk=episode.pk).update(
        aggressors=[{"workload": UNCLAIMED, "part_ratio": 0.5}]
    )

    page = shown(viewer, episode)

    assert "traffic without a claim takes 50 %" in page.text("h1")
    assert page.row("table", "traffic without a claim")[0] == "50 %"


def test_episode_without_parties_says_what_that_means(viewer: Client, episode: Episode) -> None:
    Episode.objects.filter(pk=episode.pk).update(aggressors=[], victims=[])

    page = shown(viewer, episode)

    assert page.text("h1").endswith("against 15.0 ms.")
    assert "the resource is too small for what was wanted" in page.all_text()


def test_evidence_lists_the_windows(viewer: Client, episode: Episode) -> None:
    page = shown(viewer, episode)

    rows = page.elements(".chart-table tbody tr")
    assert len(rows) == len(episode.evidence) > 10


def test_signs_of_an_uplink_are_shown_with_their_norm(viewer: Client, episode: Episode) -> None:
    episode.signs = [
        {"sign": "backlog", "windows": 12, "worst": 0.0123, "threshold": 0.005, "unit": "s"},
        {"sign": "unmet_reservation", "windows": 3, "worst": 1.0, "threshold": 0.5,
         "unit": "ratio"},
    ]  # fmt: skip
    episode.evidence[0]["signs"] = [{"sign": "unmet_reservation"}]
    episode.save()

    page = shown(viewer, episode)

    assert page.row("#signs", "backlog") == ["12", "12.3 ms", "5 ms"]
    assert page.row("#signs", "unmet reservation") == ["3", "100 %", "50 %"]
    assert (
        page.elements(".chart-table tbody .reason")[0].all_text().endswith("(unmet reservation)")
    )


def test_datastore_has_no_signs_of_an_uplink(viewer: Client, episode: Episode) -> None:
    assert shown(viewer, episode).elements("#signs") == []


@pytest.mark.parametrize(("state", "told"), [("external", True), ("none", False)])
def test_load_from_outside_is_told_with_its_grounds(
    viewer: Client, episode: Episode, state: str, *, told: bool
) -> None:
    reason = "50 ms where as much load of our own made 5 ms"
    episode.external = {
        "state": state, "began_at": None, "normal_ms": 5.0, "recent_ms": 50.0, "own_load": 1000.0,
        "comparable_windows": 180, "reason": reason,
        "confidence": {"value": 0.9, "parts": [{"name": "windows", "value": 0.9, "how": "x"}]},
    }  # fmt: skip
    episode.save()

    page = shown(viewer, episode)

    if told:
        assert page.text("#outside") == (
            f"Load from outside: {reason}. Advice on shares, limits and reservations is suspended."
        )
    else:
        assert page.elements("#outside") == []


def test_load_from_outside_of_an_ended_episode_is_told_in_the_past(
    viewer: Client, episode: Episode
) -> None:
    episode.external = {
        "state": "external", "began_at": None, "normal_ms": 5.0, "recent_ms": 50.0,
        "own_load": 1000.0, "comparable_windows": 180, "reason": "50 ms where 5 ms are usual",
        "confidence": {"value": 0.9, "parts": [{"name": "windows", "value": 0.9, "how": "x"}]},
    }  # fmt: skip
    episode.aggressors = []
    episode.ended_at = episode.started_at + timedelta(minutes=30)
    episode.save()

    page = shown(viewer, episode)

    assert "Advice on shares, limits and reservations was suspended." in page.text("#outside")
    # Load of others is no sign that the resource is too small for this organisation's own.
    assert "the load came from outside" in page.all_text()
    assert "too small" not in page.all_text()


def test_charts_show_the_episode_with_a_margin(viewer: Client, episode: Episode) -> None:
    charts = shown(viewer, episode).elements(".charts")[0]

    # 42 minutes before 12:00 and a quarter of an hour more.
    assert charts["data-from"] == "2026-11-20T11:03:00+00:00"
    assert charts["data-to"] == "2026-11-20T12:00:00+00:00"


def test_recommendation_for_it_is_linked(viewer: Client, episode: Episode) -> None:
    advice = Recommendation.objects.get(state="proposed")

    links = shown(viewer, episode).links()

    assert links["See the recommendation"] == f"/recommendations/{advice.pk}/"
    assert links[advice.summary] == f"/recommendations/{advice.pk}/"


def test_list_tells_open_from_ended(viewer: Client, episode: Episode, fleet: Fleet) -> None:
    Episode.objects.create(
        organisation=fleet.organisation,
        resource=fleet.resources["san-02"],
        started_at=fleet.now - timedelta(hours=9),
        ended_at=fleet.now - timedelta(hours=8),
        peak_value=25.0,
        threshold=20.0,
    )

    page = page_of(viewer.get("/episodes/"))

    assert page.text("h1") == "2 episodes of congestion"
    rows = [row.all_text().split()[:2] for row in page.elements("tbody tr")]
    assert rows == [["open", "nfs-07"], ["ended", "san-02"]]


def test_empty_list_says_what_will_appear(nothing_yet: Fleet) -> None:
    page = page_of(client_of(nothing_yet.people.viewer).get("/episodes/"))

    assert page.text("h1") == "0 episodes of congestion"
    assert "the stretch appears here" in page.all_text()
