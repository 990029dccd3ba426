"""Rows as PostgreSQL's COPY reads them, byte by byte (PostgreSQL manual, COPY, Binary Format)."""

import struct

import pytest

from ingest.core.catalogue import CGROUP_PRESSURE, SYSTEM
from ingest.core.copy_encoding import encode_rows
from ingest.core.stored_values import Value

# Eleven bytes of signature, then no flags and no header extension, four bytes each.
HEADER = bytes.fromhex("5047434f50590aff0d0a00 00000000 00000000")
TRAILER = bytes.fromhex("ffff")
# One second after 2000-01-01, in microseconds since 1970; PostgreSQL counts 1,000,000 = f4240.
AT_US = 946_684_801_000_000
SERIES_AND_TIME = "00000008 0000000000000007  00000008 00000000000f4240"


@pytest.mark.parametrize(
    ("values", "columns"),
    [
        ((5, 6), "00000008 0000000000000005  00000008 0000000000000006"),
        # A length of -1 is NULL, and no bytes follow.
        ((None, 6), "ffffffff  00000008 0000000000000006"),
        ((5, None), "00000008 0000000000000005  ffffffff"),
    ],
    ids=["full", "first missing", "last missing"],
)
def test_row_of_counters_is_encoded_as_the_manual_says(
    values: tuple[Value, ...], columns: str
) -> None:
    encoded = encode_rows(CGROUP_PRESSURE, [(7, AT_US, values)])

    # Four columns: series, time and two counters.
    row = bytes.fromhex(f"0004 {SERIES_AND_TIME} {columns}")
    assert encoded == HEADER + row + TRAILER


@pytest.mark.parametrize("values", [(0.5, 1.5, 2.5, 4, 9), (0.5, None, 2.5, 4, 9)])
def test_numbers_are_encoded_as_doubles(values: tuple[Value, ...]) -> None:
    row = encode_rows(SYSTEM, [(7, AT_US, values)])[len(HEADER) : -2]

    # After the count of columns and two columns of 4 + 8 bytes comes the first double.
    assert struct.unpack("!id", row[26:38]) == (8, 0.5)


def test_rows_follow_each_other() -> None:
    both = encode_rows(CGROUP_PRESSURE, [(7, AT_US, (5, 6)), (7, AT_US, (None, 6))])

    alone = [
        encode_rows(CGROUP_PRESSURE, [(7, AT_US, values)])[len(HEADER) : -len(TRAILER)]
        for values in ((5, 6), (None, 6))
    ]
    assert both == HEADER + alone[0] + alone[1] + TRAILER


@pytest.mark.parametrize(
    ("series_id", "values"),
    [(7, (5,)), (7, (5, 6, 8)), (0, (5, 6))],
    ids=["too few", "too many", "no series"],
)
def test_row_that_does_not_fit_its_table_is_not_encoded(
    series_id: int, values: tuple[Value, ...]
) -> None:
    with pytest.raises(AssertionError, match="invariant encoded-row"):
        encode_rows(CGROUP_PRESSURE, [(series_id, AT_US, values)])
