"""`sluice recommendations ID` explains every kind of advice in words."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import call_command

from advisor.core.advice.kinds import AdviceKind, answer
from advisor.core.canonical import dumps
from advisor.models import Recommendation, Topic
from advisor.services.keep_advice import keep
from ingest.models import Organisation
from tests.advisor.core.advice.test_kinds import STORED
from tests.advisor.scenario import NOW, make_cluster

pytestmark = pytest.mark.django_db


def sluice(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


@pytest.fixture(params=[topic for topic in Topic if topic != Topic.POLICY])
def advice(request: pytest.FixtureRequest) -> Recommendation:
    cluster = make_cluster()
    Organisation.objects.filter(slug="other").delete()
    inputs = dumps(STORED[AdviceKind(request.param)])
    return keep(
        resource=cluster.uplink,
        topic=request.param,
        episode=None,
        inputs=inputs,
        found=answer(AdviceKind(request.param), inputs),
        now=NOW,
    )


def test_explanation_has_changes_effects_grounds_and_what_approving_does(
    advice: Recommendation,
) -> None:
    said = sluice("recommendations", str(advice.pk))

    assert said.startswith(advice.summary)
    assert json.loads(advice.answer)["formula"] in said
    titles = ("What changes", "Before and after", "Why", "Weighed and not chosen", "Approving")
    assert all(f"\n{title}\n" in said for title in titles)


def test_explanation_for_programs_has_the_stored_texts(advice: Recommendation) -> None:
    said = json.loads(sluice("recommendations", str(advice.pk), "--json"))

    assert (said["topic"], said["answer"]) == (advice.topic, json.loads(advice.answer))


def test_list_says_what_advice_is_about(advice: Recommendation) -> None:
    assert f" {advice.topic} " in sluice("recommendations")
