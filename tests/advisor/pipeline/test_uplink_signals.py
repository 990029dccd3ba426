"""Every signal of a congested uplink, from stored samples and reports to the incident."""

from __future__ import annotations

from datetime import timedelta

import pytest

from advisor.core.detection.congestion import StatePoint
from advisor.decisions.decide import approve
from advisor.history.levels import read_points
from advisor.models import Incident, Policy, Resource, State
from advisor.pipeline.detect import detect
from tests.advisor.agent_reports import REPORT_S, tell
from tests.advisor.judged_windows import EVER
from tests.advisor.samples import Phase, net_lines, send, tcp_lines
from tests.advisor.scenario import MBIT, NOW, Cluster, make_cluster, propose

pytestmark = pytest.mark.django_db

INTERVALS = 30
HOUR = timedelta(hours=1)
START = NOW - timedelta(seconds=10 * INTERVALS)
HALF = {"p1": 20 * MBIT, "p2": 20 * MBIT, "p3": 7 * MBIT}
FULL = {"p1": 30 * MBIT, "p2": 32 * MBIT, "p3": 31 * MBIT}
# 94 Mbit/s are 11.75 MB/s: 117,500 bytes drain in 10 ms, half of it in 5 ms
STANDING = {"backlogged": 3, "bytes": 117_500}
NO_QUEUE = {"backlogged": 0}


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def carry(cluster: Cluster, rates: dict[str, float], *, dropped: float = 0.0) -> None:
    """Five minutes in which the vNICs' traffic leaves by the uplink."""
    phase = Phase(
        intervals=INTERVALS,
        received=rates,
        sent={"up0": sum(rates.values())},
        dropped={"up0": dropped},
    )
    send(cluster.organisation, net_lines("h1", [phase], start=START), now=NOW)


def report(cluster: Cluster, *queues: dict[str, int]) -> None:
    """The agent tells the same queues every half minute."""
    for step in range(1, int(10 * INTERVALS / REPORT_S) + 1):
        tell(cluster, queues, at=START + timedelta(seconds=REPORT_S * step))


def fired(cluster: Cluster) -> dict[str, int]:
    """Look, then tell the signals of the incident with the windows in which they fired."""
    detect(resource=cluster.uplink, now=NOW)
    incident = Incident.objects.filter(resource=cluster.uplink).first()
    return {} if incident is None else {one["signal"]: one["windows"] for one in incident.signals}


def state(cluster: Cluster) -> State:
    return State(detect(resource=cluster.uplink, now=NOW).state)


def newest(resource: Resource) -> StatePoint:
    return read_points(resource, since=EVER)[-1]


def test_full_uplink_of_which_nobody_knows_the_queues_is_congested(cluster: Cluster) -> None:
    carry(cluster, FULL)

    assert fired(cluster) == {"utilisation": 30}


def test_full_uplink_that_keeps_nobody_waiting_is_clear(cluster: Cluster) -> None:
    carry(cluster, FULL)
    report(cluster, NO_QUEUE, NO_QUEUE, NO_QUEUE)

    assert state(cluster) == State.CLEAR
    assert newest(cluster.uplink).reason == "it is full, but no workload waits; fixed"


def test_full_uplink_with_traffic_of_unknown_queue_is_congested(cluster: Cluster) -> None:
    carry(cluster, FULL)
    report(cluster, NO_QUEUE, NO_QUEUE)

    assert state(cluster) == State.CONGESTED


def test_queue_that_stands_is_congestion_though_the_link_has_room(cluster: Cluster) -> None:
    carry(cluster, HALF)
    report(cluster, NO_QUEUE, STANDING, NO_QUEUE)

    assert fired(cluster) == {"backlog": 30}
    incident = Incident.objects.get()
    (signal,) = incident.evidence[0]["signals"]
    assert (signal["value"], signal["threshold"], signal["unit"]) == (
        pytest.approx(0.01),
        0.005,
        "s",
    )
    assert incident.evidence[0]["reason"].startswith("packets wait in a queue that does not drain")


def test_reservation_missed_with_more_waiting_is_congestion(cluster: Cluster) -> None:
    # web-1 has 75 Mbit/s reserved and gets 30 of a link that is 85 % full.
    carry(cluster, {"p1": 30 * MBIT, "p2": 25 * MBIT, "p3": 25 * MBIT})
    report(cluster, {"backlogged": 3, "bytes": 3000}, NO_QUEUE, NO_QUEUE)

    assert fired(cluster) == {"unmet_reservation": 30}
    incident = Incident.objects.get()
    assert [one["workload"] for one in incident.victims] == ["web-1"]
    assert incident.evidence[0]["reason"] == "below the reservation while wanting more: web-1"


