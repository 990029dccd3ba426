"""Size terms over time: what is learnt later changes nothing, and loads convert without error."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.iosize import SIZE_TERM_BYTES, size_cost, size_costs, unit_cost, unit_costs
from advisor.core.resource import Unit
from advisor.core.size_terms import CONSTANT, SizeTerms, always, cost_ratios

terms = st.floats(4_000, 4_000_000)
sizes = st.floats(512, 4_000_000)
STEPS = SizeTerms(since_us=(1_000, 2_000), terms_bytes=(8_000.0, 1e6))


@pytest.mark.parametrize(
    ("end_us", "term"),
    [
        (0, SIZE_TERM_BYTES),
        (999, SIZE_TERM_BYTES),
        (1_000, 8_000.0),
        (1_999, 8_000.0),
        (2_000, 1e6),
    ],
)
def test_a_size_term_holds_from_its_time_on(end_us, term):
    assert STEPS.at_us(end_us) == term
    assert STEPS.of_windows(np.array([end_us])).tolist() == [term]


@given(st.lists(st.integers(0, 1_999), max_size=8))
def test_a_term_that_is_learnt_later_changes_no_window_before(ends):
    before = SizeTerms(since_us=(1_000,), terms_bytes=(8_000.0,))

    found = STEPS.of_windows(np.array(ends, np.int64))

    assert found.tolist() == before.of_windows(np.array(ends, np.int64)).tolist()


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan, math.inf])
def test_an_impossible_size_term_is_refused(wrong):
    with pytest.raises(ValueError, match="must be a finite number above 0"):
        always(wrong)


def test_times_without_terms_are_refused():
    with pytest.raises(ValueError, match="equally long"):
        SizeTerms(since_us=(1,), terms_bytes=())


def test_without_anything_learnt_the_size_term_is_that_of_basil():
    assert CONSTANT.of_windows(np.array([0, 10**15])).tolist() == [51_000.0, 51_000.0]


@given(terms, sizes)
def test_a_large_io_costs_less_on_a_device_with_a_larger_term(term, size):
    one, other = size_cost(size, size_term_bytes=term), size_cost(size, size_term_bytes=2 * term)

    assert (other <= one) if size >= 8_000 else (other >= one)


@given(terms, st.floats(0.001, 4_000_000))
def test_costs_of_many_ios_are_those_of_each(term, size):
    sizes_ = np.array([[size, math.nan]])

    assert size_costs(sizes_, term).tolist() == [[size_cost(size, size_term_bytes=term), 1.0]]
    for unit in (Unit.IOPS, Unit.BYTES_PER_S):
        found = unit_costs(unit, sizes_, np.array([[term]]))[0, 0]
        assert found == pytest.approx(unit_cost(unit, size, size_term_bytes=term))


@given(terms, terms, st.lists(sizes, min_size=1, max_size=5))
def test_device_time_of_any_mix_converts_exactly(term, other, mix):
    size = np.array(mix)
    load = np.array([float(len(mix))])
    spent = np.array([size_costs(size, term).sum()])

    found = spent * cost_ratios(load, spent, np.array([term]), to_bytes=other)

    assert found[0] == pytest.approx(size_costs(size, other).sum())


@given(terms, st.just(0.0) | st.floats(1e-6, 1e6), st.just(0.0) | st.floats(1e-6, 1e9))
def test_what_is_in_a_term_stays_the_same_in_it(term, load, spent):
    found = cost_ratios(np.array([load]), np.array([spent]), np.array([term]), to_bytes=term)

    assert found.tolist() == [1.0]


@pytest.mark.parametrize(("load", "spent"), [(math.nan, math.nan), (0.0, 0.0)])
def test_what_is_not_known_is_not_converted(load, spent):
    found = cost_ratios(np.array([load]), np.array([spent]), np.array([51_000.0]), to_bytes=1e6)

    assert found.tolist() == [1.0]
