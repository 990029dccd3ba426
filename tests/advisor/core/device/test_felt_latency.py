"""The time of a workload's I/O is split into layers that add up to it, or not at all."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from advisor.core.device.felt_latency import (
    FEWEST_WINDOWS,
    FeltLatency,
    FeltWindows,
    Layer,
    NoFeltLatency,
    at_mix_ms,
    felt_latency,
)
from advisor.core.device.latency_layers import DUST_MS, SUM_RATIO

COUNT = 12
nan = float("nan")


def windows(amounts: st.SearchStrategy[float]) -> st.SearchStrategy[np.ndarray]:
    return arrays(np.float64, COUNT, elements=amounts)


times = windows(st.just(nan) | st.floats(0, 1e3))
flags = arrays(np.bool_, COUNT)


@st.composite
def timed(draw: st.DrawFn) -> FeltWindows:
    """Any measurement of an I/O that somebody times, on a disk, on ESXi or on a mount."""
    rest, layers = draw(
        st.sampled_from(
            [
                (Layer.QUEUE, (Layer.DEVICE,)),
                (Layer.UNTOLD, (Layer.QUEUE, Layer.HOST, Layer.DEVICE)),
                (Layer.HOST, (Layer.QUEUE, Layer.SERVER)),
            ]
        )
    )
    return FeltWindows(
        ios=draw(windows(st.sampled_from([nan, 0.0]) | st.floats(1e-3, 1e6))),
        whole_ms=draw(times),
        counted={layer: draw(times) for layer in layers},
        limited=draw(flags),
        rest=rest,
        absent={},
    )


def seen(
    whole_ms: float | None,
    counted: Mapping[Layer, float],
    *,
    rest: Layer = Layer.QUEUE,
    limited: int = 0,
    ios: float = 1000.0,
    count: int = COUNT,
) -> FeltWindows:
    """Windows that are all alike, the first of which are at its own limit."""
    return FeltWindows(
        ios=np.full(count, ios),
        whole_ms=None if whole_ms is None else np.full(count, whole_ms),
        counted={layer: np.full(count, ms) for layer, ms in counted.items()},
        limited=np.arange(count) < limited,
        rest=rest,
        absent={Layer.NETWORK: "the device's time has it"},
        at_least=frozenset({Layer.QUEUE}) if whole_ms is None else frozenset(),
    )


def parts(found: FeltLatency | NoFeltLatency) -> dict[Layer, float | None]:
    assert isinstance(found, FeltLatency)
    return {one.layer: one.ms for one in found.layers}


@given(timed())
def test_layers_add_up_to_the_whole_or_are_not_told(one: FeltWindows) -> None:
    found = felt_latency(one)

    if isinstance(found, NoFeltLatency):
        assert found.reason
        return
    assert found.whole_ms is not None
    told = [part.ms for part in found.layers if part.ms is not None]
    assert min(told) >= 0
    allowed = SUM_RATIO * found.whole_ms + DUST_MS
    assert abs(sum(told) - found.whole_ms) <= allowed * (1 + 1e-9)


@given(timed(), st.permutations(range(COUNT)))
def test_order_of_windows_changes_nothing(one: FeltWindows, order: list[int]) -> None:
    assert one.whole_ms is not None
    other = FeltWindows(
        ios=one.ios[order],
        whole_ms=one.whole_ms[order],
        counted={layer: ms[order] for layer, ms in one.counted.items()},
        limited=one.limited[order],
        rest=one.rest,
        absent=one.absent,
    )

    found, again = felt_latency(one), felt_latency(other)

    assert type(found) is type(again)
    if isinstance(found, FeltLatency) and isinstance(again, FeltLatency):
        assert [part.layer for part in found.layers] == [part.layer for part in again.layers]
        assert [part.ms or 0.0 for part in again.layers] == pytest.approx(
            [part.ms or 0.0 for part in found.layers], rel=1e-6, abs=1e-6
        )


@given(timed(), st.floats(0.01, 100))
def test_busier_workload_with_the_same_times_has_the_same_layers(
    one: FeltWindows, times_as_busy: float
) -> None:
    busier = FeltWindows(
        ios=one.ios * times_as_busy,
        whole_ms=one.whole_ms,
        counted=one.counted,
        limited=one.limited,
        rest=one.rest,
        absent=one.absent,
    )

    found, again = felt_latency(one), felt_latency(busier)

    assert type(found) is type(again)
    if isinstance(found, FeltLatency) and isinstance(again, FeltLatency):
        assert again.whole_ms == pytest.approx(found.whole_ms, rel=1e-6, abs=1e-6)


def test_what_is_left_over_is_the_own_limit_where_it_held() -> None:
    # 12 ms of which the disk takes 2: in three of twelve windows it was at its limit.
    found = felt_latency(seen(12.0, {Layer.DEVICE: 2.0}, limited=3))

    assert parts(found) == {
        Layer.OWN_LIMIT: 2.5,
        Layer.QUEUE: 7.5,
        Layer.NETWORK: None,
        Layer.DEVICE: 2.0,
    }
    assert isinstance(found, FeltLatency)
    assert found.text == (
        "an I/O takes 12.0 ms: the queue in the host 7.50 ms, its own limit 2.50 ms "
        "and the device 2.00 ms"
    )
    assert [one.reason for one in found.absent] == ["the device's time has it"]


def test_each_io_counts_once() -> None:
    # 9,000 I/Os of 11 ms and 1,000 of 1 ms, of which the disk takes 1 ms always.
    both = FeltWindows(
        ios=np.array([1500.0] * 6 + [1000.0 / 6] * 6),
        whole_ms=np.array([11.0] * 6 + [1.0] * 6),
        counted={Layer.DEVICE: np.ones(12)},
        limited=np.zeros(12, dtype=np.bool_),
        rest=Layer.QUEUE,
        absent={},
    )

    found = felt_latency(both)

    assert isinstance(found, FeltLatency)
    assert found.whole_ms == pytest.approx(10.0)
    assert parts(found)[Layer.QUEUE] == pytest.approx(9.0)
    assert found.ios == pytest.approx(10_000)


@pytest.mark.parametrize(
    ("whole_ms", "untold"),
    [(42.0, None), (44.1, None), (50.0, 8.0)],
    ids=["adds up", "within 5 %", "more than its host says"],
)
def test_whole_of_esxi_is_held_against_what_its_host_counts(whole_ms, untold) -> None:
    counted = {Layer.QUEUE: 30.0, Layer.HOST: 2.0, Layer.DEVICE: 10.0}

    found = felt_latency(seen(whole_ms, counted, rest=Layer.UNTOLD))

    assert parts(found).get(Layer.UNTOLD) == untold


def test_limit_of_a_machine_on_esxi_is_what_exceeds_the_mean_of_its_host() -> None:
    counted = {Layer.QUEUE: 3.0, Layer.HOST: 1.0, Layer.DEVICE: 6.0}

    found = felt_latency(seen(30.0, counted, rest=Layer.UNTOLD, limited=COUNT))

    assert parts(found)[Layer.OWN_LIMIT] == pytest.approx(20.0)


@pytest.mark.parametrize(("device_ms", "is_told"), [(10.5, True), (10.6, False)])
def test_device_that_takes_longer_than_the_whole_is_not_its_own(device_ms, is_told) -> None:
    # 5 % of 10 ms and half of the last digit are allowed.
    found = felt_latency(seen(10.0, {Layer.DEVICE: device_ms}))

    assert isinstance(found, FeltLatency) is is_told
    if isinstance(found, NoFeltLatency):
        assert found.reason == (
            "its I/Os take 10.0 ms each, and the device 10.6 ms on average of all who use it: "
            "that is not the time of its own, as where a cache answers"
        )


def test_layers_without_a_whole_are_told_as_what_they_are() -> None:
    found = felt_latency(seen(None, {Layer.QUEUE: 2.0, Layer.DEVICE: 3.0}))

    assert isinstance(found, FeltLatency)
    assert found.whole_ms is None
    assert found.text == (
        "of an I/O is known: the device 3.00 ms and the queue in the host at least 2.00 ms; "
        "nobody times the whole"
    )


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (seen(9.0, {Layer.DEVICE: 2.0}, ios=0.0), "nothing says that it did any I/O"),
        (
            seen(9.0, {Layer.DEVICE: 2.0}, count=FEWEST_WINDOWS - 1),
            "it did I/O in 5 windows of ten seconds, and 6 are needed",
        ),
        (seen(nan, {Layer.DEVICE: 2.0}), "nothing says how long its I/Os as a whole took"),
        (seen(9.0, {Layer.DEVICE: nan}), "nothing says how long the device took"),
        (
            seen(9.0, {Layer.QUEUE: nan, Layer.SERVER: nan}, rest=Layer.HOST),
            (
                "nothing says how long the queue in the host and "
                "the network and the server behind it took"
            ),
        ),
    ],
    ids=["idle", "hardly busy", "not timed", "no device", "no client"],
)
def test_split_that_lacks_something_says_what(one, reason) -> None:
    assert felt_latency(one) == NoFeltLatency(reason=reason)


@given(windows(st.floats(0, 1e6)), windows(st.floats(0, 1e6)), times, times)
def test_mean_of_a_mix_lies_between_reads_and_writes(reads, writes, read_ms, write_ms) -> None:
    found = at_mix_ms(reads=reads, writes=writes, read_ms=read_ms, write_ms=write_ms)

    some = ~np.isnan(found)
    assert (reads + writes)[some].min(initial=1.0) > 0
    low = np.fmin(np.where(reads > 0, read_ms, nan), np.where(writes > 0, write_ms, nan))
    high = np.fmax(np.where(reads > 0, read_ms, nan), np.where(writes > 0, write_ms, nan))
    assert (found >= low * (1 - 1e-9))[some].all()
    assert (found <= high * (1 + 1e-9) + 1e-300)[some].all()


def test_mix_weighs_by_io_and_needs_only_what_it_has() -> None:
    # 3 reads of 2 ms and a write of 10 ms, then reads alone, then nothing.
    found = at_mix_ms(
        reads=np.array([3.0, 5.0, 0.0]),
        writes=np.array([1.0, 0.0, 0.0]),
        read_ms=np.array([2.0, 2.0, 2.0]),
        write_ms=np.array([10.0, nan, nan]),
    )

    assert found.tolist()[:2] == [4.0, 2.0]
    assert np.isnan(found[2])
