"""Documents signed by the service's key of Ed25519, and reports by that of the host."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enforcers import ed25519
from enforcers.contract import (
    ContractError,
    SignatureError,
    canonical_bytes,
    encode_document,
    verify,
)
from enforcers.signature import ServerKey, SignatureKind, ed25519_message
from enforcers.signed_document import DocumentReader
from enforcers.wire_signatures import (
    document_media,
    read_report_signature,
    report_message,
    sign_by,
    signature_kind,
    signed_document,
    signed_report,
)
from tests.enforcers.policies import KEY, document, vnic

SECRET, OTHER = bytes(range(32)), bytes(32)
SERVER = ServerKey(public=ed25519.public_key(SECRET))
SIGNED = sign_by(document(vnic(1, 10e6)), lambda message: ed25519.sign(message, SECRET))


def test_document_is_read_by_the_key_that_signed_it() -> None:
    assert DocumentReader(SERVER).read(encode_document(SIGNED)) == SIGNED


@pytest.mark.parametrize(
    "given_document",
    [
        replace(SIGNED, signature=None),
        replace(SIGNED, revision=SIGNED.revision + 1),
        replace(SIGNED, host="h2"),
        replace(SIGNED, dry_run=not SIGNED.dry_run),
        replace(SIGNED, signature=(SIGNED.signature or "").upper()),
        replace(SIGNED, signature=" ".join([SIGNED.signature or ""])[:-1]),
        document(vnic(1, 10e6)),
        sign_by(SIGNED, lambda message: ed25519.sign(message, OTHER)),
        sign_by(SIGNED, lambda message: ed25519.sign(canonical_bytes(SIGNED), SECRET)),
    ],
    ids=[
        "unsigned", "another revision", "another host", "dry run", "capitals", "cut",
        "by a shared secret", "by another key", "without what it is for",
    ],
)  # fmt: skip
def test_document_that_was_not_signed_so_is_refused(given_document: object) -> None:
    with pytest.raises(SignatureError):
        DocumentReader(SERVER).read(encode_document(given_document))  # type: ignore[arg-type]  # a document


def test_shared_secret_does_not_read_what_the_key_signed() -> None:
    with pytest.raises(SignatureError):
        verify(SIGNED, KEY)


def test_agent_says_which_signatures_it_reads() -> None:
    assert [signature_kind(document_media(kind)) for kind in SignatureKind] == [*SignatureKind]
    # Agents before these said nothing of it.
    assert signature_kind("application/json; schema=2") is SignatureKind.HMAC
    assert signature_kind("application/json; signature=rsa") is SignatureKind.HMAC


def test_message_to_sign_is_told_apart_from_others() -> None:
    message = ed25519_message(canonical_bytes(SIGNED))

    assert signed_document(message) == replace(SIGNED, signature=None)
    assert signed_document(report_message(b"{}", number=1)) is None
    assert signed_document(b"") is None
    with pytest.raises(ContractError):
        signed_document(ed25519_message(b"{}"))
    # In other words, which the agent would put so first.
    assert (
        signed_document(ed25519_message(canonical_bytes(SIGNED).replace(b":", b": ", 1))) is None
    )


@settings(max_examples=30)
@given(st.binary(max_size=200), st.integers(1, 2**63 - 1))
def test_report_is_signed_with_its_number(body: bytes, number: int) -> None:
    found = read_report_signature(signed_report(body, number=number, secret=SECRET))

    assert found.number == number
    assert ed25519.is_signed(
        report_message(body, number=number), found.signature, ed25519.public_key(SECRET)
    )


@pytest.mark.parametrize(
    "header",
    [
        "", "number=1", f"number=0, ed25519={'00' * 64}", f"number=-1, ed25519={'00' * 64}",
        f"number={2**63}, ed25519={'00' * 64}", f"number=1, ed25519={'00' * 63}",
        f"number=1, ed25519={'0A' * 64}", f"number=01, ed25519={'00' * 64}",
        f"number=1, ed25519={'00' * 64}, more=1",
    ],
)  # fmt: skip
def test_header_of_another_form_is_refused(header: str) -> None:
    with pytest.raises(ContractError, match="Sluice-Report-Signature"):
        read_report_signature(header)
