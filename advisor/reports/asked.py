"""What report is asked for, as words of a command, an address or a subscription."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from accounts.models import Organisation
from advisor.core.enumeration import listed
from advisor.core.reporting.period import Period, Recurring, read_period
from advisor.core.reporting.schedule import LONGEST_TAG
from advisor.core.weekly_window import zone_of
from advisor.errors import InventoryError
from advisor.models import Team, Workload
from advisor.queries.report_subject import ReportSubject


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedReport:
    """A period and its zone as people write them, and whose report; without any it is all's."""

    period: str = str(Recurring.LAST_WEEK)
    zone: str = "UTC"
    team: str = ""
    tag: str = ""
    workload: str = ""


def subject_of(organisation: Organisation, asked: AskedReport) -> ReportSubject:
    """Whose report it is; InventoryError for a team or workload that is not there."""
    if len(asked.tag) > LONGEST_TAG or not asked.tag.isprintable():
        raise InventoryError(f"a tag has at most {LONGEST_TAG} letters that can be printed")
    team = _team(organisation, asked.team) if asked.team else None
    workload = _workload(organisation, asked.workload) if asked.workload else None
    return ReportSubject(organisation=organisation, team=team, tag=asked.tag, workload=workload)


def period_of_asked(asked: AskedReport, *, now: datetime) -> Period:
    """Its days; InventoryError with what can be written."""
    try:
        return read_period(asked.period, zone_of(asked.zone), now=now)
    except ValueError as error:
        raise InventoryError(str(error)) from error


def _workload(organisation: Organisation, name: str) -> Workload:
    found = Workload.objects.filter(organisation=organisation, name=name.replace("\x00", ""))
    row = found.order_by("pk").first()
    if row is None:
        raise InventoryError(f'there is no workload "{name[:60]}"')
    return row


def _team(organisation: Organisation, name: str) -> Team:
    teams = Team.objects.filter(organisation=organisation)
    found = next((one for one in teams if one.name == name), None)
    if found is None:
        names = [one.name for one in teams]
        raise InventoryError(
            f'there is no team "{name[:60]}"; there are: {listed(names) or "none"}'
        )
    return found
