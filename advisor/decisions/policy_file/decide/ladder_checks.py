"""What an entry of the ladder means, and what it cannot say."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from advisor.core.ladder.rule import Freeze, LadderRule, problems_of_rule
from advisor.core.weekly_window import zone_of
from advisor.decisions.policy_file.decide.document import LadderEntry
from advisor.decisions.policy_file.decide.wall_clock import start_text, time_of


def frozen_text(at: datetime | None, zone: str) -> str:
    """A beginning or end of a freeze as it is written; empty where there is none."""
    return "" if at is None else start_text(at, zone)


def frozen_time(text: str, zone: str) -> datetime | None:
    """A beginning or end of a freeze as it is meant; None where there is none."""
    return time_of(text, zone) if text else None


def problems_of_ladder(entry: LadderEntry) -> Iterator[str]:
    """What it says that cannot be."""
    try:
        zone_of(entry.zone)
    except ValueError as error:
        yield str(error)
        return
    try:
        since = frozen_time(entry.frozen_from, entry.zone)
        until = frozen_time(entry.frozen_until, entry.zone)
    except ValueError:
        yield "frozen_from and frozen_until are times like 2026-12-20T00:00"
        return
    if (since is None) != (until is None):
        yield "a freeze has frozen_from and frozen_until"
        return
    freeze = None
    if since is not None and until is not None:
        freeze = Freeze(since=since, until=until, reason=entry.frozen_because)
    yield from problems_of_rule(_rule(entry, freeze))


def _rule(entry: LadderEntry, freeze: Freeze | None) -> LadderRule:
    return LadderRule(
        name=entry.name,
        resource=entry.resource,
        tier=entry.tier,
        kind=entry.kind or "",
        level=entry.level,
        windows=entry.windows,
        zone=entry.zone,
        freeze=freeze,
        cooldown_s=entry.cooldown_s,
        most_changes_per_day=entry.most_per_day,
        second_person=entry.second_person,
    )
