"""A WSGI application that answers with the body that Django sees, behind the product's layer."""

import os

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest

from ingest.chunked_body import Application, ChunkedBody, Environ, StartResponse

LIMIT_BYTES = 100_000

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
settings.DATA_UPLOAD_MAX_MEMORY_SIZE = None


def django_body(environ: Environ, start_response: StartResponse) -> list[bytes]:
    body = WSGIRequest(environ).body
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]


def without_end_mark(application: Application) -> Application:
    """A server that does not promise that its input ends where the body ends."""

    def server(environ: Environ, start_response: StartResponse) -> object:
        del environ["wsgi.input_terminated"]
        return application(environ, start_response)

    return server


wrapped = ChunkedBody(django_body, max_body_bytes=LIMIT_BYTES)
bare = django_body
unterminated = without_end_mark(wrapped)
