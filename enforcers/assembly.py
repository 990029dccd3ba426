"""Puts the agent's parts together for a configuration."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from enforcers.audit import AuditLog
from enforcers.config import AgentConfig
from enforcers.enforcement import Enforcement
from enforcers.executor import Executor
from enforcers.host_fs import HostFs
from enforcers.ledger import Ledger
from enforcers.mechanism import EnforcementMechanism, HostAccess
from enforcers.policy_store import PolicyStore
from enforcers.registry import MECHANISMS, Mechanisms, build_mechanisms
from enforcers.runner import SubprocessRunner
from enforcers.state_dir import StateDir

BOOT_ID = "/proc/sys/kernel/random/boot_id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a command works with."""

    mechanisms: dict[str, EnforcementMechanism[Any]]
    ledger: Ledger
    store: PolicyStore
    enforcement: Enforcement


def assemble(config: AgentConfig, *, dry_run: bool, mechanisms: Mechanisms = MECHANISMS) -> Parts:
    """Read the state on disk and build the parts. Raises StateError."""
    host_fs, runner = HostFs(), SubprocessRunner()
    state_dir = StateDir(root=config.state_dir)
    boot_id = (host_fs.read_or_none(BOOT_ID) or "unknown").strip()
    ledger = Ledger(state_dir.ledger, boot_id=boot_id)
    built = build_mechanisms(
        HostAccess(runner=runner, host_fs=host_fs), config.mechanisms, mechanisms
    )
    executor = Executor(
        runner=runner,
        host_fs=host_fs,
        ledger=ledger,
        audit=AuditLog(state_dir.audit, lambda: datetime.now(UTC)),
        dry_run=dry_run,
    )
    return Parts(
        mechanisms=built,
        ledger=ledger,
        store=PolicyStore(state_dir.policy, key=config.server.signing_key),
        enforcement=Enforcement(
            mechanisms=built,
            executor=executor,
            ledger=ledger,
            first_retry_s=config.poll_s,
        ),
    )
