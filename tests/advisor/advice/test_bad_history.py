"""History that is not as it should be: each has an answer that is defined."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from accounts.models import Organisation
from advisor.advice.policy.recommend import recommend
from advisor.core.detection.external_workload import ExternalState
from advisor.models import Incident, Recommendation, Resource
from advisor.pipeline.detect import detect
from advisor.pipeline.look_outside import look_where_due
from tests.advisor.disk_samples import CgroupPhase, DiskPhase, cgroup_lines, disk_lines
from tests.advisor.samples import send
from tests.advisor.scenario import NOW
from tests.advisor.stated_datastores import cgroup_allocation, stated_datastore

pytestmark = pytest.mark.django_db

CALM, CROWDED = 360, 60
"""Intervals of ten seconds: an hour, and the last ten minutes."""
START = NOW - timedelta(seconds=10 * (CALM + CROWDED))
CALM_IOPS = {"db": 300.0, "web": 100.0, "etl": 100.0}
CROWDED_IOPS = {"db": 120.0, "web": 80.0, "etl": 800.0}
"""etl takes the most of 1000, so that db and web get less than before."""


@pytest.fixture
def store() -> Resource:
    organisation = Organisation.objects.create(slug="acme", name="Acme")
    found = stated_datastore(organisation, "lun", "h1", "h2", capacity=1000.0, threshold=20.0)
    for name in CALM_IOPS:
        cgroup_allocation(found, name, host=host_of(name))
    return found


def host_of(workload: str) -> str:
    return "h2" if workload == "etl" else "h1"


def group_lines(
    name: str, rates: tuple[float, float], *, calm: int = CALM, start: datetime = START
) -> str:
    phases = [
        CgroupPhase(intervals=calm, iops=rates[0], waits=0.05),
        CgroupPhase(intervals=CROWDED, iops=rates[1], waits=0.8),
    ]
    return cgroup_lines(host_of(name), f"/{name}", phases, start=start)


def device_lines(
    host: str,
    names: Sequence[str],
    *,
    crowded: Mapping[str, float] = CROWDED_IOPS,
    ms: float = 60.0,
) -> str:
    """What the host does there: latency goes from 4 ms to `ms`."""
    phases = [
        DiskPhase(intervals=CALM, iops=sum(CALM_IOPS[name] for name in names), latency_ms=4.0),
        DiskPhase(intervals=CROWDED, iops=sum(crowded[name] for name in names), latency_ms=ms),
    ]
    return disk_lines(host, "lun", phases, start=START)


def usual_lines() -> str:
    lines = [device_lines("h1", ["db", "web"]), device_lines("h2", ["etl"])]
    lines += [group_lines(name, (CALM_IOPS[name], CROWDED_IOPS[name])) for name in CALM_IOPS]
    return "\n".join(lines)


def judged(store: Resource, lines: str) -> Recommendation | str:
    send(store.organisation, lines, now=NOW)
    detect(resource=store, now=NOW)
    look_where_due(resource=store, now=NOW)
    return recommend(resource=store, now=NOW)


def rows(found: Recommendation | str) -> dict[str, dict[str, Any]]:
    assert isinstance(found, Recommendation), found
    return {one["workload"]: one for one in json.loads(found.answer)["allocations"]}


def parties() -> tuple[set[str], list[str]]:
    """Victims, and aggressors in their order."""
    incident = Incident.objects.get()
    return (
        {one["workload"] for one in incident.victims},
        [one["workload"] for one in incident.aggressors],
    )


def test_history_as_it_should_be_names_who_lost_and_who_took(store: Resource) -> None:
    found = rows(judged(store, usual_lines()))

    assert parties() == ({"db", "web"}, ["etl"])
    assert set(found) == set(CALM_IOPS)


def changed(lines: str, change: Callable[[str, datetime], str | None]) -> str:
    """Each line with its time as the function wants it; None leaves it out."""
    return "\n".join(_changed(lines, change))


def _changed(lines: str, change: Callable[[str, datetime], str | None]) -> Iterator[str]:
    for line in lines.splitlines():
        at = datetime.fromtimestamp(int(line.rpartition(" ")[2]) / 1e9, tz=NOW.tzinfo)
        if (found := change(line, at)) is not None:
            yield found


def test_rate_of_whom_nothing_calm_was_seen_is_suspected_with_the_reason(store: Resource) -> None:
    """The counters of db lack from the hour before until the incident has begun."""

    def lacking(line: str, at: datetime) -> str | None:
        is_gone = "path=/db " in line and at <= START + timedelta(seconds=10 * CALM)
        return None if is_gone else line

    db = rows(judged(store, changed(usual_lines(), lacking)))["db"]

    assert "0 of 4 calm windows" in db["unsure"]


def test_gaps_in_the_calm_hour_change_neither_victims_nor_culprit(store: Resource) -> None:
    """Of each ten calm minutes four lack."""

    def lacking(line: str, at: datetime) -> str | None:
        is_calm = at < START + timedelta(seconds=10 * CALM - 60)
        return None if is_calm and at.minute % 10 >= 6 else line

    judged(store, changed(usual_lines(), lacking))

    assert parties() == ({"db", "web"}, ["etl"])


def test_workload_that_was_seen_for_two_minutes_is_waited_for(store: Resource) -> None:
    cgroup_allocation(store, "new", host="h1")
    phases = [CgroupPhase(intervals=12, iops=50.0, waits=0.8)]
    lines = cgroup_lines("h1", "/new", phases, start=NOW - timedelta(seconds=120))

    found = judged(store, f"{usual_lines()}\n{lines}")

    assert isinstance(found, str)
    assert re.search(r"congested samples of new: 1[12] of 30", found)


def test_clock_of_a_host_that_is_half_a_minute_late_changes_no_name(store: Resource) -> None:
    def late(line: str, at: datetime) -> str:
        if "host=h2" not in line:
            return line
        head, _, _ = line.rpartition(" ")
        return f"{head} {int((at - timedelta(seconds=30)).timestamp()) * 10**9}"

    found = rows(judged(store, changed(usual_lines(), late)))

    assert parties() == ({"db", "web"}, ["etl"])
    assert found["etl"]["measured"] == pytest.approx(CROWDED_IOPS["etl"], rel=0.1)


def test_window_of_absurd_values_is_no_rate_that_anything_is_told_by(store: Resource) -> None:
    """From one reading to the next db would have done a million million I/Os."""
    at = START + timedelta(seconds=10 * (CALM + 30))

    def absurd(line: str, moment: datetime) -> str:
        if "path=/db " in line and moment >= at:
            return re.sub(
                r"8:0\.rios=(\d+)i", lambda one: f"8:0.rios={10**13 + int(one[1])}i", line
            )
        return line

    found = rows(judged(store, changed(usual_lines(), absurd)))

    assert parties() == ({"db", "web"}, ["etl"])
    assert found["db"]["measured"] < 1000
    assert found["db"]["predicted_after"] < 1000


def test_capacity_that_halves_is_no_workloads_fault(store: Resource) -> None:
    """A RAID that is rebuilt: all do half of what they did, at ten times the latency."""
    half = {name: rate / 2 for name, rate in CALM_IOPS.items()}
    lines = [
        device_lines("h1", ["db", "web"], crowded=half, ms=40.0),
        device_lines("h2", ["etl"], crowded=half, ms=40.0),
        *(group_lines(name, (CALM_IOPS[name], half[name])) for name in CALM_IOPS),
    ]

    found = judged(store, "\n".join(lines))

    assert isinstance(found, str), found
    external = Incident.objects.get().external
    assert external is not None
    assert external["state"] != ExternalState.NONE


def test_idle_workloads_are_never_victims(store: Resource) -> None:
    """290 that do an I/O a minute beside those that work."""
    names = [f"idle-{number:03}" for number in range(290)]
    for name in names:
        cgroup_allocation(store, name, host="h1")
    idle = [group_lines(name, (0.2, 0.2)) for name in names]

    judged(store, "\n".join([usual_lines(), *idle]))

    assert parties() == ({"db", "web"}, ["etl"])
