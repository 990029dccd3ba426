"""Chunks come back exactly, stay small, and are never read wrongly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from advisor.core.chunk import (
    UNKNOWN,
    DamagedChunkError,
    pack,
    unpack,
    unpack_sums,
    unpack_together,
)

GOLDEN = Path(__file__).parent / "golden"

Integers = npt.NDArray[np.int64]

SHAPES = array_shapes(min_dims=2, max_dims=2, max_side=20)
GROWTHS = st.one_of(
    st.just(UNKNOWN), st.integers(0, 300), st.integers(0, 2**63 - 1), st.integers(0, 10**12)
)


def growths() -> st.SearchStrategy[Integers]:
    return arrays(np.int64, SHAPES, elements=GROWTHS)


def golden_growth() -> Integers:
    """3 windows of 4 columns: one idle, one with the largest growth, one unknown in the middle."""
    return np.array(
        [[0, 1, 2**63 - 1, 256], [0, 255, 0, UNKNOWN], [0, 65_536, 7, 3]], dtype=np.int64
    )


@given(growths())
@example(golden_growth())
def test_growths_come_back_exactly(values: Integers) -> None:
    back = unpack(pack(values))

    assert back.dtype == np.int64
    assert np.array_equal(back, values)


@given(growths(), st.lists(st.integers(0, 25), max_size=30))
@example(golden_growth(), [3, 1, 3, 4])
def test_wanted_columns_come_back_and_those_it_lacks_are_unknown(
    values: Integers, wanted: list[int]
) -> None:
    back = unpack(pack(values), np.array(wanted, dtype=np.int64))

    lacking = np.full(len(values), UNKNOWN)
    columns = [values[:, one] if one < values.shape[1] else lacking for one in wanted]
    assert back.shape == (len(values), len(wanted))
    assert all(np.array_equal(*pair) for pair in zip(back.T, columns, strict=True))


HOURS = st.lists(arrays(np.int64, st.tuples(st.just(12), st.integers(1, 5)), elements=GROWTHS))


@given(HOURS.filter(bool), st.lists(st.integers(0, 6), max_size=8))
def test_chunks_together_are_those_unpacked_one_by_one(
    hours: list[Integers], wanted: list[int]
) -> None:
    chunks, columns = [pack(values) for values in hours], np.array(wanted, dtype=np.int64)

    together = unpack_together(chunks, columns)

    assert together.shape == (len(wanted), len(hours), 12)
    for place, chunk in enumerate(chunks):
        assert np.array_equal(together[:, place], unpack(chunk, columns).T)


@given(
    HOURS.filter(bool), st.lists(st.integers(0, 6), max_size=8), st.sampled_from((1, 2, 4, 6, 12))
)
def test_sums_are_those_of_the_numbers_without_what_is_not_known(
    hours: list[Integers], wanted: list[int], steps: int
) -> None:
    chunks, columns = [pack(values) for values in hours], np.array(wanted, dtype=np.int64)

    sums = unpack_sums(chunks, columns, steps=steps)

    numbers = np.maximum(unpack_together(chunks, columns), 0)
    assert np.array_equal(sums, numbers.reshape(*sums.shape, 12 // steps).sum(axis=3))


def test_sums_of_an_hour_of_the_largest_bytes_are_exact() -> None:
    # 360 windows of 2^24 - 1: the sum of their lowest bytes alone is 91,800.
    chunk = pack(np.full((360, 2), 2**24 - 1, dtype=np.int64))

    assert unpack_sums([chunk], np.array([1]), steps=1).tolist() == [[[360 * (2**24 - 1)]]]


@given(growths())
def test_chunk_of_equal_values_has_equal_bytes(values: Integers) -> None:
    assert pack(values) == pack(np.asfortranarray(values))


@given(growths(), st.data())
def test_changed_byte_is_an_error_and_never_another_matrix(
    values: Integers, data: st.DataObject
) -> None:
    chunk = pack(values)
    place = data.draw(st.integers(0, len(chunk) - 1))
    other = chunk[place] ^ data.draw(st.integers(1, 255))

    with pytest.raises(DamagedChunkError):
        unpack(chunk[:place] + bytes([other]) + chunk[place + 1 :])


@given(growths(), st.data())
def test_cut_chunk_is_an_error(values: Integers, data: st.DataObject) -> None:
    chunk = pack(values)

    with pytest.raises(DamagedChunkError):
        unpack(chunk[: data.draw(st.integers(0, len(chunk) - 1))])


@given(st.binary(max_size=200))
def test_bytes_of_anything_else_are_an_error(data: bytes) -> None:
    with pytest.raises(DamagedChunkError):
        unpack(data)


def test_idle_hour_of_a_full_chunk_takes_less_than_a_hundred_bytes() -> None:
    assert len(pack(np.zeros((360, 200), dtype=np.int64))) <= 100


def test_hour_in_which_nothing_is_known_takes_less_than_a_hundred_bytes() -> None:
    assert len(pack(np.full((360, 200), UNKNOWN, dtype=np.int64))) <= 100


def test_chunk_of_a_later_version_says_so() -> None:
    chunk = pack(golden_growth())

    with pytest.raises(DamagedChunkError, match="version 2 of chunks is not known here"):
        unpack(b"\x02" + chunk[1:])


@pytest.mark.parametrize("value", [-2, -(2**63)])
def test_negative_growth_is_refused(value: int) -> None:
    with pytest.raises(ValueError, match="not negative"):
        pack(np.array([[value]]))


@pytest.mark.parametrize("shape", [(0, 1), (1, 0), (361, 1), (1, 201)])
def test_matrix_that_is_empty_or_too_large_is_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="no chunk has"):
        pack(np.zeros(shape, dtype=np.int64))


def test_chunks_written_by_every_version_are_read_for_ever() -> None:
    """The file was written when version 1 came; it is never written again."""
    assert np.array_equal(unpack((GOLDEN / "hour-1.chunk").read_bytes()), golden_growth())
