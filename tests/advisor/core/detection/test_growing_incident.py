"""An incident that goes on: what is known after each window, and when people see it."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.allocation import ReservationMode
from advisor.core.detection.congestion import ALARMS, CongestionState, detect
from advisor.core.detection.incident import fold_incidents, incident_of, stretches
from advisor.core.detection.observed import readings_of
from advisor.core.detection.threshold import FixedThreshold
from advisor.core.observation import AllocationObservation
from advisor.core.standing import standing_columns, table_of
from tests.advisor.core.detection.incident_windows import SETTINGS, START, datastore, stall


def standings_of(observations, mode=ReservationMode.FLOOR):
    found = standing_columns([table_of(one, mode) for one in observations])
    return {one.at: (own, 0) for one, own in zip(observations, found, strict=True)}


def standings_in_one_table(observations, mode=ReservationMode.FLOOR):
    """The same for windows with the same allocations."""
    alone = [table_of(one, mode) for one in observations]
    names = ("rate", "mean_io_bytes", "backlogged", "queued", "throttled", "delivered")
    stacked = {name: np.concatenate([getattr(one, name) for one in alone]) for name in names}
    (found,) = standing_columns([replace(alone[0], **stacked)])
    return {one.at: (found, row) for row, one in enumerate(observations)}


class Seen:
    """Incidents as they are known and shown while their windows come in portions."""

    def __init__(self, standings):
        self.standings, self.open_one, self.rows = standings, None, {}
        self.known, self.shown = {}, {}

    def look(self, points):
        for stretch in stretches(points, self.open_one):
            grown = stretch.grown(self.standings)
            is_begun = stretch.before is None
            self.rows = dict(grown.rows) if is_begun else self.rows | dict(grown.rows)
            self.open_one = grown.tally if grown.ended_at is None else None
            self.known[grown.tally.began_at] = self._incident(grown.tally, grown.ended_at)
            if grown.shown is not None:
                shown = self._incident(grown.shown, grown.ended_at)
                self.shown[grown.tally.began_at] = shown

    def _incident(self, tally, ended_at):
        assert [self.rows[place].value for place in tally.kept] == list(tally.values)
        return incident_of(tally, [self.rows[place] for place in tally.kept], ended_at)


def seen_in_portions(points, standings, edges):
    found = Seen(standings)
    for begin, end in pairwise(edges):
        new = points[begin:end]
        if found.open_one is None:
            # Who begins sees the windows by which an incident is recognised once more.
            since = min((one.since for one in new if one.state in ALARMS), default=None)
            new = [] if since is None else [one for one in points[:end] if one.at > since]
        found.look(new)
    return found


@given(
    latencies=st.lists(st.sampled_from([1.0, 9.0, 15.0, 40.0]), min_size=1, max_size=150),
    cuts=st.sets(st.integers(1, 149), max_size=6),
)
def test_an_incident_does_not_depend_on_how_many_windows_come_at_once(latencies, cuts):
    rates = [(30.1, 5.3), (10.7, 40.9), (0.0, 20.3)]
    seen = [
        datastore(
            index,
            latency,
            [
                AllocationObservation(workload=name, rate=rate, shares=shares, usual_rate=usual)
                for name, rate, shares, usual in zip(
                    "ab", rates[index % 3], (1000, 3000), (None, 7.7), strict=True
                )
            ],
        )
        for index, latency in enumerate(latencies)
    ]
    points = detect(
        readings_of(seen), settings=SETTINGS, threshold=FixedThreshold(value=10.0)
    ).points
    standings = standings_of(seen)
    edges = [0, *sorted(cut for cut in cuts if cut < len(latencies)), len(latencies)]

    together = standings_in_one_table(seen)
    at_once = seen_in_portions(points, together, [0, len(latencies)])
    in_portions = seen_in_portions(points, together, edges)
    one_by_one = seen_in_portions(points, standings, range(len(latencies) + 1))

    # To the last digit, and what is shown of one that goes on as well.
    assert at_once.known == in_portions.known == one_by_one.known
    assert at_once.shown == in_portions.shown == one_by_one.shown
    assert list(at_once.known.values()) == fold_incidents(points, seen, ReservationMode.FLOOR)
    for incident in at_once.known.values():
        assert incident.peak_value in {row.value for row in incident.evidence}


def shown_windows(text):
    """The windows of an incident that were shown after each look; windows by letter."""
    value = {"x": 50.0, "y": 60.0, "z": 70.0}
    seen = [
        stall(index) if letter == "!" else datastore(index, value[letter])
        for index, letter in enumerate(text)
    ]
    points = detect(
        readings_of(seen), settings=SETTINGS, threshold=FixedThreshold(value=40.0)
    ).points
    found, shown = Seen({}), []
    for count in range(1, len(text) + 1):
        before = found.open_one is not None
        found.look(points[count - 1 : count] if before else points[:count])
        shown += [one.windows for one in found.shown.values()]
    return shown


@pytest.mark.parametrize(
    ("windows", "expected"),
    [
        # Recognised in the third window. The sixth ends a minute after the beginning.
        ("xxxxxxxxxxxxx", [3, 3, 3, 6, 6, 6, 6, 6, 6, 12, 12]),
        # Once above all before, and the same again.
        ("xxxxyyxxzxxx", [3, 3, 5, 6, 6, 6, 9, 9, 9, 12]),
        # The first stall, and no other.
        ("xxxx!!xx!x", [3, 3, 5, 6, 6, 6, 6, 6]),
    ],
    ids=["each minute", "worse than ever", "stalled"],
)
def test_an_open_incident_is_shown_anew_each_minute_and_when_it_gets_worse(windows, expected):
    assert shown_windows(windows) == expected


def test_a_window_of_unknown_state_is_evidence_and_counts_for_nothing():
    slow = AllocationObservation(workload="slow", rate=10.0, backlogged=True)
    busy = AllocationObservation(workload="busy", rate=90.0, backlogged=True)
    seen = [datastore(index, 20.0, [slow, busy]) for index in range(5)]
    found = detect(readings_of(seen), settings=SETTINGS, threshold=FixedThreshold(value=10.0))
    unknown = replace(found.points[4], state=CongestionState.UNKNOWN, value=99.0, threshold=None)
    standings = standings_of(seen)

    (before,) = (one.grown(standings) for one in stretches(found.points[:4]))
    (stretch,) = stretches([unknown], before.tally)
    after = stretch.grown(standings)

    assert stretch.ends == []
    assert (after.tally.points, after.tally.windows, after.tally.peak_value) == (5, 4, 20.0)
    assert after.tally.parties.of("windows").tolist() == [4.0, 4.0, 0.0]
    # It is above all before, and yet people see no more of it until the minute is over.
    assert after.shown is None
    assert after.rows[4].value == 99.0


def test_an_incident_that_ends_is_shown_to_its_end():
    seen = [datastore(index, latency) for index, latency in enumerate([20.0] * 4 + [1.0] * 3)]
    points = detect(
        readings_of(seen), settings=SETTINGS, threshold=FixedThreshold(value=10.0)
    ).points

    found = seen_in_portions(points, standings_of(seen), range(len(seen) + 1))

    (incident,) = found.shown.values()
    assert (incident.ended_at, incident.windows) == (START + timedelta(seconds=40), 6)


def test_stalls_add_up_while_an_incident_goes_on():
    seen = [*(datastore(index, 20.0) for index in range(3)), *(stall(index) for index in (3, 4))]
    points = detect(
        readings_of(seen), settings=SETTINGS, threshold=FixedThreshold(value=10.0)
    ).points
    standings = standings_of(seen)

    (first,) = (one.grown(standings).tally for one in stretches(points[:4]))
    (second,) = (one.grown(standings).tally for one in stretches(points[4:], first))

    assert (first.stalled_windows, second.stalled_windows) == (1, 2)
    assert (first.windows, second.windows) == (4, 5)
    assert (first.points, second.points) == (4, 5)
