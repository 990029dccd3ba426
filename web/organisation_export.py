"""All that is stored of an organisation, as a file that a browser or a program gets."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import nullcontext

from django.conf import settings
from django.http import StreamingHttpResponse
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import Organisation
from accounts.roles import Action
from accounts.row_wall import look_at, tell, walled
from accounts.services.audit import record
from accounts.services.export import export_parts

BEGAN, ENDED = "begin export", "export the organisation"
"""What the audit chain tells."""
CONTENT_TYPE = "application/zip"


def export_answer(organisation: Organisation, actor: Actor) -> StreamingHttpResponse:
    """The file while it is made: it is whole when the answer ends. It takes an owner."""
    actor.require(Action.EXPORT_ORGANISATION)
    now = timezone.now()
    record(
        organisation=organisation, actor=actor, action=BEGAN, subject=organisation.slug, now=now
    )
    answer = StreamingHttpResponse(_parts(organisation, actor), content_type=CONTENT_TYPE)
    name = f"{organisation.slug}-{now:%Y-%m-%d}.zip"
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    answer.headers["Cache-Control"] = "no-store"
    # What is packed already is not packed again, and no proxy waits for the whole.
    answer.headers["Content-Encoding"] = "identity"
    answer.headers["X-Accel-Buffering"] = "no"
    return answer


def _parts(organisation: Organisation, actor: Actor) -> Iterator[bytes]:
    """The request is over by now, and its wall with it; so this has its own."""
    began_s, size_bytes = time.monotonic(), 0
    with walled() if settings.HAS_ROW_WALLS else nullcontext():
        look_at(organisation.pk)
        tell()
        for data in export_parts(organisation, now=timezone.now()):
            size_bytes += len(data)
            yield data
        took_ms = round(1000 * (time.monotonic() - began_s))
        record(
            organisation=organisation, actor=actor, action=ENDED, subject=organisation.slug,
            now=timezone.now(), details={"size_bytes": size_bytes, "took_ms": took_ms},
        )  # fmt: skip
