"""What an organisation may send and have."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Quota(StrEnum):
    """What is limited: two rates, which any sender can wait for, and two counts of rows."""

    POINTS = "points_per_s"
    BYTES = "bytes_per_s"
    SERIES = "series"
    HOSTS = "hosts"


RATES = (Quota.POINTS, Quota.BYTES)
WORDS: Mapping[Quota, str] = {
    Quota.POINTS: "points a second",
    Quota.BYTES: "bytes a second",
    Quota.SERIES: "series",
    Quota.HOSTS: "hosts",
}

Limits = Mapping[Quota, int]
"""The quotas of an organisation; one that is absent limits nothing."""


class QuotaExceededError(Exception):
    """A quota is used up: the text says which and whose, `retry_after_s` when to send again."""

    def __init__(self, quota: Quota, message: str, *, retry_after_s: int) -> None:
        super().__init__(message)
        self.quota = quota
        self.retry_after_s = retry_after_s
