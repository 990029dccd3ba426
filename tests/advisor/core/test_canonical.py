"""Canonical text: the same bytes each time, strict when read."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.canonical import CanonicalError, dumps, from_plain, loads, loads_part, to_plain
from advisor.core.detection.congestion import (
    DetectorSettings,
    DetectorState,
    RecentWindow,
    detect,
)
from advisor.core.detection.observed import readings_of
from advisor.core.detection.threshold import FixedThreshold
from advisor.core.observation import DatastoreObservation, HostLatency


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    amount: float
    limit: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    at: datetime
    colour: Colour
    count: int
    parts: tuple[Part, ...]
    name: str = ""
    flag: bool = False


AT = datetime(2026, 3, 2, 12, 30, tzinfo=UTC)
numbers = st.floats(allow_nan=False, allow_infinity=False)
wholes = st.builds(
    Whole,
    at=st.datetimes(timezones=st.just(UTC)),
    colour=st.sampled_from(Colour),
    count=st.integers(-(2**63) + 1, 2**63 - 1),
    parts=st.lists(st.builds(Part, amount=numbers, limit=st.none() | numbers)).map(tuple),
    name=st.text(),
    flag=st.booleans(),
)


@given(wholes)
def test_reading_gives_back_what_was_written(whole):
    assert loads(Whole, dumps(whole)) == whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Some:
    count: int
    parts: tuple[Part, ...]


@given(wholes)
def test_some_fields_are_read_as_those_of_the_whole(whole):
    assert loads_part(Some, dumps(whole)) == Some(count=whole.count, parts=whole.parts)


@pytest.mark.parametrize("text", ["[]", "{", '{"count": 1}', '{"count": 1.5, "parts": []}'])
def test_some_fields_of_a_text_without_them_are_refused(text):
    with pytest.raises(CanonicalError):
        loads_part(Some, text)


@given(wholes)
def test_writing_what_was_read_gives_the_same_text(whole):
    text = dumps(whole)

    assert dumps(loads(Whole, text)) == text


@given(wholes)
def test_what_a_column_keeps_is_what_the_text_says(whole):
    plain = to_plain(whole)

    assert plain == json.loads(dumps(whole))
    assert from_plain(Whole, plain) == whole


def test_a_text_that_was_stored_is_written_again_byte_for_byte():
    stored = (
        '{"at":"2026-03-02T12:30:00.250000Z","colour":"red","count":3,"flag":true,'
        '"name":"größe","parts":[{"amount":75.0,"limit":null},{"amount":1e-09,"limit":100.0}]}'
    )

    assert dumps(loads(Whole, stored)) == stored


def test_a_field_that_came_later_has_its_default_in_a_text_from_before():
    stored = '{"at":"2026-03-02T12:30:00Z","colour":"red","count":3,"parts":[{"amount":75.0}]}'

    assert loads(Whole, stored) == Whole(
        at=AT, colour=Colour.RED, count=3, parts=(Part(amount=75.0),)
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"amount":1.0,"amount":2.0}', r"^\$: not JSON \(key 'amount' appears twice\)"),
        ('{"amount":1e999}', r"^\$\.amount: number is not finite"),
    ],
)
def test_a_text_that_says_two_things_or_nothing_is_refused(text, message):
    with pytest.raises(CanonicalError, match=message):
        loads(Part, text)


def test_a_whole_number_in_a_float_field_is_written_as_a_float():
    assert dumps(Part(amount=75, limit=100)) == '{"amount":75.0,"limit":100.0}'


def test_times_are_written_in_utc():
    elsewhere = AT.astimezone(timezone(timedelta(hours=2)))
    whole = Whole(at=elsewhere, colour=Colour.RED, count=1, parts=())

    assert '"at":"2026-03-02T12:30:00Z"' in dumps(whole)


def test_not_a_number_cannot_be_written():
    with pytest.raises(ValueError, match="not JSON compliant"):
        dumps(Part(amount=float("nan")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"^\$: not JSON"),
        ("[]", r"^\$: expected an object, got \[\]"),
        ("{}", r"^\$\.amount: missing"),
        ('{"amount":1.0,"colour":2}', r"^\$\.colour: unknown key"),
        ('{"amount":"1"}', r'^\$\.amount: expected float, got "1"'),
        ('{"amount":true}', r"^\$\.amount: expected float, got true"),
        ('{"amount":NaN}', r"^\$: not JSON \(NaN is not allowed\)"),
        ('{"amount":null}', r"^\$\.amount: expected float, got null"),
    ],
)
def test_a_text_that_does_not_fit_is_refused_with_its_path(text, message):
    with pytest.raises(CanonicalError, match=message):
        loads(Part, text)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("colour", '"blue"', r'^\$\.colour: expected one of red, got "blue"'),
        ("at", '"yesterday"', r"^\$\.at: "),
        ("count", "1.5", r"^\$\.count: expected int, got 1.5"),
        ("parts", "{}", r"^\$\.parts: expected a list, got {}"),
        ("parts", '[{"amount":[]}]', r"^\$\.parts\[0\]\.amount: "),
    ],
)
def test_a_value_of_another_type_is_refused_with_its_path(field, value, message):
    fields = {"at": '"2026-03-02T12:30:00Z"', "colour": '"red"', "count": "1", "parts": "[]"}
    fields[field] = value
    text = "{" + ",".join(f'"{name}":{inner}' for name, inner in fields.items()) + "}"

    with pytest.raises(CanonicalError, match=message):
        loads(Whole, text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    rates: tuple[float, ...]
    gaps: tuple[float | None, ...]


@given(rates=st.lists(numbers).map(tuple), gaps=st.lists(st.none() | numbers).map(tuple))
def test_columns_of_numbers_are_read_as_they_were_written(rates, gaps):
    columns = Columns(rates=rates, gaps=gaps)

    assert loads(Columns, dumps(columns)) == columns


@pytest.mark.parametrize(
    ("rates", "gaps", "message"),
    [
        ([1.0, None], [], r"^\$\.rates\[1\]: expected float, got null"),
        ([1.0, "2"], [], r'^\$\.rates\[1\]: expected float, got "2"'),
        ([1.0, float("inf")], [], r"^\$\.rates\[1\]: number is not finite"),
        ([], [None, True], r"^\$\.gaps\[1\]: expected float, got true"),
        ([], [None, float("nan")], r"^\$\.gaps\[1\]: number is not finite"),
    ],
)
def test_number_of_a_column_that_does_not_fit_is_refused_with_its_place(rates, gaps, message):
    with pytest.raises(CanonicalError, match=message):
        from_plain(Columns, {"rates": rates, "gaps": gaps})


def test_whole_numbers_of_a_column_are_read_as_floats():
    columns = from_plain(Columns, {"rates": [1, 2.0], "gaps": [None, 3]})

    assert list(map(type, columns.rates)) == [float, float]
    assert columns.gaps == (None, 3.0)


def test_values_that_contradict_each_other_are_refused():
    text = dumps(DetectorSettings(activity_floor=1.0)).replace(
        '"leave_windows":3', '"leave_windows":0'
    )

    with pytest.raises(CanonicalError, match=r"^\$: leave_windows is 0"):
        loads(DetectorSettings, text)


OF_THE_VERSION_BEFORE = (
    '{"below_since":null,"below_windows":0,"last_at":"2026-03-02T12:30:00Z",'
    '"measured_at":"2026-03-02T12:30:00Z","recent":[{"above":false,'
    '"began_at":"2026-03-02T12:29:50Z"}],"unknown_since":null,"verdict":"clear",'
    '"verdict_since":"2026-03-02T12:00:00Z"}'
)


def test_state_of_a_calm_resource_is_what_the_version_before_wrote_and_reads():
    state = loads_part(DetectorState, OF_THE_VERSION_BEFORE)

    assert state.recent[0].severity == 1.0
    assert dumps(state) == OF_THE_VERSION_BEFORE


def test_state_of_a_later_version_is_read_without_what_it_has_more():
    later = OF_THE_VERSION_BEFORE.replace('"above":false', '"above":false,"depth":2').replace(
        '"verdict":', '"trend":[{"up":1}],"verdict":'
    )

    assert loads_part(DetectorState, later) == loads_part(DetectorState, OF_THE_VERSION_BEFORE)


def test_field_that_later_versions_have_is_written_where_it_says_something():
    window = RecentWindow(began_at=AT, above=True, severity=2.5)
    state = DetectorState(recent=(window,), ended_at=AT)

    assert '"ended_at":"2026-03-02T12:30:00Z"' in dumps(state)
    assert '"severity":2.5' in dumps(state)
    assert loads_part(DetectorState, dumps(state)) == state


def test_a_detector_goes_on_from_its_stored_state():
    host = HostLatency(host="h1", latency_ms=20.0, io_count=1000.0)
    windows = [
        DatastoreObservation(at=AT + timedelta(seconds=10 * i), window_s=10, hosts=(host,))
        for i in range(6)
    ]
    settings, threshold = DetectorSettings(activity_floor=1.0), FixedThreshold(value=10.0)
    whole = detect(readings_of(windows), settings=settings, threshold=threshold)
    first = detect(readings_of(windows[:2]), settings=settings, threshold=threshold)

    stored = loads(DetectorState, dumps(first.state))
    second = detect(
        readings_of(windows[2:]), settings=settings, threshold=threshold, initial=stored
    )

    assert first.points + second.points == whole.points
