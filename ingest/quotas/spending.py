"""What an organisation uses of its rates in this process, and what it may still use.

A process knows what was left when it last reported, and what it used since. So a body costs no
round trip: reports are at least 50 ms apart, unless much was used. What other processes used since
then is not known yet; it becomes a debt, which is filled before anything else is taken.

While the queue's server is away, the process goes on from there alone, with the whole rate.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from ingest.core.quota.bucket import Bucket, full_bucket
from ingest.core.quota.limits import RATES, Limits, Quota
from ingest.quotas.shared_account import SharedAccount

REPORT_EVERY_S = 0.05
REPORT_UNLIMITED_EVERY_S = 1.0
"""Without a quota reports only serve those who look at the figures."""
MUCH_S = 1.0
"""What the rate gives in this time is reported at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """A rate that is used up, and how long until there is something again."""

    quota: Quota
    wait_s: float


class Spending:
    """The account of one organisation in this process; threads share it."""

    def __init__(
        self,
        organisation: int,
        shared: SharedAccount,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._organisation = organisation
        self._shared = shared
        self._clock = clock
        self._lock = Lock()
        self._reporting = Lock()
        self._buckets: dict[Quota, Bucket] = {}
        self._used = dict.fromkeys(RATES, 0)
        self._reported_s: float | None = None

    def shortage(self, limits: Limits, *, keep_ratio: float = 0.0) -> Shortage | None:
        """The rate for which one has to wait longest until more than this part is left."""
        self._report_if_due(limits)
        return self.known_shortage(limits, keep_ratio=keep_ratio)

    def known_shortage(self, limits: Limits, *, keep_ratio: float = 0.0) -> Shortage | None:
        """The same by what this process knows; asks nobody."""
        found = []
        with self._lock:
            now_s = self._clock()
            for quota in RATES:
                if quota not in limits:
                    continue
                left = self._bucket(quota, limits, now_s).less(self._used[quota])
                wait_s = left.wait_s(keep_ratio=keep_ratio)
                if wait_s is not None:
                    found.append(Shortage(quota=quota, wait_s=wait_s))
        return max(found, key=lambda one: one.wait_s, default=None)

    def use(self, limits: Limits, *, points: int, size_bytes: int) -> None:
        """Charge this, whatever is left; less than zero gives something back."""
        with self._lock:
            self._used[Quota.POINTS] += points
            self._used[Quota.BYTES] += size_bytes
            much = any(
                self._used[quota] > limits[quota] * MUCH_S for quota in RATES if quota in limits
            )
        if much:
            self._report(limits)

    def _report_if_due(self, limits: Limits) -> None:
        is_limited = any(quota in limits for quota in RATES)
        every_s = REPORT_EVERY_S if is_limited else REPORT_UNLIMITED_EVERY_S
        if self._reported_s is None or self._clock() - self._reported_s >= every_s:
            self._report(limits)

    def _report(self, limits: Limits) -> None:
        # One thread waits for the server; the others go by what is known.
        if not self._reporting.acquire(blocking=False):
            return
        try:
            with self._lock:
                used = dict(self._used)
            left = self._shared.report(self._organisation, limits, used)
            with self._lock:
                self._settle(limits, used, left)
        finally:
            self._reporting.release()

    def _settle(
        self, limits: Limits, used: dict[Quota, int], left: dict[Quota, float] | None
    ) -> None:
        now_s = self._clock()
        for quota in RATES:
            self._used[quota] -= used[quota]
            if quota not in limits:
                self._buckets.pop(quota, None)
            elif left is None or quota not in left:
                self._buckets[quota] = self._bucket(quota, limits, now_s).less(used[quota])
            else:
                self._buckets[quota] = Bucket(
                    rate_per_s=limits[quota], level=left[quota], at_s=now_s
                )
        self._reported_s = now_s

    def _bucket(self, quota: Quota, limits: Limits, now_s: float) -> Bucket:
        """What is known of it now, before what was used since the last report."""
        known = self._buckets.get(quota)
        if known is None:
            return full_bucket(limits[quota], now_s=now_s)
        if known.rate_per_s != limits[quota]:
            known = known.of_rate(limits[quota])
        return known.at(now_s)
