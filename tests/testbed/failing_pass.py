"""The agent's round in which a document comes, of which one system call goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enforcers.agent import Agent
from enforcers.clocks import Clocks
from enforcers.contract import PolicyDocument, encode_document
from enforcers.errors import StateError
from enforcers.ledger import Ledger
from enforcers.outcomes import FALLS_SHORT
from enforcers.policy_store import PolicyStore
from enforcers.recovery import recover
from enforcers.state_dir import StateDir
from tests.enforcers.agent_bench import FakeService, agent_config
from tests.enforcers.policies import KEY, NOON
from tests.enforcers.rig import Rig
from tests.testbed.struck import CALLS, KILL, alone, calls_of, struck

CLOCKS = Clocks(boot_id="boot-1", now=lambda: NOON, boot_s=lambda: 100.0, monotonic_s=lambda: 0.0)
Kernel = Mapping[str, str]
STOPPED = "the agent was stopped"
"""What the last report says where nothing else went wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What outlives an agent: its folder, and what the kernel shows of all it may change."""

    state: Path
    start: Callable[[], Rig]
    kernel: Callable[[], Kernel]

    def enforce(self, document: PolicyDocument) -> None:
        """A new agent's first round. Raises RuntimeError if the agent tells that it fell short."""
        service = FakeService(encode_document(document))
        is_recovered, agent = self._started(self.start(), service)
        agent.tick()
        (report,) = service.reports
        outcomes = {one.outcome for one in report.allocations}
        if not is_recovered or report.refusal or outcomes & FALLS_SHORT:
            raise RuntimeError(f"not enforced: {report.refusal}, {outcomes}")

    def restore(self) -> None:
        """What the agent does when it ends. Raises RuntimeError if something is left."""
        rig, service = self.start(), FakeService()
        _, agent = self._started(rig, service)
        agent.stop()
        (report,) = service.reports
        if report.refusal != STOPPED or rig.ledger.entries():
            raise RuntimeError(f"not restored: {report.refusal}")

    def has_whole_document(self, *documents: PolicyDocument) -> bool:
        """Whether the newest document that the agent holds is one of these."""
        latest = self._store().latest
        return latest is not None and latest.document in documents

    def has_ledger(self) -> bool:
        """Whether the ledger tells what is to be put back."""
        return Ledger(self.state / "ledger.json", boot_id=CLOCKS.boot_id).lost is None

    def _started(self, rig: Rig, service: FakeService) -> tuple[bool, Agent]:
        """A new agent, and whether all was well at its start."""
        store, is_recovered = self._store(), True
        try:
            recover(
                rig.mechanisms, rig.ledger, rig.locks, was_in_force=store.may_have_been_in_force
            )
        except StateError:
            is_recovered = False
        return is_recovered, Agent(
            config=agent_config(self.state),
            service=service,
            enforcement=rig.enforcement,
            store=store,
            support=lambda: tuple(one.support() for one in rig.mechanisms.values()),
            clocks=CLOCKS,
            status_file=StateDir(root=self.state).status,
        )

    def _store(self) -> PolicyStore:
        return PolicyStore(self.state / "policy.json", key=KEY, moment=CLOCKS.moment())


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


def other_calls(
    host: Host, document: PolicyDocument, *, known: Sequence[str] = CALLS
) -> list[str]:
    """By which more calls the agent writes, renames, syncs or speaks than those that go wrong."""
    found = calls_of(lambda: host.enforce(document)) - set(known)
    alone(host.restore)
    return sorted(found)


def _compared(after: Kernel, old: Kernel, new: Kernel) -> str:
    if after in (old, new):
        return "old" if after == old else "new"
    is_either = all(after[key] in (old[key], new[key]) for key in after)
    return "between" if is_either else "other"
