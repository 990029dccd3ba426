"""Limits: what the two labs showed, pooling, counting, and when nothing can be said."""

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.advice.limit_check.decide.limit_check import LimitCheck, check_limits
from advisor.advice.limit_check.decide.limit_finding import LimitFinding
from advisor.advice.limit_check.decide.limit_inputs import (
    LimitInputs,
    LimitWindow,
    VdiskLimit,
    passed_iops,
)
from advisor.core import canonical
from advisor.core.explanation.answer import AdviceOutcome, InsufficientData
from advisor.core.resource import IoCount, LimitScope

WINDOWS = 30


def vdisk(name, limit, iops, **kwargs):
    """A virtual disk whose rate alternates between the given ones, with more waiting."""
    rates = [iops] if isinstance(iops, (int, float)) else iops
    fields = {"backlogged": any(rates), **kwargs}
    windows = tuple(
        LimitWindow(iops=rates[index % len(rates)], **fields) for index in range(WINDOWS)
    )
    return VdiskLimit(vdisk=name, limit_iops=limit, windows=windows)


def lab(*vdisks, scope=LimitScope.POOLED, count=IoCount.PLAIN, threshold_ms=15.0):
    return LimitInputs(
        workload="iometer",
        datastore="lun1",
        scope=scope,
        count=count,
        vdisks=vdisks,
        congestion_threshold_ms=threshold_ms,
    )


windows = st.builds(
    LimitWindow,
    iops=st.floats(0, 1e6),
    mean_io_bytes=st.none() | st.floats(512, 4e6),
    backlogged=st.none() | st.booleans(),
    device_latency_ms=st.none() | st.floats(0, 1000),
)
random_inputs = st.builds(
    LimitInputs,
    workload=st.just("w"),
    datastore=st.just("ds"),
    scope=st.sampled_from(LimitScope),
    count=st.sampled_from(IoCount),
    vdisks=st.integers(0, 20).flatmap(
        lambda n: st.lists(
            st.builds(
                VdiskLimit,
                vdisk=st.sampled_from("abc"),
                limit_iops=st.none() | st.floats(1, 1e5),
                windows=st.lists(windows, min_size=n, max_size=n).map(tuple),
            ),
            max_size=3,
            unique_by=lambda one: one.vdisk,
        ).map(tuple)
    ),
    congestion_threshold_ms=st.none() | st.floats(1, 100),
)


@given(random_inputs)
def test_a_check_repeats_to_the_byte_and_never_says_nan(inputs):
    stored = canonical.dumps(inputs)

    again = check_limits(canonical.loads(LimitInputs, stored))

    assert canonical.dumps(again) == canonical.dumps(check_limits(inputs))


@given(random_inputs)
def test_a_rate_within_its_limit_is_never_called_exceeding(inputs):
    result = check_limits(inputs)

    if isinstance(result, LimitCheck):
        for one in result.limits:
            if one.finding in {LimitFinding.NOT_HOLDING, LimitFinding.COUNTED_PLAIN}:
                assert one.rate_iops > one.limit_iops
            assert one.reason
            assert one.action
        pooled = [one for one in result.limits if one.finding is LimitFinding.POOLED]
        assert not pooled or any(one.rate_iops > one.limit_iops for one in pooled)


@given(st.floats(1, 1e5), st.floats(0.96, 1.04), st.integers(1, 4))
def test_a_limit_that_is_kept_to_holds_however_many_disks_share_it(limit, ratio, disks):
    vdisks = [vdisk(f"d{i}", limit, limit * ratio) for i in range(disks)]

    for scope in LimitScope:
        result = check_limits(lab(*vdisks, scope=scope))
        assert {one.finding for one in result.limits} == {LimitFinding.HOLDS}
        assert result.outcome is AdviceOutcome.NO_CHANGE


def test_pooled_limits_of_200_let_one_disk_have_400():
    # ESX 5.0: oscillating between 330 and 400 of 2 · 200.
    result = check_limits(lab(vdisk("d1", 200, [330, 365, 400]), vdisk("d2", 200, 0)))

    (pool,) = result.limits
    assert (pool.finding, pool.limit_iops) == (LimitFinding.HOLDS, 400)


def test_the_same_rates_are_called_pooled_where_each_disk_was_meant():
    one, idle = vdisk("d1", 200, [330, 365, 400]), vdisk("d2", 200, 0)

    result = check_limits(lab(one, idle, scope=LimitScope.PER_VDISK))

    assert result.outcome is AdviceOutcome.RECOMMENDATION
    first = result.limits[0]
    assert (first.finding, first.limit_iops, first.rate_iops) == (LimitFinding.POOLED, 200, 365)
    assert "together keep to 400" in first.reason


def test_a_disk_that_gets_less_because_another_passes_its_limit_is_called_pooled():
    # 330 and 70 of 400 together, both with more waiting: the second is not throttled too much.
    inputs = lab(vdisk("a", 200, 330), vdisk("b", 200, 70), scope=LimitScope.PER_VDISK)

    result = check_limits(inputs)

    assert [one.finding for one in result.limits] == [LimitFinding.POOLED] * 2


