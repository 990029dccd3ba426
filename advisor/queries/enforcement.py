"""What holds where and why not: a row for each allocation of a policy, on its host.

The state of each is found from a few columns; only the rows that are shown are built.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

import numpy as np

from advisor.core.compliance import control_words
from advisor.history.enforced_state import (
    EnforcedState,
    Standing,
    Words,
    agent_standing,
    holding_standing,
    missing_standing,
    reported_standing,
)
from advisor.history.publishing_gap import UNKNOWN_CAPACITY, unreached
from advisor.models import Policy
from advisor.queries.enforced_row import EnforcedRow
from advisor.queries.enforcement_read import Found, Wanted, read_fleet
from advisor.queries.listed import Listed, Shared
from advisor.queries.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Enforcement:
    """All rows, by workload and host, and how many are in each state."""

    rows: Listed[EnforcedRow]
    counts: Mapping[EnforcedState, int]


def enforcement(scope: Scope, *, now: datetime) -> Enforcement:
    """Every allocation that the newest policies give something, in a fixed number of queries."""
    wanted, found = read_fleet(scope)
    standings = _Standings(found, now).of(wanted)
    states = [one.state for one in standings]
    return Enforcement(rows=_listed(wanted, standings, found), counts=Counter(states))


def _listed(
    wanted: Sequence[Wanted], standings: Sequence[Standing], found: Found
) -> Listed[EnforcedRow]:
    @cache
    def build(place: int) -> EnforcedRow:
        return _row(wanted[place], standings[place], found)

    shared = {
        "workload": _shared([one.name for one in wanted], is_name=True),
        "host": _shared([one.host for one in wanted]),
        "resource": _shared([one.policy.resource_id for one in wanted]),
        "state": _shared([one.state for one in standings]),
        "outcome": _shared([one.newest.outcome if one.newest else "" for one in wanted]),
    }
    return Listed(count=len(wanted), build=build, shared=shared)


def _shared(values: Sequence[Any], *, is_name: bool = False) -> Shared:
    """What rows with the same value share."""
    places: dict[Any, int] = {}
    first: list[int] = []
    of_row = np.empty(len(values), dtype=np.int64)
    for row, value in enumerate(values):
        if value not in places:
            places[value] = len(first)
            first.append(row)
        of_row[row] = places[value]
    return Shared(first=first, of_row=of_row, names=list(places) if is_name else None)


def _row(one: Wanted, standing: Standing, found: Found) -> EnforcedRow:
    resource, newest = one.policy.resource, one.newest
    agent = found.agents.get(one.host)
    words = found.words.get(newest.record, _NO_WORDS) if newest else _NO_WORDS
    applied = newest.policy if newest and newest.is_applied else None
    version = None if applied is None else found.versions.get(applied)
    return EnforcedRow(
        allocation=one.pk,
        workload_pk=one.workload,
        workload=one.name,
        host_pk=one.host,
        host=found.hosts[one.host],
        resource_pk=resource.pk,
        resource=resource.name,
        device=found.devices.get((resource.pk, one.host), ""),
        standing=standing,
        outcome=newest.outcome if newest else "",
        by_control=control_words(words.controls),
        wanted=one.policy.version,
        applied=version,
        shown=version if newest and newest.is_shown else None,
        decided_at=one.policy.created_at,
        last_report_at=agent.last_report_at if agent else None,
    )


# --- What it means


class _Standings:
    """The standing of each allocation; what concerns a whole host is looked at once."""

    def __init__(self, found: Found, now: datetime) -> None:
        self._found = found
        self._now = now
        self._by_agent = {
            host: agent_standing(found.agents.get(host), now=now) for host in found.hosts
        }
        self._holding = {
            host: holding_standing(found.agents[host], given, now=now)
            for host, given in found.given.items()
            if host in found.agents
        }

    def of(self, wanted: Sequence[Wanted]) -> list[Standing]:
        return [self._of(one) for one in wanted]

    def _of(self, one: Wanted) -> Standing:
        found = self._by_agent[one.host] or self._of_document(one)
        if one.later and found.state in (EnforcedState.HOLDS, EnforcedState.WAITING):
            return found._replace(reason=one.later)
        return found

    def _of_document(self, one: Wanted) -> Standing:
        given, policy = self._found.given.get(one.host), one.policy
        if given is None or policy.pk not in given.policies:
            device = self._found.devices.get((policy.resource_id, one.host), "")
            return missing_standing(
                given,
                resource=policy.resource.name,
                workload=one.name,
                cause=_cause(policy, self._found.hosts[one.host], device),
            )
        words = self._found.words.get(one.newest.record, _NO_WORDS) if one.newest else _NO_WORDS
        return self._holding[one.host] or reported_standing(
            self._found.agents[one.host], policy.pk, one.newest, words, now=self._now
        )


_NO_WORDS = Words()


def _cause(policy: Policy, host: str, device: str) -> tuple[str, str] | None:
    """Why the host is not given the policy, and what mends it; None if nothing is known."""
    name = policy.resource.name
    if policy.divided_capacity is None:
        return UNKNOWN_CAPACITY.format(name), "State its capacity on the page of the resource"
    if not device:
        return unreached([host], name), "Say by which device: sluice resource add"
    return None
