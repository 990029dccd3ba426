"""The ASGI application: a layer for writes, and behind it Django in threads."""

from typing import Any

from a2wsgi import WSGIMiddleware

# Django is set up by it, so models can be imported after it.
from config.wsgi import application as django_application
from ingest.asgi import (
    Application,
    Receive,
    Send,
    ServerScope,
    marked_ends,
    whole_bodies,
    within_time,
)
from ingest.write_app import Writes

THREADS = 8
"""Of one process; so many pages are made at once."""
_FORWARDED = (b"x-forwarded-proto", b"https")


def trusted_socket(application: Application) -> Application:
    """Wraps an application so that who comes by the machine's own socket may say it is secure.

    Nobody can listen there; it has no address, while everybody else has.
    """

    async def call(scope: ServerScope, receive: Receive, send: Send) -> None:
        if scope.get("client") is None and _FORWARDED in scope.get("headers", ()):
            scope = {**scope, "scheme": "https"}
        await application(scope, receive, send)

    return call


_in_threads: Any = WSGIMiddleware(marked_ends(django_application), workers=THREADS)
application = trusted_socket(within_time(Writes(whole_bodies(_in_threads))))
