"""The agent's own pass over a document that has come, of which one system call goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from enforcers.clocks import Moment
from enforcers.contract import PolicyDocument
from enforcers.errors import StateError
from enforcers.lease import begin
from enforcers.ledger import Ledger
from enforcers.outcomes import FALLS_SHORT
from enforcers.policy_store import HeldPolicy, PolicyStore
from enforcers.recovery import recover
from tests.enforcers.policies import KEY, NOON
from tests.enforcers.rig import Rig
from tests.testbed.struck import CALLS, KILL, alone, calls_of, struck

MOMENT = Moment(now=NOON, boot_id="boot-1", boot_s=100.0)
LEASE = begin(NOON + timedelta(minutes=15), MOMENT)
Kernel = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What outlives an agent: its folder, and what the kernel shows of all it may change."""

    state: Path
    start: Callable[[], Rig]
    kernel: Callable[[], Kernel]

    def enforce(self, document: PolicyDocument) -> None:
        """Take a document over and enforce it. Raises RuntimeError if that is not all right."""
        rig, store = self.start(), self._store()
        policy = HeldPolicy(document=document, lease=LEASE)
        previous = store.enforced.document if store.enforced else None
        failed = False
        try:
            recover(rig.mechanisms, rig.ledger, rig.locks, was_in_force=store.was_in_force)
        except StateError:
            failed = True
        try:
            store.keep_latest(policy)
        except StateError:
            failed = True
        result = rig.enforcement.run(document, previous=previous, now_s=0.0)
        if not result.has_failed:
            with suppress(StateError):
                store.keep_enforced(policy)
        if failed or any(one.outcome in FALLS_SHORT for one in result.enforced):
            raise RuntimeError("not enforced")

    def restore(self) -> None:
        """What the agent does when it ends. Raises RuntimeError if something is left."""
        rig = self.start()
        recover(rig.mechanisms, rig.ledger, rig.locks, was_in_force=self._store().was_in_force)
        problems = rig.enforcement.run(None, previous=None, now_s=0.0).problems
        if problems or rig.ledger.entries():
            raise RuntimeError(f"not restored: {problems}")

    def has_whole_document(self, *documents: PolicyDocument) -> bool:
        """Whether the newest document that the agent holds is one of these."""
        latest = self._store().latest
        return latest is not None and latest.document in documents

    def has_ledger(self) -> bool:
        """Whether the ledger tells what is to be put back."""
        return Ledger(self.state / "ledger.json", boot_id=MOMENT.boot_id).lost is None

    def _store(self) -> PolicyStore:
        return PolicyStore(self.state / "policy.json", key=KEY, moment=MOMENT)


def failing_pass(
    host: Host, old: PolicyDocument, new: PolicyDocument, *, call: str, fault: str, at: int
) -> dict[str, Any] | None:
    """What was there after the n-th such call of taking `new` over went wrong; None without one.

    `kernel` is `old`, `new`, or `between` where each thing is one of both; else `other`.
    """
    found = host.kernel()
    is_ready = alone(lambda: host.enforce(old))
    was = host.kernel()
    ended = struck(lambda: host.enforce(new), call=call, fault=fault, at=at)
    after = host.kernel()
    is_document_whole, has_ledger = host.has_whole_document(old, new), host.has_ledger()
    is_mended = alone(lambda: host.enforce(new))
    wanted = host.kernel()
    is_restored = alone(host.restore) and host.kernel() == found
    if not ended.is_reached:
        return None
    return {
        "kernel": _compared(after, was, wanted),
        "is_ready": is_ready and wanted not in (was, found) and was != found,
        "is_document_whole": is_document_whole,
        "has_ledger": has_ledger,
        "is_told": fault == KILL or not ended.is_well or after == wanted,
        "is_mended": is_mended,
        "is_restored": is_restored,
    }


def other_calls(host: Host, document: PolicyDocument) -> list[str]:
    """By which more calls the agent writes, renames or syncs than those that go wrong here."""
    found = calls_of(lambda: host.enforce(document)) - set(CALLS)
    alone(host.restore)
    return sorted(found)


def _compared(after: Kernel, old: Kernel, new: Kernel) -> str:
    if after in (old, new):
        return "old" if after == old else "new"
    is_either = all(after[key] in (old[key], new[key]) for key in after)
    return "between" if is_either else "other"