@pytest.mark.parametrize("backlogged", [None, False, True])
def test_a_limit_that_is_passed_now_and_then_does_not_hold(backlogged):
    # 2000 in a third of the windows and idle in the others: 667 on the mean, 1000 allowed.
    busy = LimitWindow(iops=2000, backlogged=backlogged)
    idle = LimitWindow(iops=0, backlogged=False)
    windows = tuple(idle if index % 3 else busy for index in range(WINDOWS))

    result = check_limits(lab(VdiskLimit(vdisk="a", limit_iops=1000, windows=windows)))

    assert result.limits[0].finding is LimitFinding.NOT_HOLDING
    assert result.effects[0].before == 2000


@pytest.mark.parametrize(
    ("waiting", "finding", "telling"),
    [(2, LimitFinding.NOT_REACHED, 1.0), (3, LimitFinding.OVER_THROTTLED, 0.1)],
)
def test_a_queue_in_hardly_any_window_says_little(waiting, finding, telling):
    windows = tuple(LimitWindow(iops=20, backlogged=index < waiting) for index in range(WINDOWS))

    result = check_limits(lab(VdiskLimit(vdisk="a", limit_iops=200, windows=windows)))

    assert result.limits[0].finding is finding
    assert result.confidence.parts[0].value == telling


def test_a_limit_per_disk_is_recognised_where_a_pool_was_meant():
    # d1 stops at its own 200 with more waiting while d2 leaves its 200 unused.
    result = check_limits(lab(vdisk("d1", 200, [195, 200]), vdisk("d2", 200, 0)))

    (pool,) = result.limits
    assert pool.finding is LimitFinding.PER_VDISK
    assert "d1 is held to its own limit" in pool.reason


@pytest.mark.parametrize("scope", LimitScope)
def test_2000_of_400_is_a_limit_that_does_not_hold(scope):
    # ESX 5.5 with one worker.
    result = check_limits(lab(vdisk("d1", 200, 2000), vdisk("d2", 200, 0), scope=scope))

    first = result.limits[0]
    assert first.finding is LimitFinding.NOT_HOLDING
    assert "Disk.SchedulerWithReservation=0" in first.action
    assert result.effects[0].before == 2000


@pytest.mark.parametrize(
    ("latency_ms", "finding", "confidence"),
    [
        (2.0, LimitFinding.OVER_THROTTLED, 1.0),
        (40.0, LimitFinding.DEVICE_BOUND, 1.0),
        (None, LimitFinding.OVER_THROTTLED, 0.5),
    ],
    ids=["quick device", "congested device", "device not measured"],
)
def test_60_of_400_with_more_waiting_is_the_limits_fault_unless_the_device_is_slow(
    latency_ms, finding, confidence
):
    # ESX 5.5 with two and four workers.
    slow = vdisk("d1", 200, 60, device_latency_ms=latency_ms)

    result = check_limits(lab(slow, vdisk("d2", 200, 0)))

    assert result.limits[0].finding is finding
    assert result.confidence.value == confidence


def test_what_passes_at_a_size_agrees_with_the_reference(iosize_vector):
    size = iosize_vector["bytes"]

    assert passed_iops(200, size, IoCount.PER_32_KIB) == iosize_vector["eff_iops_limit200"]
    assert passed_iops(200, size, IoCount.PLAIN) == 200
    if "eff_iops_limit1000" in iosize_vector:
        assert passed_iops(1000, size, IoCount.PER_32_KIB) == iosize_vector["eff_iops_limit1000"]


@pytest.mark.parametrize(
    ("cfg", "kib", "count", "finding"),
    [
        ("riops=200 4k qd32", 4, IoCount.PLAIN, LimitFinding.HOLDS),
        ("riops=200 4k qd1", 4, IoCount.PLAIN, LimitFinding.HOLDS),
        ("riops=200 4k 2 jobs qd16", 4, IoCount.PLAIN, LimitFinding.HOLDS),
        ("riops=5000 4k qd32", 4, IoCount.PLAIN, LimitFinding.HOLDS),
        ("riops=200 64k qd32", 64, IoCount.PLAIN, LimitFinding.HOLDS),
        ("riops=200 64k qd32", 64, IoCount.PER_32_KIB, LimitFinding.COUNTED_PLAIN),
    ],
)
def test_limits_measured_on_a_kernel_are_judged_rightly(shared_dir, cfg, kib, count, finding):
    # The kernel counts an I/O of any size as one, so a limit meant per 32 KiB lets twice pass.
    vectors = json.loads((shared_dir / "reference" / "vectors.json").read_text())
    runs = vectors["external"]["blk_throttle_measured"]["runs"]
    iops = next(one["iops"] for one in runs if one["cfg"] == cfg)
    limit = 5000 if "5000" in cfg else 200

    result = check_limits(lab(vdisk("d1", limit, iops, mean_io_bytes=kib * 1024), count=count))

    assert result.limits[0].finding is finding


