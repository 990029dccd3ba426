"""A recommendation in force shows prediction against measurement; the list sums them up."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from advisor.core.forecast.natural_switch import SIDE
from advisor.decisions.decide import approve
from advisor.models import NaturalScore, PredictionScore, Recommendation, RecommendationState
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import page_of

RANGED = {
    "allocation": 1, "workload": "db-orders", "host": "kvm-01", "before": 930.0,
    "predicted": 2581.0, "measured": 2477.0, "measured_in_all": 2400.0,
    "interval": {"low": 2300.0, "high": 2800.0, "level": 0.9},
}  # fmt: skip


@pytest.fixture
def advice(fleet: Fleet) -> Recommendation:
    row = Recommendation.objects.get(state=RecommendationState.PROPOSED)
    approve(recommendation=row, user=fleet.people.owner, now=fleet.now)
    return row


def score(advice: Recommendation, fleet: Fleet, *, held: bool = True) -> PredictionScore:
    return PredictionScore.objects.create(
        recommendation=advice,
        scored_at=fleet.now,
        began_at=fleet.now - timedelta(hours=2),
        ended_at=fleet.now,
        windows=240,
        capacity=5200.0,
        rates=[
            {
                "allocation": 1, "workload": "db-orders", "host": "kvm-01",
                "before": 930.0, "predicted": 2581.0, "measured": 2477.0,
            }
        ],
        confidence=0.86,
        error_ratio=0.02,
        worst_error_ratio=0.02 if held else 0.2,
        bias_ratio=-0.02,
        skill_ratio=0.94,
        held=held,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("gap", "shown"),
    [
        ("", "Not scored: the scheduler has not looked at it yet."),
        ("kvm-01 has no agent", "Not scored: kvm-01 has no agent."),
    ],
    ids=["before the first look", "after it"],
)
def test_prediction_without_a_score_says_why(
    viewer: Client, advice: Recommendation, gap: str, shown: str
) -> None:
    Recommendation.objects.filter(pk=advice.pk).update(score_gap=gap)

    page = page_of(viewer.get(f"/recommendations/{advice.pk}/"))

    assert page.text("#prediction-title") == "Predicted against measured"
    assert shown in page.all_text()


def test_score_shows_predicted_and_measured_per_workload(
    fleet: Fleet, viewer: Client, advice: Recommendation
) -> None:
    score(advice, fleet)

    page = page_of(viewer.get(f"/recommendations/{advice.pk}/"))

    assert "The prediction held: the worst rate missed it by 2 %" in page.all_text()
    # 2477 - 2581
    assert "db-orderskvm-0125812477-104" in page.all_text().replace(" ", "")
    assert "unknown: it was scored before effects were kept" in page.all_text()


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        (
            {"effect": {"mean": 1500.0, "low": -200.0, "high": 3200.0}, "effect_gap": ""},
            "-104notkept1500(-200to3200)",
        ),
        ({"effect": None, "effect_gap": "0 workloads are left"}, "unknown:0workloadsareleft"),
    ],
    ids=["known", "not known"],
)
def test_effect_of_the_policy_stands_beside_its_prediction(
    fleet: Fleet, viewer: Client, advice: Recommendation, told: dict[str, object], shown: str
) -> None:
    row = score(advice, fleet)
    row.rates = [row.rates[0] | told]
    row.save()

    page = page_of(viewer.get(f"/recommendations/{advice.pk}/"))

    assert shown in page.all_text().replace(" ", "")
    assert "94 % of the error of" in page.all_text()


def test_missed_prediction_is_told(fleet: Fleet, viewer: Client, advice: Recommendation) -> None:
    score(advice, fleet, held=False)

    text = page_of(viewer.get(f"/recommendations/{advice.pk}/")).all_text()

    assert (
        "did not hold: the worst rate missed it by 20 % of the capacity, 5 % are allowed" in text
    )


def test_open_recommendation_has_nothing_to_compare(fleet: Fleet, viewer: Client) -> None:
    row = Recommendation.objects.get(state=RecommendationState.PROPOSED)

    page = page_of(viewer.get(f"/recommendations/{row.pk}/"))

    assert page.elements("#prediction-title") == []


def test_list_sums_up_how_predictions_came_true(
    fleet: Fleet, viewer: Client, advice: Recommendation
) -> None:
    score(advice, fleet)

    page = page_of(viewer.get("/calibration/"))

    facts = {one.all_text().strip() for one in page.elements(".facts div")}
    assert {"Held1 of 1", "Mean error2 %"} <= facts
    assert any(fact.startswith("Bias-2") for fact in facts)
    # 86 % sure, and it held
    assert "75 % to 100 %" in page.all_text()


def test_windows_that_were_not_compared_are_told(
    fleet: Fleet, viewer: Client, advice: Recommendation
) -> None:
    row = score(advice, fleet)
    row.held_back_windows, row.less_load_windows, row.unknown_load_windows = 30, 50, 10
    row.rates = [row.rates[0] | {"measured_in_all": 2400.0}]
    row.save()
    Recommendation.objects.filter(state=RecommendationState.PROPOSED).update(score_gap="no agent")

    page = page_of(viewer.get(f"/recommendations/{advice.pk}/"))
    listed = page_of(viewer.get("/calibration/")).all_text()

    assert (
        "240 of 300 windows compared (30 of them fell short while work waited); "
        "in 50 less was asked for, in 10 it is not known whether less was asked for"
    ) in page.all_text()
    assert "-1042400" in page.all_text().replace(" ", "")
    # 240 of 300
    assert "Windows compared80 %" in listed.replace("\n", "")


def test_list_without_scores_says_nothing_of_them(viewer: Client, fleet: Fleet) -> None:
    assert page_of(viewer.get("/recommendations/")).elements("#calibration-title") == []


def test_stranger_sees_no_calibration(fleet: Fleet, advice: Recommendation) -> None:
    score(advice, fleet)

    page = page_of(client_of(fleet.people.outsider).get("/recommendations/"))

    assert page.elements("#calibration-title") == []


def test_list_tells_how_accurate_each_origin_was(fleet: Fleet, viewer: Client) -> None:
    told = {"interval": {"low": 90.0, "high": 110.0, "level": 0.9}, "predicted": 100.0}
    NaturalScore.objects.create(
        resource=fleet.resources["nfs-07"], workload="etl-02", starts=True,
        switched_at=fleet.now - timedelta(days=1), scored_at=fleet.now,
        rates=[
            {**told, "measured": 105.0, "crps": 2.1}, {**told, "measured": 195.0, "crps": 90.0},
        ],
    )  # fmt: skip

    page = page_of(viewer.get("/calibration/"))

    cells = page.row("section table", "workloads that started or stopped by themselves")
    # After a change by itself all windows are compared, five minutes of them.
    assert cells == [
        "datastores", "2 unproven", "50 %", "90 %", "33 %", "31 %", str(SIDE), "0", "0", "0",
        "50 %",
    ]  # fmt: skip
    assert page.row("section table", "etl-02")[:4] == ["started", "nfs-07", "2", "1"]


def test_windows_of_each_kind_of_advice_are_counted_apart(
    fleet: Fleet, viewer: Client, advice: Recommendation
) -> None:
    row = score(advice, fleet)
    row.held_back_windows, row.less_load_windows, row.unknown_load_windows = 30, 50, 10
    row.rates = [RANGED]
    row.save()

    page = page_of(viewer.get("/calibration/"))

    cells = page.row("section table", "approved advice, policy: reservation")
    assert cells[6:10] == ["240", "30", "50", "10"]


def test_picture_has_a_dot_and_a_range_for_each_rate(
    fleet: Fleet, viewer: Client, advice: Recommendation
) -> None:
    row = score(advice, fleet)
    row.rates = [RANGED]
    row.save()

    page = page_of(viewer.get("/calibration/"))

    (field,) = page.elements(".picture-field")
    assert field["aria-label"].startswith(
        "1 measured rates against those predicted; 1 of them lie within the range"
    )


def test_scores_lead_to_their_recommendation(
    fleet: Fleet, viewer: Client, advice: Recommendation
) -> None:
    score(advice, fleet, held=False)

    page = page_of(viewer.get("/calibration/"))

    assert page.links()[advice.summary] == f"/recommendations/{advice.pk}/"
    assert page.text("h1") == "0 of 1 prediction held"


def test_recommendations_lead_to_what_came_of_them(
    fleet: Fleet, viewer: Client, advice: Recommendation
) -> None:
    score(advice, fleet)

    page = page_of(viewer.get("/recommendations/"))

    assert "1 of 1 measured prediction held" in page.all_text()
    assert page.links()["Predictions against outcome"] == "/calibration/"


def test_without_scores_the_page_says_what_it_will_show(fleet: Fleet, viewer: Client) -> None:
    page = page_of(viewer.get("/calibration/"))

    assert page.text("h1") == "No prediction was measured yet"


def test_stranger_sees_no_score(fleet: Fleet, outsider: Client, advice: Recommendation) -> None:
    score(advice, fleet)

    assert advice.summary not in outsider.get("/calibration/").content.decode()
