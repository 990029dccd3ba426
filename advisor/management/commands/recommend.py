"""`sluice recommend`: ask for advice now instead of on schedule."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from advisor.management.product_command import ProductCommand
from advisor.models import Recommendation
from advisor.services import recommend
from ingest.models import Organisation


class Command(ProductCommand):
    help = "Recommend policies for congested resources, as the scheduler does"

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        answers = recommend.recommend_all(organisation=organisation, now=timezone.now())
        self.show(
            [
                {
                    "resource": resource.name,
                    "recommendation": (answer.pk if isinstance(answer, Recommendation) else None),
                    "answer": str(answer),
                }
                for resource, answer in answers
            ],
            as_json=options["as_json"],
            columns=["resource", "recommendation", "answer"],
            empty="no resources yet; they appear with the first samples",
        )
