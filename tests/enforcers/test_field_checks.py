"""Fields of the wire at the exact value of each rule."""

import math
from collections.abc import Callable

import pytest

from enforcers.errors import ContractError
from enforcers.field_checks import (
    check_known,
    check_name,
    check_not_negative,
    check_positive,
    check_unique,
    check_word,
)


def refusal(check: Callable[[], None]) -> str | None:
    try:
        check()
    except ContractError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    ("value", "is_refused"),
    [("n" * 509, False), ("n" * 510, True), ("", True), ("a b", False), ("a\nb", True)],
    ids=["longest", "too long", "empty", "space", "line"],
)
def test_name_has_509_printable_characters_at_most(value: str, is_refused: bool) -> None:
    text = refusal(lambda: check_name("host", value))

    assert text == ("$.host: must be 1..509 printable characters" if is_refused else None)
    assert refusal(lambda: check_name("host", "abc", longest=3)) is None
    assert refusal(lambda: check_name("host", "abcd", longest=3)) is not None


@pytest.mark.parametrize(
    ("value", "is_refused"),
    [
        ("a" * 32, False),
        ("a" * 33, True),
        ("a", False),
        ("tc_htb2", False),
        ("", True),
        ("2tc", True),
        ("_tc", True),
        ("tc-htb", True),
        ("Tc", True),
        ("tc\n", True),
    ],
)
def test_word_has_32_small_letters_digits_and_underscores_at_most(
    value: str, is_refused: bool
) -> None:
    assert (refusal(lambda: check_word("kind", value)) is not None) is is_refused


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, -1.0])
def test_amount_is_finite_and_not_negative(value: float) -> None:
    assert refusal(lambda: check_positive("limit", value)) == (
        "$.limit: must be a finite number above 0"
    )
    assert refusal(lambda: check_not_negative("rate", value)) == (
        "$.rate: must be a finite number of at least 0"
    )


def test_zero_is_not_negative_and_not_positive() -> None:
    assert refusal(lambda: check_not_negative("rate", 0.0)) is None
    assert refusal(lambda: check_positive("rate", 0.0)) is not None
    assert refusal(lambda: check_positive("rate", 5e-324)) is None


def test_second_use_and_unknown_use_are_refused_with_their_place() -> None:
    assert refusal(lambda: check_unique("items", "id", ["a", "b"])) is None
    assert refusal(lambda: check_unique("items", "id", ["a", "b", "a"])) == (
        "$.items[2].id: 'a' appears twice"
    )
    assert refusal(lambda: check_known("items", "id", ["a", "b"], {"a", "b"})) is None
    assert refusal(lambda: check_known("items", "id", ["a", "c"], {"a", "b"})) == (
        "$.items[1].id: no id named 'c'"
    )
