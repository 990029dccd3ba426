"""Pools on the wire: written only where there are some, refused by name where they are wrong."""

import json
from dataclasses import replace
from typing import Any

import pytest

from enforcers import acceptance, contract
from enforcers.contract import Allocation, ContractError, PolicyDocument, Pool
from enforcers.errors import RefusedDocument
from enforcers.signed_document import DocumentReader
from tests.enforcers.policies import (
    KEY,
    NOON,
    document,
    group,
    host_kind,
    host_traffic,
    member,
    pool,
    vnic,
)

POOLED = document(member(1, 5e6), member(2), vnic(3), pools=(pool(), pool(id="pool-2", name="db")))


def test_document_with_pools_survives_encode_and_decode() -> None:
    assert contract.decode_document(contract.encode_document(POOLED)) == POOLED
    contract.verify(POOLED, KEY)


def test_pools_are_written_only_where_there_are_some() -> None:
    """An agent from before refuses keys that it does not know."""
    without = json.loads(contract.encode_document(document(vnic(1))))
    pooled = json.loads(contract.encode_document(POOLED))

    assert "pools" not in without
    assert "pool" not in without["allocations"][0]
    assert [one.get("pool") for one in pooled["allocations"]] == ["pool-1", "pool-1", None]
    assert "pool" not in pooled["allocations"][2]


def test_signature_covers_the_terms_of_a_pool() -> None:
    forged = replace(POOLED, pools=(pool(limit=90e6), POOLED.pools[1]))

    with pytest.raises(contract.SignatureError):
        contract.verify(forged, KEY)


def test_renewed_document_keeps_its_members() -> None:
    """Its allocations are not read again, and its pools are."""
    reader = DocumentReader(KEY)
    reader.read(contract.encode_document(POOLED))

    assert reader.read(contract.encode_document(POOLED)) == POOLED


def test_document_of_version_1_has_no_pools() -> None:
    former = replace(POOLED, schema_version=1)

    plain = json.loads(contract.encode_document(former))

    assert "pools" not in plain
    assert not any("pool" in item for item in plain["allocations"])
    with pytest.raises(ContractError, match=r"\$\.pools: unknown key"):
        contract.decode_document(json.dumps({**plain, "pools": []}))
    plain["allocations"][1]["pool"] = "pool-1"
    with pytest.raises(ContractError, match=r"\$\.allocations\[1\]\.pool: unknown key"):
        contract.decode_document(json.dumps(plain))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"limit": 19e6}, "$.limit: must not be below the reservation"),
        ({"limit": 0.0, "reservation": 0.0}, "$.limit: must be a finite number above 0"),
        ({"reservation": -1.0}, "$.reservation: must be a finite number of at least 0"),
        ({"shares": 0}, "$.shares: must be within 1..1000000"),
        ({"name": ""}, "$.name: must be 1..509 printable characters"),
    ],
)
def test_wrong_terms_are_refused(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(ContractError) as refusal:
        pool(**change)

    assert str(refusal.value) == problem


def pooled(*allocations: Allocation, pools: tuple[Pool, ...]) -> PolicyDocument:
    return document(*allocations, pools=pools)


@pytest.mark.parametrize(
    ("allocations", "pools", "problem"),
    [
        (
            [member(1)],
            [pool(), pool(id="pool-2")],
            "$.pools[1].name: 'web' appears twice on uplink0",
        ),
        (
            [member(1)],
            [pool(), pool(name="db")],
            "$.pools[1].id: 'pool-1' appears twice",
        ),
        (
            [member(1, id="pool-1")],
            [pool()],
            "$.pools[0].id: 'pool-1' is an allocation's",
        ),
        (
            [vnic(1), group("/machine.slice/a")],
            [pool(resource="ds1")],
            "$.pools[0].resource: no uplink named 'ds1'",
        ),
        (
            [vnic(1), member(2)],
            [pool(id="pool-2")],
            "$.allocations[1].pool: no pool with the id 'pool-1'",
        ),
        (
            [member(1), group("/machine.slice/a", pool="pool-1")],
            [pool()],
            "$.allocations[1].pool: pool 'web' is on uplink0, and the allocation on ds1",
        ),
        (
            [member(1, 25e6), member(2, 16e6)],
            [pool()],
            "$.pools[0].limit: the members of pool 'web' reserve 4.1e+07, and its limit is 4e+07",
        ),
        (
            [host_traffic(pool="pool-1")],
            [pool()],
            "$.allocations[0].pool: the host's own traffic is in no pool",
        ),
        (
            [host_kind("nfs", pool="pool-1")],
            [pool()],
            "$.allocations[0].pool: the host's own traffic is in no pool",
        ),
    ],
)
def test_wrong_pools_are_refused_by_name(
    allocations: list[Allocation], pools: list[Pool], problem: str
) -> None:
    with pytest.raises(ContractError) as refusal:
        pooled(*allocations, pools=tuple(pools))

    assert str(refusal.value) == problem


def test_members_may_reserve_all_of_the_limit_and_pools_may_be_empty() -> None:
    """Their own reservations may exceed the pool's, which is for what they do not reserve."""
    full = pooled(member(1, 25e6), member(2, 15e6), pools=(pool(), pool(id="pool-2", name="db")))

    assert len(full.pools) == 2


def accepted(policy: PolicyDocument, held: PolicyDocument | None = None) -> None:
    acceptance.accept(policy, host="h1", held=held, now=NOON)


def test_what_a_pool_reserves_counts_beside_the_part_of_the_host() -> None:
    # 84.6 of 94 Mbit/s are for workloads; what members reserve is in the pool's reservation.
    accepted(document(member(1, 20e6), vnic(2, 54e6), pools=(pool(reservation=30e6),)))

    with pytest.raises(RefusedDocument, match="reserves 85000000 of the 94000000"):
        accepted(document(member(1, 20e6), vnic(2, 55e6), pools=(pool(reservation=30e6),)))


def test_other_terms_of_a_pool_need_a_new_revision() -> None:
    accepted(POOLED, held=POOLED)

    changed = replace(POOLED, pools=(pool(limit=90e6), POOLED.pools[1]))
    with pytest.raises(RefusedDocument, match="has another content"):
        accepted(changed, held=POOLED)
