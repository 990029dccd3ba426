"""What every request to the API goes through, before and behind its route.

A token, how often it may ask, the size of the body; what changes something is one transaction,
and under an Idempotency-Key it is done once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from accounts.authentication import authenticate_person
from accounts.models import KeptAnswer, Scope, Token
from accounts.models.kept_answer import LONGEST_KEY
from accounts.roles import Action
from accounts.services.kept_answers import claim_key, keep_answer
from web.access import Workspace
from web.api.v1.problem import Refused, problem_answer, problem_of
from web.api.v1.rate_limit import Taken, take
from web.replica.own_changes import note_change
from web.replica.reads import read_for

MOST_BODY_BYTES = 1024 * 1024
MOST_FILE_BYTES = 16 * 1024 * 1024
SAFE = ("GET", "HEAD", "OPTIONS")
ONLY_READS = ("what-if", "plan")
"""The last words of addresses that are sent a body and change nothing."""
OF_FILES = ("plan", "apply")
OF_UPLOADS = ("imports",)
"""Of these the body is a file, which is read in parts."""
OF_THE_PRIMARY = ("status", "verification")
"""Whether all is well, and a chain that is locked to be read; other reads may be of a replica."""
_KEPT_HEADERS = ("Content-Type", "ETag", "Location")
STREAMED = ("export",)
"""Their answer is a file, which is made anew each time."""
_ATTRIBUTE = "sluice_asker"
_KEPT_INSTEAD = "sluice_kept_instead"

View = Callable[..., HttpResponse]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """A token, and the person as whom it acts."""

    token: Token
    workspace: Workspace


def asker_of(request: HttpRequest) -> Workspace:
    """As whom the request acts, in the one organisation of its token."""
    asker: Asker = getattr(request, _ATTRIBUTE)
    return asker.workspace


def token_of(request: HttpRequest) -> Token:
    """The token of the request."""
    asker: Asker = getattr(request, _ATTRIBUTE)
    return asker.token


def keep_instead(request: HttpRequest, plain: Mapping[str, Any]) -> None:
    """Keep this under the request's key, for an answer with a secret, which nobody stores."""
    setattr(request, _KEPT_INSTEAD, json.dumps(plain, cls=DjangoJSONEncoder))


def acting(request: HttpRequest, action: Action) -> Workspace:
    """The same, of whom the role allows the action; raises NotAllowed."""
    workspace = asker_of(request)
    workspace.actor.require(action)
    return workspace


def behind_the_door(view: View, names: Callable[[str], frozenset[str]]) -> View:
    """The view of a route as it is reached; `names` are those of its query, for a method."""

    @csrf_exempt
    @wraps(view)
    def entered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        headers: dict[str, str] = {}
        try:
            asker, taken = _let_in(request)
            headers = taken.headers
            _require_turn(taken)
            _check_size(request)
            _check_query(request, names)
            answer = _answered(request, asker, lambda: view(request, *args, **kwargs))
            _note_change(request, asker)
        except Exception as error:  # noqa: BLE001  the boundary: every error is a problem to tell
            answer = problem_of(error)
        for name, value in headers.items():
            answer.headers[name] = value
        answer.headers.setdefault("Cache-Control", "private, no-cache")
        return answer

    return entered


def _let_in(request: HttpRequest) -> tuple[Asker, Taken]:
    shown = request.headers.get("Authorization", "")
    # A browser sends by itself what it once was told as a password.
    is_password = shown.lower().startswith("basic")
    token, membership = authenticate_person(
        "" if is_password else shown,
        scope=Scope.READ if _only_reads(request) else Scope.WRITE,
        now=timezone.now(),
    )
    asker = Asker(
        token=token, workspace=Workspace(membership=membership, memberships=(membership,))
    )
    setattr(request, _ATTRIBUTE, asker)
    return asker, take(token.pk)


def _only_reads(request: HttpRequest) -> bool:
    return request.method in SAFE or _last_word(request) in ONLY_READS


def _require_turn(taken: Taken) -> None:
    if not taken.may:
        raise Refused(
            429, "too_many_requests",
            f"this token may ask {taken.most} times a minute; wait {taken.wait_s} s",
            Retry_After=str(taken.wait_s),
        )  # fmt: skip


def _last_word(request: HttpRequest) -> str:
    return request.path.rpartition("/")[2]


def length_of(request: HttpRequest) -> int | None:
    """How long the body is, as it is announced; None for no number."""
    announced = request.META.get("CONTENT_LENGTH") or "0"
    return int(announced) if announced.isdecimal() else None


