"""The ASGI application: a layer for writes, and behind it Django in threads."""

from typing import Any

from django.conf import settings

from config.request_log import logged_requests
from config.wsgi import application as django_application

# Django is set up by it, so models can be imported after it.
from ingest.admission import SAMPLE_PATHS
from ingest.asgi import (
    Application,
    Receive,
    Send,
    ServerScope,
    marked_ends,
    within_time,
)
from ingest.chunked_body import DRAINED_BYTES
from ingest.full_disk import FullDisk
from ingest.threaded_answers import ThreadedAnswers
from ingest.whole_requests import Apart, Room, WholeRequests
from ingest.write_app import Writes

THREADS = 8
"""Of one process; so many pages are made at once."""
AGENTS = "/api/v1/enforcer/"
AGENT_THREADS = 3
"""For agents. However many ask, people have their own threads; and more that compute at once only
take the interpreter from each other: of two processors more is not to be had."""
SAMPLE_THREADS = 8
"""For samples in other protocols than that of InfluxDB 2, which `ingest.write_app` stores. With
half as many, eight senders waited half as long again for their commits."""
LONGEST_SAMPLES_BYTES = max(settings.MAX_BODY_BYTES, DRAINED_BYTES)
"""One that is too large is read on to here, so that its sender sees why it is refused."""
SAMPLE_ROOM_BYTES = 4 * LONGEST_SAMPLES_BYTES
"""For those of their bodies that are longer than 64 KiB."""
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


# The supervisor asks for the last one: a server with much to do is alive.
_in_threads: Any = ThreadedAnswers(
    marked_ends(django_application), workers=THREADS + AGENT_THREADS + SAMPLE_THREADS + 1
)
# Forms have some room beside the files that people upload.
_longest_bytes = max(settings.MAX_UPLOAD_BYTES, settings.MAX_BODY_BYTES) + 1024 * 1024
# That of agents and of all others.
_room = Room()
_pages = WholeRequests(
    _in_threads,
    longest_bytes=_longest_bytes,
    threads=THREADS,
    room=_room,
    out_of_turn=["/ping"],
    apart=[
        Apart(begins=(AGENTS,), threads=AGENT_THREADS, longest_bytes=_longest_bytes, room=_room),
        Apart(
            begins=SAMPLE_PATHS,
            threads=SAMPLE_THREADS,
            longest_bytes=LONGEST_SAMPLES_BYTES,
            room=Room(SAMPLE_ROOM_BYTES),
            are_sent_again=True,
        ),
    ],
)
_writes: Application = Writes(_pages)
if settings.LEAST_FREE_BYTES:
    _writes = FullDisk(_writes, settings.DATA_DIR.root, least_free_bytes=settings.LEAST_FREE_BYTES)
application = logged_requests(trusted_socket(within_time(_writes)))
