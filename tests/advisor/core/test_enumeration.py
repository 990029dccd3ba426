"""How sentences list names and clauses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.enumeration import clauses, listed

names = st.lists(st.text("abc-", min_size=1), max_size=60)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (["a", "b", "c", "d"], "a, b, c +1 more"),
        ([*"abc", *map(str, range(40))], "a, b, c +40 more"),
    ],
)
def test_names_are_listed_as_a_sentence_does(words: list[str], text: str) -> None:
    assert listed(words) == text


@pytest.mark.parametrize(
    ("texts", "text"),
    [
        ([], ""),
        (["a is slow", "b is not"], "a is slow; b is not"),
        (["a", "b", "c"], "a; b; c"),
        (["a", "b", "c", "d", "e"], "a; b; c; +2 more"),
    ],
)
def test_clauses_are_listed_as_a_sentence_does(texts: list[str], text: str) -> None:
    assert clauses(texts) == text


@given(names, st.integers(0, 40))
def test_names_beyond_three_change_only_the_count(words: list[str], more: int) -> None:
    first = (words + ["x"] * 4)[:4]

    assert (
        listed(first + ["other"] * more) == f"{first[0]}, {first[1]}, {first[2]} +{1 + more} more"
    )
