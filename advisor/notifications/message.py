"""A message about an incident: one sentence, the course of the last half hour, and where to go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.urls import reverse

from advisor.core.enumeration import listed
from advisor.core.notifying import News, Severity, Trouble
from advisor.history.levels import read_points
from advisor.models import Incident, Recommendation
from advisor.resource_kinds.registry import traits_of

COURSE = timedelta(minutes=30)
BARS = "▁▂▃▄▅▆▇█"
MOST_BARS = 30
_SUBJECTS = {News.BEGAN: "", News.GRAVER: "Worse: ", News.OVER: "Resolved: "}


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    words: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """What only mail can carry beside a message: its text as HTML, and a file."""

    html: str
    file_name: str = ""
    file: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What every channel can show; `facts` are for programs, `is_good` is an end."""

    subject: str
    lines: tuple[str, ...]
    links: tuple[Link, ...] = ()
    facts: Mapping[str, Any] | None = None
    is_good: bool = False

    @property
    def text(self) -> str:
        """All of it as plain text."""
        links = [f"{link.words}: {link.url}" for link in self.links]
        return "\n".join([*self.lines, *([""] if links else []), *links])

    def plain(self) -> dict[str, Any]:
        """As it is stored and as a webhook gets it."""
        return asdict(self)


def read_message(plain: Mapping[str, Any]) -> Message:
    """What `plain` wrote."""
    links = tuple(Link(**one) for one in plain["links"])
    return Message(**{**plain, "lines": tuple(plain["lines"]), "links": links})


def message_of(
    incident: Incident | None, trouble: Trouble, news: News, *, now: datetime
) -> Message:
    """What is to be said; without an incident, samples that came late disproved it."""
    facts = {
        "resource": trouble.resource, "news": news, "severity": trouble.severity.words,
        "since": trouble.since.isoformat(),
        "until": trouble.until and trouble.until.isoformat(),
    }  # fmt: skip
    if incident is None:
        return Message(
            subject=f"{_SUBJECTS[News.OVER]}{trouble.resource}",
            lines=("Samples that came late show no contention there: the alarm was false.",),
            facts=facts,
            is_good=True,
        )
    advice = _advice_for(incident, now) if news != News.OVER else None
    course = _course(incident, now)
    lines = [_sentence(incident, trouble, news, now), *_parties(incident), *course]
    if advice is not None:
        lines.append(f"Advice: {advice.summary}")
    return Message(
        subject=f"{_SUBJECTS[news]}{trouble.resource} {_state(trouble)}",
        lines=tuple(lines),
        links=_links(incident, advice),
        facts={**facts, "incident": incident.pk, "advice": advice and advice.summary},
        is_good=news == News.OVER,
    )


def trial_message(name: str) -> Message:
    """What the button to try a channel out sends."""
    return Message(
        subject="Sluice can reach you here",
        lines=(f"This is a trial of the channel {name}; nothing is wrong.",),
        links=_home(),
        is_good=True,
    )


def _state(trouble: Trouble) -> str:
    return {
        Severity.CONGESTED: "is congested",
        Severity.PROMISE_MISSED: "is congested, and a reservation is missed",
        Severity.STALLED: "is stalled",
    }[trouble.severity]


def _sentence(incident: Incident, trouble: Trouble, news: News, now: datetime) -> str:
    level = traits_of(incident.resource.kind).level
    minutes = max(1, round(((trouble.until or now) - trouble.since).total_seconds() / 60))
    lasting = f"{minutes} minute{'' if minutes == 1 else 's'}"
    if news == News.OVER:
        return f"{trouble.resource} is as it should be again, after {lasting}."
    began = f"{trouble.resource} {_state(trouble)} since {trouble.since:%Y-%m-%d %H:%M} UTC"
    if incident.peak_value is None:
        return f"{began}, for {lasting}: I/O waits there and none completes."
    worst = f"{level.noun} up to {level.text(incident.peak_value)}"
    if incident.threshold is None:
        return f"{began}, for {lasting}: {worst}."
    return f"{began}, for {lasting}: {worst}, above {level.text(incident.threshold)}."


def _parties(incident: Incident) -> list[str]:
    found = []
    if incident.aggressors:
        names = [str(one["workload"]) for one in incident.aggressors]
        found.append(f"More than its due takes: {listed(names[:3])}{_more(names, 3)}.")
    if incident.victims:
        names = [str(one["workload"]) for one in incident.victims]
        found.append(f"Less than its due gets: {listed(names[:5])}{_more(names, 5)}.")
    return found


def _more(names: Sequence[str], shown: int) -> str:
    return f" and {len(names) - shown} more" if len(names) > shown else ""


def _course(incident: Incident, now: datetime) -> list[str]:
    """The last half hour as bars, which every channel shows as they are."""
    points = read_points(incident.resource, since=(incident.ended_at or now) - COURSE)
    values = [point.value for point in points if point.value is not None]
    if not values or max(values) <= 0:
        return []
    level = traits_of(incident.resource.kind).level
    width = -(-len(values) // MOST_BARS)
    parts = [max(values[at : at + width]) for at in range(0, len(values), width)]
    top = max(parts)
    bars = "".join(BARS[min(len(BARS) - 1, int(len(BARS) * part / top))] for part in parts)
    return [f"{bars}  {level.noun} in the last 30 minutes, at most {level.text(top)}"]


def _advice_for(incident: Incident, now: datetime) -> Recommendation | None:
    found: Recommendation | None = (
        Recommendation.objects.open_at(now)
        .filter(resource_id=incident.resource_id)
        .order_by("-created_at")
        .first()
    )
    return found


def _links(incident: Incident, advice: Recommendation | None) -> tuple[Link, ...]:
    if not settings.PUBLIC_URL:
        return ()
    found = [Link(words="Incident", url=_url("incident", incident.pk))]
    if advice is not None:
        found.insert(0, Link(words="Review the advice", url=_url("recommendation", advice.pk)))
    return tuple(found)


def _home() -> tuple[Link, ...]:
    return (Link(words="Sluice", url=settings.PUBLIC_URL),) if settings.PUBLIC_URL else ()


def _url(name: str, pk: int) -> str:
    return f"{settings.PUBLIC_URL}{reverse(name, args=[pk])}"
