"""Findings about a limit at the exact value of each tolerance: at it, and just beyond."""

from collections.abc import Sequence
from typing import Any

import pytest

from advisor.advice.limit_check.decide.limit_check import LimitCheck, check_limits
from advisor.advice.limit_check.decide.limit_finding import ACTIONS, MISBEHAVIOUR, LimitFinding
from advisor.advice.limit_check.decide.limit_inputs import LimitInputs, LimitWindow, VdiskLimit
from advisor.advice.limit_check.decide.limit_unit import unit_of
from advisor.core.explanation.answer import AdviceOutcome, InsufficientData
from advisor.core.resource import IoCount, LimitScope

WINDOWS = 30


def disk(name: str, limit: float | None, windows: Sequence[LimitWindow]) -> VdiskLimit:
    return VdiskLimit(vdisk=name, limit_iops=limit, windows=tuple(windows))


def steady(
    iops: float, *, count: int = WINDOWS, backlogged: bool | None = True, **fields: Any
) -> list[LimitWindow]:
    return [LimitWindow(iops=iops, backlogged=backlogged, **fields)] * count


def inputs_of(
    *vdisks: VdiskLimit,
    scope: LimitScope = LimitScope.PER_VDISK,
    count: IoCount = IoCount.PLAIN,
    threshold_ms: float | None = 15.0,
) -> LimitInputs:
    return LimitInputs(
        workload="db",
        datastore="ds1",
        scope=scope,
        count=count,
        vdisks=vdisks,
        congestion_threshold_ms=threshold_ms,
    )


def check(*vdisks: VdiskLimit, **options: Any) -> LimitCheck:
    result = check_limits(inputs_of(*vdisks, **options))
    assert isinstance(result, LimitCheck)
    return result


def finding(*vdisks: VdiskLimit, **options: Any) -> LimitFinding:
    return check(*vdisks, **options).limits[0].finding


@pytest.mark.parametrize(
    ("iops", "expected"),
    [
        (1050.0, LimitFinding.HOLDS),
        (1051.0, LimitFinding.NOT_HOLDING),
        (750.0, LimitFinding.HOLDS),
        (749.0, LimitFinding.OVER_THROTTLED),
    ],
)
def test_limit_holds_from_a_quarter_below_to_a_twentieth_above(
    iops: float, expected: LimitFinding
) -> None:
    assert finding(disk("a", 1000.0, steady(iops))) is expected


@pytest.mark.parametrize(
    ("iops", "expected"), [(750.0, LimitFinding.HOLDS), (749.0, LimitFinding.NOT_REACHED)]
)
def test_limit_without_waiting_is_reached_from_a_quarter_below_on(
    iops: float, expected: LimitFinding
) -> None:
    assert finding(disk("a", 1000.0, steady(iops, backlogged=False))) is expected


def test_ten_windows_are_enough_and_thirty_are_plenty() -> None:
    def of(count: int) -> LimitInputs:
        return inputs_of(disk("a", 1000.0, steady(1000.0, count=count)))

    assert isinstance(check_limits(of(9)), InsufficientData)
    ten, plenty = check_limits(of(10)), check_limits(of(30))
    assert isinstance(ten, LimitCheck)
    assert isinstance(plenty, LimitCheck)
    assert (ten.confidence.value, plenty.confidence.value) == (0.333, 1.0)


def test_one_virtual_disk_with_a_limit_is_enough() -> None:
    result = check(disk("a", None, steady(5.0)), disk("b", 1000.0, steady(1000.0)))

    assert [one.name for one in result.limits] == ["b"]


@pytest.mark.parametrize(
    ("above", "busy_rate"),
    # Three windows at 1251 count alone; at 1250, which is a quarter above, all 30 do.
    [(1251.0, 1251.0), (1250.0, 1250.0 * 3 / 30)],
)
def test_windows_more_than_a_quarter_above_the_limit_are_busy(
    above: float, busy_rate: float
) -> None:
    windows = steady(above, count=3, backlogged=None) + steady(0.0, count=27, backlogged=False)

    (found,) = check(disk("a", 1000.0, windows)).limits

    assert found.rate_iops == pytest.approx(busy_rate)


