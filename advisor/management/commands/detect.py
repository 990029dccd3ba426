"""`sluice detect`: evaluate all resources now, not on schedule."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from accounts.models import Organisation
from advisor.decisions import discovery
from advisor.management.product_command import ProductCommand, level_text
from advisor.pipeline import find_cause, groups, look_outside


class Command(ProductCommand):
    help = "Evaluate all resources once, as the scheduler does"

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        discovery.discover(organisation=organisation)
        now = timezone.now()
        statuses = groups.judge_all(organisation=organisation, now=now)
        for resource in look_outside.resources_to_look_at(now=now).filter(
            organisation=organisation
        ):
            look_outside.look_where_due(resource=resource, now=now)
        for resource in find_cause.resources_to_study(now=now).filter(organisation=organisation):
            find_cause.find_causes(resource=resource, now=now)
        self.show(
            [
                {
                    "resource": status.resource.name,
                    "state": status.state,
                    "value": status.value,
                    "threshold": status.threshold,
                    "level": level_text(status.value, status.resource.kind),
                    "allowed": level_text(status.threshold, status.resource.kind),
                    "reason": status.why,
                }
                for status in statuses
            ],
            as_json=options["as_json"],
            columns=["resource", "state", "level", "allowed", "reason"],
            empty="no resources yet; they appear with the first samples",
        )
