"""Is anything congested, who causes it, what should I do?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_safe

from advisor.core.duration import duration_text
from advisor.decisions.rollouts.begin import terms_of
from advisor.history.policy_state import newest_policies, policy_states
from advisor.models import Policy, State, Team
from advisor.queries.heat import heat_strips
from advisor.queries.hosts import host_healths
from advisor.queries.incidents import (
    correlated_lines,
    incident_lines,
    incident_rows,
    open_incident_lines,
)
from advisor.queries.movers import (
    AGAINST,
    Against,
    against_of,
    remembered_movers,
    top_movers,
)
from advisor.queries.resources import ResourceLine, by_urgency, read_lines
from advisor.queries.rollouts import rollouts_under_way
from advisor.queries.teams import TeamReach, reach_of
from advisor.queries.tier_promises import tier_promises
from advisor.queries.workload_map import (
    GROUPINGS,
    Grouping,
    grouping_of,
    tag_grouping,
    tag_keys,
    workload_map,
)
from ingest.models import Host
from web.access import Workspace, workspace_view
from web.drawing.heat import axis_labels, heat_row, hour_cells, hour_starts
from web.drawing.squares import WORDS, drawn_squares
from web.page import render_page, render_part
from web.time_range import TimeRange, read_time_range

WHOLE = "24h"
RANGES = ("15m", "1h", "6h")
"""Beside the whole day, which is what the page shows without any choice."""
MOST_IN_RANGE = 20
FEW_ALLOCATIONS = 200
"""Policies of so many are looked at for the page itself; more take longer than it may."""
LONGEST_TEAM = 60
"""Of a name that is none, so much is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """Who looks, when, at what one team uses (None: at everything), and at which time.

    `chosen` is what somebody brushed or chose; None is the usual day.
    """

    workspace: Workspace
    now: datetime
    reach: TeamReach | None
    chosen: TimeRange | None = None

    @property
    def team(self) -> Team | None:
        return None if self.reach is None else self.reach.team

    @property
    def range_query(self) -> str:
        """The chosen time, for the addresses of charts; empty without one."""
        if self.chosen is None:
            return ""
        if self.chosen.name is not None:
            return urlencode({"range": self.chosen.name})
        return urlencode({"from": _iso(self.chosen.since), "to": _iso(self.chosen.until)})

    @property
    def kept(self) -> str:
        """What of the address each part of the page is asked for with."""
        team = urlencode({"team": self.team.name}) if self.team else ""
        return "&".join(filter(None, [team, self.range_query]))

    def lines(self) -> list[ResourceLine]:
        lines = by_urgency(read_lines(self.workspace.scope, now=self.now))
        return [line for line in lines if self.uses(line.pk)]

    def uses(self, resource: int) -> bool:
        return self.reach is None or resource in self.reach.resources

    def runs_on(self, host: int) -> bool:
        return self.reach is None or host in self.reach.hosts