@pytest.mark.parametrize(("busy", "rate"), [(3, 1000.0), (2, 1000.0 * 2 / 30)])
def test_rate_is_that_of_three_busy_windows_or_of_all(busy: int, rate: float) -> None:
    windows = steady(1000.0, count=busy) + steady(0.0, count=30 - busy, backlogged=False)

    (found,) = check(disk("a", 1000.0, windows)).limits

    assert found.rate_iops == pytest.approx(rate)


@pytest.mark.parametrize(
    ("iops", "expected"),
    [
        # A limit of 1000 lets 500 I/Os of 64 KiB pass if each counts two.
        (550.0, LimitFinding.COUNTED_PER_32_KIB),
        (551.0, LimitFinding.OVER_THROTTLED),
        (450.0, LimitFinding.COUNTED_PER_32_KIB),
        (449.0, LimitFinding.OVER_THROTTLED),
    ],
)
def test_rate_within_a_tenth_of_another_count_is_explained_by_it(
    iops: float, expected: LimitFinding
) -> None:
    assert finding(disk("a", 1000.0, steady(iops, mean_io_bytes=65_536.0))) is expected


def test_small_ios_count_one_in_either_way() -> None:
    # 32 KiB count one: 500 of 1000 is no matter of counting.
    assert finding(disk("a", 1000.0, steady(500.0, mean_io_bytes=32_768.0))) is (
        LimitFinding.OVER_THROTTLED
    )


@pytest.mark.parametrize(
    ("iops", "expected"),
    [(1050.0, LimitFinding.COUNTED_PLAIN), (1051.0, LimitFinding.NOT_HOLDING)],
)
def test_limit_counted_by_size_that_keeps_to_its_plain_number_is_counted_plain(
    iops: float, expected: LimitFinding
) -> None:
    windows = steady(iops, mean_io_bytes=65_536.0)

    assert finding(disk("a", 1000.0, windows), count=IoCount.PER_32_KIB) is expected


def test_what_passes_of_mixed_sizes_is_weighted_by_what_each_takes() -> None:
    # Half of the time 64 KiB, of which 500 pass, half of the time 8 KiB, of which 1000 do:
    # 250 and 500 per second, 750 of 1.
    windows = [
        *steady(500.0, count=15, mean_io_bytes=65_536.0),
        *steady(1000.0, count=15, mean_io_bytes=8192.0),
    ]

    (found,) = check(disk("a", 1000.0, windows), count=IoCount.PER_32_KIB).limits

    assert found.limit_iops == pytest.approx(750.0)
    assert found.finding is LimitFinding.HOLDS


@pytest.mark.parametrize(
    ("rate", "expected"),
    # The other passes its own 1000 by far; together 2100 is a twentieth above 2000.
    [(100.0, LimitFinding.POOLED), (101.0, LimitFinding.OVER_THROTTLED)],
)
def test_limits_are_pooled_where_all_together_keep_to_their_sum(
    rate: float, expected: LimitFinding
) -> None:
    pair = (disk("a", 1000.0, steady(rate)), disk("b", 1000.0, steady(2000.0)))

    assert finding(*pair) is expected


def test_limits_that_nobody_passes_are_not_called_pooled() -> None:
    pair = (disk("a", 1000.0, steady(100.0)), disk("b", 1000.0, steady(1050.0)))

    assert finding(*pair) is LimitFinding.OVER_THROTTLED


def test_limit_of_one_disk_alone_is_no_pool() -> None:
    assert finding(disk("a", 1000.0, steady(2000.0))) is LimitFinding.NOT_HOLDING


