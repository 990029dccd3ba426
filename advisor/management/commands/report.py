"""`sluice report`: what was promised, kept and lost in a period, now or regularly by mail."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import asdict, fields
from datetime import datetime
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from accounts.actor import COMMAND_LINE
from accounts.management.product_command import add_verb
from accounts.models import Organisation
from accounts.table import table
from advisor.core.enumeration import listed
from advisor.core.reporting.period import Recurring
from advisor.core.reporting.report import Report
from advisor.core.reporting.schedule import Every
from advisor.core.reporting.words import ReportWords, words_of
from advisor.decisions import report_subscriptions as subscriptions
from advisor.errors import InventoryError
from advisor.management.product_command import ProductCommand
from advisor.models import ReportSubscription
from advisor.queries.report import read_report
from advisor.reports.as_csv import COLUMNS, csv_of, row_of
from advisor.reports.asked import AskedReport, period_of_asked, subject_of

MOST_ROWS = 50
"""Of the table for people; CSV and JSON have all."""
MOST_LINES = 10
"""Of each of what follows the table; JSON has all of it."""


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
        parser.add_argument("--team", default="", help="only workloads that this team owns")
        parser.add_argument("--tag", default="", help="only workloads with it: label.team=shop")
        parser.add_argument("--csv", action="store_true", help="all workloads as CSV")
        _add_verbs(parser)

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        now = timezone.now()
        if options["verb"]:
            self._of_subscriptions(organisation, options, now)
            return
        asked = AskedReport(
            period=options["period"],
            zone=options["zone"],
            team=options["team"],
            tag=options["tag"],
        )
        try:
            period = period_of_asked(asked, now=now)
            report = read_report(subject_of(organisation, asked), period, now=now)
        except InventoryError as error:
            raise CommandError(str(error)) from error
        if options["as_json"]:
            self.show_json(_document(report))
        elif options["csv"]:
            self.stdout.write(csv_of(report), ending="")
        else:
            self.stdout.write(_text(report))

    def _of_subscriptions(
        self, organisation: Organisation, options: dict[str, Any], now: datetime
    ) -> None:
        """Change one if the verb does, and show what is sent."""
        if options["verb"] == "subscribe":
            subscriptions.state_subscription(
                subscriptions.row_of(_stated(options), organisation), actor=COMMAND_LINE, now=now
            )
        elif options["verb"] != "subscriptions":
            change = _CHANGES[options["verb"]]
            change(_named(organisation, options["name"]), actor=COMMAND_LINE, now=now)
        rows = ReportSubscription.objects.filter(organisation=organisation)
        self.show(
            [_subscription_row(row) for row in rows.select_related("channel", "team")],
            as_json=options["as_json"],
            columns=["name", "of", "when", "channel", "next", "state"],
            empty="none: sluice report subscribe NAME --channel CHANNEL --every weekly",
        )


_CHANGES: dict[str, Callable[..., None]] = {
    "send": subscriptions.send_now,
    "stop": subscriptions.stop,
    "start": subscriptions.start_again,
    "unsubscribe": subscriptions.remove,
}


def _add_verbs(parser: ArgumentParser) -> None:
    verbs = parser.add_subparsers(
        dest="verb", title="verbs", description="Without one the report is shown now."
    )
    add_verb(verbs, "subscriptions", help="list what is sent regularly by mail")
    one = add_verb(verbs, "subscribe", help="send a report regularly; replaces one of its name")
    one.add_argument("name")
    one.add_argument("--channel", required=True, help="of mail; sluice notify channels lists them")
    one.add_argument(
        "--every", required=True, choices=[*Every],
        help="of the day, the week or the month before",
    )  # fmt: skip
    one.add_argument("--hour", type=int, default=7, help="0 to 23, in the zone (7)")
    one.add_argument("--zone", default="UTC", help="of the hour and of its days (UTC)")
    one.add_argument("--team", default="", help="only workloads that this team owns")
    one.add_argument("--tag", default="", help="only workloads with it: label.team=shop")
    for verb, words in (
        ("send", "make and send one now; its turns stay"),
        ("stop", "send no more until it is started"),
        ("start", "go on with one that was stopped"),
        ("unsubscribe", "remove it with what waits to be sent"),
    ):
        add_verb(verbs, verb, help=words).add_argument("name")


def _stated(options: dict[str, Any]) -> subscriptions.StatedSubscription:
    names = [one.name for one in fields(subscriptions.StatedSubscription)]
    return subscriptions.StatedSubscription(**{name: options[name] for name in names})


def _named(organisation: Organisation, name: str) -> ReportSubscription:
    rows = ReportSubscription.objects.filter(organisation=organisation, name=name)
    found = rows.select_related("channel").first()
    if found is None:
        raise CommandError(f'there is no "{name}"; sluice report subscriptions lists them')
    return found


def _subscription_row(row: ReportSubscription) -> dict[str, Any]:
    said = subscriptions.stated(row)
    parts = [f"team {said.team}" if said.team else "", said.tag]
    return asdict(said) | {
        "of": ", ".join(filter(None, parts)) or "all workloads",
        "when": f"{said.every} at {said.hour}:00, {said.zone}",
        "next": None if row.stopped_at else f"{row.due_at:%Y-%m-%d %H:%M} UTC",
        "due_at": row.due_at,
        "last_made_at": row.last_made_at,
        "state": f"stopped: {row.stopped_because}" if row.stopped_at else "in use",
    }


def _document(report: Report) -> dict[str, Any]:
    """All of it, with the ratios that follow from its minutes."""
    found = asdict(report)
    for plain, one in zip(found["workloads"], report.workloads, strict=True):
        plain["promise_kept"] = one.minutes.kept_ratio
    return found | {"promise_kept": report.minutes.kept_ratio}


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
        rows = [row_of(line) for line in report.workloads[:MOST_ROWS]]
        lines += ["", table(rows, COLUMNS)]
    if (more := len(report.workloads) - MOST_ROWS) > 0:
        lines.append(f"{more} more workloads; --csv has all")
    for one in report.incidents.rows[:MOST_LINES]:
        planned = f", planned: {one.planned}" if one.planned else ""
        lines.append(
            f"{one.since:%Y-%m-%d %H:%M} UTC {one.resource}: {one.minutes:.0f} min, "
            f"{one.lost_min:.1f} lost by {listed(one.victims[:3]) or 'nobody here'}; caused by "
            f"{listed(one.culprits[:3]) or 'nobody who can be named'}{planned}"
        )
    return "\n".join([*lines, *_of_resources(words_of(report))])


def _of_resources(words: ReportWords) -> list[str]:
    """What was done, the latency of storage, and what becomes full."""
    done = [
        f"{one.at} {one.resource}: {one.summary}; {', '.join(one.brought) or 'not measured'}; "
        f"prediction: {one.prediction or 'none was made'}"
        for one in words.actions[:MOST_LINES]
    ]
    latencies = [
        f"{one.resource}: {one.p95} ms in 95 %, {one.p99} ms in 99 % of windows, "
        f"threshold {one.threshold} ms"
        for one in words.latencies[:MOST_LINES]
    ]
    full = [
        f"{one.subject}: full between {one.between}, about {one.about} (80 %)"
        for one in words.full_days[:MOST_LINES]
    ]
    return done + latencies + full
