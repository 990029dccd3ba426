"""Predictions are held against what was measured while their policy was applied."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command

from accounts.models import Organisation
from advisor.core.forecast.calibration import Coverage
from advisor.decisions.enrolment import enroll
from advisor.management.prediction_text import calibration_text, prediction_text
from advisor.models import (
    Allocation,
    Attachment,
    ComplianceRecord,
    Policy,
    PredictionScore,
    Recommendation,
    Resource,
    RolloutTerms,
)
from advisor.pipeline.score import (
    NotScored,
    fresh_predictions,
    recent_predictions,
    score_recommendation,
)
from advisor.queries.calibration import accuracy_by_origin, calibration_of
from advisor.tasks import score_prediction
from enforcers.contract import Outcome
from ingest.models import Host
from tests.advisor.agent_passes import agent_pass, agent_works
from tests.advisor.agent_support import state_support
from tests.advisor.pipeline.scored_policies import (
    APPROVED_AT,
    PREDICTED,
    approved,
    enforced,
    measured,
)
from tests.advisor.samples import Phase, net_lines, send
from tests.advisor.scenario import MBIT, NOW, Cluster, make_cluster, propose

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def score_recent() -> None:
    for row in recent_predictions(now=NOW):
        score_recommendation(recommendation=row, now=NOW)


def test_prediction_that_came_true_held(cluster: Cluster) -> None:
    row = enforced(cluster)
    measured(cluster, 79 * MBIT, 7 * MBIT, 7 * MBIT)

    score = score_recommendation(recommendation=row, now=NOW)

    assert isinstance(score, PredictionScore)
    assert score.held
    # 1 of 94 too little for the first, nothing for the others: 1 / 94 / 3 on average
    assert score.worst_error_ratio == pytest.approx(1 / 94, rel=0.01)
    assert score.bias_ratio == pytest.approx(-1 / 94 / 3, rel=0.01)
    # "nothing changes" would have been off by 48 + 24 + 24
    assert score.skill_ratio == pytest.approx(1 - 1 / 96, rel=0.01)
    assert [rate["workload"] for rate in score.rates] == ["web-1", "web-2", "web-3"]


def test_prediction_that_missed_did_not_hold(cluster: Cluster) -> None:
    row = enforced(cluster)
    measured(cluster, 50 * MBIT, 22 * MBIT, 21 * MBIT)

    score = score_recommendation(recommendation=row, now=NOW)

    assert isinstance(score, PredictionScore)
    assert not score.held
    assert score.worst_error_ratio == pytest.approx(30 / 94, rel=0.01)


def test_policy_that_has_just_settled_has_no_window_to_score_yet(cluster: Cluster) -> None:
    RolloutTerms.objects.create(organisation=cluster.organisation, settle_s=54)
    # It is settled from 9 to 3 s ago, in which no window of 10 s ends.
    row = enforced(cluster, at=NOW - timedelta(seconds=63))
    measured(cluster, 79 * MBIT, 7 * MBIT, 7 * MBIT)

    found = score_recommendation(recommendation=row, now=NOW)

    assert isinstance(found, NotScored)
    assert found.reason.startswith("0 of 0 windows can be compared")


def looked(cluster: Cluster, *rates: float, waits: bool | None) -> Recommendation:
    """A policy under which these rates were measured; the agent saw queues, none, or no queue."""
    row = approved(cluster)
    names = ("web-1", "web-2", "web-3")
    seen = None if waits is None else dict(zip(names, rates, strict=True))
    agent_works(
        cluster.enrolment.host, since=APPROVED_AT, until=NOW, rates=seen, waits=bool(waits)
    )
    measured(cluster, *rates)
    return row


SEEN_AGAIN = 35 * 6
"""Windows of ten seconds from five minutes after the approval on."""


def test_less_that_was_asked_for_is_counted_and_not_judged(cluster: Cluster) -> None:
    row = looked(cluster, 10 * MBIT, 5 * MBIT, 5 * MBIT, waits=False)

    found = score_recommendation(recommendation=row, now=NOW)

    assert isinstance(found, NotScored)
    assert found.reason == (
        f"0 of {SEEN_AGAIN} windows can be compared, 12 are needed: in {SEEN_AGAIN} less was "
        "asked for than the prediction assumes, and in 0 it is not known whether less was asked "
        "for"
    )


def test_policy_that_holds_back_what_is_asked_for_did_not_hold(cluster: Cluster) -> None:
    # A third of what was told for all is lost, and everybody's queue is full.
    row = looked(cluster, 52 * MBIT, 4 * MBIT, 4 * MBIT, waits=True)

    score = score_recommendation(recommendation=row, now=NOW)

    assert isinstance(score, PredictionScore)
    assert not score.held
    assert score.worst_error_ratio == pytest.approx(28 / 94, rel=0.01)
    assert (score.windows, score.held_back_windows) == (SEEN_AGAIN, SEEN_AGAIN)


@pytest.mark.parametrize(
    ("rates", "unknown"),
    # Without any samples the newest window is not over.
    [((52 * MBIT, 4 * MBIT, 4 * MBIT), SEEN_AGAIN), ((), SEEN_AGAIN - 1)],
    ids=["little", "nothing"],
)
def test_windows_of_which_nobody_knows_the_load_are_no_score(
    cluster: Cluster, rates: tuple[float, ...], unknown: int
) -> None:
    row = looked(cluster, *rates, waits=None) if rates else enforced(cluster)

    found = score_recommendation(recommendation=row, now=NOW)

    assert isinstance(found, NotScored)
    assert f"in {unknown} it is not known whether less was asked for" in found.reason
    assert not PredictionScore.objects.exists()


def measured_in_turn(cluster: Cluster, *turns: tuple[int, tuple[float, ...]]) -> None:
    """So many minutes of each of these rates, until now."""
    phases = [
        Phase(
            intervals=minutes * 6,
            sent={"up0": sum(rates)},
            received=dict(zip(("p1", "p2", "p3"), rates, strict=True)),
        )
        for minutes, rates in turns
    ]
    start = NOW - timedelta(minutes=sum(minutes for minutes, _ in turns))
    send(cluster.organisation, net_lines("h1", phases, start=start), now=NOW)


def test_few_good_windows_do_not_hide_many_of_unknown_load(cluster: Cluster) -> None:
    row = enforced(cluster)
    # 5 of the first 10 minutes are left out while rates settle.
    measured_in_turn(cluster, (10, PREDICTED), (30, (52 * MBIT, 4 * MBIT, 4 * MBIT)))

    found = score_recommendation(recommendation=row, now=NOW)

    assert isinstance(found, NotScored)
    assert "windows can be compared" in found.reason
    assert found.reason.startswith(f"only 30 of {SEEN_AGAIN}")
    assert not PredictionScore.objects.exists()


def test_all_windows_are_told_beside_those_compared(cluster: Cluster) -> None:
    row = enforced(cluster)
    measured_in_turn(cluster, (30, PREDICTED), (10, (40 * MBIT, 0.0, 0.0)))

    score = score_recommendation(recommendation=row, now=NOW)

    assert isinstance(score, PredictionScore)
    assert score.held
    assert (score.windows, score.unknown_load_windows) == (150, 60)
    # 25 minutes of 80 Mbit/s and 10 of 40
    assert score.rates[0]["measured"] == pytest.approx(80 * MBIT, rel=0.001)
    expected = (25 * 80 + 10 * 40) / 35 * MBIT
    assert score.rates[0]["measured_in_all"] == pytest.approx(expected, rel=0.001)
    assert "150 of 210 windows compared; in 60 it is not known" in prediction_text(row)


def test_accuracy_counts_all_windows_and_says_how_many_had_the_load(cluster: Cluster) -> None:
    enforced(cluster)
    measured_in_turn(cluster, (30, PREDICTED), (10, (40 * MBIT, 0.0, 0.0)))
    score_recent()

    (row,) = accuracy_by_origin(cluster.organisation)
    summary = calibration_of(cluster.organisation)

    # Each rate is in its range where the load was, and none over all windows.
    assert (row.as_told.inside_count, row.coverage.inside_count, row.coverage.count) == (3, 0, 3)
    assert row.compared_ratio == pytest.approx(150 / 210)
    measured_in_all = (25 * 94 + 10 * 40) / 35
    assert row.bias_ratio == pytest.approx((measured_in_all - 94) / measured_in_all, rel=0.001)
    assert summary is not None
    assert summary.compared_ratio == pytest.approx(150 / 210)


def test_summary_counts_predictions_that_are_not_scored(cluster: Cluster) -> None:
    enforced(cluster)
    measured(cluster, *PREDICTED)
    score_recent()
    other = propose(cluster)
    Recommendation.objects.filter(pk=other.pk).update(score_gap="0 of 210 windows can be compared")

    summary = calibration_of(cluster.organisation)

    assert summary is not None
    assert (summary.count, summary.unscored) == (1, 1)
    assert calibration_text(summary).endswith("; 1 more are not scored")


def test_policy_has_to_settle_first(cluster: Cluster) -> None:
    row = enforced(cluster, at=NOW - timedelta(minutes=4))
    measured(cluster, *PREDICTED)

    found = score_recommendation(recommendation=row, now=NOW)

    assert isinstance(found, NotScored)
    assert found.reason == "its policy was not applied for 5 min yet"


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (None, "its policy is published, not applied: the agent of h1 has not reported yet"),
        (
            Outcome.UNSUPPORTED,
            "its policy is published, not applied: web-1 on h1 is unsupported: no sch_htb",
        ),
    ],
    ids=["no report", "unsupported"],
)
def test_policy_that_no_host_applied_is_not_scored(
    cluster: Cluster, outcome: Outcome | None, reason: str
) -> None:
    row = approved(cluster)
    measured(cluster, *PREDICTED)
    for minute in range(40) if outcome else ():
        at = APPROVED_AT + timedelta(minutes=minute + 1)
        agent_pass(cluster.enrolment.host, at=at, outcome=outcome, reason="no sch_htb")

    score_recent()

    row.refresh_from_db()
    assert row.score_gap == reason
    assert calibration_of(cluster.organisation) is None


def test_score_of_a_policy_that_no_host_applied_is_taken_back(cluster: Cluster) -> None:
    row = enforced(cluster)
    measured(cluster, *PREDICTED)
    score_recommendation(recommendation=row, now=NOW)
    ComplianceRecord.objects.update(outcome=Outcome.UNSUPPORTED)

    score_recommendation(recommendation=row, now=NOW)

    assert not PredictionScore.objects.exists()


def test_only_windows_in_which_it_was_applied_count(cluster: Cluster) -> None:
    row = approved(cluster)
    # The agent came half an hour late, and failed for a minute ten minutes before now.
    late, failed = NOW - timedelta(minutes=30), NOW - timedelta(minutes=10)
    agent_works(cluster.enrolment.host, since=late, until=failed - timedelta(minutes=1))
    agent_pass(cluster.enrolment.host, at=failed, outcome=Outcome.FAILED)
    agent_works(cluster.enrolment.host, since=failed + timedelta(minutes=1), until=NOW)
    measured(cluster, *PREDICTED)

    score = score_recommendation(recommendation=row, now=NOW)

    assert isinstance(score, PredictionScore)
    assert score.began_at == late + timedelta(minutes=5)
    # 5 to 19 of the first 19 minutes and 5 to 9 of the last 9, in windows of ten seconds
    assert score.windows == pytest.approx(6 * (14 + 4), abs=3)


def test_every_host_has_to_apply_it(cluster: Cluster) -> None:
    state_support(enroll(organisation=cluster.organisation, host_name="h2").host)
    h2 = Host.objects.get(name="h2")
    Attachment.objects.create(resource=cluster.uplink, host=h2, device="up0")
    Allocation.objects.filter(pk=cluster.allocations[2].pk).update(host=h2)
    Resource.objects.filter(pk=cluster.uplink.pk).update(staged=False)
    row = enforced(cluster)
    measured(cluster, *PREDICTED)

    found = score_recommendation(recommendation=row, now=NOW)

    assert found == NotScored(
        reason="its policy is published, not applied everywhere: "
        "the agent of h2 has not reported yet"
    )


def test_open_recommendation_is_not_judged(cluster: Cluster) -> None:
    found = score_recommendation(recommendation=propose(cluster), now=NOW)

    assert found == NotScored(reason="it never became a policy")


def test_only_the_time_of_its_own_policy_counts(cluster: Cluster) -> None:
    row = enforced(cluster)
    first = Policy.objects.get(recommendation=row)
    Policy.objects.create(
        organisation=cluster.organisation,
        resource=cluster.uplink,
        version=2,
        allocations=first.allocations,
        created_at=NOW - timedelta(minutes=20),
    )
    measured(cluster, *PREDICTED)

    score = score_recommendation(recommendation=row, now=NOW)

    assert isinstance(score, PredictionScore)
    assert score.ended_at <= NOW - timedelta(minutes=20)
    assert score.began_at == APPROVED_AT + timedelta(minutes=5)


def test_policy_that_is_changed_twice_is_scored_by_the_time_of_its_own_version(
    cluster: Cluster,
) -> None:
    """The second version lasts for less than rates settle, the third has other rates."""
    row = enforced(cluster)
    first = Policy.objects.get(recommendation=row)
    for version, minutes in ((2, 20), (3, 16)):
        Policy.objects.create(
            organisation=cluster.organisation,
            resource=cluster.uplink,
            version=version,
            allocations=first.allocations,
            created_at=NOW - timedelta(minutes=minutes),
        )
    measured_in_turn(cluster, (20, PREDICTED), (20, (30 * MBIT, 30 * MBIT, 30 * MBIT)))

    score = score_recommendation(recommendation=row, now=NOW)

    assert isinstance(score, PredictionScore)
    # 20 minutes of the first version, less 5 in which rates settle
    assert (score.windows, score.all_windows) == (90, 90)
    assert score.rates[0]["measured"] == pytest.approx(80 * MBIT, rel=0.001)


def test_organisation_says_how_long_rates_settle(cluster: Cluster) -> None:
    RolloutTerms.objects.create(organisation=cluster.organisation, settle_s=30.0)
    row = enforced(cluster)
    measured(cluster, *PREDICTED)

    score = score_recommendation(recommendation=row, now=NOW)

    assert isinstance(score, PredictionScore)
    assert score.began_at == APPROVED_AT + timedelta(seconds=30)


def test_prediction_is_fresh_for_an_hour_until_it_has_a_score(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as then:
        then.setattr("django.utils.timezone.now", lambda: APPROVED_AT)
        row = enforced(cluster)
    measured(cluster, *PREDICTED)
    soon, late = APPROVED_AT + timedelta(minutes=50), APPROVED_AT + timedelta(minutes=61)

    assert list(fresh_predictions(now=soon)) == [row]
    assert list(fresh_predictions(now=late)) == []
    score_recommendation(recommendation=row, now=NOW)
    assert list(fresh_predictions(now=soon)) == []
    assert list(recent_predictions(now=soon)) == [row]


def test_scoring_again_renews_the_score(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    row = enforced(cluster)
    measured(cluster, *PREDICTED)
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)

    score_prediction(row.pk)
    score_prediction(row.pk)

    assert PredictionScore.objects.get().windows >= 12


def test_summary_has_bias_coverage_and_bands(cluster: Cluster) -> None:
    enforced(cluster)
    measured(cluster, 79 * MBIT, 7 * MBIT, 7 * MBIT)

    assert calibration_of(cluster.organisation) is None
    score_recent()
    summary = calibration_of(cluster.organisation)

    assert summary is not None
    assert (summary.count, summary.held) == (1, 1)
    assert summary.bias_ratio == pytest.approx(-1 / 94 / 3, rel=0.01)
    # It was 90 % sure and held.
    assert summary.gap == pytest.approx(0.1)
    assert [(band.count, band.held_count) for band in summary.bands] == [(1, 1)]


def test_coverage_counts_rates_in_the_interval_that_was_told(cluster: Cluster) -> None:
    enforced(cluster)
    # 80, 7 and 7 were told with a tenth to each side: 9 is beyond it.
    measured(cluster, 77 * MBIT, 7 * MBIT, 9 * MBIT)
    score_recent()

    summary = calibration_of(cluster.organisation)

    assert summary is not None
    assert summary.coverage == Coverage(count=3, inside_count=2, level=0.9)
    assert "intervals covered 67% of the rates, 90% were meant" in calibration_text(summary)


def test_scores_of_other_organisations_do_not_count(cluster: Cluster) -> None:
    other = make_cluster("globex")
    enforced(cluster)
    measured(cluster, *PREDICTED)

    score_recent()

    assert calibration_of(other.organisation) is None


def test_commands_tell_score_and_calibration(cluster: Cluster) -> None:
    Organisation.objects.filter(slug="other").delete()
    row = enforced(cluster)
    measured(cluster, 79 * MBIT, 7 * MBIT, 7 * MBIT)

    before = sluice("recommendations", str(row.pk))
    score_recent()
    after = sluice("recommendations", str(row.pk))
    document = json.loads(sluice("recommendations", str(row.pk), "--json"))

    assert "Predicted against measured: not scored; the scheduler has not looked" in before
    assert "Predicted against measured: it held; worst error 1% of the capacity" in after
    assert "79.0 Mbit/s" in after
    assert document["score"]["held"] is True
    assert "1 of 1 predictions held: bias -0%" in sluice("recommendations")


def sluice(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()
