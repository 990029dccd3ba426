from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.core.decoders.errors import NeedsDateOrderError, NeedsZoneError
from ingest.core.decoders.local_time import DateOrder, LocalClock

BERLIN = ZoneInfo("Europe/Berlin")
MOMENTS = st.datetimes(datetime(2000, 1, 1), datetime(2099, 12, 31)).map(  # noqa: DTZ001 (local)
    lambda moment: moment.replace(microsecond=0)
)
FORMATS = {
    "%Y-%m-%dT%H:%M:%S": None,
    "%Y-%m-%d %H:%M:%S": None,
    "%Y/%m/%d %H:%M:%S": None,
    "%d.%m.%Y %H:%M:%S": None,
    "%d-%m-%Y %H:%M:%S": None,
    "%m/%d/%Y %I:%M:%S %p": DateOrder.MONTH_FIRST,
    "%m/%d/%y %H:%M:%S": DateOrder.MONTH_FIRST,
    "%d/%m/%y %H:%M:%S": DateOrder.DAY_FIRST,
}


def ns(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 1000


@given(moment=MOMENTS, form=st.sampled_from(sorted(FORMATS)), hours=st.integers(-12, 14))
def test_time_of_any_country_is_read(moment: datetime, form: str, hours: int) -> None:
    zone = timezone(timedelta(hours=hours))
    clock = LocalClock(zone=zone, date_order=FORMATS[form])

    assert clock.read_ns(moment.strftime(form)) == ns(moment.replace(tzinfo=zone))


@given(st.text("0123456789:/.-+TZAPM ", max_size=25))
def test_text_of_any_kind_is_a_time_or_none(text: str) -> None:
    clock = LocalClock(zone=UTC, date_order=DateOrder.DAY_FIRST)

    found = clock.read_ns(text)

    assert found is None or isinstance(found, int)


@pytest.mark.parametrize(
    "text", ["", "12:00:00", "2026-02-30 00:00:00", "01/02/2026", "13/13/2026 00:00:00"]
)
def test_text_that_is_no_time_is_none(text: str) -> None:
    assert LocalClock(zone=UTC, date_order=DateOrder.DAY_FIRST).read_ns(text) is None


@pytest.mark.parametrize(
    ("time", "hour"),
    [("12:00:00 AM", 0), ("01:00:00 am", 1), ("12:00:00 PM", 12), ("01:00:00 PM", 13)],
)
def test_hour_of_a_half_day_is_read(time: str, hour: int) -> None:
    clock = LocalClock(zone=UTC, date_order=None)

    assert clock.read_ns(f"2026-03-22 {time}") == ns(datetime(2026, 3, 22, hour, tzinfo=UTC))


@pytest.mark.parametrize("time", ["00:00:00 PM", "13:00:00 AM", "24:00:00", "12:60:00"])
def test_hour_that_does_not_exist_is_no_time(time: str) -> None:
    assert LocalClock(zone=UTC, date_order=None).read_ns(f"2026-03-22 {time}") is None


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("2026-03-22T14:00:00+0100", 13),
        ("2026-03-22T14:00:00-01:00", 15),
        ("2026-03-22T14:00:00Z", 14),
    ],
)
def test_offset_of_the_text_wins_over_the_zone(text: str, hours: int) -> None:
    clock = LocalClock(zone=BERLIN, date_order=None)

    assert clock.read_ns(text) == ns(datetime(2026, 3, 22, hours, tzinfo=UTC))


def test_zone_is_asked_for() -> None:
    with pytest.raises(NeedsZoneError, match="time zone"):
        LocalClock(zone=None, date_order=None).read_ns("2026-03-22 14:00:00")


def test_order_of_an_ambiguous_date_is_asked_for() -> None:
    with pytest.raises(NeedsDateOrderError, match="03/04/2026 may begin with"):
        LocalClock(zone=UTC, date_order=None).read_ns("03/04/2026 14:00:00")


@pytest.mark.parametrize(("date", "month"), [("22/03/26", 4), ("03/22/26", 3)])
def test_order_is_learnt_from_a_date_that_leaves_no_doubt(date: str, month: int) -> None:
    clock = LocalClock(zone=UTC, date_order=None)
    clock.learn_order(f"Linux 6.1 (kvm-01) {date} _x86_64_")

    # 03/04 is the 3rd of April where the day stands first, else the 4th of March.
    assert clock.read_ns("03/04/26 00:00:00") == ns(datetime(2026, month, 7 - month, tzinfo=UTC))


def test_hour_that_comes_twice_is_told_apart_by_order() -> None:
    clock = LocalClock(zone=BERLIN, date_order=None)

    # Clocks went back at 03:00 on 25 October 2026, that is at 01:00 UTC.
    times = ("02:30:00", "02:50:00", "02:10:00", "02:10:00", "03:10:00")
    found = [clock.read_ns(f"2026-10-25 {time}") for time in times]

    assert found == [
        ns(datetime(2026, 10, 25, hour, minute, tzinfo=UTC))
        for hour, minute in ((0, 30), (0, 50), (1, 10), (1, 10), (2, 10))
    ]
