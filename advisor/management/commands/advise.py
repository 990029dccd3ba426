"""`sluice advise`: look for advice other than policies now, not on schedule."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from accounts.models import Organisation
from advisor.advice.advise import advise
from advisor.management.product_command import ProductCommand, find_resource
from advisor.models import Recommendation, Resource


class Command(ProductCommand):
    help = "Look for all advice beside policies now"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("resource", nargs="?", help="only this resource; default: all")

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        resources = Resource.objects.filter(organisation=organisation)
        if options["resource"]:
            resources = resources.filter(pk=find_resource(organisation, options["resource"]).pk)
        rows = [
            {
                "resource": resource.name,
                "topic": one.topic,
                "recommendation": one.found.pk if isinstance(one.found, Recommendation) else None,
                "answer": str(one.found),
            }
            for resource in resources
            for one in advise(resource=resource, now=timezone.now())
        ]
        self.show(
            rows,
            as_json=options["as_json"],
            columns=["resource", "topic", "recommendation", "answer"],
            empty="no resource has the facts that advice needs; see: sluice resource set --help",
        )
