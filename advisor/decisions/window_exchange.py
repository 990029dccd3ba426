"""What the hosts of a datastore do now, and what they may do of limits that they hold together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, fields, replace
from typing import Any

from django.db.models import Exists, OuterRef, Prefetch, prefetch_related_objects

from advisor.decisions.joint_terms import joint_terms
from advisor.decisions.told_figures import fresh_lines
from advisor.errors import ExchangeRefused, ExchangeUnavailable
from advisor.models import Attachment
from enforcers.contract import decode, parse
from enforcers.exchange import DatastoreLoad, Exchange, HostPart, pooled
from enforcers.limit_exchange import LimitGrant, LimitsGranted, LimitsTold, LimitUse, encode_told
from enforcers.limit_split import granted
from ingest.models import Host

NONE = "-"
_FIGURES = tuple(field.name for field in fields(HostPart))[1:]


def share_load(*, host: Host, told: Exchange) -> DatastoreLoad:
    """Keep what a host tells, and answer with the load of the datastore over all its hosts.

    Raises ExchangeRefused if the host speaks for another, or of a datastore that it does not use,
    and ExchangeUnavailable while the queue's server is away.
    """
    attachment = _attachment(host, told)
    resource = attachment.resource
    lines = fresh_lines(
        f"sluice:window:{resource.pk}",
        host,
        period_end=told.period_end,
        figures=_written(told.part),
    )
    return replace(
        pooled(_read(line) for line in lines),
        threshold_ms=resource.threshold if resource.threshold > 0 else None,
        is_shared=attachment.is_shared,
    )


def share_limits(*, host: Host, told: LimitsTold) -> LimitsGranted:
    """Keep what a host tells of its limits, and answer with what each may do there.

    A limit that its document does not have is left out. Raises as `share_load` does.
    """
    resource = _attachment(host, told).resource
    terms = joint_terms(host, told)
    limits = tuple(
        terms[use.workload].bounded(use) for use in told.limits if use.workload in terms
    )
    if not limits:
        return LimitsGranted(limits=())
    lines = fresh_lines(
        f"sluice:limits:{resource.pk}",
        host,
        period_end=told.period_end,
        figures=encode_told(replace(told, limits=limits)).decode(),
    )
    others = _uses_of_others(host, told, lines)
    return LimitsGranted(
        limits=tuple(
            LimitGrant(
                workload=use.workload,
                part=granted(
                    use, others.get(use.workload, []), limit=terms[use.workload].joint_limit
                ),
            )
            for use in limits
        )
    )


def _attachment(host: Host, told: Exchange | LimitsTold) -> Any:
    """The host's to the datastore it tells of, with `is_shared`: whether others have one too."""
    if told.host != host.name:
        raise ExchangeRefused(f'this token is for "{host.name}", the figures for "{told.host}"')
    others = Attachment.objects.filter(resource=OuterRef("resource")).exclude(
        host=OuterRef("host")
    )
    known = Attachment.objects.select_related("resource").annotate(is_shared=Exists(others))
    # They stay with the host for as long as it is remembered: a period costs no query.
    prefetch_related_objects([host], Prefetch("attachments", queryset=known))
    for attachment in host.attachments.all():
        if attachment.resource.name == told.resource and attachment.resource.traits.has_windows:
            return attachment
    raise ExchangeRefused(f'{host.name} uses no datastore named "{told.resource}"')


def _written(part: HostPart) -> str:
    return " ".join(NONE if figure is None else repr(figure) for figure in astuple(part))


def _read(line: str) -> HostPart:
    """A line has as many words as its writer knew: those that came later are not known."""
    ios, *rest = line.split()
    figures = [None if word == NONE else float(word) for word in rest]
    known: dict[str, Any] = dict(zip(_FIGURES, figures, strict=False))
    return HostPart(ios=int(ios), **known)


def _uses_of_others(
    host: Host, told: LimitsTold, lines: Iterable[str]
) -> dict[str, list[LimitUse]]:
    """By workload what other hosts told of its limit."""
    found: dict[str, list[LimitUse]] = {}
    for line in lines:
        theirs = decode(LimitsTold, parse(line))
        if theirs.host != host.name:
            for use in theirs.limits:
                found.setdefault(use.workload, []).append(use)
        elif theirs.period_end > told.period_end:
            # Others count what it told later, so nothing is granted of this.
            raise ExchangeUnavailable(f"{host.name} has told of a later period already")
    return found
