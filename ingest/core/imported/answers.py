"""What a file may leave out, and whoever imports it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ingest.core.decoders.errors import (
    NeedsDateOrderError,
    NeedsHostError,
    NeedsTimeError,
    NeedsZoneError,
    QuestionError,
)
from ingest.core.decoders.iostat_text import Schedule
from ingest.core.decoders.local_time import DateOrder
from ingest.core.lengths import LONGEST_HOST_NAME

DATE_ORDERS: Mapping[str, DateOrder] = {
    "month": DateOrder.MONTH_FIRST,
    "day": DateOrder.DAY_FIRST,
}
_LONGEST_INTERVAL_S = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Used where a file does not say it. `zone` is the name of a time zone, such as Europe/Berlin.

    `first_at` is when the first report of a file without times was made, in ISO form, in the zone
    unless it names an offset; `every_s` is how far apart its reports are. `date_order` is
    what stands first in 03/04/2026, `month` or `day`.
    """

    host: str = ""
    zone: str = ""
    date_order: str = ""
    first_at: str = ""
    every_s: float = 0.0

    @property
    def key(self) -> str:
        """All that is said, as one text."""
        said = asdict(self)
        return ";".join(f"{name}={said[name]}" for name in sorted(said) if said[name])

    @property
    def tzinfo(self) -> ZoneInfo | None:
        return ZoneInfo(self.zone) if self.zone else None

    @property
    def order(self) -> DateOrder | None:
        return DATE_ORDERS.get(self.date_order)

    @property
    def first(self) -> datetime | None:
        """When the first report was made; raises `NeedsZoneError` if that is in no zone."""
        if not self.first_at:
            return None
        at = datetime.fromisoformat(self.first_at)
        if at.tzinfo is not None:
            return at
        if self.tzinfo is None:
            raise NeedsZoneError(f"{self.first_at} is in no time zone")
        return at.replace(tzinfo=self.tzinfo)

    @property
    def schedule(self) -> Schedule | None:
        """When reports without times were made, if both parts of it are known."""
        first = self.first
        if first is None or self.every_s <= 0:
            return None
        return Schedule(first_at=first, interval_s=self.every_s)


def checked(answers: Answers) -> Answers:
    """The same answers; raises `ValueError` with what is wrong with one of them."""
    host, every_s = answers.host, answers.every_s
    if len(host) > LONGEST_HOST_NAME:
        raise ValueError(f"the host has more than {LONGEST_HOST_NAME} characters")
    if not host.isprintable():
        raise ValueError("the host has characters that no name has")
    if answers.date_order not in ("", *DATE_ORDERS):
        raise ValueError(
            f'dates begin with {" or ".join(DATE_ORDERS)}, not "{answers.date_order}"'
        )
    if not 0 <= every_s <= _LONGEST_INTERVAL_S:
        raise ValueError(f"reports are 0 to {_LONGEST_INTERVAL_S:.0f} s apart, not {every_s}")
    _check_zone(answers.zone)
    try:
        datetime.fromisoformat(answers.first_at or "2026-01-01")
    except ValueError as error:
        raise ValueError(
            f'"{answers.first_at}" is no time such as 2026-03-22T10:00:00Z'
        ) from error
    return answers


def _check_zone(name: str) -> None:
    try:
        ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f'there is no time zone "{name}"') from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What has to be asked: the names of the answers, options of the command, and words."""

    fields: tuple[str, ...]
    options: str
    words: str


QUESTIONS: Mapping[type[QuestionError], Question] = {
    NeedsHostError: Question(
        fields=("host",), options="--host NAME", words="Name of the host it was written on"
    ),
    NeedsZoneError: Question(
        fields=("zone",),
        options="--zone ZONE",
        words="Time zone of its times, such as Europe/Berlin or UTC",
    ),
    NeedsDateOrderError: Question(
        fields=("date_order",),
        options="--date-order month|day",
        words="What stands first in its dates, month or day",
    ),
    NeedsTimeError: Question(
        fields=("first_at", "every_s"),
        options="--first-at TIME --every SECONDS",
        words="Time of its first report, such as 2026-03-22T10:00:00+01:00",
    ),
}


def question_of(error: QuestionError) -> Question:
    """What to ask for the error."""
    return QUESTIONS[type(error)]
