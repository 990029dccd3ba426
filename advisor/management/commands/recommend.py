"""`sluice recommend`: look for policies to recommend now, not on schedule."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from accounts.models import Organisation
from advisor.advice.policy import recommend
from advisor.management.product_command import ProductCommand, find_resource
from advisor.models import Recommendation


class Command(ProductCommand):
    help = "Look once for policies to recommend, as the scheduler does"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("resource", nargs="?", help="only this resource; default: all")

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        now = timezone.now()
        if options["resource"]:
            resource = find_resource(organisation, options["resource"])
            answers = [(resource, recommend.recommend(resource=resource, now=now))]
        else:
            answers = recommend.recommend_all(organisation=organisation, now=now)
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