@require_safe
@workspace_view
def overview(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """The page, or one part of it: they change at different times, so each is asked for alone."""
    now = timezone.now()
    against = against_of(request.GET.get("against", ""))
    asked = request.GET.get("team", "")
    is_part = "HX-Request" in request.headers
    teams = list(workspace.scope.rows(Team)) if asked or not is_part else []
    team = next((one for one in teams if one.name == asked), None)
    reach = None if team is None else reach_of(workspace.scope, team)
    found = _range_in(request.GET, now)
    chosen = found if found is not None and found.problem is None else None
    look = _Look(workspace=workspace, now=now, reach=reach, chosen=chosen)
    group = request.GET.get("group", "")
    if is_part:
        template, context = _part(look, request.GET.get("part", ""), against, group)
        context |= {"kept": look.kept, "range_query": look.range_query}
        return render_part(request, workspace, template, now=now, team=team, **context)
    lines = look.lines()
    context = {
        **_state(look, lines),
        **_heat(look, lines),
        **_frame_of_map(look, group, at_once="map" in request.GET),
        **_frame_of_movers(look, against, at_once="movers" in request.GET),
        **_promises(look, at_once="promises" in request.GET),
        **_lists(look, lines, at_once="policies" in request.GET),
        **_chosen(look),
        "range_problem": found.problem if found is not None else None,
        "kept": look.kept,
        "range_query": look.range_query,
        "range_names": RANGES,
        "team": team,
        "teams": teams,
        "unknown_team": asked[:LONGEST_TEAM] if team is None else "",
    }
    return render_page(
        request, workspace, "web/overview.html", now=now, section="overview", **context
    )


def _part(look: _Look, name: str, against: Against, group: str) -> tuple[str, dict[str, Any]]:
    """The template of the part of this name, and what it shows; the state without a name."""
    if name == "map":
        grouping = grouping_of(group, tag_keys(look.workspace.scope))
        return "web/parts/workload_map.html", _map(look, grouping)
    if name == "promises":
        return "web/parts/promises.html", _promises(look, at_once=True)
    if name == "movers":
        return "web/parts/movers.html", _movers(look, against)
    lines = look.lines()
    match name:
        case "hours":
            return "web/parts/heat_hours.html", _hours(lines, look.now)
        case "heat":
            return "web/parts/overview_heat.html", _heat(look, lines)
        case "chosen":
            return "web/parts/chosen_range.html", _chosen(look)
        case "lists":
            return "web/parts/overview_lists.html", _lists(look, lines, at_once=True)
    return "web/parts/overview.html", _state(look, lines)


def _state(look: _Look, lines: list[ResourceLine]) -> dict[str, Any]:
    """Whether anything is congested, and who causes it."""
    scope, now = look.workspace.scope, look.now
    sampled = scope.rows(Host).values_list("pk", "last_sample_at")
    times = [at for pk, at in sampled if look.runs_on(pk)]
    # A host whose clock is ahead sent its samples by now all the same.
    known = [min(at, now) for at in times if at]
    every = open_incident_lines(scope, now=now)
    incidents = [one for one in every if look.uses(one.resource.pk)]
    return {
        "incidents": [one for one in incidents if not one.muting.muted and not one.is_silent],
        "silent": [one for one in incidents if not one.muting.muted and one.is_silent],
        "planned": [one for one in incidents if one.muting.muted],
        "correlated": correlated_lines(incidents),
        "lines": lines,
        "stalled": [line for line in lines if line.state == State.STALLED],
        "stale": sorted(
            (line for line in lines if line.is_stale and line.looked_at),
            key=lambda line: (line.looked_at, line.name),
        ),
        "near": [line for line in lines if line.shown_state == "near"],
        "unknown": [line for line in lines if line.shown_state == "unknown"],
        "hosts": bool(times),
        "host_count": len(times),
        "newest_sample_at": max(known, default=None),
    }


def _range_in(query: Mapping[str, str], now: datetime) -> TimeRange | None:
    """The time that the address asks for; None where it asks for none."""
    if not {"from", "to", "range"} & set(query):
        return None
    return read_time_range(query, now=now, default=WHOLE)


def _ends(look: _Look) -> tuple[float, float] | None:
    """The chosen time, in seconds since 1970."""
    if look.chosen is None:
        return None
    return look.chosen.since.timestamp(), look.chosen.until.timestamp()


def _iso(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S}Z"


def _chosen(look: _Look) -> dict[str, Any]:
    """The incidents of the chosen time, the newest first; of no time, nothing."""
    if look.chosen is None:
        return {"chosen": None}
    rows = incident_rows(look.workspace.scope).filter(
        Q(ended_at=None) | Q(ended_at__gt=look.chosen.since), started_at__lt=look.chosen.until
    )
    if look.reach is not None:
        rows = rows.filter(resource__in=look.reach.resources)
    count = rows.count()
    return {
        "chosen": look.chosen,
        "chosen_length": duration_text(look.chosen.until - look.chosen.since),
        "chosen_incidents": incident_lines(list(rows[:MOST_IN_RANGE]), now=look.now),
        "chosen_count": count,
        "chosen_more": max(count - MOST_IN_RANGE, 0),
    }


def _heat(look: _Look, lines: list[ResourceLine]) -> dict[str, Any]:
    """The last day of every resource, as strips."""
    strips = heat_strips([line.pk for line in lines], now=look.now)
    return {
        "hosts": look.workspace.scope.rows(Host).exists(),
        "heat": [heat_row(line, strips[line.pk], chosen=_ends(look)) for line in lines],
        "heat_axis": axis_labels(strips[lines[0].pk]) if lines else [],
    }


def _frame_of_map(look: _Look, group: str, *, at_once: bool) -> dict[str, Any]:
    """What the map can be grouped by; the page asks for its squares once it is shown."""
    keys = tag_keys(look.workspace.scope)
    grouping = grouping_of(group, keys)
    squares = _map(look, grouping) if at_once else {"groups": None}
    return {
        **squares,
        "grouping": grouping,
        "groupings": [*GROUPINGS, *map(tag_grouping, keys)],
        "conditions": WORDS,
    }


def _map(look: _Look, grouping: Grouping) -> dict[str, Any]:
    """A square per workload."""
    found = workload_map(look.workspace.scope, grouping, now=look.now, team=look.team)
    return {
        "groups": [(group, drawn_squares(group.squares, look.range_query)) for group in found],
        "grouping": grouping,
        "conditions": WORDS,
    }


def _frame_of_movers(look: _Look, against: Against, *, at_once: bool) -> dict[str, Any]:
    """The movers if they are remembered; if not, the page asks for them once it is shown.

    `at_once` is for browsers without scripts, which cannot ask.
    """
    ask = top_movers if at_once else remembered_movers
    found = ask(look.workspace.scope, against, now=look.now, team=look.team)
    return {
        "movers": found,
        "movers_follow": found is None,
        "against": against,
        "comparisons": AGAINST,
    }


def _movers(look: _Look, against: Against) -> dict[str, Any]:
    """What changed most, against an hour ago or this time yesterday."""
    return {
        "movers": top_movers(look.workspace.scope, against, now=look.now, team=look.team),
        "against": against,
    }


def _promises(look: _Look, *, at_once: bool) -> dict[str, Any]:
    """What was kept in the last day, None until the page asks for it.

    `at_once` is for browsers without scripts, which cannot ask.
    """
    found = tier_promises(look.workspace.scope, now=look.now, team=look.team) if at_once else None
    return {"promises": found}


def _lists(look: _Look, lines: list[ResourceLine], *, at_once: bool) -> dict[str, Any]:
    """What waits for somebody: recommendations, hosts, policies that do not hold.

    What agents report on many allocations is looked at once the page asks for it, and `at_once`
    for that and for browsers without scripts.
    """
    scope, now, organisation = (
        look.workspace.scope, look.now, look.workspace.membership.organisation,
    )  # fmt: skip
    proposed = scope.recommendations().waiting(now)
    waiting = proposed.select_related("resource").order_by("-created_at")
    policies = newest_policies([line.pk for line in lines])
    under_way = rollouts_under_way(organisation)
    size = sum(len(policy.allocations) for policy in policies)
    is_asked = at_once or size <= FEW_ALLOCATIONS
    return {
        "recommendations": [one for one in waiting if look.uses(one.resource_id)],
        "policies": policies,
        "rollouts": [one for one in under_way if look.uses(one.policy.resource_id)],
        "rollout_terms": terms_of(organisation),
        **(_reported(look, policies) if is_asked else {"care": None, "doubtful": None}),
    }


def _reported(look: _Look, policies: Sequence[Policy]) -> dict[str, Any]:
    """Hosts that need somebody, and policies that do not hold."""
    healths = host_healths(look.workspace.scope, now=look.now)
    hosts = [host for host in healths if look.runs_on(host.pk)]
    states = policy_states(policies, now=look.now)
    return {
        "hosts": bool(hosts),
        "care": [host for host in hosts if host.needs_care],
        "doubtful": [
            (policy, states[policy.pk]) for policy in policies if states[policy.pk].is_doubtful
        ],
    }


def _hours(lines: list[ResourceLine], now: datetime) -> dict[str, Any]:
    """The last day as a table, for those who cannot see the strip."""
    strips = heat_strips([line.pk for line in lines], now=now)
    return {
        "heat": [(line, hour_cells(strips[line.pk])) for line in lines],
        "hours": hour_starts(strips[lines[0].pk]) if lines else [],
    }
