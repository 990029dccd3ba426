"""What is asked of the product under load, beside what was measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bench.fleet.lag import percentile
from bench.fleet.rows import Row, at_most, below, not_measured
from bench.load.client import POLL_S, SAMPLE_S, Answered
from bench.load.memory import MB, Look, slope_mb_per_hour
from bench.load.reports import REPORT_S

PERIODS_S = {"samples": SAMPLE_S, "document": POLL_S, "report": REPORT_S}
GOOD = {"samples": 204, "document": 200, "report": 200}
CPU, MEMORY = "CPU of the product", "memory of the product at the end"
LAG_S_ASKED = 15.0
IDLE_MB_ASKED = 358.0
"""Half of the 716 MB of 18 processes that were measured once."""
GROWTH_ASKED = 0.05
"""The second half of the time may add so much to the memory of the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The answers of one kind: how many were due, how many came well, and their lags."""

    what: str
    due: int
    statuses: Counter[int]
    lags_s: Sequence[float]

    @property
    def bad(self) -> int:
        """Those that were due and not answered well, or not asked at all for being late."""
        return self.due - self.statuses[GOOD[self.what]]


def held(what: str, answered: Sequence[Answered], *, due: int) -> Held:
    """Of one kind of exchange."""
    own = [one for one in answered if one.what == what]
    return Held(
        what=what,
        due=due,
        statuses=Counter(one.status for one in own),
        lags_s=[one.lag_s for one in own if one.status == GOOD[what]],
    )


def exchange_rows(found: Sequence[Held]) -> list[Row]:
    """Whether all were held, and how long they took."""
    rows = []
    for one in found:
        others = {code: count for code, count in one.statuses.items() if code != GOOD[one.what]}
        note = f"of {one.due:,}" + (f"; answers {others}" if others else "")
        rows.append(at_most(f"{one.what}: refused, late or without answer", "exchanges", 0,
                            one.bad, note))  # fmt: skip
        what, period_s = f"{one.what}: lag, p99", PERIODS_S[one.what]
        if one.lags_s:
            median = f"median {percentile(one.lags_s, 50):.3f}"
            rows.append(below(what, "s", period_s, percentile(one.lags_s, 99), median))
        else:
            rows.append(not_measured(what, "s", f"< {period_s:g}", "none was answered"))
    return rows


def idle_row(idle: Look) -> Row:
    """What the product takes before anybody sends anything."""
    note = f"PSS; the database {idle.database_bytes / MB:.0f}"
    what = "memory of the product without hosts"
    return at_most(what, "MB", IDLE_MB_ASKED, idle.bytes / MB, note)


def memory_rows(looks: Sequence[Look]) -> list[Row]:
    """The whole at the begin and end, and whether it goes on growing."""
    if len(looks) < 4:
        return [not_measured("memory", "MB", "", "too few looks")]
    half = len(looks) // 2
    former, latter = (max(one.bytes for one in part) / MB for part in (looks[:half], looks[half:]))
    note = f"PSS; the database {looks[0].database_bytes / MB:.0f} to"
    note += f" {looks[-1].database_bytes / MB:.0f}"
    slope = slope_mb_per_hour(looks[half:])
    return [
        _told("memory of the product at the begin", "MB", looks[0].bytes / MB),
        _told(MEMORY, "MB", looks[-1].bytes / MB, note),
        at_most("growth of its most memory, second half of the time beside the first", "ratio",
                GROWTH_ASKED, latter / former - 1),
        _told("slope of its memory in the second half", "MB/hour", slope),
    ]  # fmt: skip


def evaluation_row(p99_s: float | None, *, resources: int) -> Row:
    """As the product's own page of its health says."""
    what = "evaluation lag of the last ten minutes, p99"
    return below(what, "s", LAG_S_ASKED, p99_s, f"{resources} resources")


def cpu_row(cores: float) -> Row:
    """What the product took of the machine."""
    return _told(CPU, "cores", cores)


def _told(what: str, unit: str, measured: float | None, note: str = "") -> Row:
    """What nothing is asked of."""
    return Row(what=what, unit=unit, asked="", measured=measured, holds=True, note=note)
