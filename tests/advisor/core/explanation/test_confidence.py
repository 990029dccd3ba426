"""Confidence from grounds, and answers whose last digits are cut."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from advisor.core.explanation.confidence import ground, weakest
from advisor.core.explanation.rounding import round_all


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=5))
def test_confidence_is_a_ratio_and_that_of_its_weakest_ground(values):
    result = weakest(*[ground(str(index), value, "how") for index, value in enumerate(values)])

    assert 0 <= result.value <= 1
    assert result.value == min(part.value for part in result.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    ratio: float | None
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outer:
    inner: tuple[Inner, ...]
    count: int
    value: float


def test_digits_beyond_the_ninth_are_cut_all_the_way_down():
    answer = Outer(
        inner=(Inner(ratio=1 / 3, name="a"), Inner(ratio=None, name="b")),
        count=12345678901,
        value=0.1 + 0.2,
    )

    assert round_all(answer) == Outer(
        inner=(Inner(ratio=0.333333333, name="a"), Inner(ratio=None, name="b")),
        count=12345678901,
        value=0.3,
    )
