"""Names of the write-ahead log: numbers, timelines, and the way from a backup to the end."""

from hypothesis import given
from hypothesis import strategies as st

from appliance.backup.wal import (
    SEGMENT,
    SEGMENT_BYTES,
    Switch,
    leads_on,
    lsn_bytes,
    newest_timeline,
    not_needed,
    number_of,
    read_history,
    segment_at,
    segment_name,
    timeline_of,
    way,
)

TIMELINES = st.integers(1, 2**32 - 1)
NUMBERS = st.integers(0, 2**40 - 1)


@given(TIMELINES, NUMBERS)
def test_name_of_a_segment_says_its_timeline_and_number(timeline, number):
    name = segment_name(timeline, number)

    assert SEGMENT.fullmatch(name)
    assert (timeline_of(name), number_of(name)) == (timeline, number)


@given(TIMELINES, NUMBERS, NUMBERS)
def test_names_of_a_timeline_are_in_the_order_of_its_numbers(timeline, one, other):
    assert (segment_name(timeline, one) < segment_name(timeline, other)) == (one < other)


def test_place_is_in_the_segment_that_postgresql_names():
    # pg_walfile_name('1/FF000028') on timeline 2 is the last of log 1; '2/0' is a new log.
    assert segment_at(2, "1/FF000028") == "0000000200000001000000FF"
    assert segment_at(2, "2/0") == "000000020000000200000000"
    assert lsn_bytes("1/10") == (1 << 32) + 16


@given(st.integers(0, 50), st.integers(1, 50), st.integers(0, 49))
def test_way_ends_before_the_first_hole(first, length, hole):
    whole = [segment_name(1, first + number) for number in range(length)]
    there = {name for number, name in enumerate(whole) if number != hole}

    found = way(there, first=whole[0], to=1, history=())

    if hole >= length - 1:  # Past the end, or the last: what is not there yet is no hole.
        assert (found.missing, set(found.segments)) == (None, there)
    else:
        assert found.segments == tuple(whole[:hole])
        assert found.missing == whole[hole]


def test_way_goes_over_to_the_next_timeline_in_the_segment_of_the_switch():
    # Timeline 1 was left within its segment 5; the segment repeats in timeline 2.
    history = (Switch(timeline=1, at_bytes=5 * SEGMENT_BYTES + 100),)
    names = {segment_name(1, number) for number in range(3, 9)}
    names |= {segment_name(2, number) for number in (5, 6)}

    found = way(names, first=segment_name(1, 4), to=2, history=history)

    assert found.missing is None
    assert found.segments == (segment_name(1, 4), segment_name(2, 5), segment_name(2, 6))


def test_history_file_is_read():
    text = "1\t0/3000060\tbefore 2026-11-28\n\n# a note\n2\t0/5000000\tno recovery target\n"

    assert read_history(text) == (
        Switch(timeline=1, at_bytes=0x3000060),
        Switch(timeline=2, at_bytes=0x5000000),
    )


def test_newest_timeline_is_that_of_the_newest_history():
    assert newest_timeline({segment_name(1, 4)}) == 1
    assert newest_timeline({"0000000A.history", "00000002.history", segment_name(1, 4)}) == 10


def test_what_ended_after_a_timeline_was_left_leads_nowhere():
    history = (Switch(timeline=1, at_bytes=1000),)

    assert leads_on(1, end_bytes=1000, to=2, history=history)
    assert not leads_on(1, end_bytes=1001, to=2, history=history)
    assert leads_on(2, end_bytes=5000, to=2, history=history)
    assert not leads_on(3, end_bytes=1, to=2, history=history)


@given(st.sets(st.tuples(TIMELINES, NUMBERS), max_size=20), NUMBERS)
def test_segments_go_exactly_if_they_are_before_the_first_needed(places, first):
    names = {segment_name(*place) for place in places} | {"00000002.history"}

    gone = set(not_needed(names, first_needed=segment_name(1, first)))

    assert gone == {segment_name(*place) for place in places if place[1] < first}
