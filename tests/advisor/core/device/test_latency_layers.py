"""The latency that guests feel is split into layers that add up to it, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.device.latency_layers import (
    DUST_MS,
    SUM_RATIO,
    LatencyLayers,
    NoLayers,
    SentLatency,
    split_latency,
)

amounts = st.none() | st.floats(0, 1e4)


def sent(**change: float | None) -> SentLatency:
    """30 of 42 ms in the queue of the host, 2 in the rest of its kernel and 10 in the device."""
    values = {"guest_ms": 42.0, "kernel_ms": 32.0, "queue_ms": 30.0, "device_ms": 10.0}
    return SentLatency(**{**values, **change})


@given(st.builds(SentLatency, guest_ms=amounts, kernel_ms=amounts, queue_ms=amounts,
                 device_ms=amounts))  # fmt: skip
def test_layers_add_up_to_the_whole_or_are_not_told(seen: SentLatency) -> None:
    found = split_latency(seen)

    if isinstance(found, NoLayers):
        assert found.reason
        return
    parts = found.queue_ms + found.kernel_ms + found.device_ms
    assert abs(parts - found.guest_ms) <= SUM_RATIO * found.guest_ms + DUST_MS + 1e-9
    assert min(found.queue_ms, found.kernel_ms, found.device_ms) >= 0


def test_parts_are_those_that_were_sent() -> None:
    found = split_latency(sent())

    assert found == LatencyLayers(guest_ms=42.0, queue_ms=30.0, kernel_ms=2.0, device_ms=10.0)
    assert found.text == (
        "of 42.0 ms that guests wait for an I/O, 10.0 ms are the device, "
        "30.0 ms the queue in the host, and 2.0 ms the rest of its kernel"
    )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"guest_ms": 44.1}, ""),
        ({"guest_ms": 44.4}, "device and kernel take 42.0 ms together, and guests wait for 44.4"),
        ({"queue_ms": 33.6}, ""),
        ({"queue_ms": 33.8}, "the queue takes 33.8 ms, and the kernel that it is in 32.0 ms"),
        ({"kernel_ms": None, "queue_ms": None}, "does not say the latency of kernel and queue"),
    ],
)
def test_split_that_does_not_add_up_is_refused(change, reason) -> None:
    found = split_latency(sent(**change))

    assert isinstance(found, NoLayers) is bool(reason)
    assert not isinstance(found, NoLayers) or reason in found.reason
