"""The kinds of values that the API takes, each with its bounds."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any

from ninja import Schema
from pydantic import BeforeValidator, ConfigDict, Field

from ingest.core.lengths import LONGEST_STATED_NAME

MOST_PK = 2**63 - 1
MOST_RATE = 1e15
"""In bits per second a million of the fastest links."""
MOST_SHARES = 1_000_000
NO_NUL = r"^[^\x00]*$"
"""PostgreSQL keeps no NUL in texts."""
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)")


def _rfc3339(value: Any) -> Any:
    """Refuses what pydantic takes beside it: numbers, dates, and times without a zone."""
    if isinstance(value, str) and not _RFC3339.fullmatch(value):
        raise ValueError("a time looks like 2026-11-21T22:00:00Z")
    if not isinstance(value, str | datetime):
        raise ValueError("a time is a text like 2026-11-21T22:00:00Z")  # noqa: TRY004  pydantic's
    return value


Pk = Annotated[int, Field(ge=1, le=MOST_PK)]
Moment = Annotated[datetime, BeforeValidator(_rfc3339)]
Rate = Annotated[float, Field(strict=True, ge=0, le=MOST_RATE)]
Positive = Annotated[float, Field(strict=True, gt=0, le=MOST_RATE)]
Shares = Annotated[int, Field(strict=True, ge=1, le=MOST_SHARES)]
Flag = Annotated[bool, Field(strict=True)]
Name = Annotated[str, Field(min_length=1, max_length=LONGEST_STATED_NAME, pattern=NO_NUL)]
Text = Annotated[str, Field(max_length=2000, pattern=NO_NUL)]


class Asked(Schema):
    """A body: a key that is not known is refused, and so is a number that is none."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
