"""What the host agent speaks with: its policy document, its reports, and what hosts share."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

from accounts.authentication import ForbiddenError
from accounts.json_answers import RequestError, answers_in_json
from accounts.log_context import tell
from accounts.models import Scope
from accounts.remembered_tokens import RememberedTokens
from accounts.sealing import Unsealable
from advisor.decisions.asking_agent import NO_HOST, AskingAgent, asking_agent
from advisor.decisions.reports import accept_report
from advisor.decisions.signing.given import given_document
from advisor.decisions.signing.reports import check_signature, take_number
from advisor.decisions.told_figures import KEPT_S
from advisor.decisions.window_exchange import share_limits, share_load
from advisor.errors import (
    DocumentRefused,
    DocumentUnavailable,
    ExchangeRefused,
    ExchangeUnavailable,
    ReportRefused,
)
from enforcers.contract import ContractError, decode_report
from enforcers.exchange import decode_exchange, encode_load
from enforcers.limit_exchange import decode_told, encode_granted
from enforcers.wire_signatures import REPORT_HEADER
from ingest.models import Host

MAX_REPORT_BYTES = 1024 * 1024
"""A report of a thousand allocations is a quarter of this."""
MAX_EXCHANGE_BYTES = 16 * 1024
"""Two names of the longest, escaped, and a few numbers."""
MAX_LIMITS_BYTES = 256 * 1024
"""A limit of a workload is about 150 bytes, with a name of usual length."""

_AGENTS = RememberedTokens(Scope.ENFORCE, remembered_s=KEPT_S)
"""For the window loop: every host asks each four seconds, and is heard for three times that."""

answers_agents = answers_in_json(
    {
        ContractError: (400, "invalid"),
        ReportRefused: (422, "refused"),
        DocumentRefused: (422, "refused"),
        DocumentUnavailable: (503, "unavailable"),
        Unsealable: (503, "unavailable"),
        ExchangeRefused: (422, "refused"),
        ExchangeUnavailable: (503, "unavailable"),
    },
    no_database="the database does not answer; try later",
)


@csrf_exempt
@never_cache
@answers_agents
def document(request: HttpRequest) -> HttpResponse:
    """GET: the host's policy document, signed and with a fresh lease."""
    _require_method(request, "GET")
    now = timezone.now()
    agent = _agent(request, now)
    body = given_document(agent, accept=request.headers.get("Accept", ""), now=now)
    return HttpResponse(body, content_type="application/json")


@csrf_exempt
@never_cache
@answers_agents
def report(request: HttpRequest) -> HttpResponse:
    """POST: store a compliance report, signed if its host has a key for that."""
    _require_method(request, "POST")
    now = timezone.now()
    agent = _agent(request, now)
    body = _body(request, most_bytes=MAX_REPORT_BYTES)
    taking: Callable[[], None] | None = None
    if (key := agent.key) is not None:
        number = check_signature(body, header=request.headers.get(REPORT_HEADER, ""), key=key)
        taking = partial(take_number, number, key=key)
    said = decode_report(body)
    count = accept_report(host=agent.host, report=said, now=now, take_number=taking)
    return JsonResponse({"accepted": count})


@csrf_exempt
@never_cache
@answers_agents
def exchange(request: HttpRequest) -> HttpResponse:
    """POST: what a host did on a datastore; the answer is what all of its hosts do."""
    _require_method(request, "POST")
    host = _remembered_host(request)
    told = decode_exchange(_body(request, most_bytes=MAX_EXCHANGE_BYTES))
    load = share_load(host=host, told=told)
    body = encode_load(load, version=told.schema_version)
    return HttpResponse(body, content_type="application/json")


@csrf_exempt
@never_cache
@answers_agents
def limits(request: HttpRequest) -> HttpResponse:
    """POST: what a host does under limits over several hosts; the answer is its part of each."""
    _require_method(request, "POST")
    host = _remembered_host(request)
    told = decode_told(_body(request, most_bytes=MAX_LIMITS_BYTES))
    granted = encode_granted(share_limits(host=host, told=told))
    return HttpResponse(granted, content_type="application/json")


def _require_method(request: HttpRequest, method: str) -> None:
    if request.method != method:
        raise RequestError(405, "method_not_allowed", f"use {method} here, not {request.method}")


def _agent(request: HttpRequest, now: datetime) -> AskingAgent:
    agent = asking_agent(request.headers.get("Authorization", ""), now=now)
    tell(host=agent.host.name)
    return agent


def _remembered_host(request: HttpRequest) -> Host:
    authorization = request.headers.get("Authorization", "")
    host = _AGENTS.authenticate(authorization, now=timezone.now()).host
    if host is None or not hasattr(host, "enforcer"):
        raise ForbiddenError(NO_HOST)
    tell(host=host.name)
    return host


def _body(request: HttpRequest, *, most_bytes: int) -> bytes:
    announced = request.META.get("CONTENT_LENGTH") or ""
    if not announced.isdecimal():
        raise RequestError(411, "length_required", "send a Content-Length")
    if int(announced) > most_bytes:
        raise RequestError(
            413, "too_large", f"a body has at most {most_bytes} bytes here; this has {announced}"
        )
    body = request.read(int(announced))
    if len(body) < int(announced):
        raise RequestError(400, "invalid", "the body ends too early")
    return body
