"""The row of an open incident: counts of each window, parties and evidence of each minute."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from advisor.models import Allocation, DetectorCheckpoint, Incident
from advisor.pipeline.amend import figures_of
from advisor.pipeline.detect import detect
from advisor.pipeline.incidents import pack, unpack
from tests.advisor.deliveries import HOSTS, START, STEP, Delivery, Lun, in_one_go, live

pytestmark = pytest.mark.django_db

LOW_MS, HIGH_MS = 5.0, 60.0
GOES_ON = [LOW_MS] * 6 + [HIGH_MS] * 20


def looks(lun: Lun, first: int = 0) -> list[Incident]:
    """The open incident after each step from this one on, where there is one."""
    found = []
    for step in range(first, lun.steps):
        now = START + step * STEP
        for host in HOSTS:
            lun.send(Delivery(after=step, host=host, steps=(step,)), now=now)
        detect(resource=lun.resource, now=now + STEP / 10)
        found += list(Incident.objects.filter(resource=lun.resource, ended_at=None))
    return found


def test_parties_and_evidence_are_renewed_each_minute_and_counts_with_each_window() -> None:
    found = looks(Lun(GOES_ON))

    # Twice the threshold, it is recognised in its second window. The sixth and the twelfth are
    # the first of a minute.
    assert [row.windows for row in found] == list(range(2, 21))
    shown = [len(row.evidence) for row in found]
    assert shown == [2] * 4 + [6] * 6 + [12] * 6 + [18] * 3
    for earlier, later in pairwise(found):
        is_renewed = len(later.evidence) > len(earlier.evidence)
        assert (earlier.victims != later.victims) <= is_renewed
    assert found[-1].evidence[-1]["at"] == "2026-11-20T11:54:00Z"


def test_open_incident_says_the_same_whenever_its_windows_came() -> None:
    one_by_one, at_once = Lun(GOES_ON), Lun(GOES_ON)

    one_by_one.play(live(one_by_one.steps))
    at_once.play(in_one_go(at_once.steps), look_each=10_000)

    (incident,) = one_by_one.incidents()
    assert "ended_at" not in incident
    assert [incident] == at_once.incidents()


def test_workload_that_vanished_since_counts_in_the_windows_of_its_time() -> None:
    there, gone = Lun(GOES_ON), Lun(GOES_ON)
    batch = Allocation.objects.filter(resource=gone.resource, workload__name="batch")
    batch.update(found=True, vanished_at=START + gone.steps * STEP)

    for lun in (there, gone):
        lun.play(in_one_go(lun.steps), look_each=10_000)

    (incident,) = gone.incidents()
    assert [one["workload"] for one in incident["aggressors"]] == ["batch"]
    assert [incident] == there.incidents()


def test_incident_that_ended_says_the_same_whenever_its_windows_came() -> None:
    levels = [*GOES_ON, *[LOW_MS] * 5]
    one_by_one, at_once = Lun(levels), Lun(levels)

    one_by_one.play(live(one_by_one.steps))
    at_once.play(in_one_go(at_once.steps), look_each=10_000)

    (incident,) = one_by_one.incidents()
    # The evidence of all its windows, up to the last in which it was not clear yet.
    assert (len(incident["evidence"]), incident["windows"]) == (22, 22)
    assert [incident] == at_once.incidents()


def test_checkpoint_has_what_is_shown_of_the_open_incident() -> None:
    lun = Lun([LOW_MS] * 6 + [HIGH_MS] * 26)
    before: dict[str, Any] = {}
    for row in looks(lun):
        if row.windows == 23:
            before = figures_of(row)

    # Before the window that ends at 11:55, the 24th of the incident.
    checkpoint = DetectorCheckpoint.objects.get(at=START + 29 * STEP)
    assert checkpoint.incident == before
    assert before["victims"]


def test_incident_with_a_tally_of_an_earlier_version_goes_on_from_stored_states() -> None:
    lun = Lun(GOES_ON)
    found = looks(lun)
    Incident.objects.filter(resource=lun.resource).update(tally=b'{"points": 3}\n')
    longer = Lun([*GOES_ON, HIGH_MS])
    lun.lines, lun.steps = longer.lines, longer.steps

    (after,) = looks(lun, first=len(GOES_ON) + 1)

    assert (after.pk, after.windows) == (found[-1].pk, 21)
    assert len(after.evidence) == 18
    stored = unpack(bytes(after.tally or b""))
    assert stored is not None
    assert stored.tally.windows == 21


def test_tally_says_the_same_to_a_process_that_did_not_write_it() -> None:
    found = looks(Lun(GOES_ON))

    assert found
    for row in found:
        written = bytes(row.tally or b"")
        read = unpack(written)
        assert read is not None
        assert pack(read) == written


def test_window_of_an_open_incident_costs_one_statement_to_write_and_none_to_read() -> None:
    lun = Lun(GOES_ON)
    looks(lun)
    longer = Lun([*GOES_ON, HIGH_MS])
    lun.lines, lun.steps = longer.lines, longer.steps

    with CaptureQueriesContext(connection) as asked:
        looks(lun, first=len(GOES_ON) + 1)

    own = [one["sql"] for one in asked if "advisor_incident" in one["sql"]]
    # The last one is that of this test.
    opened, written, _ = own
    assert opened.split()[0] == "SELECT"
    assert "victims" not in opened
    assert written.startswith("UPDATE")
    assert "victims" not in written