@pytest.mark.parametrize(
    ("rate", "expected"),
    [(1000.0, "per_vdisk"), (900.0, "per_vdisk"), (899.0, "over_throttled")],
)
def test_disk_within_a_tenth_of_its_own_limit_shows_that_a_pool_is_none(
    rate: float, expected: str
) -> None:
    pair = (
        disk("a", 1000.0, steady(rate)),
        disk("b", 1000.0, steady(0.0, backlogged=False)),
    )

    assert finding(*pair, scope=LimitScope.POOLED) is LimitFinding(expected)


@pytest.mark.parametrize(
    ("waiting", "expected"),
    [(3, LimitFinding.PER_VDISK), (2, LimitFinding.OVER_THROTTLED)],
)
def test_disk_is_held_to_its_own_limit_in_three_windows_at_least(
    waiting: int, expected: LimitFinding
) -> None:
    # b waits in all windows at 100 of its 1000; a shows its own limit only while it waits.
    own = steady(1000.0, count=waiting) + steady(0.0, count=30 - waiting, backlogged=False)
    pair = (disk("a", 1000.0, own), disk("b", 1000.0, steady(100.0)))

    assert finding(*pair, scope=LimitScope.POOLED) is expected


@pytest.mark.parametrize(
    ("latency_ms", "expected"),
    [(15.1, LimitFinding.DEVICE_BOUND), (15.0, LimitFinding.OVER_THROTTLED)],
)
def test_datastore_is_congested_above_its_threshold(
    latency_ms: float, expected: LimitFinding
) -> None:
    # 20 · 15 ms is 0.3 of an I/O: it does not send one at a time.
    assert finding(disk("a", 1000.0, steady(20.0, device_latency_ms=latency_ms))) is expected


def test_datastore_without_a_threshold_is_not_called_congested() -> None:
    windows = steady(1.0, device_latency_ms=99.0)

    assert finding(disk("a", 1000.0, windows), threshold_ms=None) is LimitFinding.OVER_THROTTLED


@pytest.mark.parametrize(
    ("latency_ms", "expected"), [(5.0, LimitFinding.UNKNOWN), (4.9, LimitFinding.OVER_THROTTLED)]
)
def test_half_an_io_at_the_device_may_be_all_that_is_sent(
    latency_ms: float, expected: LimitFinding
) -> None:
    # 100 · 5 ms.
    assert finding(disk("a", 1000.0, steady(100.0, device_latency_ms=latency_ms))) is expected


def test_windows_without_io_tell_nothing_of_the_device() -> None:
    # The device is slow only where this disk does nothing.
    windows = [
        *steady(100.0, count=14, device_latency_ms=1.0),
        *steady(0.0, count=16, backlogged=False, device_latency_ms=90.0),
    ]

    unit = unit_of(inputs_of(), [disk("a", 1000.0, windows)], "a")

    assert unit.device_is_congested is False
    assert unit.at_device == pytest.approx(0.1)


def test_device_that_was_not_measured_in_one_waiting_window_is_not_known() -> None:
    windows = [*steady(100.0, count=29, device_latency_ms=1.0), *steady(100.0, count=1)]

    unit = unit_of(inputs_of(), [disk("a", 1000.0, windows)], "a")

    assert unit.at_device is None
    assert unit.mean_io_bytes is None


def test_pool_waits_where_any_disk_does_and_is_unknown_where_any_is() -> None:
    pairs = [(True, None), (False, None), (False, False)]
    first, second = zip(*pairs, strict=True)

    unit = unit_of(
        inputs_of(),
        [
            disk(name, 10.0, [LimitWindow(iops=4.0, backlogged=one) for one in column])
            for name, column in (("a", first), ("b", second))
        ],
        "both",
    )

    assert unit.waiting == (True, None, False)
    assert (unit.rates, unit.limit_iops) == ((8.0, 8.0, 8.0), 20.0)
    assert unit.rates_with_more_waiting == (8.0,)


