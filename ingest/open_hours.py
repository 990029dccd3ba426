"""When an hour of samples is sealed."""

from __future__ import annotations

from datetime import timedelta

HOUR = timedelta(hours=1)
SETTLED_AFTER = timedelta(minutes=20)
"""So long after its end an hour is sealed: the next reading of a rare sender has come by then.

No interval is longer than 15 minutes (`ingest.core.grid.LONGEST_INTERVAL_S`).
"""
