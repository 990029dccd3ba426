"""Times as programs print them for people: in the order of their country, without a zone."""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from enum import StrEnum

from ingest.core.decoders.errors import NeedsDateOrderError, NeedsZoneError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DATE = re.compile(
    r"(?P<year_first>\d{4})(?P<dash>[-/.])(?P<a>\d{1,2})(?P=dash)(?P<b>\d{1,2})"
    r"|(?P<c>\d{1,2})(?P<between>[-/.])(?P<d>\d{1,2})(?P=between)(?P<year_last>\d{4}|\d\d)"
)
_TIME = re.compile(
    rf"(?P<date>{_DATE.pattern})[T\s]\s*"
    r"(?P<hour>\d{1,2})[:.](?P<minute>\d\d)[:.](?P<second>\d\d)(?:\.\d+)?"
    r"(?:\s*(?P<half>[AaPp])\.?[Mm]\.?)?"
    r"(?P<offset>Z|[+-]\d\d:?\d\d)?"
)


class DateOrder(StrEnum):
    """What stands first in 03/04/2026."""

    MONTH_FIRST = "month first"
    DAY_FIRST = "day first"


class LocalClock:
    """Reads the times of one file, in their order.

    `zone` and `date_order` are used where a time does not say them.
    """

    def __init__(self, *, zone: tzinfo | None, date_order: DateOrder | None) -> None:
        self._zone = zone
        self._date_order = date_order
        self._before: datetime | None = None

    def learn_order(self, text: str) -> None:
        """Take the order of dates from one that leaves no doubt, such as 22/03/2026."""
        found = _DATE.search(text)
        if found and found["c"] and self._date_order is None:
            self._date_order = _order_of(found)

    def read_ns(self, text: str) -> int | None:
        """A time in nanoseconds since 1970; None if the text is none.

        Raises `NeedsZoneError` or `NeedsDateOrderError` if the time does not say them.
        """
        found = _TIME.fullmatch(text.strip())
        if not found:
            return None
        try:
            year, month, day = self._date(found)
            hour, minute, second = _hour_minute_second(found)
            naive = datetime(year, month, day, hour, minute, second)  # noqa: DTZ001 (below)
            moment = self._aware(naive, found["offset"])
            return (moment - _EPOCH) // timedelta(seconds=1) * 1_000_000_000
        except (ValueError, OverflowError) as error:
            if isinstance(error, NeedsZoneError | NeedsDateOrderError):
                raise
            return None

    def _date(self, found: re.Match[str]) -> tuple[int, int, int]:
        """Year, month and day."""
        if found["year_first"]:
            return int(found["year_first"]), int(found["a"]), int(found["b"])
        year = int(found["year_last"]) + (2000 if len(found["year_last"]) == 2 else 0)
        self._date_order = self._date_order or _order_of(found)
        if self._date_order is None:
            raise NeedsDateOrderError(f"{found['date']} may begin with the day or the month")
        first, second = int(found["c"]), int(found["d"])
        if self._date_order is DateOrder.DAY_FIRST:
            return year, second, first
        return year, first, second

    def _aware(self, naive: datetime, offset: str | None) -> datetime:
        if offset:
            return naive.replace(tzinfo=_fixed(offset))
        if self._zone is None:
            raise NeedsZoneError("the file does not name the time zone of its times")
        moment = naive.replace(tzinfo=self._zone)
        # In the hour that comes twice in autumn, a time that goes back is of the second one.
        again = moment.replace(fold=1)
        if self._before is not None and _utc(moment) < self._before <= _utc(again):
            moment = again
        self._before = _utc(moment)
        return moment


def _order_of(found: re.Match[str]) -> DateOrder | None:
    """The order that a date has for certain; one with dots or dashes begins with the day."""
    if found["between"] != "/" or int(found["c"]) > 12:
        return DateOrder.DAY_FIRST
    return DateOrder.MONTH_FIRST if int(found["d"]) > 12 else None


def _hour_minute_second(found: re.Match[str]) -> tuple[int, int, int]:
    hour = int(found["hour"])
    if found["half"]:
        if not 1 <= hour <= 12:
            raise ValueError("no hour of a half day")
        hour = hour % 12 + (12 if found["half"] in "Pp" else 0)
    return hour, int(found["minute"]), int(found["second"])


def _fixed(offset: str) -> tzinfo:
    if offset == "Z":
        return UTC
    minutes = int(offset[1:3]) * 60 + int(offset[-2:])
    return timezone(timedelta(minutes=-minutes if offset[0] == "-" else minutes))


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)
