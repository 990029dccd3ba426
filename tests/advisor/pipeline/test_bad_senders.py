"""Hosts that send badly: what is shown of them, and that all others go on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from accounts.models import Organisation
from advisor.history.levels import read_points
from advisor.history.shared_names import shared_names
from advisor.history.silence import silence_text
from advisor.models import Resource, ResourceStatus, State
from advisor.pipeline.groups import judge_together
from advisor.queries.hosts import sample_trouble
from ingest.models import Host, RejectedLine
from tests.advisor.disk_samples import DiskPhase, disk_lines
from tests.advisor.judged_windows import EVER
from tests.advisor.samples import send
from tests.advisor.stated_datastores import stated_datastore

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
STEP = timedelta(seconds=10)
STEPS = 60
"""Ten minutes."""


def at(step: int) -> datetime:
    return NOON + step * STEP


class Fleet:
    """A datastore of h1 and h2, whose clocks may differ, and a disk of h3, whose does not."""

    def __init__(self) -> None:
        self.organisation = Organisation.objects.create(slug="acme", name="Acme")
        self.shared = stated_datastore(self.organisation, "sda", "h1", "h2")
        self.other = stated_datastore(self.organisation, "sdb", "h3")

    def play(self, h2: dict[int, str], *, look_each: int = 3) -> None:
        """h1 and h3 send in time, h2 sends these lines after the given steps."""
        lines = {
            host: disk_lines(host, device, [busy(STEPS)], start=NOON).splitlines()
            for host, device in (("h1", "sda"), ("h3", "sdb"))
        }
        for step in range(STEPS + 1):
            now = at(step) + timedelta(seconds=1)
            body = [*(own[step] for own in lines.values()), h2.get(step, "")]
            send(self.organisation, "\n".join(body), now=now)
            if step % look_each == 0:
                judge_together([self.shared, self.other], now=now)

    def trouble(self, name: str) -> str:
        host = Host.objects.get(organisation=self.organisation, name=name)
        return sample_trouble(host, now=at(STEPS))


@pytest.fixture
def fleet(db: None) -> Fleet:
    return Fleet()


def busy(steps: int, *, ms: float = 5.0) -> DiskPhase:
    return DiskPhase(intervals=steps, iops=100, latency_ms=ms)


def of_h2(offset: timedelta, *, ms: float = 15.0) -> list[str]:
    """The lines of h2 with the times of its own clock."""
    return disk_lines("h2", "sda", [busy(STEPS, ms=ms)], start=NOON + offset).splitlines()


def up_line(host: str, time: datetime, *, up_s: int) -> str:
    return f"system,host={host} uptime={up_s}i {int(time.timestamp()) * 10**9}"


def values(resource: Resource) -> list[float | None]:
    return [point.value for point in read_points(resource, since=EVER)]


def is_whole(resource: Resource, expected_ms: float) -> None:
    """Every window was judged with this latency, and the newest state is of the last look."""
    assert values(resource) == [pytest.approx(expected_ms)] * STEPS
    status = ResourceStatus.objects.get(resource=resource)
    assert (status.state, status.judged_until) == (State.CLEAR, at(STEPS))


def test_clock_an_hour_ahead_is_refused_and_named(fleet: Fleet) -> None:
    ahead = of_h2(timedelta(hours=1))

    fleet.play(dict(enumerate(ahead)))

    refused = RejectedLine.objects.filter(organisation=fleet.organisation)
    assert refused.count() == STEPS + 1
    assert {one.reason for one in refused} == {
        "the time is more than 10 minutes in the future; is the host's clock right?"
    }
    is_whole(fleet.other, 5.0)
    # By what h1 measures.
    is_whole(fleet.shared, 5.0)


def test_clock_five_minutes_ahead_is_named(fleet: Fleet) -> None:
    ahead = of_h2(timedelta(minutes=5))

    fleet.play(dict(enumerate(ahead)))

    assert fleet.trouble("h2").startswith("Its clock is 5 min ahead; set it right")
    is_whole(fleet.other, 5.0)
    # For five minutes h1 alone, then both: the mean of 5 and 15.
    assert values(fleet.shared) == [pytest.approx(5.0)] * 30 + [pytest.approx(10.0)] * 30


def test_clock_an_hour_behind_is_named_and_its_windows_are_judged_again(fleet: Fleet) -> None:
    behind = of_h2(-timedelta(hours=1))

    fleet.play(dict(enumerate(behind)))

    assert fleet.trouble("h2").startswith("No samples for 1 h;")
    assert fleet.trouble("h2").endswith("that the host's clock is not behind.")
    assert silence_text(fleet.shared, at=at(STEPS)).startswith("no samples of h2:sda since 11:10")
    is_whole(fleet.other, 5.0)
    assert len(read_points(fleet.shared, since=NOON)) == STEPS
    # An hour before there are only its own.
    before = read_points(fleet.shared, since=EVER, until=NOON)
    assert {round(point.value or 0.0) for point in before} == {15}


def test_host_that_sends_every_five_minutes_is_judged_when_it_has_sent(fleet: Fleet) -> None:
    every = of_h2(timedelta(0))[::30]

    fleet.play({0: every[0], 30: every[1], 60: every[2]})

    is_whole(fleet.other, 5.0)
    # Between two samples it counts as silent, from two minutes on.
    host = Host.objects.get(organisation=fleet.organisation, name="h2")
    assert fleet.trouble("h2") == ""
    assert sample_trouble(host, now=at(STEPS + 24)).startswith("No samples for 4 min;")
    silence = silence_text(fleet.shared, at=at(STEPS + 24))
    assert "h2:sda since 12:10:00 UTC" in silence
    # Its last body came with the last look, which rests from the one before.
    judge_together([fleet.shared], now=at(STEPS + 30))
    # Whether five minutes are a gap is said by the interval before them: the first has none.
    assert values(fleet.shared) == [pytest.approx(5.0)] * 30 + [pytest.approx(10.0)] * 30


def test_two_hosts_with_one_name_spoil_their_own_windows_only(fleet: Fleet) -> None:
    """The second h2 counts from another number, and sends five seconds after the first."""
    first = of_h2(timedelta(0))
    second = [line.replace("reads=", "reads=7") for line in of_h2(timedelta(seconds=5))]
    # The first runs for a day, the second for an hour.
    uptimes = [
        [up_line("h2", NOON + after + step * STEP, up_s=up_s + 10 * step) for step in range(61)]
        for after, up_s in ((timedelta(0), 86_400), (timedelta(seconds=5), 3_600))
    ]

    both = zip(first, second, *uptimes, strict=True)
    fleet.play({step: "\n".join(lines) for step, lines in enumerate(both)})

    is_whole(fleet.other, 5.0)
    assert len(values(fleet.shared)) == STEPS
    assert fleet.trouble("h2").startswith("Several machines send under the name of h2, or its")
    assert shared_names(fleet.shared, at=at(STEPS)) == ["h2"]
    assert (fleet.trouble("h1"), shared_names(fleet.other, at=at(STEPS))) == ("", [])
    # It is over some minutes after there is one.
    assert shared_names(fleet.shared, at=at(STEPS + 70)) == []


def test_series_that_vanish_hold_windows_back_for_seconds_only(fleet: Fleet) -> None:
    vanishing = dict(enumerate(of_h2(timedelta(0))[:31]))

    fleet.play(vanishing)

    is_whole(fleet.other, 5.0)
    # Both until they vanish, then h1 alone.
    assert values(fleet.shared) == [pytest.approx(10.0)] * 30 + [pytest.approx(5.0)] * 30
    assert silence_text(fleet.shared, at=at(STEPS)) == "no samples of h2:sda since 12:05:00 UTC"


def test_counters_that_start_again_cost_one_window(fleet: Fleet) -> None:
    again = of_h2(timedelta(0))[:30] + of_h2(timedelta(seconds=300))[:31]

    fleet.play(dict(enumerate(again)))

    is_whole(fleet.other, 5.0)
    found = values(fleet.shared)
    assert found[29] == pytest.approx(5.0)
    assert [*found[:29], *found[30:]] == [pytest.approx(10.0)] * 59


def test_lines_that_are_no_numbers_are_refused_and_leave_a_gap(fleet: Fleet) -> None:
    lines = dict(enumerate(of_h2(timedelta(0))))
    for step in (20, 21, 22):
        lines[step] = lines[step].replace("reads=", "reads=NaN,x=")

    fleet.play(lines)

    assert RejectedLine.objects.filter(reason__contains='"NaN" is not a value').count() == 3
    is_whole(fleet.other, 5.0)
    # The counters after the gap tell what was done in it.
    is_whole(fleet.shared, 10.0)
