"""The outermost layer of the web server: an id for each request, and one line in the log."""

from __future__ import annotations

import logging
import time
from collections.abc import MutableMapping
from typing import Any

from accounts.log_context import REQUEST_ID_HEADER, taken_request_id, working_on
from config.secret_paths import masked
from ingest.asgi import Application, Receive, Send, ServerScope

log = logging.getLogger("sluice.access")

_HEADER = REQUEST_ID_HEADER.lower().encode()
_LONGEST_PATH = 500
ROUTINE = (
    "/api/v2/write", "/write", "/api/v1/write", "/v1/metrics", "/health", "/ping", "/metrics",
    "/api/v1/enforcer/", "/static/",
)  # fmt: skip
"""What programs ask every few seconds: such a request has a line at INFO only if it failed."""


def logged_requests(application: Application) -> Application:
    """Wraps an application: each answer has the id of its request, and each request a line."""

    async def call(scope: ServerScope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await application(scope, receive, send)
        began_s = time.perf_counter()
        status: int | None = None
        with working_on(request_id=_request_id(scope)) as fields:
            own = (_HEADER, str(fields["request_id"]).encode())

            async def send_with_id(message: MutableMapping[str, Any]) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = message["status"]
                    message = {**message, "headers": [*message.get("headers", ()), own]}
                await send(message)

            try:
                await application(scope, receive, send_with_id)
            finally:
                _write_line(scope, status, duration_s=time.perf_counter() - began_s)
        return None

    return call


def _request_id(scope: ServerScope) -> str:
    sent = next((value for name, value in scope["headers"] if name == _HEADER), b"")
    return taken_request_id(sent.decode("latin-1"))


def _write_line(scope: ServerScope, status: int | None, *, duration_s: float) -> None:
    """A request without a status was given up by its client, or ended by an error."""
    path: str = scope["path"]
    is_good = status is not None and status < 400
    level = logging.DEBUG if is_good and path.startswith(ROUTINE) else logging.INFO
    if log.isEnabledFor(level):
        about = {
            "method": scope["method"],
            "path": masked(path[:_LONGEST_PATH]),
            "status": "none" if status is None else status,
            "duration_ms": round(duration_s * 1000, 1),
        }
        log.log(level, "request", extra=about)
