"""The fleet benchmark: the same rows for the same seed, and figures checked by hand."""

import struct
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.fleet.copy_rows import packed_rows, timestamps
from bench.fleet.fill import BLOCK, blocks
from bench.fleet.kept_cluster import cache_key
from bench.fleet.lag import Judgement, due_s, lags_s, percentile
from bench.fleet.rows import as_document, as_json, as_table, at_most, below, not_measured
from bench.fleet.shape import BRIEF, MONTH, FleetShape, History
from bench.fleet.slope import log_log_slope, slope_row
from bench.fleet.traffic import (
    AGGRESSOR_SHARE,
    CAPACITY_BITS_PER_S,
    FULL_RATIO,
    THRESHOLD_MS,
    Growth,
    Traffic,
)
from bench.pages import Times, page_row

SHAPE = FleetShape(workloads=200)
ENDS_S = np.arange(10, 310, 10, dtype=np.int64)
CALM = np.zeros(len(ENDS_S), np.bool_)


def grown(shape: FleetShape = SHAPE, *, congested: bool = False) -> Growth:
    return Traffic(shape).grow(ENDS_S, 10, CALM | congested)


# --- The generator


def arrays(growth: Growth) -> Iterator[np.ndarray]:
    for name in Growth.__slots__:
        yield getattr(growth, name)


def test_same_seed_grows_the_same() -> None:
    pairs = zip(arrays(grown()), arrays(grown()), strict=True)

    assert all(np.array_equal(one, other) for one, other in pairs)


def test_other_seed_grows_otherwise() -> None:
    other = grown(FleetShape(workloads=200, seed=2))

    assert not np.array_equal(grown().cgroup, other.cgroup)


@pytest.mark.parametrize("congested", [False, True])
def test_counters_never_fall(congested: bool) -> None:
    assert all(one.min() >= 0 for one in arrays(grown(congested=congested)))


def test_disk_of_a_host_counts_what_its_workloads_do() -> None:
    found = grown()

    # 200 workloads, ten on each of 20 hosts
    assert found.disk.shape[1] == 20
    assert np.array_equal(found.disk[:, 3, :4], found.cgroup[:, 30:40].sum(1))


