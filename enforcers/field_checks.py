"""Range checks of single wire fields; each raises ContractError naming the field."""

import math
import re

from enforcers.errors import ContractError

LONGEST_NAME = 509
"""A host of 253 characters, a slash and a device of 255: the longest name of a resource."""
LONGEST_WORD = 32
LARGEST_SHARES = 1_000_000
_WORD = re.compile(rf"[a-z][a-z0-9_]{{0,{LONGEST_WORD - 1}}}")


def check_name(field: str, value: str, *, longest: int = LONGEST_NAME) -> None:
    """Refuse an empty, overlong or unprintable name."""
    if not value or len(value) > longest or not value.isprintable():
        raise ContractError(f"$.{field}", f"must be 1..{longest} printable characters")


def check_word(field: str, value: str) -> None:
    """Refuse what is no name of a mechanism or of a kind of selector."""
    if _WORD.fullmatch(value) is None:
        raise ContractError(
            f"$.{field}", f"must be 1..{LONGEST_WORD} small letters, digits and _, like tc_htb"
        )


def check_positive(field: str, value: float) -> None:
    """Refuse anything but a finite number above 0."""
    if not (math.isfinite(value) and value > 0):
        raise ContractError(f"$.{field}", "must be a finite number above 0")


def check_not_negative(field: str, value: float) -> None:
    """Refuse anything but a finite number of at least 0."""
    if not (math.isfinite(value) and value >= 0):
        raise ContractError(f"$.{field}", "must be a finite number of at least 0")


def check_shares(field: str, value: int) -> None:
    """Refuse shares that are out of range."""
    if not 1 <= value <= LARGEST_SHARES:
        raise ContractError(f"$.{field}", f"must be within 1..{LARGEST_SHARES}")


def check_unique(field: str, key: str, values: list[str]) -> None:
    """Refuse the second use of a value; `key` names the field that repeats."""
    seen: set[str] = set()
    for index, value in enumerate(values):
        if value in seen:
            raise ContractError(f"$.{field}[{index}].{key}", f"{value!r} appears twice")
        seen.add(value)


def check_known(field: str, key: str, values: list[str], known: set[str]) -> None:
    """Refuse a value that names nothing in `known`; `key` names the field that refers."""
    for index, value in enumerate(values):
        if value not in known:
            raise ContractError(f"$.{field}[{index}].{key}", f"no {key} named {value!r}")
