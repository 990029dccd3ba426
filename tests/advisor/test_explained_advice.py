"""`sluice recommendations ID` explains every kind of advice in words."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.utils import timezone

from accounts.models import Organisation
from advisor.advice.policy.decide.policy_advice import advise
from advisor.advice.policy.kind import POLICY
from advisor.advice.recommendation_store import keep
from advisor.advice.registry import KINDS, answer, kind_named
from advisor.core.canonical import dumps
from advisor.models import Recommendation
from tests.advisor.advice.policy.contended_resources import uplink
from tests.advisor.advice.test_kinds import STORED
from tests.advisor.scenario import NOW, make_cluster

pytestmark = pytest.mark.django_db


def sluice(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


@pytest.fixture(params=[kind.name for kind in KINDS if kind.show is not None])
def advice(request: pytest.FixtureRequest) -> Recommendation:
    cluster = make_cluster()
    Organisation.objects.filter(slug="other").delete()
    inputs = dumps(STORED[request.param])
    return keep(
        resource=cluster.uplink,
        kind=kind_named(request.param),
        incident=None,
        inputs=inputs,
        found=answer(request.param, inputs),
        now=NOW,
    )


def test_explanation_has_changes_effects_grounds_and_what_approving_does(
    advice: Recommendation,
) -> None:
    said = sluice("recommendations", str(advice.pk))

    assert said.startswith(advice.summary)
    assert json.loads(advice.answer)["formula"] in said
    titles = ("Changes", "Before and after", "Why", "Alternatives considered", "Approving")
    assert all(f"\n{title}\n" in said for title in titles)


def test_explanation_for_programs_has_the_stored_texts(advice: Recommendation) -> None:
    said = json.loads(sluice("recommendations", str(advice.pk), "--json"))

    assert (said["topic"], said["answer"]) == (advice.topic, json.loads(advice.answer))


def test_list_says_what_advice_is_about(advice: Recommendation) -> None:
    assert f" {advice.topic} " in sluice("recommendations")


def test_explanation_names_the_commands_that_decide(advice: Recommendation) -> None:
    Recommendation.objects.update(expires_at=timezone.now() + timedelta(hours=1))

    said = sluice("recommendations", str(advice.pk))

    assert f"sluice approve {advice.pk} --user NAME" in said
    assert f"sluice reject {advice.pk} --user NAME --reason TEXT" in said


def test_recomputing_gives_the_same_bytes(advice: Recommendation) -> None:
    said = json.loads(sluice("recommendations", str(advice.pk), "--recompute", "--json"))

    assert said["recomputed_same_bytes"] is True


def test_recomputing_fails_where_the_answer_was_changed(advice: Recommendation) -> None:
    Recommendation.objects.update(answer=advice.answer.replace('"after"', '"since"'))

    with pytest.raises(SystemExit) as end:
        sluice("recommendations", str(advice.pk), "--recompute", "--json")

    assert end.value.code == 1


@pytest.mark.parametrize(
    ("kind", "listed"), [(None, True), ("what_if", False)], ids=["own", "other"]
)
def test_list_of_one_kind_leaves_out_others(
    advice: Recommendation, kind: str | None, *, listed: bool
) -> None:
    rows = json.loads(sluice("recommendations", "--kind", kind or advice.kind, "--json"))

    assert [row["id"] for row in rows] == ([advice.pk] if listed else [])


def test_rate_that_is_not_sure_is_listed_as_suspected() -> None:
    cluster = make_cluster()
    Organisation.objects.filter(slug="other").delete()
    inputs = uplink()
    row = keep(
        resource=cluster.uplink,
        kind=POLICY,
        incident=None,
        inputs=dumps(inputs),
        found=dumps(advise(inputs)),
        now=NOW,
    )

    said = sluice("recommendations", str(row.pk))

    suspected = said.partition("\nSuspected, not proposed\n")[2].partition("\n\n")[0]
    assert "web-1 on h1: " in suspected
    assert "; 0 of 4 calm windows seen" in suspected
    proposed = said.partition("\nAllocations\n")[2].partition("\n\n")[0]
    assert "81.3 Mbit/s" not in proposed
