"""What happened in a run, in order: for who reads of a violation, and to compare runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from appliance.simulation.agenda import Agenda

SHOWN_EVENTS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """An invariant that did not hold, and what happened before."""

    invariant: str
    at_s: float
    what: str
    last_events: tuple[str, ...]

    def text(self, command: str) -> str:
        """All of it, with the command that repeats it."""
        minutes, seconds = divmod(self.at_s, 60)
        head = (
            f"{self.invariant} does not hold at {minutes:.0f} min {seconds:04.1f} s: {self.what}"
        )
        events = "\n".join(f"  {line}" for line in self.last_events)
        return f"{head}\nThe last events:\n{events}\nAgain: {command}"


class Violated(BaseException):
    """Ends a run. No Exception, for code under test catches those."""

    def __init__(self, violation: Violation) -> None:
        super().__init__(violation.invariant)
        self.violation = violation


class Trail:
    """The events of a run, and how often each kind of fault struck."""

    def __init__(self, agenda: Agenda) -> None:
        self._agenda = agenda
        self.lines: list[str] = []
        self.faults: Counter[str] = Counter()

    def note(self, who: str, what: str) -> None:
        """Note an event."""
        self.lines.append(f"{self._agenda.now_s:9.3f} {who:<8} {what}")

    def fault(self, who: str, kind: str, what: str = "") -> None:
        """Note a fault that struck."""
        self.faults[kind] += 1
        self.note(who, f"FAULT {kind}{f': {what}' if what else ''}")

    def require(self, holds: bool, invariant: str, what: str) -> None:
        """End the run unless the invariant holds."""
        if holds:
            return
        raise Violated(
            Violation(
                invariant=invariant,
                at_s=self._agenda.now_s,
                what=what,
                last_events=tuple(self.lines[-SHOWN_EVENTS:]),
            )
        )