@pytest.mark.parametrize(
    ("count", "iops", "finding"),
    [
        (IoCount.PLAIN, 100, LimitFinding.COUNTED_PER_32_KIB),
        (IoCount.PER_32_KIB, 100, LimitFinding.HOLDS),
        (IoCount.PER_32_KIB, 200, LimitFinding.COUNTED_PLAIN),
        (IoCount.PLAIN, 200, LimitFinding.HOLDS),
    ],
    ids=["half of what was meant", "as stated", "twice what was meant", "plain as stated"],
)
def test_ios_of_64_kib_count_two_or_one(count, iops, finding):
    # 65 536 / 32 768 = 2: a limit of 200 lets 100 pass if size counts.
    result = check_limits(lab(vdisk("d1", 200, iops, mean_io_bytes=65_536.0), count=count))

    assert result.limits[0].finding is finding


def test_one_disk_without_a_limit_undoes_a_pool():
    result = check_limits(lab(vdisk("d1", 200, 100), vdisk("d2", None, 3000)))

    (pool,) = result.limits
    assert pool.finding is LimitFinding.INCOMPLETE
    assert pool.reason.startswith("d2 has no limit")


@pytest.mark.parametrize(
    ("backlogged", "finding"),
    [(False, LimitFinding.NOT_REACHED), (None, LimitFinding.UNKNOWN)],
    ids=["nothing waiting", "nobody can tell"],
)
def test_a_low_rate_without_a_queue_is_not_held_against_the_limit(backlogged, finding):
    result = check_limits(lab(vdisk("d1", 200, 50, backlogged=backlogged)))

    assert result.limits[0].finding is finding
    assert result.outcome is AdviceOutcome.NO_CHANGE


def test_counting_by_size_needs_the_size():
    result = check_limits(lab(vdisk("d1", 200, 50), count=IoCount.PER_32_KIB))

    assert result.limits[0].finding is LimitFinding.UNKNOWN


@pytest.mark.parametrize(
    ("vdisks", "missing"),
    [
        ((), ["virtual disks with a limit", "windows"]),
        ((vdisk("d1", None, 100),), ["virtual disks with a limit"]),
        ((replace(vdisk("d1", 200, 100), windows=()),), ["windows"]),
    ],
    ids=["no disks", "no limits", "no windows"],
)
def test_a_check_without_its_inputs_names_them(vdisks, missing):
    result = check_limits(lab(*vdisks))

    assert isinstance(result, InsufficientData)
    assert [one.what for one in result.missing] == missing


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0])
def test_an_impossible_rate_is_refused(value):
    with pytest.raises(ValueError, match=r"^iops is "):
        LimitWindow(iops=value)


@pytest.mark.parametrize(
    ("vdisks", "complaint"),
    [
        ((vdisk("d1", 200, 1), vdisk("d1", 200, 1)), "is given twice"),
        (
            (vdisk("d1", 200, 1), VdiskLimit(vdisk="d2", limit_iops=200, windows=())),
            "different numbers of windows",
        ),
    ],
    ids=["twice", "not aligned"],
)
def test_disks_that_do_not_fit_together_are_refused(vdisks, complaint):
    with pytest.raises(ValueError, match=complaint):
        lab(*vdisks)


@given(st.lists(st.floats(512, 4e6), min_size=1, max_size=4))
def test_a_limit_that_is_counted_per_32_kib_holds_whatever_sizes_follow_each_other(sizes):
    # Each window has just what 200 let pass of I/Os of its size.
    windows = tuple(
        LimitWindow(iops=200 / math.ceil(size / 32_768), mean_io_bytes=size, backlogged=True)
        for size in sizes * WINDOWS
    )
    inputs = lab(VdiskLimit(vdisk="d1", limit_iops=200, windows=windows), count=IoCount.PER_32_KIB)

    result = check_limits(inputs)

    assert [one.finding for one in result.limits] == [LimitFinding.HOLDS]


@pytest.mark.parametrize(
    ("latency_ms", "io_bytes", "finding"),
    [
        # 60 · 10 ms: six tenths of the time its only I/O is at the device.
        (10.0, 8000, LimitFinding.UNKNOWN),
        # 60 · 5 ms · (51 + 64) / (51 + 8) = 0.58.
        (5.0, 64_000, LimitFinding.UNKNOWN),
        (5.0, 8000, LimitFinding.OVER_THROTTLED),
    ],
)
def test_who_sends_one_io_at_a_time_is_not_held_back_by_its_limit(latency_ms, io_bytes, finding):
    one_at_a_time = vdisk(
        "d1", 200, 60, device_latency_ms=latency_ms, mean_io_bytes=io_bytes, backlogged=True
    )

    (result,) = check_limits(lab(one_at_a_time)).limits

    assert result.finding is finding
