"""Pages of lists. The next one begins behind a row, so nothing is seen twice or missed."""

from __future__ import annotations

from typing import Annotated, TypeVar

from django.db import models
from django.db.models import QuerySet
from ninja import Schema
from pydantic import Field

Row = TypeVar("Row", bound=models.Model)

PER_PAGE, MOST_PER_PAGE = 50, 200
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"

Cursor = Annotated[str, Field(pattern=r"^[0-9a-z]{1,12}$")]


class Paged(Schema):
    """What every list can be asked for."""

    cursor: Cursor | None = Field(None, description="`next_cursor` of the page before")
    limit: Annotated[int, Field(ge=1, le=MOST_PER_PAGE)] = PER_PAGE


class Page(Schema):
    """What every list answers beside its items."""

    next_cursor: str | None = Field(description="null on the last page")


def page_of(
    rows: QuerySet[Row], asked: Paged, *, newest_first: bool = False
) -> tuple[list[Row], str | None]:
    """The rows of a page in the order of their keys, and where the next one begins."""
    rows = rows.order_by("-pk" if newest_first else "pk")
    if asked.cursor is not None:
        behind = int(asked.cursor, 36)
        rows = rows.filter(pk__lt=behind) if newest_first else rows.filter(pk__gt=behind)
    found = list(rows[: asked.limit + 1])
    more = len(found) > asked.limit
    page = found[: asked.limit]
    return page, _written(page[-1].pk) if more else None


def _written(number: int) -> str:
    """A number in base 36, which `int` reads."""
    text = ""
    while number:
        number, digit = divmod(number, 36)
        text = _DIGITS[digit] + text
    return text or "0"
