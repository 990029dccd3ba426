"""Which documents a host acts on, and for how long."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcers.acceptance import accept
from enforcers.contract import PolicyDocument, sign
from enforcers.errors import RefusedDocument, SignatureError
from tests.enforcers.policies import KEY, NOON, document, vnic

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
    ends_at = accept(given_document, host="h1", key=KEY, held=held, now=NOON + minutes * MINUTE)
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


@pytest.mark.parametrize("key", [b"y" * 32, b"x"], ids=["foreign key", "short key"])
def test_document_signed_with_another_key_is_refused(key: bytes) -> None:
    with pytest.raises(SignatureError, match="does not match"):
        lease(sign(renewed(6), key), HELD, minutes=1.0)


@given(st.floats(-4.9, 14.9))
def test_lease_is_never_longer_than_its_own_length_nor_than_its_end(clock_minutes: float) -> None:
    ends = lease(HELD, None, minutes=clock_minutes)

    assert ends <= 15.0
    assert ends <= clock_minutes + 15.0 + 1e-6
