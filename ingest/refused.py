"""What was refused of bodies is kept for people to see: a line of each reason.

A measurement that no source knows is sent every few seconds as long as nobody changes it. So it
is counted (`ingest.unknown_measurements`), and a line of it is kept when it is new on a host; else
the table would hold nothing else within minutes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from accounts.models import Organisation, Token
from ingest.core.batch import Rejection
from ingest.core.line_protocol import excerpt
from ingest.models import RejectedLine
from ingest.unknown_measurements import count_unknown

KEPT_REJECTIONS = 1000
"""So many refused lines are kept per organisation, so that a flood of them cannot fill a disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """What was refused of a body; `unknown` counts lines by host and measurement."""

    token: Token
    rejections: Sequence[Rejection]
    unknown: Mapping[tuple[str, str], int]


def note_refused(every: Iterable[Refused], *, now: datetime) -> None:
    """Keep what was refused of bodies that are stored in one transaction.

    Rows are locked in one order, whatever came first, so no two writers can wait for each other.
    """
    by_organisation: dict[int, list[Refused]] = defaultdict(list)
    for one in every:
        if one.rejections or one.unknown:
            by_organisation[one.token.organisation_id].append(one)
    for _, own in sorted(by_organisation.items()):
        _note(own[0].token.organisation, own, now=now)


def record_oversized_line(start: bytes, *, reason: str, token: Token, now: datetime) -> None:
    """Record a line that was too large to be read whole; `start` is its first part."""
    line = excerpt(start.decode("utf-8", "replace"))
    rejection = Rejection(line_number=1, line=line, reason=reason, line_count=1)
    note_refused([Refused(token=token, rejections=[rejection], unknown={})], now=now)


def _note(organisation: Organisation, every: Sequence[Refused], *, now: datetime) -> None:
    unknown: Counter[tuple[str, str]] = Counter()
    for one in every:
        unknown.update(one.unknown)
    told = count_unknown(organisation, unknown, now=now) if unknown else frozenset()
    rows = [
        _row(one.token, rejection, now)
        for one in every
        for rejection in one.rejections
        if rejection.measurement not in told
    ]
    if not rows:
        return
    RejectedLine.objects.bulk_create(rows)
    newest = RejectedLine.objects.filter(organisation=organisation).order_by("-received_at", "-pk")
    expired = newest.values_list("pk", flat=True)[KEPT_REJECTIONS:]
    RejectedLine.objects.filter(pk__in=list(expired)).delete()


def _row(token: Token, rejection: Rejection, now: datetime) -> RejectedLine:
    return RejectedLine(
        organisation_id=token.organisation_id,
        token=token,
        received_at=now,
        line_number=rejection.line_number,
        line=rejection.line,
        reason=rejection.reason,
        line_count=rejection.line_count,
    )
