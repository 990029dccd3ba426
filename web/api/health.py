"""Addresses for probes and monitoring.

Probes need no token and learn no names. The metrics name resources and hosts, so they take a
token with the scope `metrics` and are those of its organisation.
"""

from __future__ import annotations

from dataclasses import asdict

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts.authentication import authenticate
from accounts.json_answers import answers_in_json
from accounts.models import Scope
from accounts.row_wall import lifted
from advisor.queries.fleet_figures import fleet_figures
from advisor.queries.health import health_figures
from advisor.queries.readiness import readiness, staleness
from web.metrics import CONTENT_TYPE, exposition

PASS, FAIL = "pass", "fail"

answers_programs = answers_in_json({}, no_database="the database does not answer")


@require_safe
def live(_request: HttpRequest) -> HttpResponse:
    """GET /health/live: the web server answers; says nothing of what it needs."""
    return JsonResponse({"status": PASS})


@require_safe
def ready(_request: HttpRequest) -> HttpResponse:
    """GET /health/ready: whether requests can be served, and what is missing."""
    found = readiness()
    said = {"status": PASS if found.is_ready else FAIL, **asdict(found)}
    return JsonResponse(said, status=200 if found.is_ready else 503)


@require_safe
@answers_programs
def evaluation(_request: HttpRequest) -> HttpResponse:
    """GET /health/evaluation: 503 if a resource was not evaluated for two minutes."""
    with lifted():
        found = staleness(now=timezone.now())
    said = {"status": FAIL if found.stale else PASS, **asdict(found)}
    return JsonResponse(said, status=503 if found.stale else 200)


@require_safe
@answers_programs
def metrics(request: HttpRequest) -> HttpResponse:
    """GET /metrics: the figures of the health, as Prometheus reads them."""
    now = timezone.now()
    token = authenticate(request.headers.get("Authorization", ""), scope=Scope.METRICS, now=now)
    figures = health_figures(organisation=token.organisation, now=now, with_installation=False)
    fleet = fleet_figures(organisation=token.organisation, now=now)
    return HttpResponse(exposition(figures, fleet), content_type=CONTENT_TYPE)
