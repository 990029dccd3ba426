"""Queue depths: they fit, follow shares, and match the experiment with 64 hosts on one LUN."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.advice.queue_depth.decide.queue_depth import SMALLEST_DEPTH, advise_queue_depth
from advisor.advice.queue_depth.decide.queue_depth_answer import (
    Bottleneck,
    HostDepth,
    QueueDepthAdvice,
    QueueDepthInputs,
    QueueDepthKind,
)
from advisor.core import canonical
from advisor.core.device.device_fit import LoadPoint
from advisor.core.device.queueing import Scalability
from advisor.core.explanation.answer import AdviceOutcome, InsufficientData, NoChange

hosts = st.lists(st.tuples(st.integers(1, 256), st.floats(0, 4000)), min_size=1, max_size=80).map(
    lambda rows: tuple(
        HostDepth(host=f"h{index}", device_queue_depth=depth, shares=shares)
        for index, (depth, shares) in enumerate(rows)
    )
)
inputs = st.builds(
    QueueDepthInputs,
    datastore=st.just("ds1"),
    lun_queue_depth=st.integers(1, 1024),
    hosts=hosts,
    peak_outstanding_io=st.none() | st.floats(0, 4000),
    peak_windows=st.integers(0, 100),
)


def equal_hosts(count, depth=32):
    return tuple(HostDepth(host=f"h{index}", device_queue_depth=depth) for index in range(count))


def lun(hosts, **kwargs):
    return QueueDepthInputs(datastore="ds1", lun_queue_depth=256, hosts=hosts, **kwargs)


@given(inputs)
def test_advised_depths_fit_and_none_is_raised(given_inputs):
    result = advise_queue_depth(given_inputs)

    configured = sum(one.device_queue_depth for one in given_inputs.hosts)
    if configured <= given_inputs.lun_queue_depth:
        assert isinstance(result, NoChange)
        return
    total = sum(one.advised_queue_depth for one in result.depths)
    assert total <= given_inputs.lun_queue_depth * result.luns_needed
    for one in result.depths:
        least = min(SMALLEST_DEPTH, one.device_queue_depth)
        assert least <= one.advised_queue_depth <= one.device_queue_depth
        if one.advised_queue_depth > least:
            assert result.luns_needed == 1


@given(inputs)
def test_hosts_that_are_said_to_fit_a_lun_do(given_inputs):
    result = advise_queue_depth(given_inputs)

    if isinstance(result, NoChange):
        return
    assert result.luns_needed * result.most_hosts_per_lun >= len(given_inputs.hosts)
    deepest = max(one.device_queue_depth for one in given_inputs.hosts)
    assert result.hosts_per_lun * deepest <= result.target
    if result.luns_needed > 1 and result.most_hosts_per_lun > 1:
        advised = max(one.advised_queue_depth for one in result.depths)
        assert result.most_hosts_per_lun * advised <= result.target


@given(inputs)
def test_more_shares_never_mean_a_smaller_depth(given_inputs):
    depths = tuple(replace(one, device_queue_depth=256) for one in given_inputs.hosts)

    result = advise_queue_depth(replace(given_inputs, hosts=depths))

    if isinstance(result, QueueDepthAdvice):
        pairs = zip(given_inputs.hosts, result.depths, strict=True)
        ordered = sorted((one.shares, other.advised_queue_depth) for one, other in pairs)
        assert [depth for _, depth in ordered] == sorted(depth for _, depth in ordered)


@given(inputs)
def test_recomputing_gives_the_same_bytes(given_inputs):
    stored = canonical.dumps(given_inputs)

    again = advise_queue_depth(canonical.loads(QueueDepthInputs, stored))

    assert canonical.dumps(again) == canonical.dumps(advise_queue_depth(given_inputs))


def test_64_hosts_of_depth_32_on_a_lun_of_256_get_4_each():
    # 64 · 32 = 2048 is 8 times what the LUN takes; 256 / 64 = 4; 256 / 32 = 8 hosts would fit.
    result = advise_queue_depth(lun(equal_hosts(64)))

    assert result.outcome is AdviceOutcome.RECOMMENDATION
    assert (result.configured, result.target) == (2048, 256)
    assert {one.advised_queue_depth for one in result.depths} == {4}
    assert (result.hosts_per_lun, result.luns_needed) == (8, 1)
    assert "add up to 2048" in result.summary


def test_8_hosts_of_depth_32_fit_a_lun_of_256():
    result = advise_queue_depth(lun(equal_hosts(8)))

    assert result.outcome is AdviceOutcome.NO_CHANGE
    assert "add up to 256" in result.summary


def test_predicted_latency_falls_from_100_to_12_5_ms():
    # A LUN that answers in 12.5 ms until it gives 20 480 IOPS: its knee lies at 256 commands.
    # 2048 / 20 480 IOPS = 100 ms; 256 / 20 480 IOPS = 12.5 ms.
    points = tuple(
        LoadPoint(outstanding_io=n, latency_ms=max(12.5, n / 20.48), iops=min(n * 80, 20_480))
        for n in [32, 64, 128, 256, 512] * 4
    )

    result = advise_queue_depth(lun(equal_hosts(64), points=points))

    latency = next(one for one in result.effects if one.unit == "ms")
    iops = next(one for one in result.effects if one.unit == "iops")
    assert (latency.before, latency.after) == (100.0, 12.5)
    assert iops.before == iops.after == 20_480


def test_hosts_with_more_shares_get_deeper_queues():
    # 256 over shares 2:1:1 is 128, 64, 64.
    rows = [("a", 2000), ("b", 1000), ("c", 1000)]
    hosts = tuple(HostDepth(host=h, device_queue_depth=128, shares=s) for h, s in rows)

    result = advise_queue_depth(lun(hosts))

    assert [one.advised_queue_depth for one in result.depths] == [128, 64, 64]


def test_confidence_calls_outstanding_io_the_mean_of_a_window_that_it_is():
    inputs = lun(equal_hosts(64), peak_outstanding_io=300.0, peak_windows=40)

    confidence = advise_queue_depth(inputs).confidence

    overflow = next(one for one in confidence.parts if one.name == "overflow")
    assert overflow.how == "up to 300 commands outstanding on average in a window, 256 are taken"


def test_too_many_hosts_for_one_lun_need_more_of_them():
    # 100 · 4 = 400 commands need two LUNs of 256.
    result = advise_queue_depth(lun(equal_hosts(100)))

    assert {one.advised_queue_depth for one in result.depths} == {4}
    assert result.luns_needed == 2
    assert result.kind is QueueDepthKind.HOSTS_PER_LUN
    assert result.summary.startswith(
        "Spread the 100 hosts of datastore ds1 over 2 LUNs, at most 64 hosts per LUN, "
        "with a queue depth of 4:"
    )


def test_no_lun_takes_a_part_of_a_host():
    # A LUN of 30 takes seven hosts of depth 4; fifteen hosts need three such LUNs, though
    # 15 · 4 = 60 commands would fit two.
    result = advise_queue_depth(replace(lun(equal_hosts(15)), lun_queue_depth=30))

    assert (result.most_hosts_per_lun, result.luns_needed) == (7, 3)


def test_hosts_of_which_one_alone_is_too_deep_are_not_said_to_fit():
    result = advise_queue_depth(replace(lun(equal_hosts(4, depth=64)), lun_queue_depth=32))

    assert result.hosts_per_lun == 0
    assert not any("hosts per LUN" in one.name for one in result.alternatives)


def test_a_depth_beyond_which_throughput_falls_is_the_target():
    # sqrt((1 - 0.05) / 0.0005) = 43.6 commands give most, fewer than the LUN takes.
    law = Scalability(first_iops=1000, contention=0.05, crosstalk=0.0005)
    points = tuple(
        LoadPoint(outstanding_io=n, latency_ms=1000 * n / law.iops(n), iops=law.iops(n))
        for n in [1, 2, 4, 8, 16, 32, 64, 128]
    )

    result = advise_queue_depth(lun(equal_hosts(4), points=points))

    assert (result.target, result.bottleneck) == (43, Bottleneck.THROUGHPUT_FALLS)
    assert {one.advised_queue_depth for one in result.depths} == {10}


@pytest.mark.parametrize(
    ("peak", "windows", "confidence"),
    [(2000.0, 300, 1.0), (120.0, 300, 0.4), (2000.0, 15, 0.5), (None, 0, 0.7)],
    ids=["overflow seen", "never used up", "few windows", "not measured"],
)
def test_confidence_rests_on_what_was_outstanding(peak, windows, confidence):
    given_inputs = lun(equal_hosts(64), peak_outstanding_io=peak, peak_windows=windows)

    assert advise_queue_depth(given_inputs).confidence.value == confidence


@pytest.mark.parametrize(
    ("depth", "hosts", "missing"),
    [
        (None, equal_hosts(8), ["queue depth of the LUN"]),
        (256, (), ["hosts with a queue depth"]),
    ],
    ids=["depth", "hosts"],
)
def test_advice_without_its_inputs_is_refused_by_name(depth, hosts, missing):
    result = advise_queue_depth(
        QueueDepthInputs(datastore="ds1", lun_queue_depth=depth, hosts=hosts)
    )

    assert isinstance(result, InsufficientData)
    assert [one.what for one in result.missing] == missing
    assert {(one.have, one.need) for one in result.missing} == {(0, 1)}


@pytest.mark.parametrize("depth", [0, -4])
def test_a_depth_below_one_is_refused(depth):
    with pytest.raises(ValueError, match=r"^device_queue_depth of h1 is "):
        HostDepth(host="h1", device_queue_depth=depth)


def test_a_host_given_twice_is_refused():
    with pytest.raises(ValueError, match="same host"):
        lun((*equal_hosts(1), *equal_hosts(1)))


def test_summary_names_the_smallest_and_the_largest_depth():
    # 28 over shares 1:2:4 is 4, 8, 16.
    rows = [("a", 1000), ("b", 2000), ("c", 4000)]
    hosts = tuple(HostDepth(host=h, device_queue_depth=32, shares=s) for h, s in rows)

    result = advise_queue_depth(replace(lun(hosts), lun_queue_depth=28))

    assert result.summary.startswith("Set the queue depth of 3 hosts of datastore ds1 to 4 to 16:")


@pytest.mark.parametrize(("peak", "overflow"), [(256.0, 0.4), (257.0, 1.0)])
def test_overflow_is_seen_only_above_what_the_lun_takes(peak, overflow):
    inputs = lun(equal_hosts(64), peak_outstanding_io=peak, peak_windows=300)

    assert advise_queue_depth(inputs).confidence.value == overflow
