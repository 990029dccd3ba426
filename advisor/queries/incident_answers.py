"""The recommendations that answer an incident, wherever they were made."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Q

from advisor.models import POLICY_TOPIC, Incident, Recommendation
from advisor.models.recommendation import RecommendationQuerySet


def answers_to(incident: Incident, *, now: datetime) -> RecommendationQuerySet:
    """Those made for it, and while it is open the policy that already waits for its resource.

    Advice that says the same as an open recommendation makes no second one, so the one of an
    earlier incident answers this one too.
    """
    answers = Q(incident=incident)
    if incident.ended_at is None:
        waiting = Recommendation.objects.open_at(now).filter(
            resource=incident.resource_id, topic=POLICY_TOPIC
        )
        answers |= Q(pk__in=waiting.values("pk"))
    return Recommendation.objects.filter(answers)
