"""Where a workload with a reservation may be, at the exact value of each rule."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from advisor.advice.host_placement.decide.host_cluster import Cluster
from advisor.advice.host_placement.decide.host_inputs import (
    HostMove,
    HostPlacementAdvice,
    HostPlacementInputs,
    HostUplinks,
    NetworkWorkload,
    RefusedReservation,
)
from advisor.advice.host_placement.decide.host_placement import advise_hosts
from advisor.core.explanation.answer import NoChange

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
GBIT = 1e9
PLAIN = HostUplinks(host="h1", uplink_bits_per_s=(10 * GBIT,))


def workload(
    name: str, on: str | None, gbit: float, *, promised: bool = True, movable: bool = True
) -> NetworkWorkload:
    return NetworkWorkload(
        workload=name,
        host=on,
        reservation_bits_per_s=gbit * GBIT,
        promised=promised,
        movable=movable,
    )


def advised(
    hosts: list[HostUplinks], *workloads: NetworkWorkload
) -> HostPlacementAdvice | NoChange:
    result = advise_hosts(HostPlacementInputs(hosts=tuple(hosts), workloads=workloads, now=NOW))
    assert isinstance(result, HostPlacementAdvice | NoChange)
    return result


def moves(hosts: list[HostUplinks], *workloads: NetworkWorkload) -> tuple[HostMove, ...]:
    result = advised(hosts, *workloads)
    return () if isinstance(result, NoChange) else result.moves


def refused(hosts: list[HostUplinks], *workloads: NetworkWorkload) -> list[RefusedReservation]:
    result = advised(hosts, *workloads)
    return [] if isinstance(result, NoChange) else list(result.refused)


def named(*names: str) -> list[HostUplinks]:
    return [replace(PLAIN, host=name) for name in names]


def start_on(*hosts: HostUplinks, beside: tuple[NetworkWorkload, ...] = ()) -> str:
    """Where a workload of 1 Gbit/s is started."""
    (move, *_) = moves(list(hosts), workload("new", None, 1.0), *beside)
    return move.target


def test_three_quarters_of_an_uplink_may_be_reserved_and_no_more() -> None:
    assert moves(named("h1", "h2"), workload("a", "h1", 5.0), workload("b", "h1", 2.5)) == ()
    (move,) = moves(named("h1", "h2"), workload("a", "h1", 5.0), workload("b", "h1", 2.6))
    assert (move.workload, move.source, move.target) == ("b", "h1", "h2")
    assert move.reason == "7.60 Gbit/s are reserved on h1, where 7.50 Gbit/s may be"


def test_workload_starts_where_just_enough_is_left() -> None:
    beside = (workload("old", "h1", 6.5),)

    (move,) = moves(named("h1"), workload("new", None, 1.0), *beside)

    assert (move.target, move.source, move.due_at) == ("h1", None, None)
    late = workload("new", None, 1.1, promised=False)
    assert [one.workload for one in refused(named("h1"), late, *beside)] == ["new"]


def test_workload_starts_nowhere_if_what_is_left_is_on_two_hosts() -> None:
    # The pool of 15 has 1 left, half of it on each host.
    beside = (workload("a", "h1", 7.0), workload("b", "h2", 7.0))

    (found,) = refused(named("h1", "h2"), workload("new", None, 1.0), *beside)

    assert (found.workload, found.reason) == (
        "new",
        "no host has so much left of what may be reserved",
    )


@pytest.mark.parametrize(("used", "target"), [(0.79, "h1"), (0.8, "h2")])
def test_host_whose_uplink_is_used_to_four_fifths_is_chosen_last(used: float, target: str) -> None:
    # The other has a free uplink, but its processors have more to do.
    first = replace(PLAIN, tx_bits_per_s=used * 10 * GBIT)
    second = replace(PLAIN, host="h2", cpu_ratio=0.9)

    assert start_on(first, second) == target


@pytest.mark.parametrize(
    "busy",
    [{"cpu_ratio": 0.5}, {"memory_ratio": 0.5}, {"tx_bits_per_s": 5 * GBIT}],
    ids=lambda one: next(iter(one)),
)
def test_host_with_the_least_of_what_is_most_used_is_chosen(busy: dict[str, float]) -> None:
    calmer = replace(PLAIN, host="h2", cpu_ratio=0.4, memory_ratio=0.4, tx_bits_per_s=4 * GBIT)

    assert start_on(replace(PLAIN, **busy), calmer) == "h2"  # type: ignore[arg-type]


def test_use_of_an_uplink_counts_by_its_line_rate() -> None:
    # 2 of 10 Gbit/s are less than 1 of 2.
    fast = replace(PLAIN, host="fast", tx_bits_per_s=2 * GBIT)
    slow = HostUplinks(host="a-slow", uplink_bits_per_s=(2 * GBIT,), tx_bits_per_s=GBIT)

    assert start_on(fast, slow) == "fast"


def test_of_hosts_equally_used_the_one_with_the_least_reserved_is_chosen_then_by_name() -> None:
    beside = (workload("old", "h1", 1.0),)

    assert start_on(*named("h1", "h2"), beside=beside) == "h2"
    assert start_on(*named("h2", "h1")) == "h1"


def test_host_without_an_uplink_takes_no_workload() -> None:
    bare = HostUplinks(host="a", uplink_bits_per_s=())

    assert start_on(bare, PLAIN) == "h1"
    assert bare.line_bits_per_s == 0.0


def test_violation_is_mended_within_five_minutes_of_when_it_began() -> None:
    began = NOW - timedelta(minutes=2)
    hosts = [replace(PLAIN, violated_since=began), replace(PLAIN, host="h2")]

    (move,) = moves(hosts, workload("a", "h1", 5.0), workload("b", "h1", 3.0))

    assert move.due_at == began + timedelta(minutes=5)
    (now,) = moves(named("h1", "h2"), workload("a", "h1", 5.0), workload("b", "h1", 3.0))
    assert now.due_at == NOW + timedelta(minutes=5)


def test_smallest_reservation_that_ends_the_violation_is_moved_else_the_largest() -> None:
    # 8.5 of 7.5: one of 1.0 is enough.
    sizes = {"a": 4.0, "b": 2.0, "c": 1.0, "d": 0.9, "e": 0.6}
    many = [workload(name, "h1", gbit) for name, gbit in sizes.items()]
    assert [one.workload for one in moves(named("h1", "h2"), *many)] == ["c"]

    # 9 of 7.5: no single one of 1 is enough, so two go; of equals the last by name first.
    equal = [workload(name, "h1", 1.0) for name in "abcdefghi"]
    assert [one.workload for one in moves(named("h1", "h2"), *equal)] == ["i", "a"]


def test_only_hosts_that_something_leaves_could_be_left_as_they_are() -> None:
    # h3 is above 7.5, too, but what it has may not be moved.
    result = advised(
        named("h1", "h2", "h3"),
        workload("a", "h1", 5.0),
        workload("b", "h1", 3.0),
        workload("c", "h3", 8.0, movable=False),
    )

    assert isinstance(result, HostPlacementAdvice)
    assert [one.name for one in result.alternatives] == ["leave everything on h1"]
    assert result.alternatives[0].reason.startswith("500 Mbit/s more than may be are reserved")


def test_what_may_not_move_and_what_reserves_nothing_stays() -> None:
    found = moves(
        named("h1", "h2"),
        workload("a", "h1", 5.0),
        workload("b", "h1", 3.0, movable=False),
        workload("c", "h1", 0.0),
    )

    assert [one.workload for one in found] == ["a"]


def test_promises_in_force_come_before_new_ones() -> None:
    # The pool is 7.5 of one host.
    found = refused(
        named("h1"),
        workload("new", "h1", 3.0, promised=False),
        workload("old", "h1", 5.0, movable=False),
    )

    assert [(one.workload, one.reservation_bits_per_s) for one in found] == [("new", 3 * GBIT)]
    assert found[0].reason.endswith("has 2.50 Gbit/s left")


def test_difference_that_rounding_makes_is_no_violation() -> None:
    cluster = Cluster(named("h1"), [workload("a", "h1", 7.5 * (1 + 1e-12))], reservable_ratio=0.75)

    assert cluster.excess("h1") == 0.0


def test_workloads_divide_what_the_uplink_carries_by_reservation_and_shares() -> None:
    carried = replace(PLAIN, carries_bits_per_s=9.4 * GBIT)
    workloads = [workload("a", "h1", 3.0), workload("b", "h1", 0.0)]

    def rates(host: HostUplinks) -> dict[str, float]:
        return Cluster([host], workloads, reservable_ratio=0.75).rates()

    # 6.4 and 7 Gbit/s are left to halve.
    assert rates(carried) == pytest.approx({"a": 6.2 * GBIT, "b": 3.2 * GBIT})
    assert rates(PLAIN) == pytest.approx({"a": 6.5 * GBIT, "b": 3.5 * GBIT})