def _check_size(request: HttpRequest) -> None:
    word, length = _last_word(request), length_of(request)
    most = MOST_FILE_BYTES if word in OF_FILES else MOST_BODY_BYTES
    if word in OF_UPLOADS:
        most = settings.MAX_UPLOAD_BYTES
    if length is None or length > most:
        raise Refused(413, "too_large", f"a body has at most {most} bytes here")


def _check_query(request: HttpRequest, names: Callable[[str], frozenset[str]]) -> None:
    """A filter that is mistyped would answer with everything."""
    method = "GET" if request.method == "HEAD" else request.method or ""
    unknown = sorted(request.GET.keys() - names(method))
    if unknown:
        raise Refused(422, "invalid", f'the address asks "{unknown[0][:40]}", which is not known')


def _answered(
    request: HttpRequest, asker: Asker, view: Callable[[], HttpResponse]
) -> HttpResponse:
    if request.method in SAFE:
        return _read(request, asker, view)
    key = request.headers.get("Idempotency-Key", "")
    if len(key) > LONGEST_KEY or not key.isprintable():
        raise Refused(
            422, "invalid", f"an Idempotency-Key has up to {LONGEST_KEY} printable characters"
        )
    if key and _last_word(request) in STREAMED:
        raise Refused(422, "invalid", "a file is made anew each time, so it takes no key")
    with transaction.atomic():
        known = _claimed(request, asker.token, key) if key else None
        if known is not None:
            return known
        answer = _plain(request, view())
        if answer.status_code >= HTTPStatus.BAD_REQUEST:
            # Nothing was done, so nothing is kept either: it can be asked for again.
            transaction.set_rollback(True)
        elif key:
            headers = {name: answer[name] for name in _KEPT_HEADERS if name in answer}
            keep_answer(
                token=asker.token, key=key, status=answer.status_code, headers=headers,
                body=getattr(request, _KEPT_INSTEAD, answer.content.decode()),
            )  # fmt: skip
    return answer


def _claimed(request: HttpRequest, token: Token, key: str) -> HttpResponse | None:
    """The answer that was given under this key; None for a new one."""
    said = [request.method or "", request.get_full_path(), request.headers.get("If-Match", "")]
    # A file is too long to be held; under the same key its name and length say which it is.
    is_file = _last_word(request) in OF_UPLOADS
    body = str(length_of(request)).encode() if is_file else request.body
    asked = hashlib.sha256("\n".join(said).encode() + b"\n" + body).hexdigest()
    known = claim_key(token=token, key=key, asked=asked, now=timezone.now())
    if known is None:
        return None
    if known.asked != asked:
        raise Refused(422, "key_in_use", "something else was asked for under this Idempotency-Key")
    return _replayed(known)


def _replayed(known: KeptAnswer) -> HttpResponse:
    answer = HttpResponse(known.body, status=known.status)
    for name, value in known.headers.items():
        answer.headers[name] = value
    answer.headers["Idempotency-Replayed"] = "true"
    return answer


def _note_change(request: HttpRequest, asker: Asker) -> None:
    if settings.HAS_REPLICA and not _only_reads(request):
        note_change(asker.workspace.membership.user_id)


def _read(request: HttpRequest, asker: Asker, view: Callable[[], HttpResponse]) -> HttpResponse:
    """A route that answers GET answers HEAD; who has what is answered gets no body."""
    method = request.method
    if method == "HEAD":
        request.method = "GET"
    try:
        answer = _plain(request, _found(request, asker, view))
    finally:
        request.method = method
    known = request.headers.get("If-None-Match", "")
    tag = answer.headers.get("ETag", "")
    if tag and answer.status_code == HTTPStatus.OK and is_among(tag, known):
        unchanged = HttpResponse(status=304)
        unchanged.headers["ETag"] = tag
        return unchanged
    return answer


def _found(request: HttpRequest, asker: Asker, view: Callable[[], HttpResponse]) -> HttpResponse:
    if _last_word(request) in OF_THE_PRIMARY:
        return view()
    organisation = asker.token.organisation_id
    return read_for(asker.workspace.membership.user_id, view, organisation=organisation)


def is_among(tag: str, known: str) -> bool:
    """Whether a header names this tag; packing an answer on its way marks its tag as weak."""
    return known.strip() == "*" or tag in [
        one.strip().removeprefix("W/") for one in known.split(",")
    ]


def _plain(request: HttpRequest, answer: HttpResponse) -> HttpResponse:
    """The answer, as a problem where Django says in text that there is no such method."""
    if answer.status_code != HTTPStatus.METHOD_NOT_ALLOWED:
        return answer
    allowed = answer.headers.get("Allow", "")
    return problem_answer(
        405, "method_not_allowed", f"use {allowed} here, not {request.method}",
        headers={"Allow": allowed},
    )  # fmt: skip
