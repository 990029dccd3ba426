"""Which documents a host acts on, and for how long."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcers.acceptance import accept
from enforcers.contract import PolicyDocument, ReservationMode
from enforcers.errors import RefusedDocument
from tests.enforcers.policies import LINK, NOON, document, host_traffic, uplink, vnic

MINUTE = timedelta(minutes=1)
HELD = document(vnic(1), revision=5)


def renewed(revision: int = 5, minutes: float = 1.0, **change: Any) -> PolicyDocument:
    """The held document again, issued later."""
    return document(
        vnic(1),
        revision=revision,
        issued_at=NOON + minutes * MINUTE,
        expires_at=NOON + (minutes + 15) * MINUTE,
        **change,
    )


def lease(given_document: PolicyDocument, held: PolicyDocument | None, minutes: float) -> Any:
    """Minutes after noon at which the lease ends, if the document is accepted."""
    ends_at = accept(given_document, host="h1", held=held, now=NOON + minutes * MINUTE)
    return (ends_at - NOON) / MINUTE


@pytest.mark.parametrize(
    ("given_document", "held"),
    [
        (HELD, None),
        (HELD, HELD),
        (renewed(), HELD),
        (renewed(dry_run=True), HELD),
        (renewed(6), HELD),
        (document(revision=6), HELD),
        (document(revision=900), HELD),
    ],
    ids=["first", "again", "renewed", "dry run", "next", "empty", "far ahead"],
)
def test_document_of_this_host_that_moves_on_is_accepted(
    given_document: PolicyDocument, held: PolicyDocument | None
) -> None:
    assert lease(given_document, held, minutes=1.0) <= 16.0


@pytest.mark.parametrize(
    ("given_document", "reason"),
    [
        (document(vnic(1), revision=6, host="h2"), "for host 'h2', this is 'h1'"),
        (renewed(4), "revision 4 is older than 5, which is held"),
        (renewed(minutes=-1.0), "an older lease of revision 5 came again"),
        (document(vnic(2), revision=5), "revision 5 has another content"),
        (renewed(6, minutes=-15.0), "revision 6 has expired at 2026-11-20T12:00:00"),
        (renewed(6, minutes=7.0), "do the clocks agree?"),
    ],
    ids=["foreign host", "older", "replayed lease", "other content", "expired", "from the future"],
)
def test_document_that_must_not_be_acted_on_is_refused(
    given_document: PolicyDocument, reason: str
) -> None:
    with pytest.raises(RefusedDocument) as refusal:
        lease(given_document, HELD, minutes=1.0)

    assert reason in str(refusal.value)


@given(st.floats(-4.9, 14.9))
def test_lease_is_never_longer_than_its_own_length_nor_than_its_end(clock_minutes: float) -> None:
    ends = lease(HELD, None, minutes=clock_minutes)

    assert ends <= 15.0
    assert ends <= clock_minutes + 15.0 + 1e-6


# Of 94 Mbit/s the host keeps 9.4, of 1 Gbit/s 5 %.
@pytest.mark.parametrize("mode", ReservationMode)
@pytest.mark.parametrize(
    ("capacity", "reserved", "is_taken"),
    [(LINK, 9.4e6, True), (LINK, 9.39e6, False), (1e9, 50e6, True), (1e9, 10e6, False)],
)
def test_document_that_gives_the_host_less_than_its_part_is_refused_in_any_mode(
    mode: ReservationMode, capacity: float, reserved: float, is_taken: bool
) -> None:
    given = document(
        host_traffic(reserved), vnic(1), resources=(uplink(mode=mode, capacity=capacity),)
    )

    if is_taken:
        assert lease(given, None, 1) == 15
    else:
        with pytest.raises(RefusedDocument, match="for the own traffic of this host; it keeps"):
            lease(given, None, 1)


@pytest.mark.parametrize("with_host", [False, True], ids=["not named", "named"])
@pytest.mark.parametrize(("second", "is_taken"), [(9.6e6, True), (9.7e6, False)])
def test_document_that_reserves_the_hosts_part_for_workloads_is_refused(
    with_host: bool, second: float, is_taken: bool
) -> None:
    # 84.6 of 94 Mbit/s are left beside the host's part.
    own = (host_traffic(),) if with_host else ()
    given = document(*own, vnic(1, 75e6), vnic(2, second))

    if is_taken:
        assert lease(given, None, 1) == 15
    else:
        with pytest.raises(RefusedDocument, match="9400000 bit/s are for the own traffic of"):
            lease(given, None, 1)


def test_same_revision_in_the_words_of_another_version_is_accepted() -> None:
    """As after an upgrade of the service or of the agent."""
    former = renewed(schema_version=1)

    assert lease(former, HELD, 2) == 16
    assert lease(renewed(minutes=2.0), former, 3) == 17
