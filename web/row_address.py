"""The address of the page of a row, for lists: a look-up among all routes takes long for each."""

from __future__ import annotations

from functools import cache

from django.urls import reverse


def row_address(page: str, pk: int) -> str:
    """The address of the page of this name about the row with this key."""
    before, after = _around_key(page)
    return f"{before}{pk}{after}"


@cache
def _around_key(page: str) -> tuple[str, str]:
    before, _, after = reverse(page, args=[0]).rpartition("0")
    return before, after
