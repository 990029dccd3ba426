"""Values by their stored form."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from advisor.history.lately import Lately


@given(
    steps=st.lists(st.tuples(st.booleans(), st.integers(0, 9)), max_size=60),
    most=st.integers(1, 5),
)
def test_stored_form_says_the_same_whatever_was_noted_and_forgotten(
    steps: list[tuple[bool, int]], most: int
) -> None:
    numbers: Lately[str, int] = Lately(int, most=most)
    found = []
    for is_written, number in steps:
        if is_written:
            numbers.note(str(number), number)
        found.append(numbers.value_of(str(number)))

    assert found == [number for _, number in steps]


def test_what_was_written_or_used_lately_is_not_read_again() -> None:
    read: list[str] = []

    def reading(text: str) -> int:
        read.append(text)
        return int(text)

    numbers: Lately[str, int] = Lately(reading, most=2)
    numbers.note("1", 1)
    numbers.note("2", 2)
    used = numbers.value_of("1")
    numbers.note("3", 3)

    # The third one took the place of the second, which was not used since.
    assert (used, [numbers.value_of(text) for text in "132"]) == (1, [1, 3, 2])
    assert read == ["2"]
