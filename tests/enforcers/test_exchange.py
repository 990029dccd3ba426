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
    EXCHANGE_VERSION,
    LARGEST_FIGURE,
    DatastoreLoad,
    HostPart,
    decode_exchange,
    encode_load,
    pooled,
)

GOLDEN = Path(__file__).parent / "golden"
EXCHANGE = (GOLDEN / "exchange.json").read_text()
LOAD = (GOLDEN / "datastore_load.json").read_text()

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


def part(ios: int, latency_ms: float | None) -> HostPart:
    return HostPart(
        ios=ios,
        mean_device_latency_ms=latency_ms,
        outstanding_io=8.0,
        active_shares=1000.0,
        met_io=2.5,
    )


def decode_load(text: str) -> DatastoreLoad:
    return canonical_json.decode_versioned(DatastoreLoad, text, known=EXCHANGE_VERSION)


def test_golden_exchange_survives_decode_and_encode() -> None:
    assert json.loads(canonical_json.encode(decode_exchange(EXCHANGE))) == json.loads(EXCHANGE)


def test_golden_load_survives_decode_and_encode() -> None:
    assert json.loads(encode_load(decode_load(LOAD))) == json.loads(LOAD)


def test_latency_of_a_datastore_is_weighted_by_ios() -> None:
    load = pooled([part(300, 10.0), part(100, 30.0), part(0, None)])

    # (300·10 + 100·30) / 400
    assert load == DatastoreLoad(
        latency_ms=15.0, outstanding_io=24.0, total_active_shares=3000.0, met_io=7.5, hosts=3
    )


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
        ({"schema_version": 2}, "$.schema_version"),
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
        ({"schema_version": 2}, "$.schema_version"),
        ({"surprise": 1}, "$.surprise"),
        ({"latency_ms": -1}, "$.latency_ms"),
        ({"outstanding_io": -1}, "$.outstanding_io"),
        ({"total_active_shares": -1}, "$.total_active_shares"),
        ({"met_io": -1}, "$.met_io"),
        ({"hosts": -1}, "$.hosts"),
    ],
)
def test_load_with_a_wrong_value_is_refused_with_its_path(
    change: dict[str, Any], where: str
) -> None:
    body = json.dumps(json.loads(LOAD) | change)

    with pytest.raises(ContractError) as refusal:
        decode_load(body)

    assert refusal.value.path == where
