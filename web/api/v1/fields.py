"""The kinds of values that the API takes, each with its bounds."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any

from ninja import Schema
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, WithJsonSchema

from advisor.core.tags import LONGEST_TAG, MOST_TAGS
from ingest.core.lengths import LONGEST_STATED_NAME

MOST_PK = 2**63 - 1
MOST_RATE = 1e15
"""In bits per second a million of the fastest links."""
LEAST_RATE = 1e-3
MOST_SHARES = 1_000_000
NO_NUL = r"^[^\x00]*$"
"""PostgreSQL keeps no NUL in texts."""
RFC3339 = (
    r"^(19[7-9]\d|20\d\d)-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
    r"T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?(Z|[+-](0\d|1[0-4]):[0-5]\d)$"
)
"""From 1970 to 2099: what lies outside of that is mistyped."""


def _rfc3339(value: Any) -> Any:
    """Refuses what pydantic takes beside it: numbers, dates, and times without a zone."""
    if isinstance(value, datetime):
        return value
    if not isinstance(value, str) or not re.match(RFC3339, value):
        raise ValueError("a time is a text like 2026-11-21T22:00:00Z")
    return value


def _whole(value: Any) -> Any:
    """JSON has one kind of number: 5.0 is whole too; a text or a truth value is no number."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("a whole number is needed")  # noqa: TRY004  pydantic's
    return value


WHOLE = BeforeValidator(_whole)
"""Stands behind the bounds: what stands before them is not described."""
Pk = Annotated[int, Field(ge=1, le=MOST_PK)]
Moment = Annotated[
    datetime,
    BeforeValidator(_rfc3339),
    AfterValidator(lambda at: at.astimezone(UTC)),
    WithJsonSchema({"type": "string", "format": "date-time", "pattern": RFC3339}),
]
Rate = Annotated[float, Field(strict=True, ge=0, le=MOST_RATE)]
Positive = Annotated[float, Field(strict=True, ge=LEAST_RATE, le=MOST_RATE)]
Shares = Annotated[int, Field(ge=1, le=MOST_SHARES), WHOLE]
Flag = Annotated[bool, Field(strict=True)]
Name = Annotated[str, Field(min_length=1, max_length=LONGEST_STATED_NAME, pattern=NO_NUL)]
TagText = Annotated[
    str, Field(max_length=LONGEST_TAG, pattern=r"^(namespace|pool|tag|unit|label\.[^=]+)=.*$")
]
Tags = Annotated[list[TagText], Field(max_length=MOST_TAGS)]
Text = Annotated[str, Field(max_length=2000, pattern=NO_NUL)]


class Asked(Schema):
    """A body: a key that is not known is refused, and so is a number that is none."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
