"""The id of each request, in its answer and its lines, and what the access line shows."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from accounts.log_context import request_id, tell, told, working_on
from config.asgi import application as product
from config.log_format import JsonFormatter
from config.request_log import logged_requests
from config.secret_paths import MASK, masked
from ingest.asgi import Application, Receive, Send, ServerScope

SENT = "agent-0123.4_5"
HARMLESS = {
    # Names that pages show.
    "replay/<str:name>/",
    "replay/<str:name>/timeline.json",
    "api/v1/replays/<name>",
    # Pages of the documentation.
    "docs/<path:slug>/",
    "docs/files/<path:name>",
    # Kinds of charts.
    "api/v1/resources/<int:pk>/charts/<slug:key>.csv",
    "api/v1/hosts/<int:pk>/charts/<slug:key>.csv",
    "api/v1/workloads/<int:pk>/charts/<slug:key>.csv",
}


def answering(status: int, *, organisation: int | None = None) -> Application:
    async def application(_scope: ServerScope, _receive: Receive, send: Send) -> None:
        if organisation is not None:
            tell(organisation=organisation)
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": request_id().encode()})

    return logged_requests(application)


def ask(
    application: Application, path: str = "/incidents/", *, sent: bytes | None = None
) -> tuple[dict[bytes, bytes], bytes]:
    """The headers and the body of the answer."""
    headers = [(b"host", b"testserver")]
    if sent is not None:
        headers.append((b"x-request-id", sent))
    scope: dict[str, Any] = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET",
        "scheme": "http", "path": path, "raw_path": path.encode(), "query_string": b"code=hidden",
        "root_path": "", "headers": headers, "client": ("192.0.2.7", 40000),
        "server": ("testserver", 80),
    }  # fmt: skip
    messages: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        messages.append(message)

    asyncio.run(application(scope, receive, send))
    body = b"".join(one.get("body", b"") for one in messages[1:])
    return {name.lower(): value for name, value in messages[0]["headers"]}, body


class Written(logging.Handler):
    """Each line as it is written, at the place where it is."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[dict[str, Any]] = []
        self.setFormatter(JsonFormatter())

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(json.loads(self.format(record)))


@pytest.fixture
def lines() -> Iterator[list[dict[str, Any]]]:
    """What is logged at INFO or above."""
    handler, root = Written(), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    yield handler.lines
    root.removeHandler(handler)
    root.setLevel(level)


def test_request_without_an_id_gets_one_that_its_answer_and_line_tell(
    lines: list[dict[str, Any]],
) -> None:
    headers, body = ask(answering(200, organisation=7))

    assert re.fullmatch(rb"[0-9a-f]{32}", headers[b"x-request-id"])
    # What is worked on inside knows the same.
    assert body == headers[b"x-request-id"]
    (line,) = lines
    assert line["request_id"] == body.decode()
    assert (line["method"], line["path"], line["status"]) == ("GET", "/incidents/", 200)
    assert line["organisation"] == 7
    assert 0 <= line["duration_ms"] < 60_000


def test_each_request_has_an_id_of_its_own() -> None:
    first, _ = ask(answering(200))
    second, _ = ask(answering(200))

    assert first[b"x-request-id"] != second[b"x-request-id"]
    assert told() == {}


def test_id_that_a_client_sends_is_taken() -> None:
    headers, body = ask(answering(200), sent=SENT.encode())

    assert headers[b"x-request-id"] == body == SENT.encode()


@pytest.mark.parametrize(
    "sent",
    [
        b"", b"short-7", b"x" * 65, b"has space 1", b"line\r\nset-cookie: a=b", b"-begins-so",
        b"<script>alert", "umlaut-ü-12345".encode(), b"quote\"quote", b"trailing-line\n",
    ],
)  # fmt: skip
def test_id_that_is_not_well_formed_is_not_taken(sent: bytes) -> None:
    headers, _ = ask(answering(200), sent=sent)

    assert re.fullmatch(rb"[0-9a-f]{32}", headers[b"x-request-id"])


def test_programs_that_ask_all_the_time_have_lines_only_for_refusals(
    lines: list[dict[str, Any]],
) -> None:
    ask(answering(204), "/api/v2/write")
    ask(answering(200), "/api/v1/enforcer/exchange")
    ask(answering(200), "/health/live")
    ask(answering(401), "/api/v2/write")

    assert [(line["path"], line["status"]) for line in lines] == [("/api/v2/write", 401)]


def test_request_that_ends_by_an_error_has_a_line(lines: list[dict[str, Any]]) -> None:
    async def application(*_: Any) -> None:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError):
        ask(logged_requests(application))

    assert [line["status"] for line in lines] == ["none"]


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/join/sluice_j_4Hx9", f"/join/{MASK}"),
        ("/invitations/4Hx9:1q:zz/", f"/invitations/{MASK}/"),
        ("/reports/of/4Hx9/", f"/reports/of/{MASK}/"),
        ("/password/reset/key/1-c9q-4Hx9/", f"/password/reset/key/{MASK}/"),
        ("/confirm-email/4Hx9:1q/", f"/confirm-email/{MASK}/"),
        ("/reports/sent/", "/reports/sent/"),
        ("/settings/invitations/3/withdraw/", f"/settings/invitations/{MASK}/withdraw/"),
    ],
)
def test_access_line_shows_no_secret_of_an_address(
    path: str, shown: str, lines: list[dict[str, Any]]
) -> None:
    ask(answering(200), path)

    assert lines[0]["path"] == shown
    assert "hidden" not in json.dumps(lines)


def routes(patterns: list[Any], before: str = "") -> Iterator[str]:
    for one in patterns:
        route = before + str(one.pattern)
        if isinstance(one, URLResolver):
            yield from routes(one.url_patterns, route)
        elif isinstance(one, URLPattern):
            yield route


def test_every_address_with_a_text_in_it_is_masked_or_known_to_be_harmless() -> None:
    found = set(routes(get_resolver().url_patterns))
    texts = {route for route in found if re.search(r"<(?!int:)|\(\?P<", route)}
    assert {"join/<str:secret>", "reports/of/<str:secret>/"} <= texts

    shown = set()
    for route in texts:
        address = "/" + re.sub(r"<[^>]+>", "4Hx9", re.sub(r"\(\?P<[^)]*\)", "4Hx9", route))
        if "4Hx9" in masked(re.sub(r"[\^$]|\\Z", "", address)):
            shown.add(route)

    assert shown == HARMLESS


def test_lines_of_the_thread_that_answers_have_the_id_and_no_query(
    lines: list[dict[str, Any]],
) -> None:
    # Django tells of what it does not find, with the whole address.
    headers, body = ask(product, "/api/v1/no/join/4Hx9", sent=SENT.encode())

    assert headers[b"x-request-id"] == SENT.encode()
    assert {line["request_id"] for line in lines} == {SENT}
    assert {"django.request", "sluice.access"} <= {line["logger"] for line in lines}
    assert "4Hx9" not in json.dumps(lines)
    assert "hidden" not in json.dumps(lines)
    assert b"not_found" in body


def test_error_page_tells_the_number_of_the_request() -> None:
    from django.test import RequestFactory

    from web.views.errors import server_error

    with working_on(request_id=SENT):
        inside = server_error(RequestFactory().get("/"))
    outside = server_error(RequestFactory().get("/"))

    assert f"tell this number: <code>{SENT}</code>".encode() in inside.content
    assert b"number" not in outside.content
