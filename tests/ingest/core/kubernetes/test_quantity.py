"""Sizes of Kubernetes: what is read, and that nothing else is taken for one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.core.kubernetes.quantity import MOST_BYTES, bytes_of

WHOLE = st.integers(min_value=0, max_value=MOST_BYTES)


@pytest.mark.parametrize(
    ("said", "size"),
    [
        ("0", 0),
        ("1024", 1024),
        ("10Gi", 10 * 2**30),
        ("1.5Ki", 1536),
        ("2M", 2_000_000),
        ("1e3", 1000),
        ("15E-1", 2),  # 1.5, rounded up
        ("1500m", 2),
        ("1E", 10**18),
        ("8Ei", None),  # 2^63 is one too many
        ("", None),
        ("Gi", None),
        ("-1Gi", None),
        ("1 Gi", None),
        ("1gi", None),
        ("1Gi\n", None),
        ("\N{ARABIC-INDIC DIGIT ONE}", None),
        ("1e999", None),
        (7, None),
        (None, None),
        ({"storage": "1Gi"}, None),
    ],
)
def test_size_is_what_kubernetes_means(said: Any, size: int | None) -> None:
    assert bytes_of(said) == size


@given(WHOLE)
def test_plain_number_is_itself(number: int) -> None:
    assert bytes_of(str(number)) == number


@given(st.one_of(st.text(max_size=80), st.from_regex(r"[0-9.]{1,40}[eEkKMGi+-]{0,3}[0-9]{0,3}")))
def test_whatever_is_said_is_a_size_that_can_be_kept_or_none(said: str) -> None:
    size = bytes_of(said)

    assert size is None or 0 <= size <= MOST_BYTES
