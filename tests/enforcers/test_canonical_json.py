"""Plain JSON as it crosses the wire: what is accepted at each bound, and how a refusal reads."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from typing import Any

import pytest

from enforcers.canonical_json import check_version, decode, decode_versioned, dump, encode, parse
from enforcers.errors import ContractError


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    count: int
    rate: float | None = None

    def __post_init__(self) -> None:
        if self.count == 13:
            raise ValueError("13 is not wanted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    schema_version: int
    at: datetime
    colour: Colour
    leaves: tuple[Leaf, ...]
    is_tall: bool = False


AT = datetime(2026, 3, 2, 12, 30, tzinfo=UTC)
PLAIN = {
    "schema_version": 1,
    "at": "2026-03-02T12:30:00.000000Z",
    "colour": "blue",
    "leaves": [{"count": 3, "rate": 0.5}, {"count": 4, "rate": None}],
    "is_tall": True,
}
TREE = Tree(
    schema_version=1,
    at=AT,
    colour=Colour.BLUE,
    leaves=(Leaf(count=3, rate=0.5), Leaf(count=4)),
    is_tall=True,
)


def refusal(plain: Any, **options: bool) -> tuple[str, str] | None:
    """Path and problem of a tree that is refused; None if it is accepted."""
    try:
        decode(Tree, plain, **options)
    except ContractError as error:
        return error.path, error.problem
    return None


def test_value_is_the_same_after_the_wire() -> None:
    assert parse(encode(TREE)) == PLAIN
    assert decode(Tree, PLAIN) == TREE
    assert decode_versioned(Tree, encode(TREE), known=1) == TREE


def test_bytes_are_ascii_with_sorted_keys_and_no_spaces() -> None:
    assert dump({"b": [1, None], "a": "ö"}) == b'{"a":"\\u00f6","b":[1,null]}'


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_no_bytes_are_made_of_what_is_no_number(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        dump({"rate": value})


@pytest.mark.parametrize("count", [2**63 - 1, -(2**63) + 1])
def test_integers_have_63_bits_and_a_sign(count: int) -> None:
    beyond = count + (1 if count > 0 else -1)

    assert decode(Leaf, {"count": count, "rate": None}).count == count
    assert refusal(PLAIN | {"leaves": [{"count": beyond, "rate": None}]}) == (
        "$.leaves[0].count",
        "integer beyond 9223372036854775807",
    )


@pytest.mark.parametrize(
    ("change", "path", "problem"),
    [
        ({"is_tall": 1}, "$.is_tall", "expected bool, got 1"),
        ({"schema_version": True}, "$.schema_version", "expected int, got true"),
        ({"colour": "green"}, "$.colour", 'expected one of red, blue, got "green"'),
        ({"colour": ["red"]}, "$.colour", 'expected one of red, blue, got ["red"]'),
        ({"at": "2026-03-02T12:30:00"}, "$.at", "time without a zone"),
        ({"at": "noon"}, "$.at", 'expected an RFC 3339 time, got "noon"'),
        ({"at": 12}, "$.at", "expected an RFC 3339 time, got 12"),
        ({"leaves": {}}, "$.leaves", "expected a list, got {}"),
        ({"leaves": [PLAIN["leaves"][0], 7]}, "$.leaves[1]", "expected an object, got 7"),  # type: ignore[index]  # a list
        ({"leaves": [{"count": 13, "rate": 1}]}, "$.leaves[0]", "13 is not wanted"),
        (
            {"leaves": [{"count": 3, "rate": "fast"}]},
            "$.leaves[0].rate",
            'expected float, got "fast"',
        ),
        (
            {"leaves": [{"count": 3, "rate": 10**400}]},
            "$.leaves[0].rate",
            "number is not finite",
        ),
        ({"shape": 1, "age": 2}, "$.age", "unknown key"),
    ],
    ids=str,
)
def test_value_that_does_not_fit_is_refused_with_its_path(
    change: dict[str, Any], path: str, problem: str
) -> None:
    assert refusal(PLAIN | change) == (path, problem)


def test_key_with_a_default_may_lack_only_where_that_is_allowed() -> None:
    shorter = {key: value for key, value in PLAIN.items() if key != "is_tall"}

    assert refusal(shorter) == ("$.is_tall", "missing")
    assert refusal(shorter, may_lack_defaults=True) is None
    del shorter["colour"]
    assert refusal(shorter, may_lack_defaults=True) == ("$.colour", "missing")


def test_leaf_may_lack_its_default_too() -> None:
    shorter = PLAIN | {"leaves": [{"count": 3}]}

    assert refusal(shorter) == ("$.leaves[0].rate", "missing")
    assert decode(Tree, shorter, may_lack_defaults=True).leaves == (Leaf(count=3),)


@pytest.mark.parametrize(("length", "is_cut"), [(58, False), (59, True)])
def test_value_in_a_refusal_is_shown_up_to_60_characters(length: int, is_cut: bool) -> None:
    # With its two quotation marks.
    text = "x" * length

    found = refusal(PLAIN | {"schema_version": text})

    shown = f'"{"x" * 56}...' if is_cut else f'"{text}"'
    assert found == ("$.schema_version", f"expected int, got {shown}")


@pytest.mark.parametrize("version", [2, 0, True, "1", None])
def test_other_schema_version_is_refused_before_anything_else(version: Any) -> None:
    check_version(1, known=1)

    with pytest.raises(ContractError) as error:
        decode_versioned(Tree, dump({"schema_version": version, "news": 1}), known=1)

    assert error.value.path == "$.schema_version"
    assert error.value.problem == f"version {version!r} is unknown; known is 1"


def test_object_without_a_version_is_refused_for_what_it_lacks() -> None:
    with pytest.raises(ContractError, match="unknown key"):
        decode_versioned(Tree, b'{"news":1}', known=1)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b'{"c":0,"a":1,"b":2,"a":3,"b":4}', "not JSON (key 'a' appears twice)"),
        (b"[NaN]", "not JSON (NaN is not allowed)"),
        (b"[-Infinity]", "not JSON (-Infinity is not allowed)"),
        (b"[1,\n2", "not JSON (Expecting ',' delimiter, line 2 column 2)"),
        (b'"\xff"', "not UTF-8 text (invalid start byte)"),
        (b"[" * 100_000, "nested too deeply"),
    ],
    ids=["repeated key", "no number", "infinity", "cut", "no text", "deep"],
)
def test_text_that_is_not_strict_json_is_refused(text: bytes, problem: str) -> None:
    with pytest.raises(ContractError) as error:
        parse(text)

    assert (error.value.path, error.value.problem) == ("$", problem)


def test_times_are_sent_in_utc_and_never_without_a_zone() -> None:
    east = AT.astimezone(timezone(timedelta(hours=2)))
    one = Tree(schema_version=1, at=east, colour=Colour.RED, leaves=())

    assert parse(encode(one))["at"] == "2026-03-02T12:30:00.000000Z"
    assert decode(Tree, PLAIN | {"at": "2026-03-02T14:30:00+02:00"}).at == AT
    with pytest.raises(ContractError, match="time without a zone"):
        encode(Tree(schema_version=1, at=AT.replace(tzinfo=None), colour=Colour.RED, leaves=()))
