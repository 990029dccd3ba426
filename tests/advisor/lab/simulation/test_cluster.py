"""The simulated cluster against closed forms: Little's law, queueing theory, shares and limits."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.core.allocation import Allocation, ReservationMode, entitlements
from advisor.core.detection.congestion import CongestionState
from advisor.lab.simulation.cluster import Cluster, simulate
from advisor.lab.simulation.control import WindowControl
from advisor.lab.simulation.datastore import SimulatedDatastore
from advisor.lab.simulation.load import Access, SimulatedWorkload, SteadyIo, Transactions
from enforcers.window import WindowLaw

pytestmark = pytest.mark.slow

DISKS = SimulatedDatastore(servers=8, access_s=0.004)
"""Eight disks of 4 ms: at most 2,000 IOPS."""


def steady(name="w", host="h1", *, outstanding=16, io_bytes=8192, access=Access.RANDOM_READ, **kw):
    load = SteadyIo(outstanding_io=outstanding, io_bytes=io_bytes, access=access)
    return SimulatedWorkload(name=name, host=host, load=load, **kw)


def clients(name="w", host="h1", *, count=40, think_s=0.05, ios=4.0, **kw):
    load = Transactions(clients=count, think_s=think_s, ios_per_transaction=ios, io_bytes=8192)
    return SimulatedWorkload(name=name, host=host, load=load, **kw)


def run(*workloads, datastore=DISKS, control=None, duration_s=15, seed=1, queue_depth=256):
    cluster = Cluster(
        datastore=datastore, workloads=workloads, control=control, queue_depth=queue_depth
    )
    return simulate(cluster, duration_s=duration_s, bucket_s=1, seed=seed)


def mean_value_analysis(clients, *, think_s, visits, servers, service_s):
    """Exact throughput of I/Os for one class of clients on servers chosen at random.

    Each I/O waits for those it finds; what it finds is the mean with one client less.
    """
    queue = 0.0
    for population in range(1, clients + 1):
        latency = service_s * (1 + queue / servers)
        ios_per_s = visits * population / (think_s + visits * latency)
        queue = ios_per_s * latency
    return ios_per_s


@pytest.mark.parametrize("outstanding", [1, 8, 64])
def test_latency_is_the_line_over_outstanding_io(outstanding):
    total = run(steady(outstanding=outstanding)).of("w", 5)

    # s·(D - 1 + N)/D with s = 4 ms and D = 8.
    expected_ms = 4 * (7 + outstanding) / 8
    assert total.latency_ms == pytest.approx(expected_ms, rel=0.03)
    assert total.iops == pytest.approx(1000 * outstanding / expected_ms, rel=0.03)


@pytest.mark.parametrize("count", [5, 40, 200])
def test_transactions_follow_mean_value_analysis(count):
    total = run(clients(count=count), duration_s=20).of("w", 3)

    expected = mean_value_analysis(count, think_s=0.05, visits=4, servers=8, service_s=0.004)
    assert total.iops == pytest.approx(expected, rel=0.03)
    assert total.transactions_per_s == pytest.approx(expected / 4, rel=0.03)
    # Interactive response time law: clients = throughput · (thinking + transaction).
    cycle_s = 0.05 + total.transaction_ms / 1000
    assert total.transactions_per_s * cycle_s == pytest.approx(count, rel=0.03)


@settings(max_examples=15)
@given(st.integers(1, 40), st.integers(1, 20), st.floats(0.001, 0.02))
def test_littles_law_holds_for_any_load(outstanding, servers, access_s):
    datastore = SimulatedDatastore(servers=servers, access_s=access_s)

    total = run(steady(outstanding=outstanding), datastore=datastore, duration_s=5).of("w", 1)

    assert total.outstanding_io == pytest.approx(outstanding)
    assert total.iops * total.latency_ms / 1000 == pytest.approx(outstanding, rel=0.05)


def test_fractional_ios_per_transaction_are_the_mean():
    total = run(clients(ios=2.4)).of("w", 5)

    assert total.ios / total.transactions == pytest.approx(2.4, rel=0.02)


def test_large_ios_pay_for_their_size_on_servers_and_link():
    # 4 ms and 8 KiB or 64 KiB at 16 MiB/s: 4.5 or 8 ms.
    sized = SimulatedDatastore(servers=8, access_s=0.004, bytes_per_s=16 * 2**20)
    linked = SimulatedDatastore(servers=80, access_s=0.004, link_bytes_per_s=16 * 2**20)

    small = run(steady(outstanding=1), datastore=sized).of("w")
    large = run(steady(outstanding=1, io_bytes=65536), datastore=sized).of("w")
    bound = run(steady(outstanding=32, io_bytes=65536), datastore=linked).of("w", 2)

    assert small.latency_ms == pytest.approx(4.5, rel=0.05)
    assert large.latency_ms == pytest.approx(8, rel=0.05)
    # 16 MiB/s in 64 KiB are 256 I/Os a second.
    assert bound.iops == pytest.approx(256, rel=0.02)
    assert linked.peak_iops(65536) == 256


def test_small_ios_wait_for_the_large_ones_of_others():
    sized = SimulatedDatastore(servers=8, access_s=0.004, bytes_per_s=16 * 2**20)

    beside_small = run(steady("a"), steady("b"), datastore=sized).of("a", 2)
    beside_large = run(steady("a"), steady("b", io_bytes=65536), datastore=sized).of("a", 2)

    # 16 rivals of 4.5 ms, or of 8 ms: (7 + 16 + 16 at 4.5) / 8 against 16 of them at 8.
    assert beside_small.latency_ms == pytest.approx(4.5 * 39 / 8, rel=0.05)
    assert beside_large.latency_ms == pytest.approx((4.5 * 23 + 8 * 16) / 8, rel=0.07)


def test_cache_answers_writes_until_it_is_full():
    cached = SimulatedDatastore(servers=8, access_s=0.004, cache_ios=2000, cache_s=0.001)

    writing = run(steady(access=Access.RANDOM_WRITE), datastore=cached, duration_s=10)

    # 16 at 1 ms would be 16,000 a second; 2,000 fit, then the disks' 2,000 a second remain.
    assert writing.of("w", 0, 1).iops > 3500
    assert writing.of("w", 5).iops == pytest.approx(2000, rel=0.03)


def test_link_holds_back_what_waits_for_a_full_cache():
    # 256 I/Os of 64 KiB a second pass 16 MiB/s; the servers could do 2,000.
    linked = SimulatedDatastore(
        servers=8, access_s=0.004, link_bytes_per_s=16 * 2**20, cache_ios=8, cache_s=0.0001
    )
    load = steady(outstanding=64, io_bytes=65536, access=Access.RANDOM_WRITE)

    assert run(load, datastore=linked).of("w", 2).iops == pytest.approx(256, rel=0.02)


def test_cache_puts_the_sequential_writes_of_many_streams_together():
    # 1 ms of transfer, and 4 ms of access that only random writes pay; 100 I/Os wait for 8 disks
    # chosen at random, which is 100/107 of their 8,000 or 1,600 a second.
    cached = SimulatedDatastore(
        servers=8, access_s=0.004, bytes_per_s=8192 * 1000, cache_ios=100, cache_s=0.0001
    )

    def iops(access):
        writers = [steady(f"w{index}", access=access) for index in range(16)]
        return run(*writers, datastore=cached, duration_s=6).whole(2).iops

    assert iops(Access.SEQUENTIAL_WRITE) == pytest.approx(8000 * 100 / 107, rel=0.03)
    assert iops(Access.RANDOM_WRITE) == pytest.approx(1600 * 100 / 107, rel=0.03)


def test_cached_writes_keep_all_disks_busy_where_reads_do_not():
    cached = SimulatedDatastore(servers=8, access_s=0.004, cache_ios=500, cache_s=0.0001)

    reads = run(steady(outstanding=4), datastore=cached).of("w", 5)
    writes = run(steady(outstanding=4, access=Access.RANDOM_WRITE), datastore=cached).of("w", 5)

    assert writes.iops > 1.5 * reads.iops


@pytest.mark.parametrize(
    ("streams", "skipped"), [(1, 1.0), (2, 1.0), (4, 0.5)], ids=["one", "as many", "too many"]
)
def test_read_ahead_covers_so_many_streams(streams, skipped):
    array = SimulatedDatastore(
        servers=8, access_s=0.004, bytes_per_s=8192 * 1000, read_ahead_streams=2
    )
    readers = [
        steady(f"r{index}", outstanding=1, access=Access.SEQUENTIAL_READ)
        for index in range(streams)
    ]

    result = run(*readers, datastore=array)

    # 1 ms of transfer, and 4 ms of access for the reads that are not recognised.
    waiting_ms = (1 + 4 * (1 - skipped)) * (1 + (streams - 1) / 8)
    assert result.of("r0").latency_ms == pytest.approx(waiting_ms, rel=0.15)


def test_queue_depth_of_the_host_keeps_the_rest_waiting_there():
    total = run(steady(outstanding=64), queue_depth=8).of("w", 5)

    assert total.outstanding_io == pytest.approx(64)
    assert total.device_outstanding_io == pytest.approx(8, rel=0.02)
    assert total.device_latency_ms == pytest.approx(4 * 15 / 8, rel=0.03)


@settings(max_examples=6, deadline=None)
@given(
    st.lists(st.sampled_from([500.0, 1000.0, 2000.0]), min_size=2, max_size=4),
    st.sampled_from([0.0, 300.0]),
    st.sampled_from([None, 200.0]),
)
def test_backlogged_workloads_of_a_host_get_what_the_solver_says(shares, reservation, limit):
    allocations = [Allocation(shares=share) for share in shares]
    allocations[0] = Allocation(reservation=reservation, shares=shares[0])
    allocations[-1] = Allocation(limit=limit, shares=shares[-1])
    names = [f"w{index}" for index in range(len(allocations))]

    result = run(
        *(
            steady(name, outstanding=64, allocation=allocation)
            for name, allocation in zip(names, allocations, strict=True)
        ),
        queue_depth=16,
        duration_s=12,
    )

    total = result.whole(2).iops
    expected = entitlements(total, allocations, ReservationMode.FLOOR)
    got = [result.of(name, 2).iops for name in names]
    # A limit close to the share costs some: what random service delays is not all made up for.
    assert got == pytest.approx(expected, rel=0.05, abs=2)


def test_windows_of_two_hosts_come_to_rest_by_their_shares_within_20_s():
    law = WindowLaw(threshold_ms=20)
    result = run(
        steady("a", "h1", outstanding=64, allocation=Allocation(shares=1000)),
        steady("b", "h2", outstanding=64, allocation=Allocation(shares=3000)),
        control=WindowControl(law=law),
        duration_s=60,
    )

    # At rest Λ = 20 ms, and on the line they are 4·(7 + W)/8: W = 33, a quarter is 8.25.
    assert result.window("h1", 20) == pytest.approx(33 / 4, rel=0.05)
    assert result.window("h2", 20) == pytest.approx(33 * 3 / 4, rel=0.05)
    assert result.whole(20).device_latency_ms == pytest.approx(20, rel=0.05)
    assert result.of("b", 20).iops / result.of("a", 20).iops == pytest.approx(3, rel=0.05)


def test_reservation_holds_against_shares_on_another_host():
    # 1,000 of the 1,650 IOPS that 20 ms leave; shares alone would give a quarter of them.
    reserved = Allocation(reservation=1000, shares=1000)
    result = run(
        steady("a", "h1", outstanding=64, allocation=reserved),
        steady("b", "h2", outstanding=64, allocation=Allocation(shares=3000)),
        control=WindowControl(law=WindowLaw(threshold_ms=20)),
        duration_s=60,
    )

    assert result.of("a", 20).iops == pytest.approx(1000, rel=0.05)
    assert result.whole(20).device_latency_ms == pytest.approx(20, rel=0.05)


def test_limit_leaves_its_slots_to_workloads_of_other_hosts():
    # 200 IOPS at 20 ms are 4 slots of the 33; the other host has the rest.
    result = run(
        steady("a", "h1", outstanding=64, allocation=Allocation(shares=1000, limit=200)),
        steady("b", "h2", outstanding=64, allocation=Allocation(shares=1000)),
        control=WindowControl(law=WindowLaw(threshold_ms=20)),
        duration_s=60,
    )

    assert result.of("a", 20).iops == pytest.approx(200, rel=0.05)
    assert result.window("h2", 20) == pytest.approx(29, rel=0.08)
    assert result.whole(20).device_latency_ms == pytest.approx(20, rel=0.05)


def test_without_congestion_shares_change_nothing():
    law = WindowLaw(threshold_ms=50)

    result = run(
        steady("a", "h1", allocation=Allocation(shares=1000)),
        steady("b", "h2", allocation=Allocation(shares=4000)),
        control=WindowControl(law=law),
        duration_s=16,
    )

    assert result.window("h1") == result.window("h2") == 256
    assert result.of("a", 4).iops == pytest.approx(result.of("b", 4).iops, rel=0.03)


def test_detector_calls_a_slow_datastore_congested_and_a_quick_one_clear():
    result = run(steady(outstanding=64))

    # 64 outstanding take 4·71/8 = 35.5 ms.
    assert result.congestion(20)[-1].state is CongestionState.CONGESTED
    assert result.congestion(50)[-1].state is CongestionState.CLEAR


def test_inactive_workload_does_nothing_and_has_no_latency():
    result = run(steady("always"), clients("sometimes", active=((3.0, 6.0), (12.0, math.inf))))

    for begin, end, busy in ((0, 3, False), (4, 6, True), (8, 12, False), (13, 15, True)):
        total = result.of("sometimes", begin, end)
        assert (total.ios > 0) is busy
        assert (total.latency_ms is None) is not busy


def test_same_seed_gives_the_same_run_and_another_seed_another():
    first, second, other = (run(clients(), seed=seed, duration_s=5) for seed in (7, 7, 8))

    assert first == second
    assert first != other


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_number_of_a_run_is_finite(seed):
    idle = steady("never", active=((14.0, 15.0),), allocation=Allocation(limit=0))
    result = run(clients(), idle, seed=seed, duration_s=5)

    for totals in result.workloads.values():
        for total in totals:
            assert all(
                math.isfinite(getattr(total, name))
                for name in ("iops", "outstanding_io", "transactions_per_s")
            )
    assert result.of("never").iops == 0


@pytest.mark.parametrize("wrong", [2.5, 1e18, math.nan, math.inf, -1.0, 0.0])
def test_counts_that_cannot_be_simulated_are_refused(wrong):
    with pytest.raises(ValueError, match="servers is"):
        SimulatedDatastore(servers=wrong, access_s=1)
    with pytest.raises(ValueError, match="outstanding_io is"):
        SteadyIo(outstanding_io=wrong, io_bytes=1)
    with pytest.raises(ValueError, match="clients is"):
        Transactions(clients=wrong, think_s=1, ios_per_transaction=1, io_bytes=1)


def test_more_buckets_than_can_be_counted_are_refused():
    with pytest.raises(ValueError, match="buckets are too many"):
        run(steady(), duration_s=1e18)


def test_more_periods_than_can_be_simulated_are_refused():
    control = WindowControl(law=WindowLaw(threshold_ms=5), period_s=1e-9)

    with pytest.raises(ValueError, match="period_s is 1e-09"):
        run(steady(), control=control)


def test_host_that_may_send_nothing_is_refused():
    with pytest.raises(ValueError, match=r"queue_depth is 0\.4; a host needs at least 1"):
        run(steady(), queue_depth=0.4)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -1.0])
def test_shares_that_are_no_number_are_refused(wrong):
    with pytest.raises(ValueError, match="shares"):
        run(steady(allocation=Allocation(shares=wrong)))


def test_io_that_is_never_answered_has_no_latency():
    slow = SimulatedDatastore(servers=2, access_s=1e18)

    total = run(steady(outstanding=4), datastore=slow, duration_s=2).of("w")

    assert (total.iops, total.latency_ms, total.outstanding_io) == (0, None, 4)


def test_mean_of_no_bucket_is_refused():
    with pytest.raises(ValueError, match="h1: no bucket ends between 3 and 3 s"):
        run(steady(), duration_s=2).window("h1", 3, 3)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -1.0, 0.0])
def test_impossible_clusters_are_refused(wrong):
    with pytest.raises(ValueError, match="access_s"):
        SimulatedDatastore(servers=8, access_s=wrong)
    with pytest.raises(ValueError, match="ios_per_transaction"):
        Transactions(clients=1, think_s=1, ios_per_transaction=wrong, io_bytes=1)
    with pytest.raises(ValueError, match="queue_depth"):
        run(steady(), queue_depth=wrong)
    with pytest.raises(ValueError, match="duration_s"):
        run(steady(), duration_s=wrong)
    with pytest.raises(ValueError, match="period_s"):
        WindowControl(law=WindowLaw(threshold_ms=1), period_s=wrong)


@pytest.mark.parametrize(
    ("workloads", "message"),
    [((), "needs a workload"), ((steady("a"), steady("a")), "same name")],
    ids=["none", "twice"],
)
def test_contradictory_clusters_are_refused(workloads, message):
    with pytest.raises(ValueError, match=message):
        run(*workloads)


@pytest.mark.parametrize(
    "active", [(), ((5.0, 5.0),), ((5.0, 4.0),), ((0.0, 6.0), (5.0, 9.0)), ((-1.0, 2.0),)]
)
def test_spans_that_do_not_follow_in_time_are_refused(active):
    with pytest.raises(ValueError, match="spans must follow"):
        steady(active=active)
