"""Admission where some allocations are in pools: what members reserve is in their pool's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.admission import RequestedReservation, admit
from advisor.core.pools import PoolTerms, admit_beside_pools

AMOUNTS = st.lists(st.floats(0, 100), max_size=8)


def asked(*amounts: float) -> list[tuple[int, RequestedReservation]]:
    return [
        (place, RequestedReservation(workload=f"w{place}", reservation=amount))
        for place, amount in enumerate(amounts)
    ]


def pool(*members: int, reservation: float = 0.0, limit: float | None = None) -> PoolTerms:
    return PoolTerms(
        pool=7, name="web", reservation=reservation, limit=limit, shares=None, members=members
    )


@given(st.floats(0, 400), AMOUNTS)
def test_without_pools_it_is_plain_admission(reservable: float, amounts: list[float]) -> None:
    requests = asked(*amounts)

    found = admit_beside_pools(reservable, requests, ())

    assert found == admit(reservable, [one for _, one in requests])


@pytest.mark.parametrize(
    ("amounts", "reserved", "refused"),
    [
        ((20, 10), 50, ()),
        # 60 of members are 10 more than the pool's 50.
        ((40, 20), 60, ()),
        ((40, 20, 40), 100, ()),
        ((40, 20, 41), 60, ("w2",)),
        # 71 of members are above the limit of 70, though 100 may be reserved.
        ((40, 31), 50, ("w1",)),
    ],
    ids=["inside", "beyond the pool's", "beside it", "too much beside it", "above its limit"],
)
def test_members_reserve_in_their_pool(
    amounts: tuple[float, ...], reserved: float, refused: tuple[str, ...]
) -> None:
    found = admit_beside_pools(100, asked(*amounts), [pool(0, 1, reservation=50, limit=70)])

    assert (found.reserved, found.refused) == (reserved, refused)


@given(st.floats(0, 400), AMOUNTS, st.floats(0, 200))
def test_what_is_admitted_fits_unless_the_pool_alone_does_not(
    reservable: float, amounts: list[float], in_pool: float
) -> None:
    found = admit_beside_pools(reservable, asked(*amounts), [pool(0, 1, reservation=in_pool)])

    assert found.reserved <= max(reservable, in_pool) * (1 + 1e-6) + 1e-6
