"""Which incidents are one: how many, how late, and in which order."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from advisor.core.detection.correlation import (
    CongestedResource,
    CorrelatedIncidents,
    CorrelationKind,
    SlowWorkload,
    correlate,
)

START = datetime(2026, 3, 2, 12, tzinfo=UTC)


def second(value: float | None) -> datetime | None:
    return None if value is None else START + timedelta(seconds=value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a congested resource lies."""

    carries_others: bool = False
    reached_by: tuple[str, ...] = ()
    disks: str = ""


UPLINK = Place(carries_others=True)
ON_ARRAY = Place(disks="array-7")
OVER_UP0 = Place(reached_by=("up0",))


def congested(
    name: str, begin: float, end: float | None, place: Place = Place()
) -> CongestedResource:
    return CongestedResource(
        resource=name,
        began_at=START + timedelta(seconds=begin),
        ended_at=second(end),
        carries_others=place.carries_others,
        reached_by=place.reached_by,
        disks=place.disks,
    )


def slow(name: str, begin: float, end: float | None, on: str = "ds1") -> SlowWorkload:
    return SlowWorkload(
        workload=name,
        resource=on,
        began_at=START + timedelta(seconds=begin),
        ended_at=second(end),
    )


def names(groups: list[CorrelatedIncidents]) -> list[str]:
    return [one.name for one in groups]


@pytest.mark.parametrize(("count", "kind"), [(3, "resource"), (2, "workload")])
def test_three_workloads_slow_at_once_point_at_their_resource(count: int, kind: str) -> None:
    groups = correlate([], [slow(f"w{number}", 0, 10) for number in range(count)])

    assert {one.kind for one in groups} == {CorrelationKind(kind)}
    assert [one.resources for one in groups] == ([("ds1",)] if count == 3 else [(), ()])
    assert groups[0].reason == (
        "3 workloads of ds1 were slow at once, though it was not seen congested"
        if count == 3
        else "ds1 was not congested: check the workload and its own limit"
    )


def test_one_workload_slow_three_times_is_no_crowd() -> None:
    groups = correlate([], [slow("db", 10 * number, 10 * number + 10) for number in range(3)])

    assert [one.kind for one in groups] == [CorrelationKind.WORKLOAD] * 3


def test_crowd_lasts_from_its_first_beginning_to_its_last_end() -> None:
    (crowd,) = correlate([], [slow("a", 20, 40), slow("b", 10, 90), slow("c", 30, 50)])

    assert (crowd.began_at, crowd.ended_at) == (second(10), second(90))
    assert crowd.workloads == ("a", "b", "c")


def test_workloads_of_two_resources_are_no_crowd() -> None:
    three = [slow("a", 0, 10), slow("b", 0, 10), slow("c", 0, 10, on="ds2")]

    assert {one.kind for one in correlate([], three)} == {CorrelationKind.WORKLOAD}


def test_crowd_is_joined_through_any_of_its_members() -> None:
    # c overlaps b, which overlaps a; c begins long after a is over.
    (crowd,) = correlate([], [slow("a", 0, 100), slow("b", 90, 300), slow("c", 290, 400)])

    assert crowd.workloads == ("a", "b", "c")


@pytest.mark.parametrize(("end", "count"), [(0.0, 1), (-1.0, 2)], ids=["at the bound", "beyond"])
def test_workload_may_be_slow_until_a_minute_before_its_resource_is_congested(
    end: float, count: int
) -> None:
    groups = correlate([congested("ds1", 60, 600)], [slow("db", -100, end)])

    assert len(groups) == count


@pytest.mark.parametrize(("begin", "count"), [(600, 1), (601, 2)], ids=["at the end", "after it"])
def test_workload_that_is_slow_from_the_end_of_the_congestion_on_belongs_to_it(
    begin: float, count: int
) -> None:
    groups = correlate([congested("ds1", 60, 600)], [slow("db", begin, 900)])

    assert len(groups) == count


def test_workload_that_is_still_slow_belongs_to_congestion_that_lasts() -> None:
    (group,) = correlate([congested("ds1", 60, None)], [slow("db", 0, None)])

    assert group.ended_at is None


