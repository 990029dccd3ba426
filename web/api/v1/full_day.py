"""When demand reaches what there is, as the API says it."""

from __future__ import annotations

from datetime import date

from ninja import Schema
from pydantic import Field


class Ahead(Schema):
    """The busiest quarter of an hour of the day so many days ahead; 80 % lie between."""

    days: int
    low: float
    median: float
    high: float


class FullDay(Schema):
    """The day on which a daily peak first comes within 5 % of `full_rate`.

    80 % of outcomes lie between `soonest_day` and `latest_day`; null is after `until_day`.
    """

    full_rate: float | None = None
    last_day: date | None = Field(None, description="the newest day that was read")
    until_day: date | None = Field(None, description="the last day that is foretold")
    soonest_day: date | None = None
    median_day: date | None = None
    latest_day: date | None = None
    reached_day: date | None = Field(None, description="when a peak last came so near to it")
    ahead: list[Ahead]
    gap: str = Field(description="why nothing is foretold; empty where something is")
