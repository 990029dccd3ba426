"""Rows of rates: the quick way and the careful way give the same numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.core.catalogue import DISKIO
from ingest.core.mapping import Cell, Form, series
from ingest.core.point import PointError
from ingest.core.stored_values import RowPlan

KEY = series(DISKIO, "h1", "sda", {"name": "sda"}, source="x", form=Form.RATE)
CELLS = {
    "reads_per_s": Cell(series=KEY, column="reads"),
    "mb_per_s": Cell(series=KEY, column="read_bytes", scale=1048576.0),
    "await_ms": Cell(series=KEY, column="read_time", times="reads_per_s"),
}
VALUES = st.one_of(st.floats(-10, 1e15), st.integers(-10, 2**63), st.just(float("inf")))


def plan(*, careful: bool) -> RowPlan:
    made = RowPlan(KEY)
    for name, cell in CELLS.items():
        made.add(name, cell)
    if careful:
        made._rates = None
    return made


def outcome(fields: dict[str, float], *, careful: bool) -> object:
    try:
        return plan(careful=careful).values(fields)
    except PointError as error:
        return str(error)


@given(st.fixed_dictionaries(dict.fromkeys(CELLS, VALUES)))
def test_both_ways_give_the_same(fields: dict[str, float]) -> None:
    assert outcome(fields, careful=False) == outcome(fields, careful=True)


@pytest.mark.parametrize("wrong", [True, "fast"])
def test_factor_that_is_no_number_is_refused(wrong: float) -> None:
    made = RowPlan(KEY)
    made.add("await_ms", CELLS["await_ms"])

    with pytest.raises(PointError, match="must be a number"):
        made.values({"await_ms": 2.0, "reads_per_s": wrong})


def test_product_beyond_all_numbers_is_refused() -> None:
    made = RowPlan(KEY)
    made.add("await_ms", CELLS["await_ms"])

    with pytest.raises(PointError, match="does not fit"):
        made.values({"await_ms": 1e200, "reads_per_s": 1e200})


def test_rates_are_thousandths_a_second() -> None:
    fields = {"reads_per_s": 10.0, "mb_per_s": 2.0, "await_ms": 5.0}

    found = plan(careful=False).values(fields)

    assert found is not None
    # 10 reads a second of 5 ms each take 50 ms of a second.
    assert (found[0], found[2], found[4]) == (10_000, 2_097_152_000, 50_000)