def test_size_of_a_unit_is_the_mean_over_its_ios() -> None:
    windows = [
        LimitWindow(iops=300.0, mean_io_bytes=4000.0),
        LimitWindow(iops=100.0, mean_io_bytes=8000.0),
        LimitWindow(iops=900.0),
    ]

    assert unit_of(inputs_of(), [disk("a", 9.0, windows)], "a").mean_io_bytes == 5000.0


def test_confidence_counts_the_windows_of_what_is_throttled_and_halves_without_the_device() -> (
    None
):
    windows = steady(100.0, count=15) + steady(0.0, count=15, backlogged=False)

    result = check(disk("a", 1000.0, windows))

    assert result.limits[0].finding is LimitFinding.OVER_THROTTLED
    assert [part.value for part in result.confidence.parts] == [0.5, 0.5]
    seen = check(disk("a", 1000.0, [*steady(100.0, device_latency_ms=1.0)]))
    assert [part.value for part in seen.confidence.parts] == [1.0]


@pytest.mark.parametrize("misbehaves", [True, False])
def test_limit_that_misbehaves_has_effects_and_alternatives(misbehaves: bool) -> None:
    result = check(disk("a", 1000.0, steady(2000.0 if misbehaves else 1000.0)))

    assert (result.outcome is AdviceOutcome.RECOMMENDATION) is misbehaves
    assert [(one.before, one.after) for one in result.effects] == (
        [(2000.0, 1000.0)] if misbehaves else []
    )
    assert bool(result.alternatives) is misbehaves


def test_every_finding_has_an_action_and_good_ones_ask_for_none() -> None:
    assert set(ACTIONS) == set(LimitFinding)
    assert {one for one, text in ACTIONS.items() if text == "nothing to do"} == {
        LimitFinding.HOLDS,
        LimitFinding.NOT_REACHED,
    }
    assert {LimitFinding.HOLDS, LimitFinding.UNKNOWN}.isdisjoint(MISBEHAVIOUR)


@pytest.mark.parametrize(
    ("scope", "count", "stated"),
    [
        (LimitScope.POOLED, IoCount.PLAIN, "limits are pooled, I/Os are counted plain"),
        (
            LimitScope.PER_VDISK,
            IoCount.PER_32_KIB,
            "each virtual disk has its own limit, I/Os are counted per 32 kib",
        ),
    ],
)
def test_formula_says_how_the_limits_are_stated(
    scope: LimitScope, count: IoCount, stated: str
) -> None:
    windows = steady(1000.0, mean_io_bytes=8192.0)

    result = check(disk("a", 1000.0, windows), scope=scope, count=count)

    assert result.formula.endswith(f"; {stated}")


def test_reason_gives_the_size_in_kib_and_what_one_io_counts() -> None:
    # 1 MiB is 32 times 32 KiB: a limit of 3200 lets 100 pass.
    (found,) = check(disk("a", 3200.0, steady(100.0, mean_io_bytes=1_048_576.0))).limits

    assert found.reason.endswith("I/Os of 1024 KiB count 32 each")


def test_ios_counted_by_size_need_one_io_to_tell_what_passes() -> None:
    idle = steady(0.0, backlogged=False, mean_io_bytes=65_536.0)

    unit = unit_of(inputs_of(count=IoCount.PER_32_KIB), [disk("a", 1000.0, idle)], "a")

    assert unit.passes is None


def test_size_of_a_unit_is_known_from_the_least_io_on() -> None:
    rare = [LimitWindow(iops=0.25, mean_io_bytes=4096.0)]

    assert unit_of(inputs_of(), [disk("a", 9.0, rare)], "a").mean_io_bytes == 4096.0


def test_size_of_a_unit_without_io_is_not_known() -> None:
    unit = unit_of(inputs_of(), [disk("a", 9.0, steady(0.0, mean_io_bytes=4096.0))], "a")

    assert unit.mean_io_bytes is None
