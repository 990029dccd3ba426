"""What the host agent speaks with: its policy document, and its reports."""

from __future__ import annotations

from datetime import datetime

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

from accounts.authentication import ForbiddenError, authenticate
from accounts.json_answers import RequestError, answers_in_json
from accounts.models import Scope
from advisor.decisions.documents import current_document
from advisor.decisions.reports import accept_report
from advisor.errors import ReportRefused
from enforcers.contract import ContractError, decode_report, encode_document
from ingest.models import Host

MAX_REPORT_BYTES = 1024 * 1024
"""A report of a thousand allocations is a quarter of this."""

answers_agents = answers_in_json(
    {ContractError: (400, "invalid"), ReportRefused: (422, "refused")},
    no_database="the database does not answer; try later",
)


@csrf_exempt
@never_cache
@answers_agents
def document(request: HttpRequest) -> HttpResponse:
    """GET: the host's policy document, signed and with a fresh lease."""
    _require_method(request, "GET")
    now = timezone.now()
    found = current_document(host=_host(request, now), now=now)
    return HttpResponse(encode_document(found), content_type="application/json")


@csrf_exempt
@never_cache
@answers_agents
def report(request: HttpRequest) -> HttpResponse:
    """POST: store a compliance report; the same report twice changes nothing."""
    _require_method(request, "POST")
    now = timezone.now()
    host = _host(request, now)
    count = accept_report(host=host, report=decode_report(_body(request)), now=now)
    return JsonResponse({"accepted": count})


def _require_method(request: HttpRequest, method: str) -> None:
    if request.method != method:
        raise RequestError(405, "method_not_allowed", f"use {method} here, not {request.method}")


def _host(request: HttpRequest, now: datetime) -> Host:
    """The host that the token is bound to; it can speak for no other."""
    authorization = request.headers.get("Authorization", "")
    token = authenticate(authorization, scope=Scope.ENFORCE, now=now)
    if token.host is None or not hasattr(token.host, "enforcer"):
        raise ForbiddenError("the token is bound to no enrolled host; enrol it: sluice enroll")
    return token.host


def _body(request: HttpRequest) -> bytes:
    announced = request.META.get("CONTENT_LENGTH") or ""
    if not announced.isdecimal():
        raise RequestError(411, "length_required", "send a Content-Length")
    if int(announced) > MAX_REPORT_BYTES:
        raise RequestError(
            413,
            "too_large",
            f"a report has at most {MAX_REPORT_BYTES} bytes; this has {announced}",
        )
    body = request.read(int(announced))
    if len(body) < int(announced):
        raise RequestError(400, "invalid", "the body ends too early")
    return body
