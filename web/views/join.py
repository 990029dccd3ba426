"""What a host asks that is to be connected: the script of its line, then its agent and keys."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from ipaddress import ip_address
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from accounts.authentication import secret_of
from accounts.errors import AccountsError, AlreadyExists
from accounts.models import Collects, JoinMode, JoinToken, Runs
from accounts.services.join_tokens import find_join_token
from advisor.decisions.joining import Asking, join
from advisor.errors import EnrolmentRefused
from ingest.core.lengths import LONGEST_DEVICE, LONGEST_PATH
from web.agent_archive import INSTALLER, archive_of
from web.api.v1.rate_limit import take_of_address
from web.client_address import client_address

MOST_BYTES = 64 * 1024
MOST_NAMES = 512
"""Of interfaces or disks: more of them are of no real host."""
LONGEST_WORD = 200
LONGEST_INTERVAL_S = 60


@csrf_exempt
@never_cache
@require_http_methods(["GET", "POST"])
def join_host(request: HttpRequest, secret: str) -> HttpResponse:
    """GET: the script; POST: one archive, or in words why there is none."""
    taken = take_of_address(client_address(request))
    if not taken.may:
        reason = f"too many hosts ask from this address; wait {taken.wait_s} s and try again"
        return _refused(request, reason, status=429)
    try:
        if request.method == "POST":
            return _joined(request, secret)
        token = find_join_token(secret, now=timezone.now())
    except AlreadyExists as error:
        return _refused(request, str(error), status=409)
    except EnrolmentRefused as error:
        return _refused(request, str(error), status=503)
    except AccountsError as error:
        return _refused(request, str(error), status=410)
    if reason := why_unsafe(request):
        return _refused(request, reason, status=400)
    return _text(_script(request, token, secret))


def why_unsafe(request: HttpRequest) -> str:
    """Why keys may not travel as this request did; empty over https and on this machine."""
    host = urlsplit(f"//{request.get_host()}").hostname or ""
    if request.is_secure() or _is_loopback(host):
        return ""
    return (
        "this server was reached by plain http, which would show the host's keys to everybody on "
        "the way. Use its https address; docs/operations.md says how to give it one"
    )


def _is_loopback(name: str) -> bool:
    try:
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


def _refused(request: HttpRequest, reason: str, *, status: int) -> HttpResponse:
    if request.method == "POST":
        return _text(f"{reason}\n", status=status)
    # `curl -f` drops an answer with another status, and the person would read nothing.
    return _text(f"printf 'sluice: %s\\n' {shlex.quote(reason)} >&2\nexit 1\n")


def _text(text: str, *, status: int = 200) -> HttpResponse:
    return HttpResponse(text, status=status, content_type="text/plain; charset=utf-8")


def _script(request: HttpRequest, token: JoinToken, secret: str) -> str:
    settings = {
        "SLUICE_URL": request.build_absolute_uri("/").rstrip("/"),
        "SLUICE_JOIN": secret,
        "SLUICE_RUNS": token.runs,
        "SLUICE_COLLECTS": token.collects,
        "SLUICE_NAME": token.host_name,
    }
    lines = "".join(f"{name}={shlex.quote(value)}\n" for name, value in settings.items())
    return f"#!/bin/sh\n{lines}\n{(INSTALLER / 'install.sh').read_text()}"


def _joined(request: HttpRequest, secret: str) -> HttpResponse:
    announced = request.META.get("CONTENT_LENGTH") or ""
    if not announced.isdecimal() or int(announced) > MOST_BYTES:
        return _text(f"send at most {MOST_BYTES} bytes, and say how many\n", status=413)
    if reason := why_unsafe(request):
        return _text(f"{reason}\n", status=400)
    joined = join(secret=secret, asking=_asking(request), now=timezone.now())
    archive = archive_of(files=joined.files, is_dry_run=joined.mode == JoinMode.OBSERVE)
    return HttpResponse(archive, content_type="application/gzip")


def _asking(request: HttpRequest) -> Asking:
    said = request.POST
    is_reader = said.get("collects") != Collects.TELEGRAF
    return Asking(
        host_name=said.get("host", ""),
        url=request.build_absolute_uri("/").rstrip("/"),
        address=client_address(request),
        agent_token=secret_of(request.headers.get("Authorization", "")),
        clock=_clock(said.get("clock", "")),
        collects=Collects.READER if is_reader else Collects.TELEGRAF,
        why_collects=_word(said, "why_collects"),
        system=_word(said, "system"),
        kernel=_word(said, "kernel"),
        cgroups=_word(said, "cgroups"),
        runs=Runs.SERVICE if said.get("runs") == Runs.SERVICE else Runs.FOREGROUND,
        interfaces=_names(said, "interfaces"),
        disks=_names(said, "disks"),
        subtrees=_names(said, "subtrees"),
        interval_s=_interval(said.get("interval", "")),
        state_dir=_path(said.get("state_dir", "")),
        has_ca_file=said.get("ca_file") == "yes",
    )


def _word(said: QueryDict, key: str) -> str:
    text = said.get(key, "")[:LONGEST_WORD]
    return "".join(letter for letter in text if letter.isprintable())


def _names(said: QueryDict, key: str) -> tuple[str, ...]:
    names = [one for one in said.get(key, "").split() if one.isprintable()]
    return tuple(sorted({one for one in names if len(one) <= LONGEST_DEVICE}))[:MOST_NAMES]


def _path(text: str) -> str:
    is_path = text.startswith("/") and text.isprintable() and len(text) <= LONGEST_PATH
    return text if is_path else ""


def _interval(text: str) -> int | None:
    """Seconds between samples; None is as the agent does by itself."""
    seconds = int(text) if text.isascii() and text.isdecimal() and len(text) < 3 else 0
    return seconds if 1 <= seconds <= LONGEST_INTERVAL_S else None


def _clock(text: str) -> datetime | None:
    try:
        return datetime.fromtimestamp(int(text), tz=UTC)
    except (ValueError, OverflowError, OSError):
        return None
