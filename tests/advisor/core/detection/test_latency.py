"""Normalised latency: size, weight by I/O count, absence, and limits of our own."""

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.detection.observed import readings_of
from advisor.core.iosize import counted_ios, size_cost, size_normalized_ms
from advisor.core.observation import DatastoreObservation, HostLatency

hosts = st.lists(
    st.builds(
        HostLatency,
        host=st.text(min_size=1, max_size=3),
        latency_ms=st.none() | st.just(0.0) | st.floats(1e-6, 1e4),
        io_count=st.just(0.0) | st.floats(1e-3, 1e6),
        mean_io_bytes=st.none() | st.floats(512, 4e6),
        throttled=st.booleans(),
    ),
    max_size=6,
)


def reading(hosts):
    """Of one window of these hosts."""
    at = datetime(2026, 3, 2, 12, tzinfo=UTC)
    (found,) = readings_of([DatastoreObservation(at=at, window_s=10.0, hosts=tuple(hosts))])
    return found


@given(hosts)
def test_normalized_latency_lies_between_the_hosts_latencies(hosts):
    result = reading(hosts)

    used = [
        size_normalized_ms(h.latency_ms, h.mean_io_bytes)
        for h in hosts
        if h.latency_ms is not None and h.io_count and not h.throttled
    ]
    if result.value is None:
        assert not used
        assert result.reason
    else:
        assert min(used) * (1 - 1e-9) <= result.value <= max(used) * (1 + 1e-9)


@given(hosts, st.randoms(use_true_random=False))
def test_normalized_latency_does_not_depend_on_the_order_of_hosts(hosts, random):
    shuffled = list(hosts)
    random.shuffle(shuffled)

    one, other = reading(hosts), reading(shuffled)

    assert (one.value is None) == (other.value is None)
    if one.value is not None:
        assert one.value == pytest.approx(other.value)


def test_hosts_count_by_their_ios():
    # Vector ds_latency: 10 ms of 300 I/Os and 30 ms of 100 make (3000 + 3000) / 400 = 15 ms.
    hosts = [
        HostLatency(host="h1", latency_ms=10, io_count=300),
        HostLatency(host="h2", latency_ms=30, io_count=100),
    ]

    assert reading(hosts).value == 15.0


def test_large_ios_are_discounted_by_their_transfer_time():
    # (51 + 8) / (51 + 64) kB = 0.513 of 40 ms.
    host = HostLatency(host="h1", latency_ms=40, io_count=10, mean_io_bytes=64_000)

    assert reading([host]).value == pytest.approx(40 * 59 / 115)


@pytest.mark.parametrize(
    ("hosts", "reason"),
    [
        ([], "no host reported"),
        ([HostLatency(host="h1", latency_ms=None, io_count=0)], "no I/O in the window"),
        ([HostLatency(host="h1", latency_ms=None, io_count=9)], "no latency was measured"),
    ],
    ids=["no host", "idle", "no latency"],
)
def test_absent_latency_has_a_reason(hosts, reason):
    result = reading(hosts)

    assert (result.value, result.reason) == (None, reason)


def test_wait_behind_our_own_limit_is_left_out():
    limited = HostLatency(host="h1", latency_ms=900, io_count=200, throttled=True)
    free = HostLatency(host="h2", latency_ms=4, io_count=50)

    assert reading([limited, free]).value == 4.0


def test_latency_that_only_our_own_limit_explains_is_no_latency():
    limited = HostLatency(host="h1", latency_ms=900, io_count=200, throttled=True)

    result = reading([limited])

    assert result.value is None
    assert result.own_limit


def test_size_factor_agrees_with_the_reference(size_norm_vector):
    factor = size_normalized_ms(1.0, size_norm_vector["kb"] * 1000)

    assert factor == pytest.approx(size_norm_vector["factor"], abs=1e-6)


def test_io_size_counts_agree_with_the_reference(iosize_vector):
    size = iosize_vector["bytes"]

    assert counted_ios(size) == iosize_vector["count32k"]
    assert 200 / counted_ios(size) == pytest.approx(iosize_vector["eff_iops_limit200"])


def test_an_unknown_io_size_counts_as_the_reference_size():
    assert size_cost(None) == size_cost(8000) == 1.0


@pytest.mark.parametrize("field", ["latency_ms", "io_count", "mean_io_bytes"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0])
def test_an_impossible_number_is_refused_with_its_field(field, value):
    fields = {"host": "h1", "latency_ms": 1.0, "io_count": 1.0, field: value}

    with pytest.raises(ValueError, match=rf"^{field} is "):
        HostLatency(**fields)
