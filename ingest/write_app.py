"""An ASGI layer that answers writes before Django's layers, which cost more than a small write.

It authenticates before it reads the body, and waits for no sender in a thread. What it does not
know to be in order, such as an address that is not ours, it hands on, and Django answers as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from http import HTTPStatus
from io import BytesIO
from urllib.parse import parse_qsl

from django.conf import settings
from django.http import HttpResponse
from django.utils import timezone

from accounts.json_answers import error_answer
from accounts.log_context import told, working_on
from accounts.models import Scope, Token
from accounts.remembered_tokens import RememberedTokens
from ingest.admission import (
    SAMPLE_PATHS,
    WRITE_V2,
    Admission,
    close_old_connection,
    refused,
)
from ingest.asgi import (
    Application,
    ClientGoneError,
    Headers,
    Receive,
    Send,
    SenderStandsStillError,
    ServerScope,
    next_part,
)
from ingest.body import BodyError, BodyTooLargeError, LineTooLargeError, line_count, read_body
from ingest.chunked_body import too_large_text
from ingest.core.line_protocol import Precision
from ingest.quotas.entry import UNCOUNTED, Use, admitted
from ingest.refused import record_oversized_line
from ingest.retention import retention
from ingest.slow_bodies import SlowBodies, TooManySlowError
from ingest.views import check_lines, precision_named, written
from ingest.write import WriteResult
from ingest.write_queue import Room, WriteQueue
from ingest.writer import Body, Writer

OWNER = "sluice.owner"
"""In the scope of a request: the organisation of its sender, where that is known."""
_MOST_QUICK_BYTES = 1024 * 1024
"""Unpacked; a larger body is stored alone, however small it was packed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A body as it was sent, and by whom."""

    token: Token
    precision: Precision
    encoding: str
    packed: bytes
    lines: Mapping[str, object]
    """What lines in the log tell of its request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    """A body that was unpacked, and what it is charged."""

    body: Body
    use: Use


