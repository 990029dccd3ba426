"""What an agent reads of a document that its service signed, and of one that it renews."""

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcers import canonical_json
from enforcers.contract import PolicyDocument, decode_document, encode_document, sign, verify
from enforcers.errors import ContractError, EnforcerError, SignatureError
from enforcers.signature import hmac_hex
from enforcers.signed_document import DocumentReader
from tests.enforcers.policies import KEY, NOON, document, vnic

# A name with all that could be taken for the end of the allocations.
ODD = '],"dry_run":false,"signature":"0"}'
WORKLOADS = (vnic(1, 10e6), vnic(2, workload=ODD))


def renewed(minutes: float = 1.0, **change: Any) -> bytes:
    given_document = document(
        *WORKLOADS,
        issued_at=NOON + timedelta(minutes=minutes),
        expires_at=NOON + timedelta(minutes=minutes + 15),
        **change,
    )
    return encode_document(given_document)


def as_decoded(data: bytes) -> PolicyDocument | None:
    """The document as the wire has it; None if it is not for this host's key."""
    try:
        found = decode_document(data)
        verify(found, KEY)
    except EnforcerError:
        return None
    return found


def as_read(reader: DocumentReader, data: bytes) -> PolicyDocument | None:
    try:
        return reader.read(data)
    except EnforcerError:
        return None


@pytest.mark.parametrize("change", [{}, {"dry_run": True}, {"revision": 2}, {"host": "h2"}])
@pytest.mark.parametrize("version", [1, 2])
def test_renewed_document_is_the_one_that_was_sent(version: int, change: dict[str, Any]) -> None:
    reader = DocumentReader(KEY)
    first = reader.read(renewed(schema_version=version))
    data = renewed(2.0, schema_version=version, **change)

    again = reader.read(data)

    assert again == decode_document(data)
    assert again.allocations is first.allocations


@given(st.lists(st.sampled_from([1.0, 2.0, 3.0]), min_size=1))
def test_document_that_comes_again_is_the_very_same(order: list[float]) -> None:
    reader = DocumentReader(KEY)
    former: tuple[bytes, PolicyDocument] | None = None

    for minutes in order:
        data = renewed(minutes)
        found = reader.read(data)
        assert found == decode_document(data)
        if former is not None:
            assert (found is former[1]) is (data == former[0])
        former = data, found


def test_document_that_is_refused_does_not_take_the_place_of_the_one_before() -> None:
    reader = DocumentReader(KEY)
    good = reader.read(renewed())
    altered = renewed(2.0).replace(b'"signature":"', b'"signature":"0')

    for _ in range(2):
        with pytest.raises(EnforcerError):
            reader.read(altered)

    assert reader.read(renewed()) is good


def test_document_with_other_allocations_is_read_anew() -> None:
    reader = DocumentReader(KEY)
    reader.read(renewed())
    other = document(vnic(1, 10e6))

    assert reader.read(encode_document(other)) == other


def test_allocations_of_another_version_are_read_anew() -> None:
    reader = DocumentReader(KEY)
    reader.read(renewed(schema_version=1))
    data = renewed(2.0, schema_version=2)

    assert reader.read(data) == decode_document(data)


def test_signed_document_in_other_spacing_is_read() -> None:
    reader = DocumentReader(KEY)
    reader.read(renewed())
    data = json.dumps(json.loads(renewed(2.0)), indent=1).encode()

    assert reader.read(data) == decode_document(renewed(2.0))


@pytest.mark.parametrize("key", [b"y" * 32, b"x"], ids=["foreign key", "short key"])
@pytest.mark.parametrize("is_renewed", [False, True], ids=["first", "renewed"])
def test_document_signed_with_another_key_is_refused(key: bytes, is_renewed: bool) -> None:
    reader = DocumentReader(KEY)
    if is_renewed:
        reader.read(renewed())
    foreign = encode_document(sign(decode_document(renewed(2.0)), key))

    with pytest.raises(SignatureError, match="does not match"):
        reader.read(foreign)


def test_resource_that_renewed_allocations_name_must_still_be_there() -> None:
    reader = DocumentReader(KEY)
    reader.read(renewed())
    plain = json.loads(renewed(2.0)) | {"resources": []}
    del plain["signature"]
    signature = hmac_hex(canonical_json.dump(plain), KEY)

    with pytest.raises(ContractError, match="no resource named"):
        reader.read(canonical_json.dump(plain | {"signature": signature}))


@given(place=st.integers(0, 2000), piece=st.binary(max_size=3), cut=st.integers(0, 3))
def test_whatever_is_changed_on_the_way_is_refused(place: int, piece: bytes, cut: int) -> None:
    """Or it is the same in other words, such as with a space more."""
    reader = DocumentReader(KEY)
    reader.read(renewed())
    whole = renewed(2.0)
    place = min(place, len(whole))
    data = whole[:place] + piece + whole[place + cut :]

    assert as_read(reader, data) == as_decoded(data)