@pytest.mark.parametrize(
    ("rates", "reason"),
    [(FULL, None), (HALF, "it drops packets although it is not full: bursts overflow its queue")],
    ids=["full", "bursts"],
)
def test_drops_are_congestion_of_a_full_link_only(
    cluster: Cluster, rates: dict[str, float], reason: str | None
) -> None:
    # 93 Mbit/s are 7750 packets a second of 1500 bytes, so 10 drops are 0.1 %.
    carry(cluster, rates, dropped=10)

    assert fired(cluster) == ({"utilisation": 30, "drops": 30} if reason is None else {})
    assert newest(cluster.uplink).reason.startswith(reason or "it is full and drops packets")


def test_drops_in_a_allocations_queue_count(cluster: Cluster) -> None:
    carry(cluster, FULL)
    report(cluster, NO_QUEUE, {"backlogged": 1, "drops": 300}, NO_QUEUE)

    assert fired(cluster) == {"utilisation": 30, "drops": 30}


def test_retransmits_tell_losses_elsewhere_while_the_link_has_room(cluster: Cluster) -> None:
    carry(cluster, HALF)
    lines = tcp_lines("h1", segments_per_s=1000, again_per_s=20, intervals=30, start=START)
    send(cluster.organisation, lines, now=NOW)

    assert state(cluster) == State.CLEAR
    point = newest(cluster.uplink)
    assert [one.signal for one in point.signals] == ["retransmits"]
    assert point.reason.startswith("packets are lost elsewhere")


def test_retransmits_of_a_full_link_are_its_own(cluster: Cluster) -> None:
    carry(cluster, FULL)
    lines = tcp_lines("h1", segments_per_s=1000, again_per_s=20, intervals=30, start=START)
    send(cluster.organisation, lines, now=NOW)

    assert fired(cluster) == {"utilisation": 30, "retransmits": 30}


def limit_web_2(cluster: Cluster, limit: float) -> Policy:
    policy = approve(
        recommendation=propose(cluster), user=cluster.people.owner, now=START - timedelta(hours=1)
    )
    assert policy is not None
    limits = [item | {"limit": limit if index == 1 else None}
              for index, item in enumerate(policy.allocations)]  # fmt: skip
    # Policy rows cannot be changed, so the limit comes in a version of its own.
    return Policy.objects.create(
        organisation=cluster.organisation,
        resource=cluster.uplink,
        version=policy.version + 1,
        allocations=limits,
        created_at=START - timedelta(minutes=30),
        created_by=cluster.people.owner,
    )


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(20 * MBIT, State.CLEAR), (90 * MBIT, State.CONGESTED)],
    ids=["its own limit", "the uplink"],
)
def test_queue_drops_and_retransmits_of_our_own_limit_are_no_congestion(
    cluster: Cluster, limit: float, expected: State
) -> None:
    limit_web_2(cluster, limit)
    carry(cluster, HALF)
    report(cluster, NO_QUEUE, STANDING | {"drops": 3000}, NO_QUEUE)
    lines = tcp_lines("h1", segments_per_s=1000, again_per_s=50, intervals=30, start=START)
    send(cluster.organisation, lines, now=NOW)

    found = state(cluster)

    assert found == expected
    if expected == State.CLEAR:
        assert newest(cluster.uplink).signals == ()
        assert not Incident.objects.exists()


def test_samples_in_any_order_and_twice_tell_the_same(cluster: Cluster) -> None:
    phase = Phase(intervals=INTERVALS, received=FULL, sent={"up0": 93 * MBIT}, dropped={"up0": 10})
    lines = net_lines("h1", [phase], start=START).splitlines()
    send(cluster.organisation, "\n".join(lines[::-1]), now=NOW)
    send(cluster.organisation, "\n".join(lines[::2] + lines), now=NOW)

    assert fired(cluster) == {"utilisation": 30, "drops": 30}


def test_host_that_starts_again_leaves_one_window_out(cluster: Cluster) -> None:
    phase = Phase(intervals=15, received=FULL, sent={"up0": 93 * MBIT})
    later = START + timedelta(seconds=10 * 16)
    for start in (START, later):
        # The counters of the second half begin again where those of the first began.
        send(cluster.organisation, net_lines("h1", [phase], start=start), now=NOW + HOUR)

    detect(resource=cluster.uplink, now=NOW + timedelta(seconds=10))

    (incident,) = Incident.objects.all()
    points = read_points(cluster.uplink, since=EVER)
    assert incident.windows == len(points) == 30
    assert all(0 <= point.value <= 1 for point in points if point.value is not None)
