"""The detector's state after windows without any I/O, which nobody has to fold one by one."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from advisor.core.detection.congestion import DetectorSettings, DetectorState, RecentWindow


def after_quiet_windows(
    state: DetectorState, *, until: datetime | None, window_s: float, settings: DetectorSettings
) -> DetectorState:
    """As after every window from the last one to `until`, all without I/O.

    Of a resource that is clear: nothing else in its state changes then.
    """
    if until is None or state.last_at is None or until <= state.last_at:
        return state
    step = timedelta(seconds=window_s)
    count = round((until - state.last_at) / step)
    kept = min(count, settings.enter_of)
    quiet = [
        RecentWindow(began_at=until - step * back, above=False) for back in range(kept, 0, -1)
    ]
    return replace(
        state,
        last_at=until,
        measured_at=until,
        recent=(*state.recent, *quiet)[-settings.enter_of :],
        below_since=state.below_since or state.last_at,
        below_windows=state.below_windows + count,
    )
