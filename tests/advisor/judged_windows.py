"""Windows that were judged, as tests state them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from advisor.core.detection.congestion import CongestionState, StatePoint
from advisor.history.level_store import save_points
from advisor.models import Resource, State

EVER = datetime(1970, 1, 1, tzinfo=UTC)
"""Before all windows."""


def judged_window(at: datetime, state: State = State.CLEAR, **figures: Any) -> StatePoint:
    """A window that ends at this time; what is not given was not known."""
    known = {"value": None, "threshold": None, "load": None, "reason": "", "since": at} | figures
    return StatePoint(at=at, state=CongestionState(state), **known)


def judge(resource: Resource, *windows: StatePoint) -> None:
    """These windows of the resource were judged, and none between them."""
    save_points({resource: sorted(windows, key=lambda one: one.at)})
