"""The ends of windows, which begin at whole multiples of their length since 1970."""

from __future__ import annotations

import math
from datetime import UTC, datetime


def last_window_end(moment: datetime, window_s: float) -> datetime:
    """The end of the last window that was over at this moment."""
    # Collectors may stamp a sample slightly before the edge of the window.
    index = math.floor((moment.timestamp() + 0.001) / window_s)
    return datetime.fromtimestamp(index * window_s, UTC)
