"""Every route of the API, method and role, of one's own rows and of those of others."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest

from accounts.models import AuditEntry, Organisation, Role, Scope
from advisor.models import Allocation, MaintenanceWindow, Policy, Recommendation, Resource, Team
from config.database_roles import DatabaseRole
from tests.config.roles import acting_as, make_roles
from tests.web.api.asking import Program, program_of
from tests.web.fleet import Fleet
from tests.web.test_removed_filters import body_of_answer, names_of
from tests.web.test_route_matrix import METHODS, Route, fingerprint, imported, routes, strangers
from web.api.v1.api import api_patterns
from web.api.v1.document import openapi
from web.api.v1.door import ONLY_READS

__all__ = ["imported", "strangers"]


@pytest.fixture(autouse=True)
def _no_rate_limit(settings: Any) -> None:
    """A fast machine asks all routes within a minute."""
    settings.API_REQUESTS_PER_MINUTE = 1_000_000


NAMES = {pattern.name for pattern in api_patterns()}
ALLOCATION = {"workload": "w", "adapter_kind": "vnic", "adapter": "vnet0"}
PLANNED = {"name": "p", "starts_at": "2026-11-20T10:00:00Z", "length_s": 60}
BODIES: dict[str, Any] = {
    "reject_recommendation": {"reason": "no"},
    "acknowledge_recommendation": {},
    "snooze_recommendation": {"until": "2027-01-01T00:00:00Z"},
    "mute_incident": PLANNED,
    "create_resource": {
        "name": "r", "kind": "datastore", "reached_by": [{"host": "h", "device": "d"}],
    },
    "change_stated_resource": {"threshold": 3.0},
    "simulate_what_if": {},
    "draft_what_if": {},
    "roll_back_policy": {"to_version": 0},
    "state_allocation": ALLOCATION,
    "state_pool": {"name": "p"},
    "change_workload": {"tier": "high"},
    "state_tags_of_workload": {"tags": ["tag=a"]},
    "state_team": {"name": "t"},
    "create_maintenance_window": PLANNED,
    "plan_policy": {"text": "sluice: 1\nmaintenance: []\n"},
    "apply_policy": {
        "text": "sluice: 1\nmaintenance: []\n", "may_remove": True, "may_remove_most": True,
    },
    "state_rules": {"text": ""},
    "state_alarm_budget": {"alarms_per_week": 2.0},
    "change_member": {"role": "viewer"},
    "change_rollout_terms": {"staged": True},
    "stop_all_rollouts": {"reason": "no"},
    "state_ladder_rule": {"name": "r"},
    "state_notification_channel": {
        "name": "c", "kind": "webhook", "address": "https://c.example.org/"
    },
    "state_rule_of_notifications": {"name": "n", "channel": "chat"},
    "state_vcenter_source": {
        "name": "s", "address": "https://vc.example.org", "user": "u", "password": "p",
    },
    "state_kubernetes_source": {
        "name": "k", "address": "https://k.example.org:6443", "token": "t",
    },
    "make_silence": {"until": "2026-11-21T00:00:00Z"},
    "state_report_subscription": {"name": "r", "channel": "chat", "every": "daily"},
    "note_on_incident": {"text": "seen"},
    "assign_incident": {"username": None},
    "make_token": {"name": "t", "scope": "read"},
    "invite_somebody": {"role": "viewer"},
    "make_token_to_join": {},
    "answer_import": {"host": "h"},
}  # fmt: skip
"""A body that the route takes, by its name; others take none."""
OTHERWISE = {
    "/api/v1/join-tokens": {403}, "/api/v1/join-tokens/{pk}": {403},
    "/api/v1/invitations": {403}, "/api/v1/invitations/{pk}": {403},
    "/api/v1/sources": {403}, "/api/v1/sources/{pk}": {403},
    "/api/v1/audit": {403}, "/api/v1/audit/verification": {403},
    # It is of a collector: who is no admin sees their own.
    "/api/v1/tokens/{pk}": {404},
}  # fmt: skip
"""What GET answers who is no admin."""
OF_EVERYBODY = ("POST", "/api/v1/tokens")
"""Whoever may write makes tokens that act as themselves, as tests/web/api/test_keys.py has it."""
ASKED = {"upload_file": "?name=samples.txt"}
"""What an address has to ask, by the name of the operation."""
REFUSED = {403, 404, 405}


@pytest.fixture
def others(imported: Fleet, strangers: dict[str, Any]) -> dict[str, Program]:
    """Programs of a person of each role in another organisation, that read or write."""
    lakeside = Organisation.objects.get(slug="lakeside")
    return {
        f"{member.role} {scope}": program_of(member.user, lakeside, scope)
        for member in lakeside.memberships.select_related("user")
        for scope in (Scope.READ, Scope.WRITE)
    }


def api_routes(fleet: Fleet) -> list[Route]:
    """One of each address; several operations of the API share some."""
    found = {route.address: route for route in routes(fleet) if route.name in NAMES}
    return list(found.values())


@cache
def operations() -> dict[tuple[str, str], str]:
    """The name of each operation by its method and address."""
    return {
        (method.upper(), path): operation["operationId"]
        for path, methods in openapi()["paths"].items()
        for method, operation in methods.items()
    }


def status_of(program: Program, route: Route, method: str) -> tuple[int, bytes]:
    name = operations().get((method, re.sub(r"(?<=/)\d+(?=/|$)", "{pk}", route.address)), "")
    answer = program(method, route.address + ASKED.get(name, ""), BODIES.get(name))
    return answer.status_code, body_of_answer(answer)


@pytest.mark.timeout(400)
def test_nobody_of_another_organisation_reaches_a_row(
    imported: Fleet, others: dict[str, Program]
) -> None:
    every, names = api_routes(imported), names_of(imported)
    make_roles()
    for program in others.values():
        # When a token was used is written down once a minute.
        program.read("rules")
    before = fingerprint_of_the_fleet()

    wrong, asked = [], 0
    with acting_as(DatabaseRole.WEB):
        for who, program in others.items():
            for route in every:
                for method in METHODS:
                    status, body = status_of(program, route, method)
                    asked += 1
                    if status >= 500 or any(name in body for name in names):
                        wrong.append((who, method, route.address, status))
                    if route.has_object and status not in REFUSED:
                        wrong.append((who, method, route.address, status))

    assert wrong == []
    assert fingerprint_of_the_fleet() == before
    assert asked > 2000


def fingerprint_of_the_fleet() -> dict[str, str]:
    """The rows of each table that are not of the organisation of those who ask."""
    return {
        model.__name__: repr(list(model.objects.filter(**own).order_by("pk").values_list()))
        for model, own in (
            (Resource, {"organisation__slug": "northgate"}),
            (Recommendation, {"organisation__slug": "northgate"}),
            (Policy, {"organisation__slug": "northgate"}),
            (Allocation, {"resource__organisation__slug": "northgate"}),
            (MaintenanceWindow, {"organisation__slug": "northgate"}),
            (Team, {"organisation__slug": "northgate"}),
            (AuditEntry, {"organisation__slug": "northgate"}),
        )
    }


@pytest.mark.timeout(400)
@pytest.mark.parametrize(("role", "scope"), [("viewer", Scope.WRITE), ("owner", Scope.READ)])
def test_who_may_only_read_changes_nothing(imported: Fleet, role: str, scope: Scope) -> None:
    member = imported.organisation.memberships.get(role=role)
    program = program_of(member.user, imported.organisation, scope)
    program.read("rules")
    before = fingerprint()

    wrong = []
    for route in api_routes(imported):
        for method in METHODS:
            if (method, route.address) == OF_EVERYBODY and scope == Scope.WRITE:
                continue
            status, _ = status_of(program, route, method)
            only_reads = method in ("GET", "HEAD", "OPTIONS") or route.address.endswith(ONLY_READS)
            allowed = REFUSED | ({200, 304} if only_reads else set())
            if status not in allowed:
                wrong.append((method, route.address, status))

    assert wrong == []
    assert fingerprint() == before


@pytest.mark.parametrize("role", Role)
def test_every_route_answers_who_may(imported: Fleet, role: Role) -> None:
    member = imported.organisation.memberships.filter(role=role).first()
    if member is None:
        member = imported.organisation.memberships.get(role=Role.OWNER)
        member.role = role
        member.save()
    program = program_of(member.user, imported.organisation)

    wrong = []
    for route in api_routes(imported):
        status, _ = status_of(program, route, "GET")
        place = re.sub(r"/\d+$", "/{pk}", route.address)
        if role in (Role.ADMIN, Role.OWNER):
            expected = {200, 405}
        else:
            expected = OTHERWISE.get(place, {200, 405})
        if status not in expected:
            wrong.append((route.address, status))

    assert wrong == []
