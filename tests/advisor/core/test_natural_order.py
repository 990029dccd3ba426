"""Names in the order that people expect."""

from hypothesis import given
from hypothesis import strategies as st

from advisor.core.natural_order import natural_key


def test_numbers_in_names_are_compared_as_numbers() -> None:
    names = ["web-10", "web-9", "Web-100", "db-2", "web-009a"]

    assert sorted(names, key=natural_key) == ["db-2", "web-9", "web-009a", "web-10", "Web-100"]


@given(one=st.integers(0, 10**40), other=st.integers(0, 10**40))
def test_order_of_numbers_of_any_length_is_that_of_their_values(one: int, other: int) -> None:
    keys = natural_key(f"vm-{one}"), natural_key(f"vm-{other}")

    assert (keys[0] < keys[1]) == (one < other)
