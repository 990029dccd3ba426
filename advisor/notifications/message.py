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
from advisor.notifications.chart import Course, shorter
from advisor.notifications.expected import expected_effect
from advisor.resource_kinds.registry import traits_of

COURSE = timedelta(minutes=30)
MOST_BARS = 60
TURNING = dict.fromkeys((0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)))
"""Characters of Unicode that change the direction of the text behind them."""
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
    course: Course | None = None

    @property
    def text(self) -> str:
        """All of it as plain text."""
        course = [f"{self.course.bars}  {self.course.words}"] if self.course else []
        links = [f"{link.words}: {link.url}" for link in self.links]
        return "\n".join([*self.lines, *course, *([""] if links else []), *links])

    def plain(self) -> dict[str, Any]:
        """As it is stored and as a webhook gets it; names turn no text around."""
        lines = [_in_one_direction(line) for line in self.lines]
        links = [{"words": _in_one_direction(one.words), "url": one.url} for one in self.links]
        subject = _in_one_direction(self.subject)
        return asdict(self) | {"subject": subject, "lines": lines, "links": links}


def _in_one_direction(text: str) -> str:
    return text.translate(TURNING)


def read_message(plain: Mapping[str, Any]) -> Message:
    """What `plain` wrote."""
    links = tuple(Link(**one) for one in plain["links"])
    stored = plain.get("course")
    course = Course(**{**stored, "values": tuple(stored["values"])}) if stored else None
    read = {"lines": tuple(plain["lines"]), "links": links, "course": course}
    return Message(**{**plain, **read})


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
    lines = [_sentence(incident, trouble, news, now), *_parties(incident)]
    effect = ""
    if advice is not None:
        harmed = {str(one["workload"]) for one in incident.victims}
        effect = expected_effect(advice, harmed=harmed, unit=incident.resource.unit)
        lines += [f"Advice: {advice.summary}", *([effect] if effect else [])]
    return Message(
        subject=f"{_SUBJECTS[news]}{trouble.resource} {state_words(trouble.severity)}",
        lines=tuple(lines),
        links=_links(incident, advice, news),
        facts={
            **facts,
            "incident": incident.pk,
            "advice": advice and advice.summary,
            "effect": effect or None,
        },
        is_good=news == News.OVER,
        course=_course(incident, now),
    )


def trial_message(name: str) -> Message:
    """What the button to try a channel out sends."""
    return Message(
        subject="Sluice can reach you here",
        lines=(f"This is a trial of the channel {name}; nothing is wrong.",),
        links=home_links(),
        is_good=True,
    )


def state_words(severity: Severity) -> str:
    """What is wrong with a resource, as a sentence goes on."""
    return {
        Severity.CONGESTED: "is congested",
        Severity.PROMISE_MISSED: "is congested, and a reservation is missed",
        Severity.STALLED: "is stalled",
    }[severity]


def _sentence(incident: Incident, trouble: Trouble, news: News, now: datetime) -> str:
    level = traits_of(incident.resource.kind).level
    minutes = max(1, round(((trouble.until or now) - trouble.since).total_seconds() / 60))
    lasting = f"{minutes} minute{'' if minutes == 1 else 's'}"
    if news == News.OVER:
        return f"{trouble.resource} is as it should be again, after {lasting}."
    state = state_words(trouble.severity)
    began = f"{trouble.resource} {state} since {trouble.since:%Y-%m-%d %H:%M} UTC"
    if incident.peak_value is None:
        return f"{began}, for {lasting}: I/O waits there and none completes."
    worst = f"{level.noun} up to {level.text(incident.peak_value)}"
    if incident.threshold is None:
        return f"{began}, for {lasting}: {worst}."
    return f"{began}, for {lasting}: {worst}, above {level.text(incident.threshold)}."


def _parties(incident: Incident) -> list[str]:
    found = []
    if culprits := incident.culprits:
        names = [str(one["workload"]) for one in culprits]
        said = "More than its due takes" if incident.cause is None else "It is caused by"
        found.append(f"{said}: {listed(names[:3])}{_more(names, 3)}.")
    if incident.victims:
        names = [str(one["workload"]) for one in incident.victims]
        found.append(f"Less than its due gets: {listed(names[:5])}{_more(names, 5)}.")
    return found


def _more(names: Sequence[str], shown: int) -> str:
    return f" and {len(names) - shown} more" if len(names) > shown else ""


def _course(incident: Incident, now: datetime) -> Course | None:
    """The half hour before now, or before it ended; None if nothing was measured."""
    points = read_points(incident.resource, since=(incident.ended_at or now) - COURSE)
    values = shorter([point.value for point in points], MOST_BARS)
    top = max((value for value in values if value is not None), default=0.0)
    if top <= 0:
        return None
    level = traits_of(incident.resource.kind).level
    words = f"{level.noun} in the last 30 minutes, at most {level.text(top)}"
    if incident.threshold is not None:
        words += f"; congested above {level.text(incident.threshold)}"
    return Course(values=tuple(values), threshold=incident.threshold, words=words)


def _advice_for(incident: Incident, now: datetime) -> Recommendation | None:
    found: Recommendation | None = (
        Recommendation.objects.open_at(now)
        .filter(resource_id=incident.resource_id)
        .order_by("-created_at")
        .first()
    )
    return found


def _links(incident: Incident, advice: Recommendation | None, news: News) -> tuple[Link, ...]:
    """The last leads to the incident. Nothing is done by a link alone: programs open them too."""
    if not settings.PUBLIC_URL:
        return ()
    found = []
    if advice is not None:
        place = _url("recommendation", advice.pk)
        found.append(Link(words="Review the advice", url=place))
        found.append(Link(words="Snooze the advice", url=f"{place}#snooze-dialog"))
    place = _url("incident", incident.pk)
    if news != News.OVER:
        found.append(Link(words=f"Silence {incident.resource}", url=f"{place}#silence-dialog"))
    return (*found, Link(words="Incident", url=place))


def home_links() -> tuple[Link, ...]:
    """To the pages, where it is known how people reach them."""
    return (Link(words="Sluice", url=settings.PUBLIC_URL),) if settings.PUBLIC_URL else ()


def _url(name: str, pk: int) -> str:
    return f"{settings.PUBLIC_URL}{reverse(name, args=[pk])}"
