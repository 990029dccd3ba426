"""Uplinks inside the guest, what tc says of them, and the agent's enforcement on them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from enforcers.runner import SubprocessRunner
from tests.enforcers.policies import desired, nothing, uplink, vnic
from tests.enforcers.rig import start_rig

HTB = "tc_htb"
_RUNNER = SubprocessRunner()


def tell(words: str) -> str:
    """Run a command of iproute2."""
    return _RUNNER.run(words.split())


def shown() -> list[str]:
    """All that tc says of the uplink: short, with details, as numbers, and its classes."""
    asked = ("qdisc", "-d qdisc", "-d -j qdisc", "-d class")
    return [tell(f"tc {one} show dev up0") for one in asked]


def enforced(between: Sequence[str]) -> dict[str, Any]:
    """What is there before a policy, under it and after it; commands are run while it holds.

    `sent_bytes` is what the workload behind p1 sent in that time.
    """
    before = shown()
    rig = start_rig(Path(mkdtemp(prefix="agent-")), _RUNNER)
    policy = desired(uplink(), vnic(1, 75e6), vnic(2))
    left = rig.apply(HTB, policy)
    under = shown()
    for command in between:
        tell(command)
    mechanism = rig.mechanisms[HTB]
    seen = mechanism.read_back(policy, mechanism.observe(policy, rig.ledger.entries()))
    counters = seen["net-1"].counters if "net-1" in seen else None
    kept = shown()
    rig.apply(HTB, nothing("up0"))
    return {
        "before": before,
        "under": under,
        "kept": kept,
        "after": shown(),
        "notes": sorted({note.reason for note in left.notes.values()}),
        "sent_bytes": None if counters is None else counters.total / 8,
    }
