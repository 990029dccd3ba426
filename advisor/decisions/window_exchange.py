"""What the hosts of a datastore do now, held for three periods in the queue's server.

Each host's figures are one field of its datastore's hash. One script writes a host's own and reads
all that are fresh, by the clock of the server: hosts' clocks may differ, and so may web servers'.
"""

from __future__ import annotations

import time
from dataclasses import astuple, fields, replace
from functools import cache
from typing import Any

import redis
from django.conf import settings
from django.db.models import Exists, OuterRef, Prefetch, prefetch_related_objects

from advisor.errors import ExchangeRefused, ExchangeUnavailable
from advisor.models import Attachment
from enforcers.exchange import (
    KEPT_PERIODS,
    PERIOD_S,
    DatastoreLoad,
    Exchange,
    HostPart,
    pooled,
)
from ingest.models import Host

KEPT_S = KEPT_PERIODS * PERIOD_S
TIMEOUT_S = 0.25
"""A host waits no longer for the server; it has an answer without it."""
AWAY_S = 5.0
"""A server that did not answer is left alone for so long: a whole fleet asks each period."""
NONE = "-"
_FIGURES = tuple(field.name for field in fields(HostPart))[1:]

_SHARE = """
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local host, period_end, figures, kept = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local held = redis.call('HGETALL', KEYS[1])
local fresh = {}
for place = 1, #held, 2 do
    local at, ended, theirs = string.match(held[place + 1], '^(%S+) (%S+) (.+)$')
    local age = now - tonumber(at)
    if age < 0 or age >= kept then
        redis.call('HDEL', KEYS[1], held[place])
    elseif held[place] ~= host then
        fresh[#fresh + 1] = theirs
    elseif tonumber(ended) > tonumber(period_end) then
        fresh[#fresh + 1] = theirs
        figures = nil
    end
end
if figures then
    fresh[#fresh + 1] = figures
    redis.call('HSET', KEYS[1], host, string.format('%.0f %s %s', now, period_end, figures))
end
redis.call('PEXPIRE', KEYS[1], kept)
return fresh
"""
"""A host's figures that come after those of a later period, delayed on the way, change nothing."""


def share_load(*, host: Host, told: Exchange) -> DatastoreLoad:
    """Keep what a host tells, and answer with the load of the datastore over all its hosts.

    Raises ExchangeRefused if the host speaks for another, or of a datastore that it does not use,
    and ExchangeUnavailable while the queue's server is away.
    """
    if told.host != host.name:
        raise ExchangeRefused(f'this token is for "{host.name}", the figures for "{told.host}"')
    attachment = _attachment(host, told.resource)
    resource = attachment.resource
    load = pooled(_read(line) for line in _fresh_lines(resource.pk, host, told))
    return replace(
        load,
        threshold_ms=resource.threshold if resource.threshold > 0 else None,
        is_shared=attachment.is_shared,
    )


def _attachment(host: Host, name: str) -> Any:
    """The host's to the datastore of this name, with `is_shared`: whether others have one too."""
    others = Attachment.objects.filter(resource=OuterRef("resource")).exclude(
        host=OuterRef("host")
    )
    known = Attachment.objects.select_related("resource").annotate(is_shared=Exists(others))
    # They stay with the host for as long as it is remembered: a period costs no query.
    prefetch_related_objects([host], Prefetch("attachments", queryset=known))
    for attachment in host.attachments.all():
        if attachment.resource.name == name and attachment.resource.traits.has_windows:
            return attachment
    raise ExchangeRefused(f'{host.name} uses no datastore named "{name}"')


class _Server:
    """The queue's server, and until when it is left alone."""

    away_until_s = 0.0


def _fresh_lines(resource_pk: int, host: Host, told: Exchange) -> list[str]:
    if time.monotonic() < _Server.away_until_s:
        raise ExchangeUnavailable("the queue's server does not answer; go on alone")
    try:
        lines: list[str] = _script()(
            keys=[f"sluice:window:{resource_pk}"],
            args=[
                host.pk,
                f"{told.period_end.timestamp():.6f}",
                _written(told.part),
                round(KEPT_S * 1000),
            ],
        )
    except redis.RedisError as error:
        _Server.away_until_s = time.monotonic() + AWAY_S
        raise ExchangeUnavailable(f"the queue's server does not answer: {error}") from error
    return lines


def _written(part: HostPart) -> str:
    return " ".join(NONE if figure is None else repr(figure) for figure in astuple(part))


def _read(line: str) -> HostPart:
    """A line has as many words as its writer knew: those that came later are not known."""
    ios, *rest = line.split()
    figures = [None if word == NONE else float(word) for word in rest]
    known: dict[str, Any] = dict(zip(_FIGURES, figures, strict=False))
    return HostPart(ios=int(ios), **known)


@cache
def _script() -> Any:
    client = redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=TIMEOUT_S,
        socket_connect_timeout=TIMEOUT_S,
        decode_responses=True,
    )
    return client.register_script(_SHARE)
