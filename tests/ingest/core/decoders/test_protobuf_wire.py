import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.core.decoders.protobuf_wire import (
    BYTES,
    FIXED32,
    FIXED64,
    VARINT,
    WireError,
    fields,
    packed_varints,
    read_varint,
    signed,
)
from tests.ingest.core.decoders.protobuf_writer import message, varint


@given(st.integers(0, 2**64 - 1), st.binary(max_size=3))
def test_varint_comes_back_with_its_end(value: int, behind: bytes) -> None:
    data = varint(value)

    assert read_varint(data + behind, 0) == (value, len(data))


def test_bits_beyond_64_are_cut_off() -> None:
    # Ten bytes hold 70 bits.
    assert read_varint(b"\xff" * 9 + b"\x7f", 0) == (2**64 - 1, 10)


@given(st.integers(-(2**63), 2**63 - 1))
def test_signed_number_comes_back(value: int) -> None:
    assert signed(read_varint(varint(value), 0)[0]) == value


@given(st.lists(st.integers(0, 2**64 - 1)))
def test_packed_numbers_come_back(values: list[int]) -> None:
    assert packed_varints(b"".join(map(varint, values))) == values


@given(
    st.lists(
        st.tuples(st.integers(1, 2**29 - 1), st.integers(0, 2**64 - 1) | st.binary(max_size=300))
    )
)
def test_fields_come_back_in_order(values: list[tuple[int, int | bytes]]) -> None:
    assert list(fields(message(*values))) == [
        (number, VARINT if isinstance(value, int) else BYTES, value) for number, value in values
    ]


# Examples of the specification: 150 in field 1, "testing" in field 2, then fixed numbers.
def test_fields_of_every_wire_type_are_told_apart() -> None:
    data = bytes.fromhex("089601120774657374696e671901000000000000f02501000080")

    assert list(fields(data)) == [
        (1, VARINT, 150),
        (2, BYTES, b"testing"),
        (3, FIXED64, b"\x01\0\0\0\0\0\0\xf0"),
        (4, FIXED32, b"\x01\0\0\x80"),
    ]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x08", "the message ends within a number"),
        (b"\x08\x80", "the message ends within a number"),
        (b"\x08" + b"\xff" * 10, "a number is longer than 10 bytes"),
        (b"\x12", "the message ends within a number"),
        (b"\x12\x05abcd", "field 2 is longer than its message"),
        (b"\x19" + bytes(7), "field 3 is longer than its message"),
        (b"\x25" + bytes(3), "field 4 is longer than its message"),
        (b"\x00\x01", "a field has the number 0"),
        (b"\x0b", "field 1 has the unknown wire type 3"),
    ],
)
def test_broken_field_is_named_behind_the_good_ones(data: bytes, reason: str) -> None:
    found = fields(message((7, 1)) + data)

    assert next(found) == (7, VARINT, 1)
    with pytest.raises(WireError, match=reason):
        next(found)