class Writes:
    """Wraps the application: writes are answered here, all else there.

    Samples in other protocols go there too, from those who may send them.
    """

    def __init__(
        self,
        application: Application,
        *,
        writer: Writer | None = None,
        tokens: RememberedTokens | None = None,
        queue: Callable[..., WriteQueue[Sent, HttpResponse]] = WriteQueue,
    ) -> None:
        self._application = application
        self._writer = writer or Writer()
        self._queue = queue(self._together, self._alone)
        self._admission = Admission(tokens or RememberedTokens(Scope.INGEST), self._queue.run)
        self._slow = SlowBodies()

    async def __call__(self, scope: ServerScope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI 3)."""
        if scope["type"] != "http" or scope["path"] not in SAMPLE_PATHS:
            return await self._application(scope, receive, send)
        headers = dict(scope["headers"])
        if not self._admission.is_plain(scope, headers):
            return await self._application(scope, receive, send)
        sender = await self._admission.sender(scope, headers)
        if isinstance(sender, HttpResponse):
            return await send_answer(sender, send)
        with self._slow.watched(sender.pk, receive) as watched:
            if scope["path"] != WRITE_V2:
                owned = {**scope, OWNER: sender.organisation_id}
                return await self._application(owned, watched, send)
            try:
                answer = await self._answer(sender, scope, headers, watched)
            except ClientGoneError:
                return None
        return await send_answer(answer, send)

    async def _answer(
        self, token: Token, scope: ServerScope, headers: Headers, receive: Receive
    ) -> HttpResponse:
        try:
            return await self._stored(token, scope, headers, receive)
        except TooManySlowError as error:
            return error_answer(503, "unavailable", f"{error}; nothing of this one is stored")
        except SenderStandsStillError as error:
            answer = error_answer(408, "timeout", f"{error}; nothing of it is stored")
            # What is left of the body is for nobody.
            answer["Connection"] = "close"
            return answer
        except ClientGoneError:
            raise
        except Exception as error:  # noqa: BLE001  answered, or by 500
            return refused(error)

    async def _stored(
        self, token: Token, scope: ServerScope, headers: Headers, receive: Receive
    ) -> HttpResponse:
        precision = _precision(scope["query_string"])
        encoding = headers.get(b"content-encoding", b"").decode("latin-1").strip().lower()
        with self._queue.room(token.organisation_id) as room:
            packed = await _whole(receive, headers, encoding=encoding, room=room)
            sent = Sent(
                token=token, precision=precision, encoding=encoding, packed=packed, lines=told()
            )
            return await self._queue.answer(sent, size_bytes=len(packed))

    # --- In threads

    def _together(self, every: Sequence[Sent]) -> list[HttpResponse | None]:
        """Store bodies and answer each; None for those that are to be stored alone."""
        close_old_connection()
        now = timezone.now()
        opened = [_opened(sent, now, most_bytes=_MOST_QUICK_BYTES) for sent in every]
        ready = [one for one in opened if isinstance(one, _Opened)]
        results = iter(self._writer.store_together([one.body for one in ready]))
        return [
            _finished(one, next(results)) if isinstance(one, _Opened) else one for one in opened
        ]

    def _alone(self, sent: Sent) -> HttpResponse:
        """Store a body, whatever it takes, and answer."""
        with working_on(**sent.lines):
            return self._stored_alone(sent)

    def _stored_alone(self, sent: Sent) -> HttpResponse:
        close_old_connection()
        opened = _opened(sent, timezone.now(), most_bytes=settings.MAX_BODY_BYTES)
        if not isinstance(opened, _Opened):
            assert opened is not None, "a body of an allowed size was not unpacked"
            return opened
        outcome: WriteResult | Exception
        try:
            outcome = self._writer.store_alone(opened.body)
        except Exception as error:  # noqa: BLE001  answered, or by 500
            outcome = error
        answer = _finished(opened, outcome)
        assert answer is not None, "a body that is stored alone has an answer"
        return answer


def _opened(sent: Sent, now: datetime, *, most_bytes: int) -> _Opened | HttpResponse | None:
    """The body to be stored, or why it is refused; None if it unpacks to more than this."""
    use = None
    try:
        use = admitted(sent.token.organisation)
        body = _charged(sent, use, now, most_bytes=min(most_bytes, settings.MAX_BODY_BYTES))
    except Exception as error:  # noqa: BLE001  answered, or by 500
        if use is not None and isinstance(error, UNCOUNTED):
            use.take_back()
        return refused(error)
    if body is None:
        return None
    opened = Body(
        content=body,
        token=sent.token,
        precision=sent.precision,
        now=now,
        retention=retention(),
    )
    return _Opened(body=opened, use=use)


def _charged(sent: Sent, use: Use, now: datetime, *, most_bytes: int) -> bytes | None:
    """The body, unpacked, as `_opened`; it is charged, also one that cannot be used."""
    size_bytes = len(sent.packed)
    try:
        body = read_body(
            BytesIO(sent.packed), encoding=sent.encoding, length=size_bytes, max_bytes=most_bytes
        )
        check_lines(body)
    except BodyError as error:
        is_large = isinstance(error, (BodyTooLargeError, LineTooLargeError))
        if is_large and most_bytes < settings.MAX_BODY_BYTES:
            return None
        use.add(size_bytes=size_bytes)
        if isinstance(error, LineTooLargeError):
            record_oversized_line(error.start, reason=str(error), token=sent.token, now=now)
        raise
    use.add(points=line_count(body), size_bytes=len(body))
    return body


def _finished(opened: _Opened, outcome: WriteResult | Exception | None) -> HttpResponse | None:
    """The answer; a body without an outcome is charged when it has one."""
    if outcome is None or isinstance(outcome, UNCOUNTED):
        opened.use.take_back()
    if outcome is None:
        return None
    if isinstance(outcome, Exception):
        return refused(outcome)
    return written(outcome) if outcome.rejected else _GOOD


@lru_cache(maxsize=1000)
def _precision(query: bytes) -> Precision:
    return precision_named(dict(parse_qsl(query.decode("latin-1"))).get("precision", ""))


async def _whole(receive: Receive, headers: Headers, *, encoding: str, room: Room) -> bytes:
    """The body as it was sent; of one that is too large and not packed a first part may do.

    Where that has no end of a line, it says that no division of the body would fit.
    """
    most_bytes, is_packed = settings.MAX_BODY_BYTES, encoding not in ("", "identity")
    text = headers.get(b"content-length", b"0")
    announced_bytes = int(text) if text.isdigit() else 0
    too_large = BodyTooLargeError(too_large_text(most_bytes))
    if is_packed and announced_bytes > most_bytes:
        raise too_large
    room.check(min(announced_bytes, most_bytes))
    parts: list[bytes] = []
    received_bytes, more = 0, True
    while more and received_bytes <= most_bytes:
        part, more = await next_part(receive)
        room.take(len(part))
        parts.append(part)
        received_bytes += len(part)
    whole = parts[0] if len(parts) == 1 else b"".join(parts)
    if received_bytes > most_bytes and (is_packed or b"\n" in whole.rstrip(b"\r\n")):
        raise too_large
    return whole


_GOOD = HttpResponse(status=HTTPStatus.NO_CONTENT)
_GOOD_HEADERS = [(name.lower().encode(), value.encode()) for name, value in _GOOD.items()]


async def send_answer(answer: HttpResponse, send: Send) -> None:
    """Send a whole answer (ASGI 3)."""
    headers = _GOOD_HEADERS
    if answer is not _GOOD:
        headers = [(name.lower().encode(), value.encode()) for name, value in answer.items()]
        if answer.status_code != HTTPStatus.NO_CONTENT:
            headers.append((b"content-length", str(len(answer.content)).encode()))
    await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": answer.content})
