"""The messages of the window loop: golden files pin them, sums do not depend on order."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcers import canonical_json
from enforcers.errors import ContractError
from enforcers.exchange import (
    LARGEST_FIGURE,
    DatastoreLoad,
    HostPart,
    decode_exchange,
    decode_load,
    encode_exchange,
    encode_load,
    exchange_of,
    pooled,
)

GOLDEN = Path(__file__).parent / "golden"
EXCHANGE = (GOLDEN / "exchange.json").read_text()
LOAD = (GOLDEN / "datastore_load.json").read_text()
FORMER_EXCHANGE = (GOLDEN / "exchange_v1.json").read_text()
FORMER_LOAD = (GOLDEN / "datastore_load_v1.json").read_text()
NEW = ("done_iops", "met_iops", "shares", "reserved_iops", "capacity_iops")

figures = st.floats(0, 1e6)
parts = st.builds(
    HostPart,
    ios=st.integers(1, 10**6),
    mean_device_latency_ms=figures,
    outstanding_io=figures,
    active_shares=figures,
    met_io=figures,
) | st.builds(
    HostPart,
    ios=st.just(0),
    mean_device_latency_ms=st.none(),
    outstanding_io=figures,
    active_shares=figures,
    met_io=figures,
)


def part(ios: int, latency_ms: float | None, **change: float) -> HostPart:
    values: dict[str, Any] = {
        "ios": ios,
        "mean_device_latency_ms": latency_ms,
        "outstanding_io": 8.0,
        "active_shares": 1000.0,
        "met_io": 2.5,
        **change,
    }
    return HostPart(**values)


def test_golden_exchange_survives_decode_and_encode() -> None:
    assert json.loads(canonical_json.encode(decode_exchange(EXCHANGE))) == json.loads(EXCHANGE)


def test_golden_load_survives_decode_and_encode() -> None:
    assert json.loads(encode_load(decode_load(LOAD))) == json.loads(LOAD)


def test_figures_are_put_on_the_wire_as_they_are() -> None:
    told = decode_exchange(EXCHANGE)
    again = exchange_of(
        told.part, host=told.host, resource=told.resource, period_end=told.period_end
    )

    assert json.loads(encode_exchange(again)) == json.loads(EXCHANGE)


def test_host_of_the_former_version_is_read_and_answered_as_it_reads() -> None:
    told = decode_exchange(FORMER_EXCHANGE)

    assert told.schema_version == 1
    assert told.part == part(3214, 21.7, outstanding_io=17.4, active_shares=5000.0, met_io=1.25)
    assert json.loads(encode_load(decode_load(LOAD), version=1)) == json.loads(FORMER_LOAD)


@pytest.mark.parametrize("key", NEW)
def test_former_version_has_none_of_the_new_figures(key: str) -> None:
    body = json.dumps(json.loads(FORMER_EXCHANGE) | {key: 1.0})

    with pytest.raises(ContractError) as refusal:
        decode_exchange(body)

    assert refusal.value.path == f"$.{key}"


def test_figures_a_second_of_a_host_that_says_slots_come_by_littles_law() -> None:
    load = pooled(
        [
            part(400, 20.0, outstanding_io=10.0, active_shares=1000.0, met_io=2.0),
            part(100, 10.0, done_iops=25.0, met_iops=5.0, shares=4000.0, reserved_iops=50.0),
        ]
    )

    # 10 and 2 slots of 20 ms are 500 and 100 a second.
    assert (load.done_iops, load.met_iops) == (525, 105)
    assert (load.total_shares, load.reserved_iops) == (5000, 50)


def test_capacity_is_the_least_that_a_host_says() -> None:
    said = [
        part(1, 1.0, capacity_iops=2000.0),
        part(1, 1.0, capacity_iops=1900.0),
        part(1, 1.0),
    ]

    assert pooled(said).capacity_iops == 1900
    assert pooled(said[2:]).capacity_iops is None


def test_figures_without_sense_of_one_host_do_not_spoil_the_answer() -> None:
    shortest = part(1, 5e-324, outstanding_io=1e12, met_io=1e12)

    assert pooled([shortest] * 3).done_iops == 3 * LARGEST_FIGURE


def test_latency_of_a_datastore_is_weighted_by_ios() -> None:
    load = pooled([part(300, 10.0), part(100, 30.0), part(0, None)])

    # (300·10 + 100·30) / 400
    assert load.latency_ms == 15.0
    assert (load.outstanding_io, load.total_active_shares, load.met_io) == (24.0, 3000.0, 7.5)
    assert load.hosts == 3


def test_datastore_without_any_io_has_no_latency() -> None:
    assert pooled([part(0, None)]).latency_ms is None
    assert pooled([]) == DatastoreLoad(
        latency_ms=None, outstanding_io=0.0, total_active_shares=0.0, met_io=0.0, hosts=0
    )


@given(st.lists(parts, max_size=6), st.randoms())
def test_sums_do_not_depend_on_the_order_of_hosts(hosts: list[HostPart], random: Any) -> None:
    shuffled = random.sample(hosts, len(hosts))

    assert pooled(shuffled) == pooled(hosts)


@given(st.lists(parts, min_size=1, max_size=6))
def test_latency_lies_between_those_of_the_hosts(hosts: list[HostPart]) -> None:
    known = [
        each.mean_device_latency_ms for each in hosts if each.mean_device_latency_ms is not None
    ]

    latency_ms = pooled(hosts).latency_ms

    if latency_ms is None:
        assert known == []
    else:
        assert min(known) * 0.999 <= latency_ms <= max(known) * 1.001


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"schema_version": 3}, "$.schema_version"),
        ({"schema_version": True}, "$.schema_version"),
        ({"surprise": 1}, "$.surprise"),
        ({"host": ""}, "$.host"),
        ({"host": "h" * 510}, "$.host"),
        ({"resource": "a\nb"}, "$.resource"),
        ({"period_end": "2026-11-20T10:00:00"}, "$.period_end"),
        ({"ios": -1}, "$.ios"),
        ({"ios": 2.5}, "$.ios"),
        ({"ios": 10**13}, "$.ios"),
        ({"outstanding_io": -0.1}, "$.outstanding_io"),
        ({"outstanding_io": 1e300}, "$.outstanding_io"),
        ({"active_shares": "1000"}, "$.active_shares"),
        ({"active_shares": 2 * LARGEST_FIGURE}, "$.active_shares"),
        ({"met_io": None}, "$.met_io"),
        ({"done_iops": None}, "$.done_iops"),
        ({"met_iops": -1}, "$.met_iops"),
        ({"shares": None}, "$.shares"),
        ({"reserved_iops": 1e13}, "$.reserved_iops"),
        ({"capacity_iops": -1}, "$.capacity_iops"),
        ({"mean_device_latency_ms": -1}, "$.mean_device_latency_ms"),
        ({"mean_device_latency_ms": None}, "$.mean_device_latency_ms"),
        ({"ios": 0}, "$.mean_device_latency_ms"),
    ],
)
def test_exchange_with_a_wrong_value_is_refused_with_its_path(
    change: dict[str, Any], where: str
) -> None:
    body = json.dumps(json.loads(EXCHANGE) | change)

    with pytest.raises(ContractError) as refusal:
        decode_exchange(body)

    assert refusal.value.path == where


@pytest.mark.parametrize("missing", sorted(json.loads(EXCHANGE)))
def test_exchange_without_a_field_is_refused(missing: str) -> None:
    plain = json.loads(EXCHANGE)
    del plain[missing]

    with pytest.raises(ContractError) as refusal:
        decode_exchange(json.dumps(plain))

    assert refusal.value.path == f"$.{missing}"


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"schema_version": 3}, "$.schema_version"),
        ({"schema_version": True}, "$.schema_version"),
        ({"surprise": 1}, "$.surprise"),
        ({"latency_ms": -1}, "$.latency_ms"),
        ({"outstanding_io": -1}, "$.outstanding_io"),
        ({"total_active_shares": -1}, "$.total_active_shares"),
        ({"met_io": -1}, "$.met_io"),
        ({"hosts": -1}, "$.hosts"),
        ({"done_iops": -1}, "$.done_iops"),
        ({"capacity_iops": 0}, "$.capacity_iops"),
        ({"threshold_ms": 0}, "$.threshold_ms"),
        ({"is_shared": 1}, "$.is_shared"),
    ],
)
def test_load_with_a_wrong_value_is_refused_with_its_path(
    change: dict[str, Any], where: str
) -> None:
    body = json.dumps(json.loads(LOAD) | change)

    with pytest.raises(ContractError) as refusal:
        decode_load(body)

    assert refusal.value.path == where