def test_group_ends_with_its_last_part_and_begins_with_its_first_resource() -> None:
    (group,) = correlate([congested("ds1", 60, 600)], [slow("db", 30, 700), slow("web", 90, 500)])

    assert (group.began_at, group.ended_at) == (second(60), second(700))


@pytest.mark.parametrize(
    ("begin", "count"), [(600, 1), (601, 2)], ids=["as the first ends", "after it"]
)
def test_datastores_on_the_same_disks_are_one_cause_where_they_overlap(
    begin: float, count: int
) -> None:
    pair = [congested("ds1", 0, 600, ON_ARRAY), congested("ds2", begin, 900, ON_ARRAY)]

    assert len(correlate(pair, [])) == count


def test_datastores_without_named_disks_or_on_others_are_two_causes() -> None:
    for place in (Place(), Place(disks="array-8")):
        pair = [congested("ds1", 0, 600), congested("ds2", 0, 600, place)]
        assert names(correlate(pair, [])) == ["ds1", "ds2"]


def test_third_datastore_on_the_disks_joins_through_the_second() -> None:
    three = [
        congested("ds1", 0, 100, ON_ARRAY),
        congested("ds2", 90, 300, ON_ARRAY),
        congested("ds3", 290, 400, ON_ARRAY),
    ]

    (group,) = correlate(three, [])

    assert group.resources == ("ds1", "ds2", "ds3")
    assert group.reason == "ds1 was congested, and ds2 and ds3 on the same disks array-7"


def test_one_datastore_congested_twice_on_its_disks_is_named_once() -> None:
    twice = [congested("ds1", 0, 100, ON_ARRAY), congested("ds1", 100, 200, ON_ARRAY)]

    (group,) = correlate(twice, [])

    assert (group.resources, group.reason) == (("ds1",), "ds1 was congested")


def test_datastore_reached_through_another_uplink_is_a_cause_of_its_own() -> None:
    pair = [congested("up1", 0, 600, UPLINK), congested("nfs", 60, 600, OVER_UP0)]

    assert names(correlate(pair, [])) == ["up1", "nfs"]


def test_uplink_on_the_same_disks_as_another_does_not_join_it() -> None:
    carrier = Place(carries_others=True, disks="array-7")
    pair = [congested("ds1", 0, 600, ON_ARRAY), congested("up0", 0, 600, carrier)]

    assert sorted(names(correlate(pair, []))) == ["ds1", "up0"]


def test_uplink_that_was_over_before_explains_nothing() -> None:
    pair = [congested("up0", 0, 600, UPLINK), congested("nfs", 601, 900, OVER_UP0)]

    assert names(correlate(pair, [])) == ["up0", "nfs"]


def test_workload_of_a_datastore_behind_an_uplink_belongs_to_the_uplink() -> None:
    resources = [congested("up0", 0, 600, UPLINK), congested("nfs", 30, 600, OVER_UP0)]

    (group,) = correlate(resources, [slow("db", 60, 500, on="nfs")])

    assert (group.name, group.workloads) == ("up0", ("db",))
    assert group.reason == "up0 was congested, and nfs reached through it"


def test_groups_come_in_order_of_time_then_kind_then_name() -> None:
    groups = correlate(
        [congested("z", 10, 20), congested("y", 10, 20)],
        [slow("b", 0, 5, on="q"), slow("a", 10, 20, on="q")],
    )

    assert names(groups) == ["b", "y", "z", "a"]


def test_end_may_be_the_beginning_but_not_before_it() -> None:
    assert correlate([congested("ds1", 5, 5)], [slow("a", 5, 5)])[0].workloads == ("a",)
    with pytest.raises(ValueError, match=r"^ds1: ended_at .* lies before began_at"):
        congested("ds1", 5, 4.9)


def test_time_without_a_zone_is_refused() -> None:
    bare = datetime(2026, 3, 2)  # noqa: DTZ001  # What is refused.
    with pytest.raises(ValueError, match=r"^began_at of ds1 is "):
        CongestedResource(resource="ds1", began_at=bare)
    with pytest.raises(ValueError, match=r"^ended_at of db is "):
        SlowWorkload(workload="db", resource="ds1", began_at=START, ended_at=bare)
