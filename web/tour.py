"""Six steps through the sample organisation, each a sentence beside the page it is about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import F, QuerySet
from django.urls import reverse

from advisor.core.reporting.period import DAY
from advisor.models import (
    POLICY_TOPIC,
    Incident,
    Recommendation,
    RecommendationState,
)
from web.access import Workspace

ANCHOR = "tour"
"""A step's page is opened here, so that the keyboard goes on from the step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """`pages` are the names of the routes on which its sentence is about what one sees.

    `address` finds its page among what the organisation has now.
    """

    title: str
    sentence: str
    pages: tuple[str, ...]
    address: Callable[[Workspace, datetime], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tour:
    """Where a member is in it: the step of this `number`, counted from 1."""

    number: int
    closed: bool

    @property
    def step(self) -> Step:
        return STEPS[self.number - 1]

    @property
    def count(self) -> int:
        return len(STEPS)

    @property
    def before(self) -> int | None:
        return self.number - 1 if self.number > 1 else None

    @property
    def after(self) -> int | None:
        return self.number + 1 if self.number < len(STEPS) else None


def tour_of(workspace: Workspace) -> Tour | None:
    """None in an organisation that is no sample."""
    membership = workspace.membership
    if not membership.organisation.is_sample:
        return None
    number = min(max(membership.tour_step, 1), len(STEPS))
    return Tour(number=number, closed=membership.tour_closed)


def step_address(workspace: Workspace, number: int, *, now: datetime) -> str:
    """The page of the step, opened at its sentence."""
    return f"{STEPS[number - 1].address(workspace, now)}#{ANCHOR}"


def _overview(_workspace: Workspace, _now: datetime) -> str:
    return reverse("overview")


def _incident(workspace: Workspace, now: datetime) -> str:
    """That which the recommendation answers, so that one story is told."""
    advice = _open_advice(workspace, now)
    if advice is not None and advice.incident_id is not None:
        return reverse("incident", args=[advice.incident_id])
    found = (
        workspace.scope.rows(Incident)
        .exclude(aggressors=[])
        .order_by(F("ended_at").desc(nulls_first=True), "-started_at", "pk")
        .first()
    )
    return reverse("incident", args=[found.pk]) if found else reverse("incidents")


def _proposed(workspace: Workspace, now: datetime) -> str:
    return _page_of(_open_advice(workspace, now) or _approved_advice(workspace))


def _measured(workspace: Workspace, now: datetime) -> str:
    return _page_of(_approved_advice(workspace) or _open_advice(workspace, now))


def _report(_workspace: Workspace, now: datetime) -> str:
    """Of yesterday and of today so far: a sample that is new has no more."""
    first, last = (now - DAY).date(), now.date()
    return f"{reverse('reports')}?period=days&first={first}&last={last}&zone=UTC"


def _policies(workspace: Workspace) -> QuerySet[Recommendation]:
    """Those of congestion that somebody causes, the newest first."""
    rows = workspace.scope.recommendations().filter(topic=POLICY_TOPIC, incident__isnull=False)
    return rows.exclude(incident__aggressors=[]).order_by(
        F("incident__ended_at").desc(nulls_first=True), "-created_at", "-pk"
    )


def _open_advice(workspace: Workspace, now: datetime) -> Recommendation | None:
    rows = workspace.scope.recommendations().waiting(now)
    return _policies(workspace).filter(pk__in=rows.values("pk")).first()


def _approved_advice(workspace: Workspace) -> Recommendation | None:
    rows = _policies(workspace).filter(state=RecommendationState.APPROVED)
    return rows.order_by("-decided_at", "-pk").first()


def _page_of(row: Recommendation | None) -> str:
    return reverse("recommendation", args=[row.pk]) if row else reverse("recommendations")


STEPS = (
    Step(
        title="What is wrong now",
        sentence="The sentences at the top name what is slow or full, who causes it and how many "
        "workloads suffer. The bars and squares below show the rest of the fleet.",
        pages=("overview",),
        address=_overview,
    ),
    Step(
        title="Who causes it",
        sentence="The chart shows the incident against its threshold. The tables name who took "
        "too much and who was slowed, and the cause tells how sure that is.",
        pages=("incident", "incident-cause", "incident-layers", "incidents"),
        address=_incident,
    ),
    Step(
        title="What would help",
        sentence="The bars show what each workload gets and what it is predicted to get, with "
        "the range in which that will be. The backtest tells how the last day would have been.",
        pages=("recommendation", "recommendations"),
        address=_proposed,
    ),
    Step(
        title="Approve it",
        sentence="Choose Approve and read what changes on which hosts. Only hosts of the sample "
        "change, and it can be rolled back at any time.",
        pages=("recommendation", "recommendations"),
        address=_proposed,
    ),
    Step(
        title="What it brought",
        sentence="After some minutes the bars show what was measured since, beside what was "
        "predicted, and “Predicted against measured” tells whether the prediction held.",
        pages=("recommendation", "recommendations"),
        address=_measured,
    ),
    Step(
        title="Report it",
        sentence="The report counts kept promises, minutes lost, incidents with who caused them "
        "and what was done. It can be printed, sent by mail or shared by a link.",
        pages=("reports",),
        address=_report,
    ),
)
