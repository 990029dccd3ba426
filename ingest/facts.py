"""Facts are kept as rows, one for each value, and read as they hold.

Collectors say the same again and again, so a process remembers what it wrote: what is new is
written at once, with all else that the body says of the same subject; what is known already only
every ten minutes, so that it does not count as old.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from threading import Lock

from django.db import connection
from django.db.models import QuerySet

from accounts.models import Organisation
from ingest.core.identity.facts import Place
from ingest.core.lengths import LONGEST_HOST_NAME, LONGEST_PATH
from ingest.core.mapping import Fact
from ingest.models import Host, StatedFact

REPEAT = timedelta(minutes=10)
"""So often a known fact is written again."""
HOLDS = 2 * REPEAT + timedelta(minutes=5)
"""So long before the last word of its host a fact holds without being said again."""
SILENT_HOST = timedelta(days=1)
"""What a host said last holds for so long after it."""
MOST_REMEMBERED = 200_000
_LONGEST_NAME, _LONGEST_KIND = 128, 16
_LONGEST_BYTES = 2400
"""Of all columns of the unique index together."""

_Subject = tuple[int, str, str, str]


class FactMemory:
    """When this process last wrote each fact, the longest ago first."""

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._written: OrderedDict[tuple[int, Fact], datetime] = OrderedDict()
        self._most = most
        self._lock = Lock()

    def due(self, organisation: int, facts: Iterable[Fact], *, now: datetime) -> list[Fact]:
        """Those of new subjects or values with all of their subject, and those to be repeated.

        Facts that cannot be kept are none.
        """
        by_subject: dict[_Subject, list[Fact]] = defaultdict(list)
        news: set[_Subject] = set()
        with self._lock:
            for fact in facts:
                subject = (organisation, fact.host, fact.kind, fact.subject)
                written = self._written.get((organisation, fact))
                if written is None and not _fits(fact):
                    # It is never written, so it would be news again and again.
                    continue
                by_subject[subject].append(fact)
                if written is None or now - written >= REPEAT:
                    news.add(subject)
        return [fact for subject in by_subject if subject in news for fact in by_subject[subject]]

    def wrote(self, organisation: int, facts: Iterable[Fact], *, now: datetime) -> None:
        """Remember that these were written; the longest ago are forgotten."""
        with self._lock:
            for fact in facts:
                self._written[organisation, fact] = now
                self._written.move_to_end((organisation, fact))
            while len(self._written) > self._most:
                self._written.popitem(last=False)

    def forget(self) -> None:
        """Forget all, as after a write that was undone."""
        with self._lock:
            self._written.clear()


MEMORY = FactMemory()


def note_facts(
    organisation: Organisation,
    facts: Sequence[Fact],
    *,
    now: datetime,
    memory: FactMemory = MEMORY,
) -> int:
    """Keep what a body says, in one statement if anything is to be written; how many facts."""
    due = memory.due(organisation.pk, facts, now=now)
    if not due:
        return 0
    rows = sorted(set(due))
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO ingest_fact AS known
                   (organisation_id, host, kind, subject, name, value, first_seen_at, last_seen_at)
            SELECT %(organisation)s, host, kind, subject, name, value, %(now)s, %(now)s
              FROM unnest(%(hosts)s::text[], %(kinds)s::text[], %(subjects)s::text[],
                          %(names)s::text[], %(values)s::text[])
                   AS said(host, kind, subject, name, value)
                ON CONFLICT (organisation_id, host, kind, subject, name, value) DO UPDATE
               SET last_seen_at = greatest(known.last_seen_at, excluded.last_seen_at),
                   -- A value that comes back is a new one: others were stated meanwhile.
                   first_seen_at = CASE WHEN known.last_seen_at < %(ended)s
                                        THEN excluded.first_seen_at ELSE known.first_seen_at END
            """,
            {
                "organisation": organisation.pk,
                "now": now,
                "ended": now - HOLDS,
                "hosts": [fact.host for fact in rows],
                "kinds": [fact.kind for fact in rows],
                "subjects": [fact.subject for fact in rows],
                "names": [fact.name for fact in rows],
                "values": [fact.value for fact in rows],
            },
        )
    memory.wrote(organisation.pk, due, now=now)
    return len(rows)


def _fits(fact: Fact) -> bool:
    """Whether a fact can be kept: its texts are short enough and hold no NUL."""
    texts = (fact.host, fact.kind, fact.subject, fact.name, fact.value)
    return (
        bool(fact.host)
        and len(fact.host) <= LONGEST_HOST_NAME
        and len(fact.kind) <= _LONGEST_KIND
        and len(fact.subject) <= LONGEST_PATH
        and len(fact.name) <= _LONGEST_NAME
        and not any("\0" in text for text in texts)
        and sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) <= _LONGEST_BYTES
        and not any("\ud800" <= letter <= "\udfff" for text in texts for letter in text)
    )


def live_hosts(organisation: Organisation, *, after: datetime, now: datetime) -> frozenset[str]:
    """The hosts that send now, so long after a time that what was said then does not hold."""
    rows = Host.objects.filter(
        organisation=organisation, last_sample_at__gt=max(after + HOLDS, now - HOLDS)
    )
    return frozenset(rows.values_list("name", flat=True))


def current_facts(
    organisation: Organisation, *, now: datetime, hosts: Collection[str] | None = None
) -> list[Fact]:
    """What collectors say now, of all hosts or of these.

    Of several values of one name those hold that were said again since the newest of them came
    up. What a host does not say any more ends while it sends anything; a host that is silent keeps
    what it said last, for a day.
    """
    rows = StatedFact.objects.filter(
        organisation=organisation, last_seen_at__gte=now - SILENT_HOST - HOLDS
    )
    heard = Host.objects.filter(organisation=organisation).exclude(heard_at=None)
    if hosts is not None:
        rows, heard = rows.filter(host__in=hosts), heard.filter(name__in=hosts)
    newest = {name: at for name, at in heard.values_list("name", "heard_at") if at is not None}
    groups: dict[tuple[Place, str], list[_Row]] = defaultdict(list)
    for host, kind, subject, name, value, first, last in _columns(rows).iterator():
        groups[Place(host, kind, subject), name].append((value, first, last))
        newest[host] = max(newest.get(host, last), last)
    return [
        Fact(host=place.host, kind=place.kind, subject=place.subject, name=name, value=value)
        for (place, name), values in groups.items()
        if newest[place.host] >= now - SILENT_HOST
        for value in _holding(values, since=newest[place.host] - HOLDS)
    ]


_Row = tuple[str, datetime, datetime]


def _columns(
    rows: QuerySet[StatedFact],
) -> QuerySet[StatedFact, tuple[str, str, str, str, str, datetime, datetime]]:
    return rows.order_by().values_list(
        "host", "kind", "subject", "name", "value", "first_seen_at", "last_seen_at"
    )


def _holding(values: Sequence[_Row], *, since: datetime) -> list[str]:
    """The values that hold: said since the newest came up, and not too long ago."""
    latest = max(first for _, first, _ in values)
    return [value for value, _, last in values if last >= latest and last >= since]


def drop_old_facts(*, before: datetime) -> int:
    """Remove what nobody has said since; how many rows."""
    dropped, _ = StatedFact.objects.filter(last_seen_at__lt=before).delete()
    return dropped
