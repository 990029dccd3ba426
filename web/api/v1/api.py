"""The API of version 1: its routes, each behind the same door."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError
from ninja.operation import Operation

from web.api.v1 import (
    alarm_budget,
    allocations,
    claims,
    deliveries,
    entitlements,
    hosts,
    imports,
    incidents,
    invitations,
    join_tokens,
    ladder_rules,
    maintenance,
    measurements,
    notification_channels,
    notification_rules,
    organisation,
    people,
    policies,
    policy_file,
    pools,
    quotas,
    recommendations,
    replays,
    report_subscriptions,
    resources,
    rollouts,
    silences,
    sources,
    status,
    teams,
    tokens,
    what_if,
    workloads,
)
from web.api.v1.door import behind_the_door
from web.api.v1.problem import problem_of

TITLE = "Sluice"
ROUTERS = (
    ("status", status.router),
    ("recommendations", recommendations.router),
    ("incidents", incidents.router),
    ("resources", resources.router),
    ("resources", what_if.router),
    ("resources", entitlements.router),
    ("", measurements.router),
    ("alarm-budget", alarm_budget.router),
    ("", policies.router),
    ("", rollouts.router),
    ("ladder-rules", ladder_rules.router),
    ("notification-channels", notification_channels.router),
    ("notification-rules", notification_rules.router),
    ("silences", silences.router),
    ("deliveries", deliveries.router),
    ("", allocations.router),
    ("", pools.router),
    ("workloads", workloads.router),
    ("", claims.router),
    ("teams", teams.router),
    ("hosts", hosts.router),
    ("maintenance-windows", maintenance.router),
    ("", policy_file.router),
    ("report-subscriptions", report_subscriptions.router),
    ("imports", imports.router),
    ("", people.router),
    ("organisation", organisation.router),
    ("quotas", quotas.router),
    ("replays", replays.router),
    ("sources", sources.router),
    ("tokens", tokens.router),
    ("join-tokens", join_tokens.router),
    ("invitations", invitations.router),
)


class Api(NinjaAPI):
    """Django-ninja without its own pages; an operation is called as its function."""

    def get_openapi_operation_id(self, operation: Operation) -> str:
        return operation.view_func.__name__


def _problem(_request: HttpRequest, error: Any) -> HttpResponse:
    return problem_of(error)


def _api() -> Api:
    api = Api(title=TITLE, version="1", docs_url=None, openapi_url=None, urls_namespace="api-v1")
    for kind in (Exception, Http404, HttpError, ValidationError):
        api.add_exception_handler(kind, _problem)
    for prefix, router in ROUTERS:
        api.add_router(prefix, router)
    return api


API = _api()


def _route(prefix: str, path: str) -> str:
    """The route as Django writes it."""
    whole = "/".join(part.strip("/") for part in (prefix, path) if part)
    return whole.replace("{", "<").replace("}", ">")


def _names_of_queries() -> dict[tuple[str, str], frozenset[str]]:
    """What the address of each operation can ask, by its method and route."""
    return {
        (method, _route(prefix, path)): frozenset(
            name
            for model in operation.models
            if model.__ninja_param_source__ == "query"
            for name in model.__ninja_flatten_map__
        )
        for prefix, router in ROUTERS
        for path, view in router.path_operations.items()
        for operation in view.operations
        for method in operation.methods
    }


QUERIES = _names_of_queries()


def _query_of(route: str, method: str) -> frozenset[str]:
    return QUERIES.get((method, route), frozenset())


def api_patterns() -> list[URLPattern]:
    """The routes of the API, without a page that lists them."""
    patterns: list[URLPattern] = [
        one for one in API.urls[0] if isinstance(one, URLPattern) and one.name != "api-root"
    ]
    for one in patterns:
        one.callback = behind_the_door(one.callback, partial(_query_of, str(one.pattern)))
    return patterns
