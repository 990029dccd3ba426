"""Since when each allocation has been in force without a break."""

from dataclasses import dataclass, replace

from enforcers.contract import Allocation, EnforcementState, Outcome
from enforcers.enforcement import PassResult
from enforcers.outcomes import FALLS_SHORT

# Somebody else had changed it, or it was not there yet on a thing that is new.
_BREAKS = frozenset({Outcome.DRIFTED, Outcome.REPLACED})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Since:
    allocation: Allocation
    boot_s: float


class InForce:
    """Remembers by allocation what is in force, from one pass to the next."""

    def __init__(self) -> None:
        self._since: dict[str, _Since] = {}

    def take(self, result: PassResult, state: EnforcementState, *, boot_s: float) -> None:
        """Note a pass that ended at `boot_s`, in seconds since boot."""
        if state is not EnforcementState.ENFORCING:
            self._since = {}
            return
        self._since = {
            item.allocation.id: self._kept(item.allocation, item.outcome, boot_s)
            for item in result.enforced
            if item.outcome not in FALLS_SHORT
        }

    def since_boot_s(self, allocation: str) -> float | None:
        """The first pass from which on it was always in force; None if it is not."""
        found = self._since.get(allocation)
        return None if found is None else found.boot_s

    def _kept(self, allocation: Allocation, outcome: Outcome, boot_s: float) -> _Since:
        before = self._since.get(allocation.id)
        # What somebody is entitled to changes with its neighbours; what it was promised does not.
        promised = replace(allocation, entitlement=0.0)
        if before is None or before.allocation != promised or outcome in _BREAKS:
            return _Since(allocation=promised, boot_s=boot_s)
        return before
