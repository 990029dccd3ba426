"""The endpoints of other protocols: InfluxDB v1, Prometheus remote write and OTLP over HTTP.

Each answers as its senders expect: what can never be stored is answered with 400, so that nobody
sends it for ever, and what may be stored later with 503.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST

from accounts.authentication import authenticate
from accounts.json_answers import RequestError, error_answer
from accounts.models import Scope, Token
from ingest.core.decoders.errors import BodyTooLargeError, DecodeError
from ingest.core.decoders.otlp import Encoding, decode_otlp
from ingest.core.decoders.otlp_protobuf import partial_success
from ingest.core.decoders.rejections import Rejections
from ingest.core.decoders.remote_write import Version, decode_remote_write
from ingest.core.point import Point
from ingest.quotas.entry import Use, counted
from ingest.retention import retention
from ingest.views import (
    MOST_LINES,
    answer_write,
    answers_telegraf,
    answers_those_who_drop_429,
    body_of,
    reasons,
)
from ingest.write import WriteResult, store, store_points


@csrf_exempt
@require_POST
@answers_those_who_drop_429
def write_v1(request: HttpRequest) -> HttpResponse:
    """POST /write: line protocol as clients of InfluxDB 1 send it; the password is the token."""
    token = _token(request, password=request.GET.get("p", ""))
    return answer_write(request, token=token, store=store)


@csrf_exempt
@require_http_methods(["GET", "POST"])
@answers_telegraf
def query_v1(request: HttpRequest) -> HttpResponse:
    """/query: Telegraf makes its database before it writes, and here nothing has to be made."""
    _token(request, password=request.GET.get("p", ""))
    asked = request.POST.get("q") or request.GET.get("q") or ""
    if not asked.upper().startswith("CREATE DATABASE"):
        raise RequestError(400, "invalid", "samples are written here, not queried")
    return JsonResponse({"results": [{"statement_id": 0}]})


@csrf_exempt
@require_POST
@answers_those_who_drop_429
def remote_write(request: HttpRequest) -> HttpResponse:
    """POST /api/v1/write: Prometheus remote write, versions 1 and 2."""
    token = _token(request)
    version = Version.V2 if Version.V2 in request.headers.get("Content-Type", "") else Version.V1
    refused = Rejections()
    try:
        with counted(token.organisation) as use:
            body = body_of(request, use, encoding="")
            # What Snappy packed is unpacked by its decoder.
            points = decode_remote_write(
                body, refused, most_bytes=settings.MAX_BODY_BYTES, version=version
            )
            result = _store(points, refused, token=token, use=use)
    except DecodeError as error:
        raise _refusal(error) from error
    answer = _written(result)
    # Senders of version 2 compare it with what they sent.
    answer["X-Prometheus-Remote-Write-Samples-Written"] = str(result.accepted + result.ignored)
    return answer


@csrf_exempt
@require_POST
@answers_telegraf
def otlp_metrics(request: HttpRequest) -> HttpResponse:
    """POST /v1/metrics: OTLP over HTTP, as protocol buffers or JSON."""
    token = _token(request)
    kind = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind not in list(Encoding):
        allowed = " or ".join(Encoding)
        raise RequestError(415, "unsupported media type", f"send the body as {allowed}")
    encoding, refused = Encoding(kind), Rejections()
    try:
        with counted(token.organisation) as use:
            body = body_of(request, use, encoding=request.headers.get("Content-Encoding", ""))
            points = decode_otlp(body, refused, encoding=encoding)
            result = _store(points, refused, token=token, use=use)
    except DecodeError as error:
        raise _refusal(error) from error
    if _nothing_kept(result):
        return _written(result)
    why = reasons(result)
    if encoding is Encoding.PROTOBUF:
        text = partial_success(result.rejected, why) if result.rejected else b""
        return HttpResponse(text, content_type=encoding)
    partial = {"rejectedDataPoints": str(result.rejected), "errorMessage": why}
    return JsonResponse({"partialSuccess": partial} if result.rejected else {})


def _token(request: HttpRequest, *, password: str = "") -> Token:
    authorization = request.headers.get("Authorization", "")
    if not authorization and password:
        authorization = f"Token {password}"
    return authenticate(authorization, scope=Scope.INGEST, now=timezone.now())


def _store(points: Iterable[Point], refused: Rejections, *, token: Token, use: Use) -> WriteResult:
    result = store_points(
        _bounded(points), refused, token=token, now=timezone.now(), retention=retention()
    )
    use.add(points=result.accepted + result.ignored + result.rejected)
    return result


def _bounded(points: Iterable[Point]) -> Iterator[Point]:
    """The points, of which there may be as many as a body may have lines."""
    for number, point in enumerate(points):
        if number == MOST_LINES:
            raise BodyTooLargeError(
                f"the body has more than {MOST_LINES} samples; send fewer at a time"
            )
        yield point


def _nothing_kept(result: WriteResult) -> bool:
    return bool(result.rejected) and not (result.accepted or result.ignored or result.unknown)


def _written(result: WriteResult) -> HttpResponse:
    if _nothing_kept(result):
        return error_answer(400, "invalid", f"nothing could be stored: {reasons(result)}")
    response = HttpResponse(status=HTTPStatus.NO_CONTENT)
    if result.rejected:
        response["Sluice-Rejected-Lines"] = str(result.rejected)
    return response


def _refusal(error: DecodeError) -> RequestError:
    if isinstance(error, BodyTooLargeError):
        return RequestError(413, "request too large", str(error))
    return RequestError(400, "invalid", str(error))
