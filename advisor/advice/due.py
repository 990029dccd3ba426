"""The resources of which advice beside policies may say something that it does not say yet."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet

from advisor.advice import registry
from advisor.models import OPEN_STATES, Recommendation, Resource


def to_advise_on(now: datetime) -> QuerySet[Resource]:
    """In one statement, for any number of resources.

    A kind is looked for where it applies and has news, or was never looked for. Where it does not
    apply any more, what was said of it is taken back.
    """
    due = Q(status=None)
    for kind in registry.KINDS:
        if kind.gather is None:
            continue
        applies, said = kind.applies(now), Q(status__other_advice_gaps__has_key=kind.topic)
        open_advice = Recommendation.objects.filter(
            resource=OuterRef("pk"), topic=kind.topic, state__in=OPEN_STATES
        )
        news = kind.has_news(now) | ~said
        due |= Q(Exists(open_advice)) | (applies & news) | (said & ~applies)
    return Resource.objects.filter(due)
