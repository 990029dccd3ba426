"""`sluice hosts`: whether samples arrive, and the state of agents."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.utils import timezone

from accounts.models import Organisation
from advisor.management.product_command import ProductCommand
from advisor.models import Enforcer
from advisor.queries.hosts import other_case, sample_trouble
from ingest.models import Host, UnknownMeasurement
from ingest.sent_twice import SentTwice, sent_twice


class Command(ProductCommand):
    help = "List hosts with their newest sample and the state of their agent"

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        enforcers = {
            enforcer.host_id: enforcer
            for enforcer in Enforcer.objects.filter(host__organisation=organisation)
        }
        hosts = Host.objects.filter(organisation=organisation)
        now = timezone.now()
        unknown: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for one in UnknownMeasurement.objects.filter(organisation=organisation):
            unknown[one.host].append(_unknown(one))
        twice = sent_twice(hosts)
        alike: dict[str, list[str]] = defaultdict(list)
        for host in hosts:
            alike[host.name.casefold()].append(host.name)
        self.show(
            [
                {
                    **_row(host, enforcers.get(host.pk), now=now),
                    "not_known": unknown[host.name],
                    "other_case": other_case(host, alike[host.name.casefold()]),
                    "sent_twice": [_twice(one) for one in twice.get(host.pk, ())],
                }
                for host in hosts
            ],
            as_json=options["as_json"],
            columns=[
                "name",
                "last_sample_at",
                "agent",
                "last_report_at",
                "applied_revision",
                "samples",
            ],
            empty="no hosts yet; start Telegraf on one (see ingest/telegraf/README.md)",
        )


def _unknown(one: UnknownMeasurement) -> dict[str, Any]:
    return {
        "measurement": one.measurement,
        "lines": one.lines,
        "first_sent_at": one.first_sent_at,
        "last_sent_at": one.last_sent_at,
    }


def _twice(one: SentTwice) -> dict[str, Any]:
    return {
        "measurement": one.measurement,
        "subject": one.subject,
        "device": one.device,
        "counted": asdict(one.counted),
        "not_counted": [asdict(other) for other in one.others],
    }


def _row(host: Host, enforcer: Enforcer | None, *, now: datetime) -> dict[str, Any]:
    return {
        "name": host.name,
        "last_sample_at": host.last_sample_at,
        "agent": (enforcer.agent_version or "enrolled, no report yet") if enforcer else None,
        "last_report_at": enforcer.last_report_at if enforcer else None,
        "applied_revision": enforcer.applied_revision if enforcer else None,
        "samples": sample_trouble(host, now=now) or "arrive",
        "support": enforcer.support if enforcer else [],
    }