def test_uplink_sends_what_its_vnics_receive_and_a_hundredth_of_its_own() -> None:
    found = grown()

    received = found.vnic[:, 100:, 1].sum(1)
    assert np.array_equal(found.uplink[:, 1, 0], received * 101 // 100)


@pytest.mark.parametrize("congested", [False, True])
def test_levels_are_above_their_thresholds_in_congestion_only(congested: bool) -> None:
    found = grown(congested=congested)

    load = found.sent_bits_per_s / CAPACITY_BITS_PER_S
    assert ((found.latency_ms > THRESHOLD_MS) == congested).all()
    assert ((load > FULL_RATIO) == congested).all()


def test_first_of_a_group_has_most_of_the_congested_load() -> None:
    ios = grown(congested=True).cgroup[..., :2].sum((0, 2))

    assert ios[0] / ios[:100].sum() == pytest.approx(AGGRESSOR_SHARE, abs=0.05)
    assert ios[100] / ios[100:].sum() == pytest.approx(AGGRESSOR_SHARE, abs=0.05)


@pytest.mark.parametrize(
    ("workloads", "groups", "hosts"),
    [(10, 1, 1), (100, 1, 10), (1_000, 10, 100), (2_000, 20, 200), (10_000, 100, 1_000)],
)
def test_fleet_has_a_datastore_and_an_uplink_per_hundred(
    workloads: int, groups: int, hosts: int
) -> None:
    shape = FleetShape(workloads=workloads)

    assert (shape.groups, shape.hosts) == (groups, hosts)


def test_fleet_that_cannot_be_cut_into_groups_is_refused() -> None:
    with pytest.raises(ValueError, match="150 workloads cannot be cut into groups of 100"):
        FleetShape(workloads=150)


def test_month_is_30_days_of_which_25_hours_are_windows() -> None:
    found = list(blocks(MONTH))
    ends_s = np.concatenate([one.ends_s for one in found])
    steps = np.diff(ends_s, prepend=int(MONTH.first_at.timestamp()))

    # 695 hours in steps of 15 min, then 25 hours in windows of 10 s
    assert (steps == 900).sum() == 695 * 4
    assert (steps == 10).sum() == 25 * 360
    assert max(len(one.ends_s) for one in found) == BLOCK


# --- Rows for COPY


def test_packed_row_is_what_binary_copy_reads() -> None:
    columns = (np.array([7], np.int64), np.array([-1], np.int64))

    # The number of cells, then length and value of each, all in network order
    assert packed_rows(columns) == struct.pack(">hiqiq", 2, 8, 7, 8, -1)


def test_timestamps_count_microseconds_since_2000() -> None:
    # 2000-01-01T00:00:01Z
    assert timestamps(np.array([946_684_801], np.int64)).tolist() == [1_000_000]


# --- The cache


def test_cache_key_is_the_same_for_the_same_fleet_only() -> None:
    keys = {
        cache_key(SHAPE, BRIEF),
        cache_key(FleetShape(workloads=100), BRIEF),
        cache_key(FleetShape(workloads=200, seed=2), BRIEF),
        cache_key(SHAPE, History(fine_s=1200, congested_s=0)),
    }

    assert len(keys) == 4
    assert cache_key(FleetShape(workloads=200), BRIEF) in keys


# --- Slope


@given(
    power=st.floats(0.1, 3.0),
    factor=st.floats(1e-4, 1e3),
    sizes=st.lists(st.integers(1, 100_000), min_size=2, max_size=5, unique=True),
)
def test_slope_is_the_exponent_of_a_power_law(
    power: float, factor: float, sizes: list[int]
) -> None:
    costs = {size: factor * size**power for size in sizes}

    assert log_log_slope(costs) == pytest.approx(power, abs=1e-6)


def test_slope_of_a_constant_cost_is_zero() -> None:
    assert log_log_slope({100: 3.0, 10_000: 3.0}) == pytest.approx(0.0)


@pytest.mark.parametrize("costs", [{}, {100: 1.0}, {100: 0.0, 1000: 1.0}])
def test_slope_is_unknown_without_two_costs(costs: dict[int, float]) -> None:
    assert log_log_slope(costs) is None


def test_slope_row_that_grows_faster_than_the_fleet_does_not_hold() -> None:
    # Ten times the workloads cost 12 and 13 times as much: 10^1.08 and 10^1.11
    assert slope_row("calm", {100: 0.1, 1_000: 1.2}).holds
    assert not slope_row("calm", {100: 0.1, 1_000: 1.3}).holds


# --- Lag


def test_window_is_due_when_its_last_sample_is_there() -> None:
    assert due_s(Judgement(ended_s=100, committed_s=104, judged_s=None)) == 104


def test_window_is_due_10_s_after_its_end_without_its_last_sample() -> None:
    assert due_s(Judgement(ended_s=100, committed_s=130, judged_s=None)) == 110


def test_window_that_is_never_judged_lags_until_the_end_of_the_watch() -> None:
    judged = Judgement(ended_s=100, committed_s=104, judged_s=107)
    never = Judgement(ended_s=110, committed_s=114, judged_s=None)

    assert lags_s([judged, never], watched_until_s=200) == [3, 86]


def test_window_judged_before_its_last_sample_does_not_lag() -> None:
    early = Judgement(ended_s=100, committed_s=109, judged_s=106)

    assert lags_s([early], watched_until_s=200) == [0]


def test_percentile_is_a_measured_value() -> None:
    values = [float(value) for value in range(20, 0, -1)]

    # Nineteen of twenty values are at most 19.
    assert percentile(values, 95) == 19
    assert percentile(values, 100) == 20
    assert percentile([5.0], 50) == 5


# --- Rows


@pytest.mark.parametrize(("measured", "holds"), [(1.0, True), (1.1, True), (1.2, False)])
def test_row_holds_up_to_its_limit(measured: float, holds: bool) -> None:
    assert at_most("slope", "exponent", 1.1, measured).holds is holds


@pytest.mark.parametrize(("measured", "holds"), [(14.9, True), (15.0, False)])
def test_row_holds_below_its_limit(measured: float, holds: bool) -> None:
    assert below("lag", "s", 15, measured).holds is holds


@pytest.mark.parametrize(
    "row",
    [
        not_measured("lag", "s", "< 15", "left out"),
        at_most("slope", "exponent", 1.1, None),
        below("lag", "s", 15, None),
    ],
)
def test_row_that_was_not_measured_does_not_hold(row: object) -> None:
    (plain,) = as_json([row])  # type: ignore[list-item]

    assert (plain["measured"], plain["holds"]) == (None, False)


def test_table_says_what_was_not_measured_and_why() -> None:
    table = as_table([not_measured("lag", "s", "< 15", "left out")])

    assert table == (
        "what  unit  asked  measured      holds  note\n"
        "lag   s     < 15   not measured  no     left out"
    )


def test_document_marks_what_does_not_hold_and_says_what_was_not_measured() -> None:
    rows = [
        below("lag", "s", 15, 5.25),
        at_most("rows", "rows", 24, 8640),
        not_measured("plan", "s", "< 5", "left out"),
    ]

    assert as_document(rows) == (
        "    lag   < 15     5.25 s\n"
        "    rows  <= 24    8,640 rows  !\n"
        "    plan  < 5      not measured: left out"
    )


# --- Pages


def test_page_counts_by_the_slower_of_both_caches() -> None:
    found = page_row("overview", Times(warm=[40.0] * 20, emptied=[101.0] * 20, cpu_ms=30.0))

    assert (found.measured, found.asked, found.holds) == (101.0, "< 100", False)


def test_page_that_the_fleet_does_not_have_is_a_row_that_does_not_hold() -> None:
    found = page_row("what-if", None)

    assert (found.measured, found.asked, found.holds) == (None, "< 200", False)
    assert found.note == "nothing in the fleet has such a page"
