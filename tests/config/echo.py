"""An application that answers with the body that Django sees, behind the product's layers."""

import os
from typing import Any

import django
from a2wsgi import WSGIMiddleware
from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest

from ingest.asgi import Application, marked_ends
from ingest.chunked_body import ChunkedBody, Environ, StartResponse

LIMIT_BYTES = 100_000

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
settings.DATA_UPLOAD_MAX_MEMORY_SIZE = None
django.setup()

from ingest.whole_requests import WholeRequests  # noqa: E402  (models can be imported now)


def django_body(environ: Environ, start_response: StartResponse) -> list[bytes]:
    body = WSGIRequest(environ).body
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]


def in_threads(application: Any) -> Application:
    middleware: Any = WSGIMiddleware(marked_ends(application))
    return WholeRequests(middleware, longest_bytes=1000 * LIMIT_BYTES, threads=8)


wrapped = in_threads(ChunkedBody(django_body, max_body_bytes=LIMIT_BYTES))
bare = in_threads(django_body)
