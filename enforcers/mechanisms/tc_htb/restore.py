"""The way back: what takes our tree off an interface and makes again what was found. Pure."""

from dataclasses import replace

from enforcers.contract import Outcome
from enforcers.ledger import LedgerEntry
from enforcers.mechanism import Desired, Note, Plan
from enforcers.mechanisms.tc_htb.diff import remove_root
from enforcers.mechanisms.tc_htb.found import is_part_of, make_again
from enforcers.mechanisms.tc_htb.observed import HtbObserved


def not_put_back(observed: HtbObserved) -> str | None:
    """What is there and why it cannot be taken over; None if it can."""
    if observed.why_lost is None:
        return None
    root = observed.root
    what = "a discipline" if root is None else f"{root.kind} {root.handle}"
    return f"{what}, which this agent did not make and could not put back: {observed.why_lost}"


def outdated(observed: HtbObserved) -> tuple[LedgerEntry, ...]:
    """The entries, if somebody has set something else in the place of our tree since."""
    if observed.is_ours or (observed.found and is_part_of(observed.qdiscs, observed.found)):
        return ()
    return observed.entries


def restoring(observed: HtbObserved) -> Plan:
    """Our tree goes, and what somebody had set there is made again, also where that was cut short.

    What somebody set there since stays.
    """
    device, found = observed.device, observed.found or ""
    if observed.is_ours:
        return Plan(changes=(remove_root(device, observed), *make_again(device, (), found)))
    if observed.root is None or not is_part_of(observed.qdiscs, found):
        return Plan(restored=observed.entries)
    changes = make_again(device, observed.qdiscs, found)
    return Plan(changes=changes, restored=() if changes else observed.entries)


def restoring_elsewhere(desired: Desired, observed: HtbObserved, noted_as: str) -> Plan:
    """The interface was renamed: first its tree goes; what has its name now is another one."""
    note = Note(
        outcome=Outcome.FAILED,
        reason=f"interface {noted_as} is called {observed.device} by now; "
        "what was set on it is taken off first",
    )
    return replace(restoring(observed), notes={item.id: note for item in desired.allocations})
