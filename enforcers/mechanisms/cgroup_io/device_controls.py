"""The changes to iocost of a device, and the way back. Pure.

Iocost never runs by a model that the kernel guessed: the model is written before it is enabled,
and goes back after it is disabled.
"""

from dataclasses import replace

from enforcers.change import Change, Effect, FileWrite
from enforcers.contract import ControlKind
from enforcers.ledger import LedgerEntry
from enforcers.mechanisms.cgroup_io import iocost
from enforcers.mechanisms.cgroup_io.controls import NAME
from enforcers.mechanisms.cgroup_io.iocost import ABSENT, Iocost, Model
from enforcers.mechanisms.cgroup_io.observed import (
    DEBUG_STATS,
    IO_COST_MODEL,
    IO_COST_QOS,
    IoObserved,
)

# Before all groups when it is switched on, after all when it goes back: no weight can be
# written to a device of which iocost has not been told.
_DEPTHS = {IO_COST_QOS: 1_000_000, IO_COST_MODEL: 1_000_001, DEBUG_STATS: 1_000_002}
_YES, _NO = "Y", "N"
_OF_WEIGHTS = frozenset({ControlKind.SHARES, ControlKind.RESERVATION})


def device_changes(
    model: Model | None, observed: IoObserved
) -> tuple[list[Change], list[LedgerEntry]]:
    """The changes that make the device go by this model, and what they would replace.

    `model` None leaves the model that is there, and with it iocost if it is on.
    """
    changes: list[Change] = []
    found: list[LedgerEntry] = []
    wanted = {} if model is None else {IO_COST_MODEL: str(model), IO_COST_QOS: iocost.OWN_QOS}
    if model is None and not observed.iocost.is_enabled:
        wanted = {IO_COST_QOS: iocost.OWN_QOS}
    if observed.debug_stats == _NO:
        wanted = {**wanted, DEBUG_STATS: _YES}
    for control, text in wanted.items():
        present = _present(control, observed)
        if iocost.is_same(present, text) and control != DEBUG_STATS:
            continue
        # What the agent has set and finds otherwise, somebody else has changed.
        controls = _OF_WEIGHTS if _is_noted(control, observed) else frozenset()
        changes.append(
            _change(control, present, text, observed, effect=Effect.SHRINK, controls=controls)
        )
        found.append(_entry(control, present or ABSENT, observed))
    return changes, found


def model_adjustment(wanted: Model, observed: IoObserved) -> FileWrite:
    """Another model in the place of the agent's own."""
    return _write(IO_COST_MODEL, str(wanted), observed)


def restoring_device_changes(
    observed: IoObserved,
) -> tuple[list[Change], list[LedgerEntry]]:
    """Put iocost of the device back, and list what is back already."""
    changes: list[Change] = []
    restored: list[LedgerEntry] = []
    for entry in observed.entries:
        if entry.thing not in _DEPTHS:
            continue
        if not _is_of_this_disk(entry, observed):
            # It took its iocost along.
            restored.append(entry)
            continue
        present = _present(entry.thing, observed)
        text = (
            entry.found
            if entry.thing == DEBUG_STATS
            else iocost.as_found(entry.thing, entry.found)
        )
        is_back = present == text if entry.thing == DEBUG_STATS else iocost.is_same(present, text)
        if is_back or present is None:
            restored.append(entry)
        else:
            changes.append(_change(entry.thing, present, text, observed, effect=Effect.GROW))
    return changes, restored


def iocost_as_found(observed: IoObserved) -> Iocost:
    """Iocost of the device once all that is noted of it has been put back."""
    noted = {
        entry.thing: None if entry.found == ABSENT else entry.found
        for entry in observed.entries
        if _is_of_this_disk(entry, observed)
    }
    present = observed.iocost
    return replace(
        present,
        model=noted.get(IO_COST_MODEL, present.model),
        qos=noted.get(IO_COST_QOS, present.qos),
    )


def owns_model(observed: IoObserved) -> bool:
    """Whether the model that is there is the agent's own."""
    return _is_noted(IO_COST_MODEL, observed)


def _is_noted(control: str, observed: IoObserved) -> bool:
    return any(
        entry.thing == control and _is_of_this_disk(entry, observed) for entry in observed.entries
    )


def _is_of_this_disk(entry: LedgerEntry, observed: IoObserved) -> bool:
    """Not of one that had its number before; what is host-wide, or noted without, is."""
    return entry.identity is None or entry.identity == observed.identity


def _present(control: str, observed: IoObserved) -> str | None:
    if control == DEBUG_STATS:
        return observed.debug_stats
    return observed.iocost.model if control == IO_COST_MODEL else observed.iocost.qos


def _change(
    control: str,
    before: str | None,
    after: str,
    observed: IoObserved,
    *,
    effect: Effect,
    controls: frozenset[ControlKind] = frozenset(),
) -> Change:
    return Change(
        target=control if control == DEBUG_STATS else f"{control} {observed.number}",
        before=before,
        after=after,
        write=_write(control, after, observed),
        effect=effect,
        depth=_DEPTHS[control],
        allocation=None,
        controls=controls,
    )


def _write(control: str, text: str, observed: IoObserved) -> FileWrite:
    if control == DEBUG_STATS:
        return FileWrite(path=DEBUG_STATS, text=text)
    return FileWrite(path=f"{observed.mount}/{control}", text=f"{observed.number} {text}")


def _entry(control: str, found: str, observed: IoObserved) -> LedgerEntry:
    return LedgerEntry(
        mechanism=NAME,
        device=observed.device,
        thing=control,
        found=found,
        identity=None if control == DEBUG_STATS else observed.identity,
    )
