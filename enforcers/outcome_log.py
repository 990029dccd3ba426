"""Logs what became of each allocation when it changes, not every round."""

import logging

from enforcers.contract import Outcome, PolicyDocument
from enforcers.enforcement import PassResult
from enforcers.outcomes import FALLS_SHORT
from enforcers.results import Enforced

log = logging.getLogger(__name__)

_EVENTS = frozenset({Outcome.APPLIED, Outcome.REPLACED, Outcome.DRIFTED})


class OutcomeLog:
    """Remembers by allocation which shortcoming was told, None where it is in force."""

    def __init__(self) -> None:
        self._told: dict[str, Outcome | None] = {}

    def take(self, result: PassResult, document: PolicyDocument) -> None:
        """Tell what is news of a pass for this document."""
        devices = {spec.name: spec.device for spec in document.resources}
        told: dict[str, Outcome | None] = {}
        for item in result.enforced:
            key = item.allocation.id
            told[key] = item.outcome if item.outcome in FALLS_SHORT else None
            is_news = key not in self._told or self._told[key] != told[key]
            if is_news or item.outcome in _EVENTS:
                _tell(item, document.revision, devices.get(item.allocation.resource))
        self._told = told


def _tell(item: Enforced, revision: int, device: str | None) -> None:
    about = {
        "revision": revision,
        "device": device,
        "workload": item.allocation.workload,
        "resource": item.allocation.resource,
        "outcome": item.outcome,
        "reason": item.reason,
    }
    if item.outcome in FALLS_SHORT:
        log.warning("allocation falls short", extra=about)
    else:
        log.info("allocation in force", extra=about)
