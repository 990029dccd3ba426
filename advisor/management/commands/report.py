"""`sluice report`: what was promised, kept and lost in a period."""

from __future__ import annotations

import csv
from argparse import ArgumentParser
from dataclasses import asdict
from io import StringIO
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from accounts.models import Organisation
from accounts.table import table
from advisor.core.enumeration import listed
from advisor.core.reporting.period import Recurring, read_period
from advisor.core.reporting.report import Report, ReportedWorkload
from advisor.core.weekly_window import zone_of
from advisor.management.product_command import ProductCommand
from advisor.models import Team
from advisor.queries.report import read_report
from advisor.queries.report_subject import ReportSubject

COLUMNS = (
    "workload", "tier", "resources", "promise_kept", "asked_min", "kept_min", "throttled_min",
    "lost_min", "measured_min", "incidents", "gap",
)  # fmt: skip
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet takes a text that begins with these for a formula."""
MOST_ROWS = 50
"""Of the table for people; CSV and JSON have all."""


class Command(ProductCommand):
    help = (
        "Report what was promised to workloads in a period, what of it was kept, and what "
        "incidents took from them"
    )

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--period",
            default=str(Recurring.LAST_WEEK),
            help=f"{', '.join(Recurring)} or FROM..TO like 2026-11-01..2026-11-30 "
            f"(default: {Recurring.LAST_WEEK})",
        )
        parser.add_argument("--zone", default="UTC", help="time zone of its days (default: UTC)")
        parser.add_argument("--team", help="only workloads that this team owns")
        parser.add_argument("--tag", default="", help="only workloads with it: label.team=shop")
        parser.add_argument("--csv", action="store_true", help="all workloads as CSV")

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        now = timezone.now()
        try:
            period = read_period(options["period"], zone_of(options["zone"]), now=now)
        except ValueError as error:
            raise CommandError(str(error)) from error
        subject = ReportSubject(
            organisation=organisation,
            team=_team(organisation, options["team"]) if options["team"] else None,
            tag=options["tag"],
        )
        report = read_report(subject, period, now=now)
        if options["as_json"]:
            self.show_json(_document(report))
        elif options["csv"]:
            self.stdout.write(_csv(report), ending="")
        else:
            self.stdout.write(_text(report))


def _team(organisation: Organisation, name: str) -> Team:
    teams = Team.objects.filter(organisation=organisation)
    found = teams.filter(name=name).first()
    if found is None:
        names = list(teams.values_list("name", flat=True))
        raise CommandError(f'there is no team "{name}"; there are: {listed(names) or "none"}')
    return found


def _document(report: Report) -> dict[str, Any]:
    """All of it, with the ratios that follow from its minutes."""
    found = asdict(report)
    for plain, one in zip(found["workloads"], report.workloads, strict=True):
        plain["promise_kept"] = one.minutes.kept_ratio
    return found | {"promise_kept": report.minutes.kept_ratio}


def _row(line: ReportedWorkload) -> dict[str, Any]:
    ratio = line.minutes.kept_ratio
    return {
        "workload": line.name,
        "tier": line.tier,
        "resources": ", ".join(line.resources),
        "promise_kept": None if ratio is None else round(ratio, 4),
        "asked_min": line.minutes.asked,
        "kept_min": line.minutes.kept,
        "throttled_min": line.minutes.throttled,
        "lost_min": round(line.lost_min, 1),
        "measured_min": line.minutes.measured,
        "incidents": line.incidents,
        "gap": line.gap,
    }


def _csv(report: Report) -> str:
    out = StringIO()
    writer = csv.DictWriter(out, COLUMNS)
    writer.writeheader()
    for line in report.workloads:
        writer.writerow({key: _cell(value) for key, value in _row(line).items()})
    return out.getvalue()


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _text(report: Report) -> str:
    ratio = report.minutes.kept_ratio
    kept = "no promise was asked for" if ratio is None else f"promises kept: {ratio:.2%}"
    lost = f"{report.lost_min:.1f} min lost, {report.minutes.throttled:.0f} min at own limits"
    lines = [
        f"{report.organisation}, {report.subject}: {report.period.text}",
        f"{kept}; {lost}, {report.incidents.count} incidents",
        *report.gaps,
    ]
    if report.workloads:
        rows = [_row(line) for line in report.workloads[:MOST_ROWS]]
        lines += ["", table(rows, COLUMNS)]
    if (more := len(report.workloads) - MOST_ROWS) > 0:
        lines.append(f"{more} more workloads; --csv has all")
    for one in report.incidents.rows[:10]:
        planned = f", planned: {one.planned}" if one.planned else ""
        lines.append(
            f"{one.since:%Y-%m-%d %H:%M} UTC {one.resource}: {one.minutes:.0f} min, "
            f"{one.lost_min:.1f} lost by {listed(one.victims[:3]) or 'nobody here'}; caused by "
            f"{listed(one.culprits[:3]) or 'nobody who can be named'}{planned}"
        )
    return "\n".join(lines)
