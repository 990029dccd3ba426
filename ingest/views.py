"""The InfluxDB v2 endpoints as Telegraf speaks them.

The answers follow what Telegraf does with them: it drops a batch that is answered 400, splits one
that is answered 413, and keeps everything else for later. So 400 is only for what can never be
stored. After 429 and 503 it sends nothing until the time of `Retry-After` is over.
"""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from accounts.authentication import authenticate
from accounts.json_answers import RequestError, View, answers_in_json, error_answer
from accounts.models import Scope, Token
from ingest.body import (
    BodyError,
    BodyTooLargeError,
    LineTooLargeError,
    UnknownEncodingError,
    UnreadableBodyError,
    line_count,
    read_body,
)
from ingest.chunked_body import announced_bytes
from ingest.core.batch import Rejection
from ingest.core.line_protocol import Precision
from ingest.core.quota.limits import QuotaExceededError
from ingest.quotas.entry import Use, counted
from ingest.refused import record_oversized_line
from ingest.retention import retention
from ingest.write import WriteResult, store
from ingest.write_queue import NotCommittedError

_OF_V1 = {"n": "ns", "u": "us", "\u00b5": "us"}
"""So clients of InfluxDB 1 call these units."""
MOST_LINES = 200_000
"""More lines in one body would keep a worker busy for seconds."""
_SHOWN_REASONS = 5


def _answers(*, over_quota: tuple[int, str]) -> Callable[[View], View]:
    return answers_in_json(
        {
            BodyTooLargeError: (413, "request too large"),
            UnknownEncodingError: (415, "unsupported media type"),
            LineTooLargeError: (400, "invalid"),
            UnreadableBodyError: (400, "invalid"),
            QuotaExceededError: over_quota,
            NotCommittedError: (503, "unavailable"),
        },
        no_database="the database does not answer; nothing of this body is stored",
    )


# Telegraf shows the reason, as it does with the answers of InfluxDB.
answers_telegraf = _answers(over_quota=(429, "too many requests"))
# Telegraf's output for InfluxDB 1 and, unless it is told otherwise, Prometheus drop what is
# answered 429, and keep what is answered 503.
answers_those_who_drop_429 = _answers(over_quota=(503, "too many requests"))


@csrf_exempt
@require_POST
@answers_telegraf
def write(request: HttpRequest) -> HttpResponse:
    """POST /api/v2/write: store line protocol; 204 means that it is committed.

    `ingest.write_app` answers most of them before they come here.
    The token says whose samples these are, whatever organisation and bucket are named.
    """
    now = timezone.now()
    token = authenticate(request.headers.get("Authorization", ""), scope=Scope.INGEST, now=now)
    return answer_write(request, token=token, store=store)


def answer_write(
    request: HttpRequest, *, token: Token, store: Callable[..., WriteResult]
) -> HttpResponse:
    """Read the body of a write, store it, and say what became of it."""
    now = timezone.now()
    precision = precision_named(request.GET.get("precision", ""))
    with counted(token.organisation) as use:
        try:
            body = _body(request, use)
        except LineTooLargeError as error:
            record_oversized_line(error.start, reason=str(error), token=token, now=now)
            raise
        use.add(points=line_count(body))
        result = store(body, token=token, precision=precision, now=now, retention=retention())
    return written(result)


@require_safe
def health(_request: HttpRequest) -> HttpResponse:
    """GET /health: whether samples can be stored at this moment."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except (OperationalError, InterfaceError):
        return JsonResponse(
            {"name": "sluice", "status": "fail", "message": "the database does not answer"},
            status=503,
        )
    return JsonResponse({"name": "sluice", "status": "pass", "message": "ready"})


@require_safe
def ping(_request: HttpRequest) -> HttpResponse:
    """GET or HEAD /ping: the web server answers; says nothing about the database."""
    return HttpResponse(status=204)


def precision_named(name: str) -> Precision:
    """The precision that a sender asks for; raises a `RequestError`."""
    try:
        return Precision(_OF_V1.get(name, name) or Precision.NS)
    except ValueError:
        allowed = ", ".join(Precision)
        message = f'precision "{name[:64]}" is not understood; it can be {allowed}'
        raise RequestError(400, "invalid", message) from None


def body_of(request: HttpRequest, use: Use, *, encoding: str) -> bytes:
    """The body, unpacked from this encoding; it is charged, also one that cannot be used."""
    # Django takes a chunked body for an empty one. ingest.chunked_body gives it its length.
    if request.META.get("HTTP_TRANSFER_ENCODING"):
        raise RequestError(
            503,
            "unavailable",
            "this web server does not pass on chunked bodies; start Sluice with `sluice run`",
        )
    most, length = settings.MAX_BODY_BYTES, 0
    try:
        # A chunked body is read for its length.
        length = announced_bytes(request.META)
        body = read_body(request, encoding=encoding, length=length, max_bytes=most)
    except BodyError:
        use.add(size_bytes=length)
        raise
    use.add(size_bytes=len(body))
    return body


def _body(request: HttpRequest, use: Use) -> bytes:
    body = body_of(request, use, encoding=request.META.get("HTTP_CONTENT_ENCODING", ""))
    check_lines(body)
    return body


def check_lines(body: bytes) -> None:
    """Raise a `BodyTooLargeError` if it has more lines than a worker reads in a second or two."""
    if body.count(b"\n") > MOST_LINES:
        raise BodyTooLargeError(f"the body has more than {MOST_LINES} lines; send fewer at a time")


def written(result: WriteResult) -> HttpResponse:
    """204, unless every line is bad: then nothing is lost by saying so."""
    nothing_kept = not (result.accepted or result.ignored or result.unknown)
    if result.rejected and nothing_kept:
        return error_answer(400, "invalid", f"no line could be stored: {reasons(result)}")
    response = HttpResponse(status=204)
    if result.rejected:
        response["Sluice-Rejected-Lines"] = str(result.rejected)
    return response


def reasons(result: WriteResult) -> str:
    """Why lines were refused, the first few reasons."""
    shown = [
        f"{_where(rejection)}: {rejection.reason}"
        for rejection in result.rejections[:_SHOWN_REASONS]
    ]
    hidden = len(result.rejections) - len(shown)
    return "; ".join(shown) + (f"; and {hidden} other reasons" if hidden else "")


def _where(rejection: Rejection) -> str:
    """What was refused: a line by its number, a part that is none by its name."""
    return f"line {rejection.line_number}" if rejection.line_number else rejection.line
